/* SPDX-License-Identifier: BSD-3-Clause */
/* One voxel of a phantom: the mean over it of the volumes that may reach into it. */
#ifndef ISO_RASTER_KERN_H
#define ISO_RASTER_KERN_H

#include "shapes_kern.h"

/* Plain data; shapes are of the device that makes the voxels. */
struct raster {
	struct iso_grid g;
	int n;                         /* volumes of the phantom that set the quantity, */
	const struct iso_shape *shape; /* the lowest first */
	enum shape_quantity q;
	bool adds;   /* values of volumes that overlap add up: of activity alone */
	int samples; /* points along each axis of a voxel that a surface crosses */
};

/* Volumes that may matter for a part of the grid, by number, lowest first. */
struct pile {
	int n;
	const int32_t *at;
};

/* Middle of voxel i along an axis, mm. */
ISO_HD double raster_place(const struct iso_grid *g, int axis, int64_t i)
{
	return g->centre[axis] + ((double)i - (double)(g->n[axis] - 1) / 2) * g->voxel[axis];
}

/* All of slice z. */
ISO_HD void raster_slice_box(struct shape_box *b, const struct iso_grid *g, int64_t z)
{
	for (int a = 0; a < 2; a++) {
		b->mid[a] = g->centre[a];
		b->half[a] = (double)g->n[a] * g->voxel[a] / 2;
	}
	b->mid[2] = raster_place(g, 2, z);
	b->half[2] = g->voxel[2] / 2;
}

/* Row y of the slice that *b is, or of which it was a row. */
ISO_HD void raster_row_box(struct shape_box *b, const struct iso_grid *g, int64_t y)
{
	b->mid[1] = raster_place(g, 1, y);
	b->half[1] = g->voxel[1] / 2;
}

ISO_HD double raster_value_at(const struct raster *r, const struct pile *pile, const double p[3])
{
	double sum = 0;

	for (int i = pile->n - 1; i >= 0; i--) {
		const struct iso_shape *s = r->shape + pile->at[i];

		if (!shape_has(s, p)) continue;
		if (!r->adds) return s->value[r->q];
		sum += s->value[r->q];
	}
	return sum;
}

/* Mean over samples^3 midpoints, as the first value and the mean difference from it: exact where
   all are equal. */
ISO_HD double raster_sample(const struct raster *r, const struct pile *pile, const struct shape_box *b)
{
	double n = r->samples, first = 0, sum = 0, p[3];

	for (int i = 0; i < r->samples; i++)
		for (int j = 0; j < r->samples; j++)
			for (int k = 0; k < r->samples; k++) {
				p[0] = b->mid[0] + b->half[0] * ((2 * k + 1) / n - 1);
				p[1] = b->mid[1] + b->half[1] * ((2 * j + 1) / n - 1);
				p[2] = b->mid[2] + b->half[2] * ((2 * i + 1) / n - 1);
				double v = raster_value_at(r, pile, p);

				if (i + j + k == 0) first = v;
				sum += v - first;
			}
	return first + sum / (n * n * n);
}

/* Voxel x of the row *row. One value where the topmost volume that reaches into the voxel contains all of it; of
   volumes that add up, all. */
ISO_HD double raster_voxel(const struct raster *r, const struct pile *pile, const struct shape_box *row,
                           int64_t x)
{
	struct shape_box b = *row;
	double sum = 0;

	b.mid[0] = raster_place(&r->g, 0, x);
	b.half[0] = r->g.voxel[0] / 2;
	for (int i = pile->n - 1; i >= 0; i--) {
		const struct iso_shape *s = r->shape + pile->at[i];
		enum shape_relation rel = shape_meets(s, &b);

		if (rel == SHAPE_CROSSES) return raster_sample(r, pile, &b);
		if (rel == SHAPE_CONTAINS && !r->adds) return s->value[r->q];
		if (rel == SHAPE_CONTAINS) sum += s->value[r->q];
	}
	return sum;
}

#define RASTER_PIECE (1ll << 25) /* voxels on a device at a time, or those of a slice if these are more */

#endif
