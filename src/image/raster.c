/* SPDX-License-Identifier: BSD-3-Clause */
/* A phantom on a grid: mean value of its volumes over each voxel, then points and lines. */
#include "core/loop/box.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "raster_kern.h"
#include "shapes.h"

#include <omp.h>

enum { MAX_SAMPLES = 64 };

/* Of the volumes `all` those that reach into *b, into at[]. */
static struct pile thin_out(int32_t *at, const struct raster *r, const struct pile *all,
                            const struct shape_box *b)
{
	struct pile few = { 0, at };

	for (int i = 0; i < all->n; i++)
		if (shape_meets(r->shape + all->at[i], b) != SHAPE_OUTSIDE) at[few.n++] = all->at[i];
	return few;
}

/* room: for all volumes, twice. */
static void raster_slice(iso_real *image, const struct raster *r, const struct pile *all, int32_t *room,
                         int64_t z)
{
	const struct iso_grid *g = &r->g;
	struct shape_box b;

	raster_slice_box(&b, g, z);
	struct pile slice = thin_out(room, r, all, &b);

	for (int64_t y = 0; y < g->n[1]; y++) {
		raster_row_box(&b, g, y);
		struct pile row = thin_out(room + r->n, r, &slice, &b);

		for (int64_t x = 0; x < g->n[0]; x++)
			image[(z * g->n[1] + y) * g->n[0] + x] = (iso_real)raster_voxel(r, &row, &b, x);
	}
}

/* On CUDA: iso_raster_cuda. */
static int raster_volumes(iso_real *image, iso_ctx *ctx, const struct raster *r)
{
	int threads = ctx ? iso_ctx_threads(ctx) : omp_get_max_threads(), n = r->n;
	int64_t items = (2 * (int64_t)threads + 1) * n;
	int32_t *room = size_alloc(items, sizeof *room);
	struct pile all = { n, room };
	struct iso_clock clock = iso_clock_brief(ctx, "raster", "voxels", iso_grid_voxels(&r->g), NULL);

	if (!room) return iso_fail_memory("phantom", items * (int64_t)sizeof *room);
	for (int i = 0; i < n; i++) room[i] = i;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int64_t z = 0; z < r->g.n[2]; z++) {
		if (!ctx || !iso_ctx_cancelled(ctx))
			raster_slice(image, r, &all, room + (int64_t)n * (2 * omp_get_thread_num() + 1), z);
		iso_clock_add(&clock, r->g.n[0] * r->g.n[1]);
	}
	iso_clock_end(&clock);
	free(room);
	return ctx ? iso_ctx_poll(ctx) : ISO_OK;
}

/* Volumes that set quantity q, and the loop of the context's device over the voxels. */
static int raster(iso_real *image, iso_ctx *ctx, const struct iso_phantom *p, const struct iso_grid *g,
                  enum shape_quantity q, int samples)
{
	struct iso_shape *shape = size_alloc(p->n, sizeof *shape);
	struct raster r = { .g = *g, .shape = shape, .q = q, .samples = samples };
	void *cuda = NULL;
	int st = shape ? ISO_OK : iso_fail_memory("phantom", p->n * (int64_t)sizeof *shape);

	r.adds = p->adds && q == SHAPE_ACTIVITY; /* attenuation never adds up */
	for (int i = 0; i < p->n && !st; i++)
		if (shape_is_volume(&p->shape[i]) && p->shape[i].sets[q]) shape[r.n++] = p->shape[i];
	if (!st && ctx && iso_ctx_is_cuda(ctx)) st = iso_cuda_symbol(&cuda, "iso_raster_cuda");
	if (!st) st = (cuda ? (__typeof__(&raster_volumes))cuda : raster_volumes)(image, ctx, &r);
	free(shape);
	return st;
}

/* Adds at the point u, in voxels from the grid's low corner; voxel i is [i, i + 1). */
static void add_at(iso_real *image, const struct iso_grid *g, const double u[3], double v)
{
	int64_t i[3];

	for (int a = 0; a < 3; a++) {
		if (!(u[a] >= 0 && u[a] < (double)g->n[a])) return;
		i[a] = (int64_t)u[a];
	}
	image[(i[2] * g->n[1] + i[1]) * g->n[0] + i[0]] += (iso_real)v;
}

/* The line u + t w, t in [0, 1], which carries v in all: from each crossing of a voxel face to the next;
   the piece between belongs to the voxel of its middle. */
static void add_line(iso_real *image, const struct iso_grid *g, const double u[3], const double w[3],
                     double v)
{
	double begin = 0, end = 1, face[3], mid[3]; /* t where the line enters and leaves the grid */

	for (int a = 0; a < 3; a++)
		if (!box_narrow(&begin, &end, -u[a], (double)g->n[a] - u[a], w[a])) return;
	for (int a = 0; a < 3; a++) {
		double at = u[a] + begin * w[a];

		face[a] = w[a] > 0 ? floor(at) + 1 : ceil(at) - 1; /* the next one ahead */
	}
	for (double from = begin, to; from < end; from = fmax(from, to)) {
		to = end;
		for (int a = 0; a < 3; a++)
			if (w[a] != 0) to = fmin(to, (face[a] - u[a]) / w[a]);
		for (int a = 0; a < 3; a++) {
			mid[a] = u[a] + (from + to) / 2 * w[a];
			if (w[a] != 0 && (face[a] - u[a]) / w[a] <= to) face[a] += w[a] > 0 ? 1 : -1;
		}
		if (to > from) add_at(image, g, mid, v * (to - from));
	}
}

static void add_sources(iso_real *image, const struct iso_phantom *p, const struct iso_grid *g)
{
	double volume = g->voxel[0] * g->voxel[1] * (p->flat ? 1 : g->voxel[2]);

	for (int i = 0; i < p->n; i++) {
		const struct iso_shape *s = &p->shape[i];
		double u[3], w[3], v = s->value[SHAPE_ACTIVITY] / volume;
		double length = hypot(hypot(s->half[0], s->half[1]), s->half[2]);

		for (int a = 0; a < 3; a++) {
			u[a] = (s->centre[a] - g->centre[a]) / g->voxel[a] + (double)g->n[a] / 2;
			w[a] = s->half[a] / g->voxel[a];
		}
		if (s->type == SHAPE_POINT) add_at(image, g, u, v);
		if (s->type == SHAPE_LINE) add_line(image, g, u, w, v * length);
	}
}

/* Spheres smoothed by a Gaussian, in closed form: values at the centres of voxels. */
static int raster_smooth(iso_real *image, iso_ctx *ctx, const struct iso_phantom *p, const struct iso_grid *g)
{
	struct iso_sphere *v = size_alloc(p->n, sizeof *v);
	struct iso_spheres s = { p->n, v, 0 };
	int st;

	if (!v) return iso_fail_memory("phantom", p->n * (int64_t)sizeof *v);
	st = iso_phantom_spheres(v, &s.fwhm, p);
	if (!st) st = iso_spheres_raster(image, ctx, &s, g);
	free(v);
	return st;
}

int iso_phantom_raster(iso_real *activity, iso_real *mu, iso_ctx *ctx, const iso_phantom *p,
                       const struct iso_grid *g, int samples)
{
	if (!p || !g) return iso_fail_null(__func__);
	int st = iso_grid_check(g);

	if (st) return st;
	if (samples < 1 || samples > MAX_SAMPLES)
		return iso_fail(ISO_EARG, "phantom: samples is %d, must be in [1, %d]", samples, MAX_SAMPLES);
	if (activity) {
		st = p->fwhm > 0 ? raster_smooth(activity, ctx, p, g)
		                 : raster(activity, ctx, p, g, SHAPE_ACTIVITY, samples);
		if (st) return st;
		add_sources(activity, p, g);
	}
	return mu ? raster(mu, ctx, p, g, SHAPE_MU, samples) : ISO_OK;
}
