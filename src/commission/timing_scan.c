/* SPDX-License-Identifier: BSD-3-Clause */
/* Time offsets of a scan: where each line meets the source, and how likely its event is random. */
#include "isotome/timing.h"

#include "core/ctx.h"
#include "core/room.h"
#include "core/sized.h"
#include "isotome/ray.h"
#include "model/ray/ray_kern.h"
#include "model/ray/ray.h"
#include "source.h"

#include <inttypes.h>
#include <math.h>

#define PS_PER_MM (2 / ISO_C_MM_PER_PS) /* of 2 u/c */

enum { SCALE_ROUNDS = 200, IMAGE_PIECES = 32 };

struct scan {
	struct iso_timing_scan s;
	struct source shape;
	struct ray_grid grid; /* of the image */
	iso_ctx *ctx;
	int64_t n;         /* events that are used */
	int64_t *event;    /* (n): their numbers */
	uint32_t *crystal; /* (n, 2) */
	float *dt, *lo, *hi, *randoms;
	double *expected; /* (n): of trues, on any scale */
	iso_real *alpha;  /* (events): attenuation; NULL */
};

/* ---- the source along a line, mm from end 1 ---- */

static void ends_of(double p1[3], double p2[3], const struct iso_event *e)
{
	for (int a = 0; a < 3; a++) {
		p1[a] = e->p1[a];
		p2[a] = e->p2[a];
	}
}

static double length_of(const double p1[3], const double p2[3])
{
	return sqrt(pow(p2[0] - p1[0], 2) + pow(p2[1] - p1[1], 2) + pow(p2[2] - p1[2], 2));
}

/* Chords through voxels, added up in stretches of equal length of the line's way through the image. */
static int image_pieces(struct source_piece piece[SOURCE_PIECES], const struct scan *c, const double p1[3],
                        const double p2[3])
{
	const struct ray r = ray_setup(&c->grid, p1, p2, NULL, 0);
	const double p = (p1[r.axis] - c->grid.low[r.axis]) / c->grid.voxel[r.axis];
	const double d = (p2[r.axis] - p1[r.axis]) / c->grid.voxel[r.axis], length = length_of(p1, p2);
	double sum[IMAGE_PIECES] = { 0 };
	int n = 0;

	if (r.k0 >= r.k1) return 0;
	const double from = ((d > 0 ? r.x0 : r.x1) - p) / d * length,
		     to = ((d > 0 ? r.x1 : r.x0) - p) / d * length;
	const double step = (to - from) / IMAGE_PIECES;

	for (int k = r.k0; k < r.k1; k++) {
		const struct ray_cut cut = ray_cut_slice(&r, k);

		for (int i = 0; i < 3; i++) {
			const double middle = (.5 * ((double)cut.x[i] + cut.x[i + 1]) - p) / d * length;
			const double at = fmin(fmax((middle - from) / step, 0), IMAGE_PIECES - 1);

			sum[(int)at] +=
				((double)cut.x[i + 1] - cut.x[i]) * r.len * c->s.image->v[cut.voxel[i]];
		}
	}
	for (int i = 0; i < IMAGE_PIECES; i++)
		if (sum[i] > 0)
			piece[n++] = (struct source_piece){ from + i * step, from + (i + 1) * step,
				                            sum[i] / step };
	return n;
}

static int pieces_of(struct source_piece piece[SOURCE_PIECES], double *length, const struct scan *c,
                     int64_t j)
{
	double p1[3], p2[3];

	ends_of(p1, p2, c->s.events->v + j);
	*length = length_of(p1, p2);
	if (iso_event_bad(c->s.events->v + j)) return 0;
	return c->s.image ? image_pieces(piece, c, p1, p2) : source_pieces(piece, &c->shape, p1, p2);
}

/* As the fit asks: 2 u/c from the middle of the line. */
static int give_pieces(void *arg, struct iso_timing_piece piece[ISO_TIMING_PIECES], int64_t i)
{
	struct source_piece of[SOURCE_PIECES];
	const struct scan *c = arg;
	double length;
	const int n = pieces_of(of, &length, c, c->event[i]);

	for (int k = 0; k < n; k++)
		piece[k] = (struct iso_timing_piece){ PS_PER_MM * (of[k].from - .5 * length),
			                              PS_PER_MM * (of[k].to - .5 * length),
			                              of[k].density * (of[k].to - of[k].from) };
	return n;
}

/* ---- events ---- */

/* Expected trues of the pair, on any scale. */
static double trues_of(const struct scan *c, int64_t j, const struct source_piece *piece, int n)
{
	const uint32_t *x = c->s.events->crystal + 2 * j;
	double p1[3], p2[3], sum = 0;

	for (int k = 0; k < n; k++) sum += piece[k].density * (piece[k].to - piece[k].from);
	ends_of(p1, p2, c->s.events->v + j);
	if (c->s.eff) sum *= (double)c->s.eff[x[0]] * (double)c->s.eff[x[1]];
	if (c->alpha) sum *= (double)c->alpha[j];
	return sum * iso_scanner_pair_weight(c->s.scanner, p1, p2);
}

/* Events whose lines meet the source, in their order. */
static void choose(struct scan *c)
{
	const int64_t all = c->s.events->n;

#pragma omp parallel for num_threads(c->ctx->threads) schedule(static, 4096)
	for (int64_t j = 0; j < all; j++) {
		struct source_piece piece[SOURCE_PIECES];
		double length;
		const int n = iso_stopped(c->ctx) ? 0 : pieces_of(piece, &length, c, j);

		if (n == 0) continue;
		c->event[j] = 1;
		c->lo[j] = (float)(PS_PER_MM * (piece[0].from - .5 * length));
		c->hi[j] = (float)(PS_PER_MM * (piece[n - 1].to - .5 * length));
		c->expected[j] = c->s.rate ? trues_of(c, j, piece, n) : 0;
	}
	for (int64_t j = 0; j < all; j++) {
		if (!c->event[j]) continue;
		const int64_t i = c->n++;

		c->event[i] = j;
		c->lo[i] = c->lo[j];
		c->hi[i] = c->hi[j];
		c->expected[i] = c->expected[j];
		c->dt[i] = c->s.events->v[j].dt_ps;
		c->crystal[2 * i] = c->s.events->crystal[2 * j];
		c->crystal[2 * i + 1] = c->s.events->crystal[2 * j + 1];
	}
}

/* ---- randoms ---- */

static double random_rate(const struct scan *c, int64_t i)
{
	return c->s.rate[c->crystal[2 * i]] * c->s.rate[c->crystal[2 * i + 1]];
}

/* The scale k of the trues makes sum k q/(k q + r) over the events what is expected, events less randoms; the sum rises with
   k. Then rho = r/(r + k q). */
static int share_randoms(struct scan *c)
{
	const double want = (double)c->s.events->n - c->s.randoms;
	double low = -700, high = 700;

	if (!(want > 0))
		return iso_fail(ISO_EINPUT,
		                "timing: %.4g randoms are expected of %" PRId64 " events: nothing is left",
		                c->s.randoms, c->s.events->n);
	for (int round = 0; round < SCALE_ROUNDS; round++) {
		const double k = exp(.5 * (low + high));
		double sum = 0;

		for (int64_t i = 0; i < c->n; i++) {
			const double q = k * c->expected[i], r = random_rate(c, i);

			sum += q + r > 0 ? q / (q + r) : 0;
		}
		if (sum < want)
			low = .5 * (low + high);
		else
			high = .5 * (low + high);
		if (high - low < 1e-9) break;
	}
	for (int64_t i = 0; i < c->n; i++) {
		const double q = exp(.5 * (low + high)) * c->expected[i], r = random_rate(c, i);

		c->randoms[i] = (float)(q + r > 0 ? r / (q + r) : 1);
	}
	return ISO_OK;
}

/* ---- the whole ---- */

static int begin(struct scan *c, struct iso_room *room)
{
	const int64_t n = c->s.events->n;
	int st =
		c->s.image ? iso_ray_grid(&c->grid, &c->s.image->grid) : source_parse(&c->shape, c->s.source);

	if (st) return st;
	ISO_HOST(room, c->event, n);
	ISO_HOST(room, c->crystal, 2 * n);
	ISO_HOST(room, c->dt, n);
	ISO_HOST(room, c->lo, n);
	ISO_HOST(room, c->hi, n);
	ISO_HOST(room, c->expected, n);
	if (c->s.rate) ISO_HOST(room, c->randoms, n);
	if (c->s.rate && c->s.mu) ISO_HOST(room, c->alpha, n);
	if ((st = room->status) || !c->alpha) return st;
	return iso_ray_attenuation(c->alpha, c->ctx, c->s.mu, c->s.events);
}

static int fit(iso_times **times, struct iso_timing_scan_info *told, struct scan *c, struct iso_room *room,
               const struct iso_timing_options *o)
{
	const bool even = !c->s.image && c->shape.kind != SOURCE_ORBIT;
	const struct iso_timing_data d = { .size = sizeof d,
		                           .n = c->n,
		                           .crystals = iso_scanner_crystals(c->s.scanner),
		                           .crystal = c->crystal,
		                           .dt_ps = c->dt,
		                           .lo_ps = even ? c->lo : NULL,
		                           .hi_ps = even ? c->hi : NULL,
		                           .pieces = give_pieces,
		                           .arg = c,
		                           .randoms = c->randoms };
	struct iso_timing_info info = { .size = sizeof info };
	double *offset, *sd, *sigma = NULL;

	ISO_HOST(room, offset, d.crystals);
	ISO_HOST(room, sd, d.crystals);
	if (o->per_crystal) ISO_HOST(room, sigma, d.crystals);
	int st = room->status;

	if (st || (st = iso_timing_fit(offset, sd, sigma, &info, c->ctx, &d, o))) return st;
	*told = (struct iso_timing_scan_info){ .size = sizeof *told,
		                               .used = c->n,
		                               .beside = c->s.events->n - c->n,
		                               .window_ps = o->window_ps,
		                               .fit = info };
	return iso_times_create(times, c->s.scanner, offset, sd, sigma, &info);
}

static int check(const struct iso_timing_scan *s, const struct iso_timing_options *o)
{
	if (!s->scanner || !s->events || !s->source == !s->image) return iso_fail_null("iso_times_fit");
	if (!s->events->crystal) return iso_fail(ISO_EARG, "timing: the events have no crystal numbers");
	if (s->events->count) return iso_fail(ISO_EINPUT, "timing: a histogram has no times of its events");
	if (!(o->window_ps > 0))
		return iso_fail(ISO_EARG, "timing needs the coincidence window: 'coincidence-ns', or time: "
		                          "{coincidence_ns: ...} of the scanner");
	return ISO_OK;
}

int iso_times_fit(iso_times **times, struct iso_timing_scan_info *info, iso_ctx *ctx,
                  const struct iso_timing_scan *scan, const struct iso_timing_options *options)
{
	if (!times || !ctx || !scan || !options) return iso_fail_null(__func__);
	struct iso_room room = { .ctx = ctx, .what = "time offsets" };
	struct scan c = { .ctx = ctx };
	struct iso_timing_options o;
	struct iso_timing_scan_info told;
	int st = iso_sized_take(&c.s, "iso_timing_scan", sizeof c.s, scan);

	if (!st) st = iso_sized_take(&o, "iso_timing_options", sizeof o, options);
	if (!st && info) st = iso_sized_clear(info, "iso_timing_scan_info", sizeof *info);
	if (!st && o.window_ps == 0 && c.s.scanner)
		o.window_ps = 1e3 * iso_scanner_coincidence_ns(c.s.scanner);
	if (st || (st = check(&c.s, &o))) return st;
	if (!(st = begin(&c, &room))) {
		choose(&c);
		st = iso_ctx_poll(ctx);
	}
	if (!st && c.n == 0)
		st = iso_fail(ISO_EINPUT, "timing: no line of the %" PRId64 " events meets the source",
		              c.s.events->n);
	if (!st && c.s.rate) st = share_randoms(&c);
	if (!st && !(st = fit(times, &told, &c, &room, &o)) && info) iso_sized_give(info, sizeof told, &told);
	iso_room_free(&room);
	return st;
}
