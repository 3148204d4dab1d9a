/* SPDX-License-Identifier: BSD-3-Clause */
/* Image filters: Gaussian by its FWHM, median of a cube. Beyond the border the edge voxel goes on;
   for a Gaussian that is a point spread function there is nothing. */
#include "image_filter.h"
#include "base/constants.h"
#include "base/number.h"
#include "core/size.h"
#include "core/ctx.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#define MAX_FWHM 1e5  /* mm */
#define MAX_SIGMA 1e6 /* voxels */
enum { MAX_MEDIAN = 9 };

typedef int (*filter_fn)(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                         enum filter_border border, const iso_real *x);

/* ---- what to do, in words ---- */

static int unreadable(const char *text)
{
	return iso_fail(ISO_EARG,
	                "filter '%.60s' is none; it must be gaussian:MM, gaussian:X,Y,Z "
	                "(FWHM in mm) or median:N (3, 5, 7 or 9 voxels)",
	                text);
}

int iso_filter_check(const struct iso_filter *f)
{
	if (f->kind == ISO_MEDIAN) {
		if (f->size < 3 || f->size > MAX_MEDIAN || f->size % 2 == 0)
			return iso_fail(ISO_EARG,
			                "filter median: size is %d, must be 3, 5, 7 or "
			                "%d",
			                f->size, MAX_MEDIAN);
		return ISO_OK;
	}
	for (int a = 0; a < 3; a++)
		if (!(f->fwhm[a] >= 0 && f->fwhm[a] <= MAX_FWHM))
			return iso_fail(ISO_EARG,
			                "filter gaussian: FWHM along %c is %g mm, must "
			                "be in [0, %g]",
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
		return unreadable(text);
	}
	if (!(st = iso_filter_check(&r))) *f = r;
	return st;
}

/* ---- Gaussian, on the CPU: one axis after the other ---- */

/* exp(-i^2 / (2 sigma^2)), |i| <= ceil(3 sigma), normalised. Those that reach past the image from
   every voxel meet its edge voxel alone and are added up, or meet nothing and are left out. */
int iso_filter_taps(struct filter_taps *t, const struct iso_filter *f, const struct iso_grid *g, int axis,
                    enum filter_border border)
{
	double sigma = f->fwhm[axis] / ISO_FWHM_PER_SIGMA / g->voxel[axis], sum = 0;

	*t = (struct filter_taps){ 0 };
	if (!(sigma <= MAX_SIGMA))
		return iso_fail(ISO_EARG,
		                "filter gaussian: FWHM along %c is %g mm, too many "
		                "voxels of %g mm",
		                "xyz"[axis], f -> fwhm[axis], g -> voxel[axis]);
	if (sigma == 0 || g->n[axis] == 1) return ISO_OK;
	int64_t reach = (int64_t)ceil(3 * sigma), n = g->n[axis] - 1;
	int64_t radius = reach < n ? reach : n;
	double *w = size_alloc(2 * radius + 1, sizeof *w);

	if (!w) return iso_fail_memory("filter", (2 * radius + 1) * (int64_t)sizeof *w);
	for (int64_t i = -reach; i <= reach; i++) {
		double v = exp(-.5 * ((double)i / sigma) * ((double)i / sigma));

		if (border == FILTER_EDGE || llabs(i) <= radius)
			w[filter_clamp(i + radius, 2 * radius + 1)] += v;
		sum += v;
	}
	for (int64_t k = 0; k <= 2 * radius; k++) w[k] /= sum;
	*t = (struct filter_taps){ radius, w, border };
	return ISO_OK;
}

/* Lines of an image along y or z: in each of `planes` planes, n lines of m values that lie side
   by side. */
struct lines {
	int64_t planes, plane; /* how many, and elements from one to the next */
	int64_t n, line;
	int64_t m;
};

static struct lines lines_along(const struct iso_grid *g, int axis)
{
	int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];

	return axis == 1 ? (struct lines){ nz, nx * ny, ny, nx, nx }
	                 : (struct lines){ ny, nx, nz, nx * ny, nx };
}

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

static void smooth_axis(iso_real *y, iso_ctx *ctx, const struct iso_grid *g, int axis,
                        const struct filter_taps *t, double *room, int64_t each)
{
	struct lines l = lines_along(g, axis);
	int64_t rows = g->n[1] * g->n[2], nx = g->n[0];

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < (axis == 0 ? rows : l.planes); i++) {
		double *own = room + omp_get_thread_num() * each;

		if (iso_stopped(ctx)) continue;
		if (axis == 0)
			smooth_row(y + i * nx, nx, t, own);
		else
			smooth_plane(y + i * l.plane, &l, t, own);
	}
}

static int smooth_along(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                        int axis, enum filter_border border)
{
	struct filter_taps t;
	int st = iso_filter_taps(&t, f, g, axis, border);

	if (st || !t.w) return st;
	int64_t each = smooth_room(g, axis, t.radius);
	double *room = size_alloc(each * ctx->threads, sizeof *room);

	if (room)
		smooth_axis(y, ctx, g, axis, &t, room, each);
	else
		st = iso_fail_memory("filter", each * ctx->threads * (int64_t)sizeof *room);
	free(room);
	free(t.w);
	return st;
}

static int gaussian(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                    enum filter_border border, const iso_real *x)
{
	int st = ctx->vec->copy(ctx, iso_grid_voxels(g), y, x);

	for (int axis = 0; axis < 3 && !st; axis++) st = smooth_along(y, ctx, f, g, axis, border);
	return st;
}

/* ---- median, on the CPU: many voxels of a row side by side ---- */

enum { BLOCK = 32 }; /* voxels found together */

/* The size x size rows of keys around a row of voxels, each with its border. */
struct rows {
	int size;
	int64_t pitch; /* from one row to the next: whole blocks and the border */
	filter_key *key;
};

static int64_t rows_pitch(const struct iso_grid *g, int size)
{
	return (g->n[0] + BLOCK - 1) / BLOCK * BLOCK + size - 1;
}

static void load_rows(struct rows *r, const struct iso_grid *g, const iso_real *x, int64_t iy, int64_t iz)
{
	int half = r->size / 2;

	for (int j = 0; j < r->size * r->size; j++) {
		int64_t z = filter_clamp(iz + j / r->size - half, g->n[2]);
		int64_t y = filter_clamp(iy + j % r->size - half, g->n[1]);
		const iso_real *src = x + (z * g->n[1] + y) * g->n[0];
		filter_key *key = r->key + j * r->pitch;

		for (int64_t i = 0; i < r->pitch; i++)
			key[i] = filter_key_of(src[filter_clamp(i - half, g->n[0])]);
	}
}

static void count_below(filter_key *restrict below, const filter_key *restrict trial,
                        const filter_key *restrict key)
{
	for (int i = 0; i < BLOCK; i++) below[i] += key[i] < trial[i];
}

/* Medians of the cubes around voxels `first` and on. */
static void median_block(filter_key found[BLOCK], const struct rows *r, int64_t first)
{
	filter_key trial[BLOCK], below[BLOCK];
	int half = r->size * r->size * r->size / 2;

	for (int i = 0; i < BLOCK; i++) found[i] = FILTER_KEY_MIN;
	for (int bit = FILTER_KEY_BITS - 1; bit >= 0; bit--) {
		for (int i = 0; i < BLOCK; i++) {
			trial[i] = filter_trial(found[i], bit);
			below[i] = 0;
		}
		for (int j = 0; j < r->size * r->size; j++)
			for (int d = 0; d < r->size; d++)
				count_below(below, trial, r->key + j * r->pitch + first + d);
		for (int i = 0; i < BLOCK; i++) found[i] = below[i] <= half ? trial[i] : found[i];
	}
}

static void median_row(iso_real *y, int64_t n, const struct rows *r)
{
	filter_key found[BLOCK];

	for (int64_t first = 0; first < n; first += BLOCK) {
		median_block(found, r, first);
		for (int64_t i = 0; i < BLOCK && first + i < n; i++) y[first + i] = filter_value_of(found[i]);
	}
}

static int median(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                  enum filter_border border, const iso_real *x)
{
	(void)border; /* the edge voxel always goes on */
	int64_t pitch = rows_pitch(g, f->size), each = pitch * f->size * f->size;
	filter_key *room = size_alloc(each * ctx->threads, sizeof *room);

	if (!room) return iso_fail_memory("filter", each * ctx->threads * (int64_t)sizeof *room);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < g->n[1] * g->n[2]; i++) {
		struct rows r = { f->size, pitch, room + omp_get_thread_num() * each };

		if (iso_stopped(ctx)) continue;
		load_rows(&r, g, x, i % g->n[1], i / g->n[1]);
		median_row(y + i * g->n[0], g->n[0], &r);
	}
	free(room);
	return ISO_OK;
}

/* ---- either device ---- */

void iso_filter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_filter *f,
                     const struct iso_grid *g)
{
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

int iso_filter_apply(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                     const iso_real *x)
{
	if (!y || !ctx || !f || !g || !x) return iso_fail_null(__func__);
	return iso_filter_bordered(y, ctx, f, g, FILTER_EDGE, x);
}

int iso_filter_bordered(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                        enum filter_border border, const iso_real *x)
{
	filter_fn fn = f->kind == ISO_MEDIAN ? median : gaussian;
	void *cuda = NULL;
	int st;

	if ((st = iso_filter_check(f)) || (st = iso_grid_check(g))) return st;
	if (x == y)
		return iso_fail(ISO_EARG, "filter: result and image are the same array, must "
		                          "be two");
	if (iso_ctx_is_cuda(ctx) && (st = iso_cuda_symbol(&cuda, ISO_FILTER_CUDA))) return st;
	st = (cuda ? (filter_fn)cuda : fn)(y, ctx, f, g, border, x);
	return st ? st : iso_ctx_poll(ctx);
}

int iso_filter_host(iso_real *x, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g)
{
	int64_t n = iso_grid_voxels(g), bytes = n * (int64_t)sizeof *x;
	iso_real *from = NULL, *to = NULL;
	int st;

	if ((st = iso_vec_alloc(ctx, &from, n)) || (st = iso_vec_alloc(ctx, &to, n)) ||
	    (st = ctx->vec->upload(ctx, from, x, bytes)) || (st = iso_filter_apply(to, ctx, f, g, from)))
		goto done;
	st = ctx->vec->download(ctx, x, to, bytes);
done:
	ctx->vec->free(ctx, from);
	ctx->vec->free(ctx, to);
	return st;
}
