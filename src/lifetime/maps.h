/* SPDX-License-Identifier: BSD-3-Clause */
/* What a method found in a voxel, into the maps. */
#ifndef ISO_LIFETIME_MAPS_H
#define ISO_LIFETIME_MAPS_H

#include "triples.h"

struct voxel_found {
	double tau, error, w, w_error, counts, mean;
};

/* Where there are fewer counts than asked for, or no tau: NaN, with an error of infinity. */
void lifetime_put(const struct iso_lifetime_maps *to, int64_t v, const struct voxel_found *found,
                  const struct iso_lifetime *p);

/* Means of tau over the regions, weighted by counts; NaN: nothing is there. */
void lifetime_regions(double *mean, const double *tau, const double *counts, int64_t n,
                      const struct iso_lifetime *p);

#endif
