/* SPDX-License-Identifier: BSD-3-Clause */
/* Image filters: Gaussian by its FWHM, also as an operator, and median of a cube. Beyond the border the edge voxel goes on;
   for a Gaussian that is a point spread function there is nothing. */
#include "image_filter.h"
#include "base/constants.h"
#include "core/op.h"
#include "core/size.h"

#include <omp.h>

#define MAX_FWHM 1e5  /* mm */
#define MAX_SIGMA 1e6 /* voxels */
enum { MAX_MEDIAN = 9 };

typedef int (*filter_fn)(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                         enum filter_border border, const iso_real *x);

int iso_filter_check(const struct iso_filter *f)
{
	if (f->kind == ISO_MEDIAN && (f->size < 3 || f->size > MAX_MEDIAN || f->size % 2 == 0))
		return iso_fail(ISO_EARG, "filter median: size is %d, must be 3, 5, 7 or %d", f->size,
		                MAX_MEDIAN);
	for (int a = 0; a < 3 && f->kind != ISO_MEDIAN; a++)
		if (!(f->fwhm[a] >= 0 && f->fwhm[a] <= MAX_FWHM))
			return iso_fail(ISO_EARG, "filter gaussian: FWHM along %c is %g mm, must be 0 to %g",
			                "xyz"[a], f -> fwhm[a], MAX_FWHM);
	return ISO_OK;
}

int iso_filter_parse(struct iso_filter *f, const char *text)
{
	if (!f || !text) return iso_fail_null(__func__);
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	struct iso_filter r = ISO_ZERO;
	double v[3];
	int n = colon ? iso_numbers(v, 3, colon + 1) : 0, st;

	if (length == 8 && memcmp(text, "gaussian", length) == 0 && (n == 1 || n == 3)) {
		r.kind = ISO_GAUSSIAN;
		for (int a = 0; a < 3; a++) r.fwhm[a] = n == 1 ? v[0] : v[a];
	} else if (length == 6 && memcmp(text, "median", length) == 0 && n == 1 && fabs(v[0]) < INT32_MAX &&
	           v[0] == floor(v[0])) {
		r.kind = ISO_MEDIAN;
		r.size = (int)v[0];
	} else {
		return iso_fail(ISO_EARG,
		                "filter '%.60s' is not known; it must be gaussian:MM, gaussian:X,Y,Z "
		                "(FWHM in mm) or median:N (3, 5, 7 or 9 voxels)",
		                text);
	}
	if (!(st = iso_filter_check(&r))) *f = r;
	return st;
}

/* ---- Gaussian, on the CPU: one axis after the other ---- */

/* exp(-i^2 / (2 sigma^2)), |i| <= ceil(3 sigma), normalised. Those that reach past the image from
   every voxel meet its edge voxel alone and are added up, or meet nothing and are left out. */
struct filter_taps iso_filter_taps(struct iso_room *room, const struct iso_filter *f,
                                   const struct iso_grid *g, int axis, enum filter_border border)
{
	double sigma = f->fwhm[axis] / ISO_FWHM_PER_SIGMA / g->voxel[axis], sum = 0;
	int64_t reach = sigma <= MAX_SIGMA ? (int64_t)ceil(3 * sigma) : 0;
	struct filter_taps t = { reach < g->n[axis] - 1 ? reach : g->n[axis] - 1, NULL, border };

	if (!(sigma <= MAX_SIGMA))
		room->status = iso_fail(ISO_EARG,
		                        "filter gaussian: FWHM along %c is %g mm, too many voxels of %g mm",
		                        "xyz"[axis], f -> fwhm[axis], g -> voxel[axis]);
	if (t.radius == 0 || !ISO_HOST(room, t.w, 2 * t.radius + 1)) return t;
	for (int64_t i = -reach; i <= reach; i++) {
		double v = exp(-.5 * ((double)i / sigma) * ((double)i / sigma));

		if (border == FILTER_EDGE || llabs(i) <= t.radius)
			t.w[filter_clamp(i + t.radius, 2 * t.radius + 1)] += v;
		sum += v;
	}
	for (int64_t k = 0; k <= 2 * t.radius; k++) t.w[k] /= sum;
	return t;
}

/* Lines of an image along an axis: in each of `planes` planes, n lines of m values that lie side by side. */
struct lines {
	int64_t planes, plane; /* how many, and elements from one to the next */
	int64_t n, line;
	int64_t m;
};

static void add_scaled(int64_t n, double *restrict sum, double w, const iso_real *restrict x)
{
	for (int64_t i = 0; i < n; i++) sum[i] += w * x[i];
}

static void round_to(int64_t n, iso_real *restrict y, const double *restrict sum)
{
	for (int64_t i = 0; i < n; i++) y[i] = (iso_real)sum[i];
}

/* A row along x in place; room for n sums, then for the row with its border. */
static void smooth_row(iso_real *y, int64_t n, const struct filter_taps *t, double *room)
{
	iso_real *padded = (iso_real *)(room + n);

	memset(room, 0, (size_t)n * sizeof *room);
	for (int64_t i = 0; i < n + 2 * t->radius; i++)
		padded[i] = filter_beyond(t, i - t->radius, n) ? 0 : y[filter_clamp(i - t->radius, n)];
	for (int64_t k = 0; k <= 2 * t->radius; k++) add_scaled(n, room, t->w[k], padded + k);
	round_to(n, y, room);
}

/* A plane in place; room for m sums, then for the plane. */
static void smooth_plane(iso_real *y, const struct lines *l, const struct filter_taps *t, double *room)
{
	iso_real *before = (iso_real *)(room + l->m);

	for (int64_t i = 0; i < l->n; i++)
		memcpy(before + i * l->m, y + i * l->line, (size_t)l->m * sizeof *y);
	for (int64_t i = 0; i < l->n; i++) {
		memset(room, 0, (size_t)l->m * sizeof *room);
		for (int64_t k = 0; k <= 2 * t->radius; k++)
			if (!filter_beyond(t, i + k - t->radius, l->n))
				add_scaled(l->m, room, t->w[k],
				           before + filter_clamp(i + k - t->radius, l->n) * l->m);
		round_to(l->m, y + i * l->line, room);
	}
}

/* Room of one thread, in doubles. */
static int64_t smooth_room(const struct iso_grid *g, int axis, int64_t radius)
{
	int64_t kept = axis == 0 ? g->n[0] + 2 * radius : g->n[0] * g->n[axis];

	return g->n[0] + (kept * (int64_t)sizeof(iso_real) + 7) / 8;
}

static int gaussian(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                    enum filter_border border, const iso_real *x)
{
	int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];
	const struct lines along[3] = { { ny * nz, nx, nx, 1, 1 },
		                        { nz, nx * ny, ny, nx, nx },
		                        { ny, nx, nz, nx * ny, nx } };
	struct iso_clock clock = iso_clock_brief(ctx, "filter", "voxels", 3 * iso_grid_voxels(g), NULL);
	int st = ctx->vec->copy(ctx, iso_grid_voxels(g), y, x);

	iso_clock_count(&clock, "voxels", 1. / 3);
	for (int axis = 0; axis < 3 && !st; axis++) {
		const struct lines *l = &along[axis];
		struct iso_room room = { .ctx = ctx, .what = "filter" };
		const struct filter_taps t = iso_filter_taps(&room, f, g, axis, border);
		int64_t each = smooth_room(g, axis, t.radius);
		double *sums = t.w ? iso_room_host(&room, each * ctx->threads, sizeof *sums) : NULL;

#pragma omp parallel for num_threads(ctx->threads)
		for (int64_t i = 0; i < (sums ? l->planes : 0); i++) {
			double *own = sums + omp_get_thread_num() * each;

			if (iso_stopped(ctx)) continue;
			if (axis == 0)
				smooth_row(y + i * l->plane, nx, &t, own);
			else
				smooth_plane(y + i * l->plane, l, &t, own);
			iso_clock_add(&clock, iso_grid_voxels(g) / l->planes);
		}
		st = iso_room_free(&room);
	}
	iso_clock_end(&clock);
	return st;
}

/* ---- median, on the CPU: many voxels of a row side by side ---- */

enum { BLOCK = 32 }; /* voxels found together */

/* From one row of keys to the next: whole blocks and the border. */
static int64_t rows_pitch(const struct iso_grid *g, int size)
{
	return (g->n[0] + BLOCK - 1) / BLOCK * BLOCK + size - 1;
}

static void count_below(filter_key *restrict below, const filter_key *restrict trial,
                        const filter_key *restrict key)
{
	for (int i = 0; i < BLOCK; i++) below[i] += key[i] < trial[i];
}

/* Medians of the cubes that begin at `key` and behind it; size x size rows are `pitch` keys apart. */
static void median_block(filter_key found[BLOCK], const filter_key *key, int size, int64_t pitch)
{
	filter_key trial[BLOCK], below[BLOCK];

	for (int i = 0; i < BLOCK; i++) found[i] = FILTER_KEY_MIN;
	for (int bit = FILTER_KEY_BITS - 1; bit >= 0; bit--) {
		for (int i = 0; i < BLOCK; i++) {
			trial[i] = filter_trial(found[i], bit);
			below[i] = 0;
		}
		for (int j = 0; j < size * size; j++)
			for (int d = 0; d < size; d++) count_below(below, trial, key + j * pitch + d);
		for (int i = 0; i < BLOCK; i++)
			found[i] = below[i] <= size * size * size / 2 ? trial[i] : found[i];
	}
}

/* Each thread has the size x size rows of keys around a row of voxels, each with its border. */
static int median(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                  enum filter_border border, const iso_real *x)
{
	(void)border; /* the edge voxel always goes on */
	int64_t size = f->size, pitch = rows_pitch(g, f->size), each = pitch * size * size;
	filter_key *room = size_alloc(each * ctx->threads, sizeof *room);
	struct iso_clock clock = iso_clock_brief(ctx, "filter", "voxels", iso_grid_voxels(g), NULL);

	if (!room) return iso_fail_memory("filter", each * ctx->threads * (int64_t)sizeof *room);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < g->n[1] * g->n[2]; i++) {
		filter_key *key = room + omp_get_thread_num() * each, found[BLOCK];

		if (iso_stopped(ctx)) continue;
		for (int64_t j = 0; j < size * size; j++) {
			int64_t iz = filter_clamp(i / g->n[1] + j / size - size / 2, g->n[2]);
			int64_t iy = filter_clamp(i % g->n[1] + j % size - size / 2, g->n[1]);
			const iso_real *row = x + (iz * g->n[1] + iy) * g->n[0];

			for (int64_t k = 0; k < pitch; k++)
				key[j * pitch + k] = filter_key_of(row[filter_clamp(k - size / 2, g->n[0])]);
		}
		for (int64_t ix = 0; ix < g->n[0]; ix++) {
			if (ix % BLOCK == 0) median_block(found, key + ix, f->size, pitch);
			y[i * g->n[0] + ix] = filter_value_of(found[ix % BLOCK]);
		}
		iso_clock_add(&clock, g->n[0]);
	}
	iso_clock_end(&clock);
	free(room);
	return ISO_OK;
}

/* ---- either device ---- */

void iso_filter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_filter *f,
                     const struct iso_grid *g)
{
	if (!plan || !ctx || !f || !g) return;

	int64_t each = 0;

	if (iso_ctx_is_cuda(ctx)) {
		if (f->kind == ISO_GAUSSIAN)
			iso_plan_add(plan, "filter", iso_grid_voxels(g), sizeof(iso_real), true);
		return;
	}
	if (f->kind == ISO_MEDIAN)
		each = rows_pitch(g, f->size) * f->size * f->size * (int64_t)sizeof(filter_key);
	for (int a = 0; a < 3 && f->kind == ISO_GAUSSIAN; a++) {
		int64_t bytes = smooth_room(g, a, g->n[a]) * (int64_t)sizeof(double);

		each = bytes > each ? bytes : each;
	}
	iso_plan_add(plan, "filter, each thread its own", ctx->threads, each, false);
}

static int bordered(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                    enum filter_border border, const iso_real *x)
{
	void *cuda = NULL;
	int st;

	if ((st = iso_filter_check(f)) || (st = iso_grid_check(g))) return st;
	if (x == y) return iso_fail(ISO_EARG, "filter: result and image are the same array, must be two");
	if (iso_ctx_is_cuda(ctx) && (st = iso_cuda_symbol(&cuda, "iso_filter_cuda"))) return st;
	st = (cuda ? (filter_fn)cuda : f->kind == ISO_MEDIAN ? median : gaussian)(y, ctx, f, g, border, x);
	return st ? st : iso_ctx_poll(ctx);
}

int iso_filter_apply(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                     const iso_real *x)
{
	if (!y || !ctx || !f || !g || !x) return iso_fail_null(__func__);
	return bordered(y, ctx, f, g, FILTER_EDGE, x);
}

int iso_filter_host(iso_real *x, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g)
{
	if (!x || !ctx || !f || !g) return iso_fail_null(__func__);

	int64_t n = iso_grid_voxels(g);
	struct iso_room room = { .ctx = ctx, .what = "filter" };
	iso_real *from, *to;
	int st;

	ISO_UPLOAD(&room, from, x, n);
	ISO_DEVICE(&room, to, n);
	if (!(st = room.status) && !(st = iso_filter_apply(to, ctx, f, g, from)))
		st = ctx->vec->download(ctx, x, to, n * (int64_t)sizeof *x);
	iso_room_free(&room);
	return st;
}

/* ---- the point spread function ---- */

/* Image-space point spread function: y = P x with a separable Gaussian. Its matrix along each axis
   is a band of equal weights w[|i - j|], cut off at the border of the image: symmetric, so P is
   its own adjoint. Columns near the border sum to less than 1: what is blurred out of the image is
   lost. An axis of one voxel is left alone. */
struct psf {
	struct iso_filter filter;
	struct iso_grid grid;
};

static int psf_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct psf *p = op->data;

	(void)sub; /* one subset only */
	return bordered(y, op->ctx, &p->filter, &p->grid, FILTER_ZERO, x);
}

static const struct iso_op_fn psf_fn = { .forward = psf_apply, .adjoint = psf_apply };

static int make_psf(iso_op **op, iso_ctx *ctx, const struct iso_grid *g, const double fwhm[3])
{
	struct psf psf = { .filter = { ISO_GAUSSIAN, { fwhm[0], fwhm[1], fwhm[2] }, 0 }, .grid = *g };
	int st = iso_grid_check(g);

	if (!st) st = iso_filter_check(&psf.filter);
	if (st) return st;
	struct psf *p = size_alloc(1, sizeof *p);

	if (!p) return iso_fail_memory("psf", sizeof *p);
	*p = psf;
	return iso_op_create(op, ctx, &psf_fn, iso_grid_voxels(g), iso_grid_voxels(g), 1, p);
}

int iso_psf_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g, const double fwhm[3])
{
	if (!op || !ctx || !g || !fwhm) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_psf(&made, ctx, g, fwhm);

	return iso_op_agree(op, made, ctx, st);
}

void iso_psf_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g)
{
	if (!plan || !ctx || !g) return;

	const struct iso_filter f = { .kind = ISO_GAUSSIAN };

	iso_plan_add(plan, "images before and behind the PSF", iso_grid_voxels(g), 3 * sizeof(iso_real),
	             iso_ctx_is_cuda(ctx));
	iso_filter_plan(plan, ctx, &f, g);
}
