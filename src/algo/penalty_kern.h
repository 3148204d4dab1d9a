/* SPDX-License-Identifier: BSD-3-Clause */
/* Quadratic smoothness (Wang 2013, 30): R(x) = sum over neighbours along x, y, z of
   (x_n - x_m)^2 = <x, Lap x>, with (Lap x)_n = sum over the neighbours m of n of (x_n - x_m).
   At the border the neighbours that are not there are left out. */
#ifndef ISO_PENALTY_KERN_H
#define ISO_PENALTY_KERN_H

#include "core/hd.h"

struct penalty_grid {
	int64_t n[3];
};

/* The terms of the two neighbours along an axis of n voxels, `step` elements apart. */
ISO_HD iso_real penalty_along(const iso_real *x, int64_t i, int64_t n, int64_t step)
{
	return (i > 0 ? x[0] - x[-step] : 0) + (i < n - 1 ? x[0] - x[step] : 0);
}

ISO_HD iso_real penalty_at(const struct penalty_grid *g, const iso_real *x, int64_t ix, int64_t iy,
                           int64_t iz)
{
	int64_t row = g->n[0], plane = g->n[0] * g->n[1];
	const iso_real *at = x + iz * plane + iy * row + ix;

	return penalty_along(at, ix, g->n[0], 1) + penalty_along(at, iy, g->n[1], row) +
	       penalty_along(at, iz, g->n[2], plane);
}

#endif
