/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measures share: the image they need, and its places. */
#ifndef ISO_MEASURE_H
#define ISO_MEASURE_H

#include "core/status.h"

#define MEASURE_TOLERANCE 1e-4 /* of a voxel: what files keep of a grid */

/* ISO_EARG, with `who`, unless x has three axes and a grid that fits them. */
int iso_measure_check(const struct iso_array *x, const char *who);

/* A place along an axis, in voxels from the centre of the first: voxel i is [i - 1/2, i + 1/2]. */
double iso_measure_index(const struct iso_grid *g, int axis, double place);

/* Centre of voxel i. */
double iso_measure_place(const struct iso_grid *g, int axis, int64_t i);

/* Voxels whose centres lie in [low, high]; none if first > last. */
void iso_measure_range(int64_t *first, int64_t *last, const struct iso_grid *g, int axis, double low,
                       double high);

/* The two of n voxels around `at`, which is in voxels from the centre of the first, and the share of the
   second; beyond the outer centres both are the outer one. */
double iso_measure_between(int64_t i[2], double at, int64_t n);

/* Whether a place along an axis lies in a voxel of the image. */
bool iso_measure_inside(const struct iso_grid *g, int axis, double place);

/* "x -50 to 50, y ..., z ..." */
struct iso_extent {
	char text[200];
};
struct iso_extent iso_measure_extent(const struct iso_grid *g);

#endif
