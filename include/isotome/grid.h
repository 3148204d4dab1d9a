/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids: the box of voxels that an image lies on. Lengths are mm. */
#ifndef ISOTOME_GRID_H
#define ISOTOME_GRID_H

#include "isotome/status.h"

ISO_BEGIN_C

/* A box of voxels; index 0, 1, 2 is x, y, z. */
struct iso_grid {
	int64_t n[3];
	double voxel[3];  /* mm */
	double centre[3]; /* mm */
};

/* Sizes at least 1, voxels positive and finite, centre finite, voxel count within 64 bits. */
ISO_CHECKED int iso_grid_check(const struct iso_grid *g);
int64_t iso_grid_voxels(const struct iso_grid *g);
bool iso_grid_same(const struct iso_grid *a, const struct iso_grid *b); /* to 1e-4 of a voxel */

ISO_END_C
#endif
