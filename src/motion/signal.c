/* SPDX-License-Identifier: BSD-3-Clause */
/* A signal of breathing from the events themselves: series of frames, made free of drift, filtered to a band, and reduced to
   their first principal component. Sums run in the order of the events, and over the frames. */
#include "base/constants.h"
#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"
#include "isotome.h"

#include <math.h>
#include <string.h>

#define CELL_MM 20.
#define DRIFT_S 20.   /* of the sliding mean, and half the length of the filter */
#define REACH_MM 600. /* cells of pca lie within this of the origin */
enum {
	ALONG = 60,
	CELLS = ALONG * ALONG * ALONG,
	CELLS_MOST = 4096,
	POWER_STEPS = 200,
	FRAMES_MOST = 1 << 20
};

/* One value a frame for each of `columns` things: v[c * frames + f]. */
struct series {
	int64_t frames, columns;
	double *v;
};

/* ---- points of events ---- */

/* The most likely point: (L + c dt)/2 from end 1; without times of flight the middle. */
static bool point_of(double p[3], const struct iso_event *e)
{
	double d[3], length = 0;

	if (iso_event_bad(e)) return false;
	for (int a = 0; a < 3; a++) {
		d[a] = (double)e->p2[a] - (double)e->p1[a];
		length += d[a] * d[a];
	}
	const double share = .5 * (1 + ISO_C_MM_PER_PS * (double)e->dt_ps / sqrt(length));

	for (int a = 0; a < 3; a++) p[a] = (double)e->p1[a] + share * d[a];
	return true;
}

static int64_t frame_of(const struct iso_events *e, int64_t i, double frame_s)
{
	return (int64_t)floor((double)e->time_ms[i] / 1000 / frame_s);
}

/* Frames without events get what lies between their neighbours. */
static void bridge(double *v, const int64_t *count, int64_t frames)
{
	int64_t last = -1;

	for (int64_t f = 0; f < frames; f++) {
		if (!count[f]) continue;
		for (int64_t k = last + 1; k < f; k++)
			v[k] = last < 0
			               ? v[f]
			               : v[last] + (v[f] - v[last]) * (double)(k - last) / (double)(f - last);
		last = f;
	}
	for (int64_t k = last + 1; last >= 0 && k < frames; k++) v[k] = v[last];
}

/* Columns x, y, z of the frames' mean points. */
static void centroids(struct series *s, int64_t *count, const struct iso_events *e, double frame_s)
{
	for (int64_t i = 0; i < e->n; i++) {
		const int64_t f = frame_of(e, i, frame_s);
		double p[3];

		if (f >= s->frames || !point_of(p, &e->v[i])) continue;
		count[f]++;
		for (int a = 0; a < 3; a++) s->v[a * s->frames + f] += p[a];
	}
	for (int64_t f = 0; f < s->frames; f++)
		for (int a = 0; a < 3 && count[f]; a++) s->v[a * s->frames + f] /= (double)count[f];
	for (int a = 0; a < 3; a++) bridge(s->v + a * s->frames, count, s->frames);
}

/* -1: out of reach. */
static int64_t cell_of(const struct iso_event *e)
{
	int64_t cell = 0;
	double p[3];

	if (!point_of(p, e)) return -1;
	for (int a = 2; a >= 0; a--) {
		const double at = floor((p[a] + REACH_MM) / CELL_MM);

		if (!(at >= 0 && at < ALONG)) return -1;
		cell = cell * ALONG + (int64_t)at;
	}
	return cell;
}

/* column[cell] = 1 + its place among the series, 0: too few counts. Of the cells with one count a frame or more, those that
   have most. Returns their number. */
static int64_t choose_cells(int32_t *column, const int64_t *total, int64_t frames)
{
	int64_t least = frames, n;

	do {
		n = 0;
		for (int64_t c = 0; c < CELLS; c++) n += total[c] >= least;
		least += n > CELLS_MOST ? 1 + least / 8 : 0;
	} while (n > CELLS_MOST);
	n = 0;
	for (int64_t c = 0; c < CELLS; c++) column[c] = total[c] >= least ? (int32_t)++n : 0;
	return n;
}

/* Square roots of the counts of cells, whose noise is the same everywhere. */
static void cell_counts(struct series *s, struct iso_room *room, const struct iso_events *e, double frame_s)
{
	int64_t *total;
	int32_t *column;

	ISO_HOST(room, total, CELLS);
	ISO_HOST(room, column, CELLS);
	for (int64_t i = 0; i < e->n && !room->status; i++) {
		const int64_t c = frame_of(e, i, frame_s) < s->frames ? cell_of(&e->v[i]) : -1;

		if (c >= 0) total[c]++;
	}
	if (room->status) return;
	s->columns = choose_cells(column, total, s->frames);
	if (s->columns == 0) {
		room->status = iso_fail(ISO_EINPUT, "signal: no cell of %g mm has an event a frame of %g s",
		                        CELL_MM, frame_s);
		return;
	}
	if (!ISO_HOST(room, s->v, s->frames * s->columns)) return;
	for (int64_t i = 0; i < e->n; i++) {
		const int64_t f = frame_of(e, i, frame_s), c = f < s->frames ? cell_of(&e->v[i]) : -1;

		if (c >= 0 && column[c]) s->v[(column[c] - 1) * s->frames + f] += 1;
	}
	for (int64_t i = 0; i < s->frames * s->columns; i++) s->v[i] = sqrt(s->v[i]);
}

/* ---- drift and band ---- */

/* Less its mean over the frames within half of DRIFT_S. `sum` has room for frames + 1. */
static void remove_drift(double *v, int64_t frames, int64_t half, double *sum)
{
	sum[0] = 0;
	for (int64_t f = 0; f < frames; f++) sum[f + 1] = sum[f] + v[f];
	for (int64_t f = 0; f < frames; f++) {
		const int64_t from = f > half ? f - half : 0,
			      to = f + half + 1 < frames ? f + half + 1 : frames;

		v[f] -= (sum[to] - sum[from]) / (double)(to - from);
	}
}

/* sin(2 pi h k)/(pi k): a low pass, h in cycles a frame. */
static double low_pass(double h, int64_t k)
{
	return k == 0 ? 2 * h : sin(2 * M_PI * h * (double)k) / (M_PI * (double)k);
}

/* A band pass of 2 half + 1 taps, by Hamming's window. Beyond its ends the series goes on as in a mirror. */
static void filter_band(double *v, int64_t frames, const double *tap, int64_t half, double *from)
{
	memcpy(from, v, (size_t)frames * sizeof *from);
	for (int64_t f = 0; f < frames; f++) {
		double sum = 0;

		for (int64_t k = -half; k <= half; k++) {
			int64_t i = f + k < 0 ? -(f + k) : f + k;

			if (i >= frames) i = 2 * (frames - 1) - i;
			sum += tap[k + half] * from[i];
		}
		v[f] = sum;
	}
}

static void clean(struct series *s, struct iso_room *room, const iso_ctx *ctx, double frame_s,
                  const double band[2])
{
	const int64_t drift = (int64_t)(.5 * DRIFT_S / frame_s), whole = (int64_t)(DRIFT_S / frame_s),
		      half = whole < s->frames - 1 ? whole : s->frames - 1;
	double *tap, *work;

	ISO_HOST(room, tap, 2 * half + 1);
	ISO_HOST(room, work, (s->frames + 1) * ctx->threads);
	if (room->status) return;
	for (int64_t k = -half; k <= half; k++)
		tap[k + half] = (low_pass(band[1] * frame_s, k) - low_pass(band[0] * frame_s, k)) *
		                (.54 + .46 * cos(M_PI * (double)k / (double)(half + 1)));
#pragma omp parallel for num_threads(ctx->threads) schedule(static, 1)
	for (int t = 0; t < ctx->threads; t++) {
		double *own = work + (s->frames + 1) * t;

		for (int64_t c = t; c < s->columns; c += ctx->threads) {
			remove_drift(s->v + c * s->frames, s->frames, drift, own);
			filter_band(s->v + c * s->frames, s->frames, tap, half, own);
		}
	}
}

/* ---- the first principal component ---- */

static double dot(const double *a, const double *b, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
	return sum;
}

/* first[f] = that of the columns, by power iterations from the column that varies most. */
static void principal(double *first, const struct series *s, double *next)
{
	double most = -1;

	for (int64_t c = 0; c < s->columns; c++) {
		const double *v = s->v + c * s->frames, size = dot(v, v, s->frames);

		if (size > most) memcpy(first, v, (size_t)s->frames * sizeof *first);
		most = size > most ? size : most;
	}
	for (int i = 0; i < POWER_STEPS; i++) {
		memset(next, 0, (size_t)s->frames * sizeof *next);
		for (int64_t c = 0; c < s->columns; c++) {
			const double *v = s->v + c * s->frames, share = dot(v, first, s->frames);

			for (int64_t f = 0; f < s->frames; f++) next[f] += share * v[f];
		}
		const double size = sqrt(dot(next, next, s->frames));

		for (int64_t f = 0; f < s->frames && size > 0; f++) first[f] = next[f] / size;
	}
}

/* ---- all of it ---- */

static int check(struct iso_signal *how, int64_t *frames, const struct iso_events *e)
{
	uint32_t last = 0;

	if (how->frame_s == 0) how->frame_s = .5;
	if (how->band[0] == 0 && how->band[1] == 0) how->band[0] = .1, how->band[1] = .5;
	if (how->kind != ISO_SIGNAL_CENTROID && how->kind != ISO_SIGNAL_PCA)
		return iso_fail(ISO_EARG, "signal: there is no kind %d", (int)how->kind);
	if (!(how->frame_s > 0 && how->frame_s <= DRIFT_S / 2))
		return iso_fail(ISO_EARG, "signal: 'frame-s' is %g, must be above 0 and at most %g",
		                how->frame_s, DRIFT_S / 2);
	if (!(how->band[0] >= 0 && how->band[0] < how->band[1] && how->band[1] <= .5 / how->frame_s))
		return iso_fail(
			ISO_EARG,
			"signal: 'band' is %g to %g Hz, must rise, up to %g Hz, half the frames of a second",
			how->band[0], how->band[1], .5 / how->frame_s);
	if (!e->time_ms)
		return iso_fail(ISO_EINPUT,
		                "signal: the events have no times, as those of CASToR list mode have");
	for (int64_t i = 0; i < e->n; i++) last = e->time_ms[i] > last ? e->time_ms[i] : last;
	const double span = (double)last / 1000;

	if (span < DRIFT_S)
		return iso_fail(ISO_EINPUT,
		                "signal: the events end after %g s, a scan of %g s or more is needed", span,
		                DRIFT_S);
	if (span / how->frame_s > FRAMES_MOST)
		return iso_fail(ISO_EARG, "signal: frames of %g s are more than %d", how->frame_s,
		                FRAMES_MOST);
	*frames = (int64_t)floor(span / how->frame_s);
	return ISO_OK;
}

static void make(double *signal, struct iso_room *room, const iso_ctx *ctx, const struct iso_events *e,
                 const struct iso_signal *how, int64_t frames)
{
	struct series centre = { .frames = frames, .columns = 3 }, cells = { .frames = frames };
	int64_t *count;
	double *next;

	ISO_HOST(room, centre.v, 3 * frames);
	ISO_HOST(room, count, frames);
	ISO_HOST(room, next, frames);
	if (room->status) return;
	centroids(&centre, count, e, how->frame_s);
	clean(&centre, room, ctx, how->frame_s, how->band);
	if (how->kind == ISO_SIGNAL_PCA) {
		cell_counts(&cells, room, e, how->frame_s);
		if (!room->status) clean(&cells, room, ctx, how->frame_s, how->band);
	}
	if (room->status) return;
	principal(signal, how->kind == ISO_SIGNAL_PCA ? &cells : &centre, next);
	if (dot(signal, centre.v + 2 * frames, frames) < 0)
		for (int64_t f = 0; f < frames; f++) signal[f] = -signal[f];
}

int iso_trace_of_events(struct iso_trace *to, iso_ctx *ctx, const struct iso_events *e,
                        const struct iso_signal *theirs)
{
	if (!to || !ctx || !e || !theirs) return iso_fail_null(__func__);
	struct iso_room room = iso_room_of(NULL, "signal of events");
	struct iso_trace t = { 0 };
	struct iso_signal how;
	int st = iso_sized_take(&how, "iso_signal", sizeof how, theirs);

	if (st || (st = check(&how, &t.n, e))) return st;
	t.time_s = size_alloc(t.n, sizeof *t.time_s);
	t.value = size_alloc(t.n, sizeof *t.value);
	if (t.time_s && t.value)
		make(t.value, &room, ctx, e, &how, t.n);
	else
		room.status = iso_fail_memory("signal of events", 2 * t.n * (int64_t)sizeof *t.value);
	for (int64_t f = 0; f < t.n && !room.status; f++) t.time_s[f] = ((double)f + .5) * how.frame_s;
	if ((st = iso_room_free(&room)))
		iso_trace_free(&t);
	else
		*to = t;
	return st;
}
