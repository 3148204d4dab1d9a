/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a photon crosses an attenuating object. */
#ifndef ISO_WOODCOCK_H
#define ISO_WOODCOCK_H

#include "core/philox.h"

struct iso_woodcock {
	const iso_real *mu; /* 1/mm; borrowed. NULL: nothing attenuates */
	int64_t n[3];
	double voxel[3], low[3]; /* size and low corner of the grid, mm */
	double box[3][2];        /* mm: around the voxels that are not 0 */
	double path;             /* mean free path in the densest voxel, mm */
};

/* mu NULL: nothing attenuates. ISO_EINPUT if a value is negative or not finite. */
int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu);

/* A photon from `from` along the unit vector `dir`. Takes draws `draw`, draw + 1, ... of the
   history. */
bool iso_woodcock_passes(const struct iso_woodcock *w, const double from[3], const double dir[3],
                         uint64_t seed, uint64_t history, uint64_t draw);

#endif
