/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinograms by single-slice rebinning: their cells, and events counted in them. */
#include "ssrb.h"

#include "base/fail.h"
#include "core/progress.h"
#include "file/suffix.h"
#include "io/events.h"
#include "scanner/scanner.h"

#include <math.h>

#define EDGE 1e-6       /* of a cell: what rounding may do to a line on its edge */
#define TURN .75        /* of a cell, see ssrb.h */
#define BLOCK (1 << 18) /* events at a time */
#define MOST_CELLS (1LL << 31)

/* ---- cells ---- */

static double reach(const iso_scanner *s, double *low, double *high)
{
	double most = 0;

	*low = INFINITY;
	*high = -INFINITY;
	for (int64_t i = 0; i < s->n; i++) {
		const double *p = s->pos + 3 * i;

		*low = fmin(*low, p[2]);
		*high = fmax(*high, p[2]);
		most = fmax(most, hypot(p[0], p[1]));
	}
	return most;
}

/* What a ring says of itself; other kinds must be given it. */
static int choose(struct ssrb *g, const iso_scanner *s, const struct ssrb_choice *c)
{
	bool ring = iso_scanner_kind(s) == ISO_CYLINDER;
	int64_t n = s->pairs.per_ring;

	g->angles = c->angles > 0 ? c->angles : ring ? n / 2 : 0;
	g->bin_mm = c->bin_mm > 0 ? c->bin_mm : ring ? M_PI * s->radius / (double)n : 0;
	g->pitch_mm = c->pitch_mm > 0 ? c->pitch_mm : ring ? s->ring_pitch : 0;
	if (g->angles < 1 || !(g->bin_mm > 0) || !(g->pitch_mm > 0))
		return iso_fail(ISO_EARG,
		                "%s has no rings: 'angles', 'bin-mm' and 'pitch-mm' must be given for its "
		                "sinograms",
		                iso_scanner_name(s));
	return ISO_OK;
}

int iso_ssrb_of(struct ssrb *g, const iso_scanner *s, const struct ssrb_choice *c)
{
	struct ssrb got = { .turn = TURN };
	double low, high, radius;
	int st;

	if (s->n < 2) return iso_fail(ISO_EARG, "%s has no crystals, so no sinograms", iso_scanner_name(s));
	if ((st = choose(&got, s, c))) return st;
	radius = reach(s, &low, &high);
	got.first = -(int64_t)floor((high - low) / got.pitch_mm + .5 + EDGE);
	if (c->length_mm > 0 && high - low + got.pitch_mm > c->length_mm)
		got.first = -(int64_t)floor(c->length_mm / got.pitch_mm + EDGE);
	got.slices = 1 - 2 * got.first;
	got.bins = 2 * (int64_t)floor(radius / got.bin_mm + .5) + 1;
	if ((double)got.slices * (double)got.angles * (double)got.bins >= (double)MOST_CELLS)
		return iso_fail(ISO_EARG,
		                "sinograms of %" PRId64 " slices, %" PRId64 " angles and %" PRId64
		                " bins are too large; 'bin-mm' is %g",
		                got.slices, got.angles, got.bins, got.bin_mm);
	*g = got;
	return ISO_OK;
}

int64_t iso_ssrb_cells(const struct ssrb *g)
{
	return g->slices * g->angles * g->bins;
}

double iso_ssrb_s(const struct ssrb *g, int64_t bin)
{
	return ((double)bin - (double)(g->bins - 1) / 2) * g->bin_mm;
}

double iso_ssrb_phi(const struct ssrb *g, int64_t angle)
{
	return ((double)angle + g->turn) * M_PI / (double)g->angles;
}

double iso_ssrb_z(const struct ssrb *g, int64_t slice)
{
	return (double)(g->first + slice) * g->pitch_mm / 2;
}

/* The cell of an angle phi in [0, pi) and a distance; a line at phi + pi has -s. */
static int64_t angle_cell(const struct ssrb *g, double phi, double *s)
{
	int64_t i = (int64_t)floor(phi * (double)g->angles / M_PI + .5 - g->turn + EDGE);

	if (i >= 0 && i < g->angles) return i;
	*s = -*s;
	return i < 0 ? i + g->angles : i - g->angles;
}

int64_t iso_ssrb_cell(const struct ssrb *g, const double p1[3], const double p2[3])
{
	double dx = p2[0] - p1[0], dy = p2[1] - p1[1], length = hypot(dx, dy);
	double slice = floor((p1[2] + p2[2]) / g->pitch_mm + .5 + EDGE) - (double)g->first;

	if (!(length > 0) || !(slice >= 0 && slice < (double)g->slices)) return -1;
	/* the normal of the line has the angle phi */
	double phi = atan2(dx, -dy), s = (dx * p1[1] - dy * p1[0]) / length;

	if (phi < 0) {
		phi += M_PI;
		s = -s;
	}
	if (phi >= M_PI) {
		phi -= M_PI;
		s = -s;
	}
	int64_t angle = angle_cell(g, phi, &s);
	double bin = floor(s / g->bin_mm + (double)g->bins / 2);

	if (!(bin >= 0 && bin < (double)g->bins)) return -1;
	return ((int64_t)slice * g->angles + angle) * g->bins + (int64_t)bin;
}

/* ---- events ---- */

bool iso_ssrb_in_frame(const struct ssrb_file *f, const struct iso_events *e, int64_t j)
{
	double t = e->time_ms ? e->time_ms[j] / 1e3 : 0;

	return !f->timed || (t >= f->from_s && t < f->to_s);
}

static int no_times(const struct ssrb_file *f)
{
	return iso_fail(ISO_EINPUT, "%s has no times of events, which frames need", f->path);
}

static int each_of_open(const struct ssrb_file *f, iso_event_file *file,
                        int (*block)(void *arg, const struct iso_events *e), void *arg)
{
	int64_t n = iso_event_file_info(file)->n;
	struct iso_clock clock = iso_clock_brief(f->read.ctx, "read", "events", n, iso_base_name(f->path));
	struct iso_events e = { 0 };
	int st;

	if (f->timed && !iso_event_file_info(file)->has_time) return no_times(f);
	st = iso_event_file_block(&e, file, n < BLOCK ? n : BLOCK);
	for (int64_t i = 0; i < n && !st; i += BLOCK) {
		st = iso_event_file_read(&e, file, i, n - i < BLOCK ? n - i : BLOCK);
		if (!st) st = block(arg, &e);
		iso_clock_add(&clock, e.n);
	}
	if (!st) iso_clock_end(&clock);
	iso_events_free(&e);
	return st;
}

int iso_ssrb_each(const struct ssrb_file *f, int (*block)(void *arg, const struct iso_events *e), void *arg)
{
	iso_event_file *file = NULL;
	struct iso_events e = { 0 };
	int st;

	if (!iso_events_only_whole(f->path)) {
		if ((st = iso_event_file_open(&file, f->path, &f->read))) return st;
		st = each_of_open(f, file, block, arg);
		iso_event_file_close(file);
		return st;
	}
	if ((st = iso_events_read(&e, f->path, &f->read))) return st;
	st = f->timed && !e.time_ms ? no_times(f) : block(arg, &e);
	iso_events_free(&e);
	return st;
}

struct counting {
	int32_t *cells;
	struct ssrb_told *told;
	const struct ssrb *g;
	const struct ssrb_file *f;
	int sign;
};

/* Whole counts of event j; -1 where they are none. */
static int64_t counts_of(const struct iso_events *e, int64_t j)
{
	if (!e->count) return 1;
	double c = (double)e->count[j], whole = floor(c + .5);

	return fabs(c - whole) < 1e-3 && whole >= 0 && whole < 1e9 ? (int64_t)whole : -1;
}

static void place_ends(double p1[3], double p2[3], const struct iso_event *v)
{
	for (int a = 0; a < 3; a++) {
		p1[a] = v->p1[a];
		p2[a] = v->p2[a];
	}
}

static int count_block(void *arg, const struct iso_events *e)
{
	struct counting *c = arg;
	int64_t used = 0, outside = 0, bad = 0, untimed = 0, broken = -1;

#pragma omp parallel for num_threads(iso_ctx_threads(c->f->read.ctx)) \
	reduction(+ : used, outside, bad, untimed) reduction(max : broken)
	for (int64_t j = 0; j < e->n; j++) {
		int64_t counts = counts_of(e, j), cell = -1;
		double p1[3], p2[3];

		if (counts < 0) broken = j;
		if (counts <= 0) continue;
		place_ends(p1, p2, e->v + j);
		if (iso_event_bad(e->v + j))
			bad += counts;
		else if (!iso_ssrb_in_frame(c->f, e, j))
			untimed += counts;
		else if ((cell = iso_ssrb_cell(c->g, p1, p2)) < 0)
			outside += counts;
		else
			used += counts;
		if (cell >= 0) {
#pragma omp atomic
			c->cells[cell] += (int32_t)(c->sign * counts);
		}
	}
	if (broken >= 0)
		return iso_fail(ISO_EINPUT, "%s: a line has %g counts, which must be a whole number",
		                c->f->path, (double)e->count[broken]);
	c->told->used += used;
	c->told->outside += outside;
	c->told->bad += bad;
	c->told->untimed += untimed;
	c->told->tof_fwhm_ps = e->tof_fwhm_ps;
	c->told->tof_bin_ps = e->tof_bin_ps;
	for (int64_t j = 0; j < e->n && !c->told->has_dt; j++) c->told->has_dt = e->v[j].dt_ps != 0;
	return ISO_OK;
}

int iso_ssrb_add(int32_t *cells, struct ssrb_told *told, const struct ssrb *g, const struct iso_events *e,
                 const struct ssrb_file *f, int sign)
{
	struct counting c = { cells, told, g, f, sign };

	return count_block(&c, e);
}

int iso_ssrb_count(int32_t *cells, struct ssrb_told *told, const struct ssrb *g, const struct ssrb_file *f,
                   int sign)
{
	struct counting c = { cells, told, g, f, sign };

	*told = (struct ssrb_told){ 0 };
	return iso_ssrb_each(f, count_block, &c);
}
