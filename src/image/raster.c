/* SPDX-License-Identifier: BSD-3-Clause */
/* A phantom on a grid: mean value of its volumes over each voxel, then points and lines. */
#include "core/box.h"
#include "core/ctx.h"
#include "core/size.h"
#include "places.h"
#include "shapes.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { MAX_SAMPLES = 64 };

struct raster {
	const struct iso_phantom *p;
	const struct iso_grid *g;
	enum shape_quantity q;
	int samples;
};

/* Volumes that may matter for a part of the grid, lowest first. */
struct pile {
	int n;
	const struct iso_shape **shape;
};

/* Only the volumes of `all` that reach into `b`. */
static void thin_out(struct pile *few, const struct pile *all, const struct shape_box *b)
{
	few->n = 0;
	for (int i = 0; i < all->n; i++)
		if (iso_shape_relation(all->shape[i], b) != SHAPE_OUTSIDE)
			few->shape[few->n++] = all->shape[i];
}

/* Attenuation never adds up. */
static bool adds(const struct raster *r)
{
	return r->p->adds && r->q == SHAPE_ACTIVITY;
}

static double value_at(const struct raster *r, const struct pile *pile, const double p[3])
{
	double sum = 0;

	for (int i = pile->n - 1; i >= 0; i--)
		if (iso_shape_has(pile->shape[i], p)) {
			if (!adds(r)) return pile->shape[i]->value[r->q];
			sum += pile->shape[i]->value[r->q];
		}
	return sum;
}

/* Mean over samples^3 midpoints, as the first value and the mean difference from it: exact where
   all are equal. */
static double sample(const struct raster *r, const struct pile *pile, const struct shape_box *b)
{
	double n = r->samples, first = 0, sum = 0, p[3];

	for (int i = 0; i < r->samples; i++)
		for (int j = 0; j < r->samples; j++)
			for (int k = 0; k < r->samples; k++) {
				p[0] = b->mid[0] + b->half[0] * ((2 * k + 1) / n - 1);
				p[1] = b->mid[1] + b->half[1] * ((2 * j + 1) / n - 1);
				p[2] = b->mid[2] + b->half[2] * ((2 * i + 1) / n - 1);
				double v = value_at(r, pile, p);

				if (i + j + k == 0) first = v;
				sum += v - first;
			}
	return first + sum / (n * n * n);
}

/* One value where the topmost volume that reaches into the voxel contains all of it; of volumes that add up, all. */
static double voxel_value(const struct raster *r, const struct pile *pile, const struct shape_box *b)
{
	double sum = 0;

	for (int i = pile->n - 1; i >= 0; i--) {
		enum shape_relation rel = iso_shape_relation(pile->shape[i], b);

		if (rel == SHAPE_CROSSES) return sample(r, pile, b);
		if (rel == SHAPE_CONTAINS && !adds(r)) return pile->shape[i]->value[r->q];
		if (rel == SHAPE_CONTAINS) sum += pile->shape[i]->value[r->q];
	}
	return sum;
}

/* slice and row: room for the volumes of the whole phantom. */
static void raster_slice(iso_real *image, const struct raster *r, const struct pile *all, struct pile *slice,
                         struct pile *row, int64_t z)
{
	const struct iso_grid *g = r->g;
	struct shape_box b, wide;

	for (int a = 0; a < 3; a++) {
		b.half[a] = g->voxel[a] / 2;
		wide.mid[a] = g->centre[a];
		wide.half[a] = (double)g->n[a] * g->voxel[a] / 2;
	}
	b.mid[2] = wide.mid[2] = iso_measure_place(g, 2, z);
	wide.half[2] = b.half[2];
	thin_out(slice, all, &wide);
	wide.half[1] = b.half[1];
	for (int64_t y = 0; y < g->n[1]; y++) {
		b.mid[1] = wide.mid[1] = iso_measure_place(g, 1, y);
		thin_out(row, slice, &wide);
		for (int64_t x = 0; x < g->n[0]; x++) {
			b.mid[0] = iso_measure_place(g, 0, x);
			image[(z * g->n[1] + y) * g->n[0] + x] = (iso_real)voxel_value(r, row, &b);
		}
	}
}

static int raster_volumes(iso_real *image, iso_ctx *ctx, const struct raster *r)
{
	int threads = ctx ? iso_ctx_threads(ctx) : omp_get_max_threads(), n = r->p->n;
	int64_t items = (2 * (int64_t)threads + 1) * n;
	const struct iso_shape **room = size_alloc(items, sizeof *room);
	struct pile all = { 0, room };

	if (!room) return iso_fail_memory("phantom", items * (int64_t)sizeof *room);
	for (int i = 0; i < n; i++)
		if (shape_is_volume(&r->p->shape[i]) && r->p->shape[i].sets[r->q])
			all.shape[all.n++] = &r->p->shape[i];
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int64_t z = 0; z < r->g->n[2]; z++) {
		int t = omp_get_thread_num();
		struct pile slice = { 0, room + (int64_t)n * (2 * t + 1) };
		struct pile row = { 0, room + (int64_t)n * (2 * t + 2) };

		if (!ctx || !iso_ctx_cancelled(ctx)) raster_slice(image, r, &all, &slice, &row, z);
	}
	free(room);
	return ctx ? iso_ctx_poll(ctx) : ISO_OK;
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
static int raster_smooth(iso_real *image, iso_ctx *ctx, const struct raster *r)
{
	struct iso_sphere *v = size_alloc(r->p->n, sizeof *v);
	struct iso_spheres s = { r->p->n, v, 0 };
	int st;

	if (!v) return iso_fail_memory("phantom", r->p->n * (int64_t)sizeof *v);
	st = iso_phantom_spheres(v, &s.fwhm, r->p);
	if (!st) st = iso_spheres_raster(image, ctx, &s, r->g);
	free(v);
	return st;
}

int iso_phantom_raster(iso_real *activity, iso_real *mu, iso_ctx *ctx, const iso_phantom *p,
                       const struct iso_grid *g, int samples)
{
	if (!p || !g) return iso_fail_null(__func__);
	struct raster r = { p, g, SHAPE_ACTIVITY, samples };
	int st = iso_grid_check(g);

	if (st) return st;
	if (samples < 1 || samples > MAX_SAMPLES)
		return iso_fail(ISO_EARG, "phantom: samples is %d, must be in [1, %d]", samples, MAX_SAMPLES);
	if (activity) {
		if ((st = (p->fwhm > 0 ? raster_smooth : raster_volumes)(activity, ctx, &r))) return st;
		add_sources(activity, p, g);
	}
	if (mu) {
		r.q = SHAPE_MU;
		st = raster_volumes(mu, ctx, &r);
	}
	return st;
}
