/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of decay, drawn from an activity image. */
#ifndef ISO_EMISSION_H
#define ISO_EMISSION_H

#include "core/philox.h"

struct iso_emission {
	struct iso_grid grid;
	int64_t n;		/* voxels */
	double *below;		/* share of the activity in voxels 0..i-1; n + 1 values, 0 to 1 */
	int64_t *guide;		/* for u in [k/n, (k+1)/n): where to begin the search */
};

/* ISO_EINPUT if the image has no activity, or negative values. */
int iso_emission_create(struct iso_emission *e, const struct iso_array *activity);
void iso_emission_free(struct iso_emission *e);

/* A point, mm: its voxel by u, its place in the voxel by v[0..2], all in (0, 1). */
void iso_emission_point(double p[3], const struct iso_emission *e, double u, const double v[3]);

#endif
