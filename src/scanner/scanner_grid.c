/* SPDX-License-Identifier: BSD-3-Clause */
/* The field of view of a scanner as a grid, for an image where nobody says which. */
#include "isotome/panels.h"
#include "barrel.h"

#include <stdlib.h>

#define CLEAR .9      /* of the radius of the crystals: voxels keep off them */
#define SAME .05      /* of the field's width: a middle nearer to 0 is taken for it */
#define LEAST_MM 1e-3 /* crystals nearer than this are in one place */
#define MOST 4e7      /* voxels */
enum {
	SIDE = 400,  /* voxels across, at most */
	LOOKED = 15, /* crystals whose nearest neighbour tells the width of one */
};

struct field {
	double centre[3], side[3]; /* mm */
	double crystal, pitch;     /* width of a crystal, from ring to ring, mm */
};

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

/* 0: there is none. */
static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare);
	return isfinite(v[n / 2]) ? v[n / 2] : 0;
}

/* Of a table: from a few crystals to their nearest neighbours, in all directions and along z. */
static void find_spacing(struct field *f, const iso_scanner *s)
{
	double near[LOOKED], above[LOOKED];
	int n = 0;

	for (; n < LOOKED && n < s->n; n++) {
		const double *p = s->pos + 3 * (n * (s->n / (s->n < LOOKED ? s->n : LOOKED)));

		near[n] = above[n] = INFINITY;
		for (int64_t j = 0; j < s->n; j++) {
			const double *q = s->pos + 3 * j;
			double z = fabs(p[2] - q[2]), d = hypot(hypot(p[0] - q[0], p[1] - q[1]), z);

			if (d > LEAST_MM && d < near[n]) near[n] = d;
			if (z > LEAST_MM && z < above[n]) above[n] = z;
		}
	}
	f->crystal = median(near, n);
	f->pitch = median(above, n);
}

static void find_crystal(struct field *f, const iso_scanner *s)
{
	const double *mm = iso_scanner_crystal_mm(s);

	if (s->kind == ISO_CYLINDER) {
		f->crystal = 2 * M_PI * s->radius / (double)s->pairs.per_ring;
		f->pitch = s->ring_pitch;
		if (s->pairs.rings > 1) f->crystal = fmin(f->crystal, f->pitch);
	} else {
		find_spacing(f, s);
	}
	if (mm) f->crystal = fmin(mm[0], mm[1]);
	if (s->assumed)
		f->crystal *= 2; /* of which crystals nobody knows: voxels no finer than those assumed */
	if (!(f->pitch > 0)) f->pitch = f->crystal;
}

/* Across: the circle that lines of crystal pairs fill, as far as it keeps off the crystals; along z: from the first
   crystal to the last. */
static struct field find(const iso_scanner *s)
{
	struct field f = { 0 };
	double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
	double radius = INFINITY;

	find_crystal(&f, s);
	for (int64_t i = 0; i < 3 * s->n; i++) {
		low[i % 3] = fmin(low[i % 3], s->pos[i]);
		high[i % 3] = fmax(high[i % 3], s->pos[i]);
	}
	for (int a = 0; a < 3; a++) {
		double middle = (low[a] + high[a]) / 2;

		f.centre[a] = fabs(middle) < SAME * (high[a] - low[a]) ? 0 : middle;
	}
	for (int64_t i = 0; i < s->n; i++)
		radius = fmin(radius, hypot(s->pos[3 * i] - f.centre[0], s->pos[3 * i + 1] - f.centre[1]));
	radius *= fmin(CLEAR, cos(iso_scanner_min_angle(s) / 2));
	if (!(radius > 0)) radius = fmax(high[0] - low[0], high[1] - low[1]) / 2;
	f.side[0] = f.side[1] = 2 * radius;
	if (!(f.crystal > 0)) f.crystal = f.pitch = 2 * radius / SIDE;
	f.side[2] = high[2] - low[2] + f.pitch;
	return f;
}

double iso_scanner_round_mm(double mm, bool up)
{
	static const double steps[] = { 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 };
	double unit = pow(10, floor(log10(mm))), best = 10;

	for (int i = 10; i >= 0; i--)
		if (up ? steps[i] * unit >= mm * (1 - 1e-9)
		       : fabs(log(steps[i] * unit / mm)) < fabs(log(best * unit / mm)))
			best = steps[i];
	return best * unit;
}

/* Voxels of a size along an axis. Along z an odd number, as lines of direct planes lie in the middle of the field and
   at steps of half a pitch from it, and would else lie in the faces between voxels, which one of the two gets: where
   half a pitch has room for a voxel, the last ring lies in the field with one less. */
static int64_t count_voxels(const struct field *f, int axis, double voxel)
{
	int64_t n = (int64_t)fmax(1, ceil(f->side[axis] / voxel - 1e-6));

	if (axis < 2 || n % 2 || !(f->pitch > 0)) return n;
	return voxel <= f->pitch / 2 * (1 + 1e-6) ? n - 1 : n + 1;
}

static double voxels(const struct field *f, double voxel)
{
	double n = 1;

	for (int a = 0; a < 3; a++) n *= (double)count_voxels(f, a, voxel);
	return n;
}

static double choose_voxel(const struct field *f)
{
	double most = fmax(f->side[0], f->side[1]) / SIDE;
	double voxel = iso_scanner_round_mm(f->crystal / 2, false);

	if (voxel < most) voxel = iso_scanner_round_mm(most, true);
	while (voxels(f, voxel) > MOST) voxel = iso_scanner_round_mm(1.05 * voxel, true);
	return voxel;
}

double iso_scanner_crystal_width(const iso_scanner *s)
{
	struct field f = { 0 };

	if (s->kind == ISO_PANELS) return fmin(s->panels.pitch[0], s->panels.pitch[1]);
	if (s->n < 2) return 0;
	find_crystal(&f, s);
	return s->assumed ? f.crystal / 2 : f.crystal;
}

/* The grid of the description, as a field of view. */
static struct field of_panels(struct iso_grid *own, const iso_scanner *s)
{
	struct field f = { 0 };

	iso_panels_grid(own, &s->panels);
	for (int a = 0; a < 3; a++) f.side[a] = (double)own->n[a] * own->voxel[a];
	return f;
}

/* The square inside the strips, as long as they are; voxels are some two thirds of a strip's width. */
static struct field of_barrel(const struct iso_barrel *b)
{
	double low = INFINITY, high = -INFINITY, width = INFINITY;
	struct field f = { 0 };

	for (int64_t i = 0; i < b->n; i++) {
		const struct iso_barrel_strip *s = b->strip + i;

		low = fmin(low, s->z - s->length / 2);
		high = fmax(high, s->z + s->length / 2);
		width = fmin(width, s->width);
	}
	f.crystal = 4. / 3 * width; /* of which a voxel is half */
	f.centre[2] = (low + high) / 2;
	f.side[0] = f.side[1] = sqrt(2) * CLEAR * iso_barrel_inner(b);
	f.side[2] = high - low;
	return f;
}

int iso_scanner_grid(struct iso_grid *g, const iso_scanner *s)
{
	if (!g || !s) return iso_fail_null(__func__);
	if (s->n < 2 && s->kind != ISO_BARREL)
		return iso_fail(ISO_EARG, "%s has no crystals: it has no field of view between them",
		                s->name);
	struct iso_grid own = { 0 };
	struct field f = s->kind == ISO_PANELS   ? of_panels(&own, s)
	                 : s->kind == ISO_BARREL ? of_barrel(&s->barrel)
	                                         : find(s);
	double voxel = s->kind == ISO_PANELS ? 0 : choose_voxel(&f);

	for (int a = 0; a < 3; a++) {
		bool sized = g->voxel[a] > 0, counted = g->n[a] > 0;

		/* voxels of another height would leave some planes without a line, and put two into others */
		if (a == 2 && s->plane_mm > 0 && !sized && !counted)
			g->voxel[a] = s->plane_mm;
		else if (!sized)
			g->voxel[a] = counted     ? f.side[a] / (double)g->n[a]
			              : voxel > 0 ? voxel
			                          : own.voxel[a];
		if (!counted) g->n[a] = count_voxels(&f, a, g->voxel[a]);
		g->centre[a] = f.centre[a];
	}
	return iso_grid_check(g);
}
