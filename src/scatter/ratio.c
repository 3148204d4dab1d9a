/* SPDX-License-Identifier: BSD-3-Clause */
/* The Monte Carlo as smooth ratios to the single scatter of the formula, and to the guide of multiple scatter. */
#include "ratio.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/size.h"

#define MOST_RATIO \
	1e6      /* of counts to formula: any more is of single decays in cells where it is next to nothing */
#define ABOVE .1 /* of the greatest total: cells that the error is told of */
#define USUAL_ERROR .01
#define PIECE 1024 /* cells that a thread takes at a time */
#define FIRST_HISTORIES 4e6
#define MOST_HISTORIES 3e10 /* that a sum of PATCH_ONE surely holds */

/* ---- pairs of patches ---- */

/* Two sectors too near each other for a pair: each moves away from the other, until they are `apart` sectors apart. */
static void part(int32_t sector[2], int32_t apart)
{
	int32_t d = (sector[1] - sector[0] + PATCH_SECTORS) % PATCH_SECTORS;
	int32_t sign = d <= PATCH_SECTORS / 2 ? 1 : -1, have = sign > 0 ? d : PATCH_SECTORS - d;
	int32_t move = apart > have ? apart - have : 0;

	sector[1] = (sector[1] + sign * (move - move / 2) + PATCH_SECTORS) % PATCH_SECTORS;
	sector[0] = (sector[0] - sign * (move / 2) + PATCH_SECTORS) % PATCH_SECTORS;
}

/* place[a n + b] becomes the number of the pair for patches a and b. Patches that are too near each other for a
   coincidence have no pair of their own: that of two patches farther apart serves. */
static void place_pairs(int32_t *place, const struct patches *p, const int32_t *pair)
{
	int32_t n = patch_count(p), apart = 0;

	/* the least distance in sectors at which patches of a slab have a pair; opposite ones always have */
	while (pair[apart] < 0) apart++;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n; b++) {
			int32_t sector[2] = { a % PATCH_SECTORS, b % PATCH_SECTORS };

			part(sector, apart);
			int32_t c = a - a % PATCH_SECTORS + sector[0], d = b - b % PATCH_SECTORS + sector[1];

			place[(int64_t)a * n + b] = 2 * pair[(int64_t)c * n + d] + (c > d);
		}
}

/* ---- the kernel K ---- */

/* Steps of -1, 0, 1 of sector and slab of both ends. */
enum { STEPS = 81 };

/* The patch that lies so many sectors and slabs beside; -1: beyond the ends of the ring. */
static int32_t beside(const struct patches *p, int32_t patch, int sectors, int slabs)
{
	int32_t sector = (patch % PATCH_SECTORS + sectors + PATCH_SECTORS) % PATCH_SECTORS;
	int32_t slab = patch / PATCH_SECTORS + slabs;

	return slab < 0 || slab >= p->slabs ? -1 : slab * PATCH_SECTORS + sector;
}

/* out[0..cells-1] += k in[], or that backwards. */
static void add_row(double *out, const double *in, double k, int32_t cells, bool backwards)
{
	for (int32_t c = 0; c < cells; c++) out[c] += k * in[backwards ? cells - 1 - c : c];
}

/* One row along u, weights (side, middle, side); beyond the cells there is nothing. */
static void along_u(double *row, double *work, int32_t cells, double side, double middle)
{
	for (int32_t c = 0; c < cells; c++)
		work[c] = middle * row[c] +
		          side * ((c > 0 ? row[c - 1] : 0) + (c < cells - 1 ? row[c + 1] : 0));
	memcpy(row, work, (size_t)cells * sizeof *row);
}

/* out = K[in] about patches a, b; squared: the sum of k^2 in, for variances. work: 2 cells. */
static void smooth_pair(double *out, double *work, const struct patches *p, const int32_t *pair,
                        const double *in, int32_t a, int32_t b, bool squared)
{
	int32_t n = patch_count(p), cells = p->cells;
	double weights = 0;

	memset(out, 0, (size_t)cells * sizeof *out);
	for (int i = 0; i < STEPS; i++) {
		int step[4] = { i % 3 - 1, i / 3 % 3 - 1, i / 9 % 3 - 1, i / 27 - 1 };
		int32_t c = beside(p, a, step[0], step[1]), d = beside(p, b, step[2], step[3]);
		double k = 1;

		for (int j = 0; j < 4; j++) k *= step[j] ? .25 : .5;
		if (c < 0 || d < 0 || pair[(int64_t)c * n + d] < 0) continue;
		weights += k;
		add_row(out, in + (int64_t)pair[(int64_t)c * n + d] * cells, squared ? k * k : k, cells,
		        c > d);
	}
	if (cells > 1) along_u(out, work, cells, squared ? 1 / 16. : .25, squared ? .25 : .5);
	for (int32_t c = 0; c < cells; c++) out[c] /= squared ? weights * weights : weights;
}

/* out (pairs, cells) = K[in]. */
static int smooth(double *out, iso_ctx *ctx, const struct patches *p, const int32_t *pair, const double *in,
                  bool squared)
{
	int32_t n = patch_count(p);
	double *work = size_alloc((int64_t)ctx->threads * n, (int64_t)p->cells * (int64_t)sizeof *work);

	if (!work)
		return iso_fail_memory("scatter",
		                       (int64_t)ctx->threads * n * p->cells * (int64_t)sizeof *work);
	struct iso_clock clock = iso_clock_brief(ctx, "smooth", "pairs", (int64_t)n * (n - 1) / 2, NULL);

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int32_t a = 0; a < n; a++) {
		for (int32_t b = a + 1; b < n; b++) {
			int32_t i = pair[(int64_t)a * n + b];

			if (i >= 0)
				smooth_pair(out + (int64_t)i * p->cells, work + (int64_t)a * p->cells, p,
				            pair, in, a, b, squared);
		}
		iso_clock_add(&clock, n - 1 - a);
	}
	iso_clock_end(&clock);
	free(work);
	return ISO_OK;
}

/* ---- the ratio, and its error ---- */

/* Work arrays, (pairs, cells) each. */
struct work {
	int64_t n;
	double *in;          /* before K */
	double *s, *g;       /* K[S], K[G] */
	double *once, *more; /* K[W1], K[W2] */
	double *variance;    /* of the orders that the method asks for */
	double *error;       /* of cells above ABOVE */
};

/* w->in = h of some orders, or squares, of all cells. */
static void take(struct work *w, const iso_ctx *ctx, const struct patch_tally *t, bool once, bool more,
                 bool square)
{
	enum patch_sum a = square ? PATCH_SINGLE_SQUARE : PATCH_SINGLE,
		       b = square ? PATCH_MULTIPLE_SQUARE : PATCH_MULTIPLE;
	double unit = t->per_weight / (double)t->histories;

	struct iso_clock clock = iso_clock_brief(ctx, "take", "cells", w->n, NULL);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t at = 0; at < w->n; at += PIECE) {
		int64_t end = w->n - at < PIECE ? w->n : at + PIECE;

		for (int64_t i = at; i < end; i++)
			w->in[i] = (square ? unit : 1) * ((once ? patch_value(t, a, 0, i) : 0) +
			                                  (more ? patch_value(t, b, 0, i) : 0));
		iso_clock_add(&clock, end - at);
	}
	iso_clock_end(&clock);
}

static int smooth_count(struct work *w, iso_ctx *ctx, const struct patch_tally *t, bool all)
{
	int st;

	if (all) take(w, ctx, t, true, false, false);
	if (all && (st = smooth(w->once, ctx, &t->patches, t->pair, w->in, false))) return st;
	take(w, ctx, t, false, true, false);
	if ((st = smooth(w->more, ctx, &t->patches, t->pair, w->in, false))) return st;
	take(w, ctx, t, all, true, true);
	return smooth(w->variance, ctx, &t->patches, t->pair, w->in, true);
}

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

/* sqrt(sum k^2 w^2) / sum k w, of the total of the method. */
static void find_error(struct ratio *r, struct work *w, bool all)
{
	const double *once = all ? w->once : w->s;
	double most = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < w->n; i++) most = fmax(most, w->more[i] + once[i]);
	for (int64_t i = 0; i < w->n; i++) {
		double total = w->more[i] + once[i];

		if (total > 0 && total >= ABOVE * most) w->error[n++] = sqrt(w->variance[i]) / total;
	}
	qsort(w->error, (size_t)n, sizeof *w->error, compare);
	r->error = n > 0 ? w->error[n / 2] : 0;
	r->worst_error = n > 0 ? w->error[n - 1] : 0;
}

/* 0 where there is nothing to multiply. */
static float ratio_of(double w, double s)
{
	return s > 1e-30 ? (float)fmin(w / s, MOST_RATIO) : 0;
}

static void fill(struct ratio *r, const struct work *w, const struct patch_tally *t, bool all)
{
	double sum[2] = { 0 };

	for (int64_t i = 0; i < w->n; i++) {
		r->once[i] = all ? ratio_of(w->once[i], w->s[i]) : 1;
		r->more[i] = ratio_of(w->more[i], w->g[i]);
		sum[0] += patch_value(t, PATCH_SINGLE, 0, i);
		sum[1] += patch_value(t, PATCH_MULTIPLE, 0, i);
	}
	r->multiple = sum[0] > 0 ? sum[1] / sum[0] : 0;
	r->histories = t->histories;
}

/* Histories that are to be counted next, after an error e of N histories; 0: enough. */
static int64_t still_to_count(const struct ratio_setting *set, const struct ratio *r, int64_t counted)
{
	double n = (double)counted, want = set->error > 0 ? set->error : USUAL_ERROR;

	if (set->histories > 0) return set->histories - counted;
	if (counted == 0) return (int64_t)FIRST_HISTORIES;
	if (r->error <= want || n >= MOST_HISTORIES) return 0;
	double need = fmin(16, fmax(1.1, 1.03 * (r->error / want) * (r->error / want))) * n;

	return (int64_t)(fmin(need, MOST_HISTORIES) - n);
}

static int count(struct ratio *r, struct patch_tally *t, struct work *w, iso_ctx *ctx,
                 const struct ratio_setting *set)
{
	int64_t n;
	int st;

	while ((n = still_to_count(set, r, t->histories)) > 0) {
		if ((st = iso_patch_tally_run(t, ctx, n)) || (st = smooth_count(w, ctx, t, set->all)))
			return st;
		find_error(r, w, set->all);
	}
	return ISO_OK;
}

static int check(const struct ratio_setting *set)
{
	if (set->histories < 0 || (double)set->histories > MOST_HISTORIES)
		return iso_fail(ISO_EARG, "scatter: %" PRId64 " histories, must be 0 to %g", set->histories,
		                MOST_HISTORIES);
	if (!(set->error >= 0 && set->error < 1))
		return iso_fail(ISO_EARG, "scatter: statistical error is %g, must be above 0 and below 1",
		                set->error);
	return ISO_OK;
}

int iso_ratio_create(struct ratio *r, iso_ctx *ctx, const struct scene *s, const struct ratio_single *single,
                     const struct ratio_setting *set)
{
	struct iso_room room = { .ctx = ctx, .what = "Monte Carlo of scatter" };
	struct ratio made = { .room = room };
	struct patch_tally t;
	struct work w = { 0 };
	int st = check(set);

	if (st) return st;
	if ((st = iso_patch_tally_make(&t, &room, s, s->min_angle, (double)(single->n_u / 2) * single->u_step,
	                               set->seed)))
		goto done;
	w.n = (int64_t)t.patches.pairs * t.patches.cells;
	made.patches = t.patches;
	ISO_HOST(&made.room, made.place, (int64_t)patch_count(&t.patches) * patch_count(&t.patches));
	ISO_HOST(&made.room, made.once, w.n);
	ISO_HOST(&made.room, made.more, w.n);
	for (double **v[7] = { &w.in, &w.s, &w.g, &w.once, &w.more, &w.variance, &w.error }, ***p = v;
	     p < v + 7; p++)
		ISO_HOST(&room, **p, w.n);
	if ((st = made.room.status) || (st = room.status)) goto done;
	place_pairs(made.place, &t.patches, t.pair);
	if ((st = single->over_patches(w.in, ctx, single->table, &t.patches, t.pair)) ||
	    (st = smooth(w.s, ctx, &t.patches, t.pair, w.in, false)) ||
	    (st = single->over_patches(w.in, ctx, single->guide, &t.patches, t.pair)) ||
	    (st = smooth(w.g, ctx, &t.patches, t.pair, w.in, false)) || (st = count(&made, &t, &w, ctx, set)))
		goto done;
	fill(&made, &w, &t, set->all);
done:
	iso_room_free(&room);
	if (st)
		iso_ratio_free(&made);
	else
		*r = made;
	return iso_comm_agree(ctx, st);
}

void iso_ratio_free(struct ratio *r)
{
	iso_room_free(&r->room);
	*r = (struct ratio){ 0 };
}

/* ---- at a pair of the table ---- */

/* The two patches, before and after a place on the ring in each direction, and the share of the second. */
struct between {
	int32_t sector[2], slab[2];
	double across, up;
};

static struct between between(const struct patches *p, double azimuth, double z)
{
	double s = azimuth / (2 * M_PI) * PATCH_SECTORS - .5,
	       t = (z + (double)p->half) * (double)p->slabs_per_mm - .5;
	double first = floor(s);
	int32_t sector = (int32_t)(first - PATCH_SECTORS * floor(first / PATCH_SECTORS));

	t = fmin(fmax(t, 0), p->slabs - 1);
	int32_t slab = (int32_t)t < p->slabs - 1 ? (int32_t)t : p->slabs - 1;

	return (struct between){ .sector = { sector, (sector + 1) % PATCH_SECTORS },
		                 .slab = { slab, slab < p->slabs - 1 ? slab + 1 : slab },
		                 .across = s - first,
		                 .up = t - slab };
}

/* once[], more[] of all cells at the pair: linear between patch centres, beyond the last ones as theirs. */
static void mix(double *once, double *more, const struct ratio *r, const struct between *b)
{
	const struct patches *p = &r->patches;
	int32_t n = patch_count(p), cells = p->cells;

	for (int i = 0; i < 16; i++) {
		double weight = 1;
		int32_t patch[2];

		for (int k = 0; k < 2; k++) {
			int right = i >> 2 * k & 1, upper = i >> (2 * k + 1) & 1;

			weight *= (right ? b[k].across : 1 - b[k].across) * (upper ? b[k].up : 1 - b[k].up);
			patch[k] = b[k].slab[upper] * PATCH_SECTORS + b[k].sector[right];
		}
		if (!(weight > 0)) continue;
		int32_t place = r->place[(int64_t)patch[0] * n + patch[1]];
		int64_t first = (int64_t)(place / 2) * cells;

		for (int32_t c = 0; c < cells; c++) {
			int64_t at = first + (place % 2 ? cells - 1 - c : c);

			once[c] += weight * (double)r->once[at];
			more[c] += weight * (double)r->more[at];
		}
	}
}

void iso_ratio_apply(float *h, const float *guide, const struct ratio *r, const struct ratio_single *single,
                     const double azimuth[2], const double z[2])
{
	const struct between b[2] = { between(&r->patches, azimuth[0], z[0]),
		                      between(&r->patches, azimuth[1], z[1]) };
	int32_t cells = r->patches.cells;
	double once[cells], more[cells];

	memset(once, 0, sizeof once);
	memset(more, 0, sizeof more);
	mix(once, more, r, b);
	for (int64_t i = 0; i < single->n_u; i++) {
		double u = (double)(i - single->n_u / 2) * single->u_step;
		double at = cells > 1 ? u / (double)r->patches.sigma + cells / 2 : 0;

		at = fmin(fmax(at, 0), cells - 1);
		int32_t c = (int32_t)at < cells - 1 ? (int32_t)at : cells - 1, d = c < cells - 1 ? c + 1 : c;
		double share = at - c;

		h[i] = (float)(((1 - share) * once[c] + share * once[d]) * (double)h[i] +
		               ((1 - share) * more[c] + share * more[d]) * (double)guide[i]);
	}
}
