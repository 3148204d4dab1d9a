/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties that are quadratic, <x, L x>: L x at a voxel. Each is a kind here and a row of the table in
   penalty.c. */
#ifndef ISO_PENALTY_KERN_H
#define ISO_PENALTY_KERN_H

#include "core/hd.h"

enum penalty_kind { PENALTY_SMOOTHNESS, PENALTY_SIZE };

struct penalty {
	enum penalty_kind kind;
	int64_t n[3]; /* voxels */
};

/* The terms of the two neighbours along an axis of n voxels, `step` elements apart. */
ISO_HD iso_real penalty_along(const iso_real *x, int64_t i, int64_t n, int64_t step)
{
	return (i > 0 ? x[0] - x[-step] : 0) + (i < n - 1 ? x[0] - x[step] : 0);
}

/* Smoothness (Wang 2013, 30): <x, L x> = sum over neighbours along x, y, z of (x_n - x_m)^2, so
   (L x)_n = sum over the neighbours m of n of (x_n - x_m); at the border there are fewer. */
ISO_HD iso_real penalty_smoothness(const int64_t n[3], const iso_real *at, int64_t ix, int64_t iy, int64_t iz)
{
	return penalty_along(at, ix, n[0], 1) + penalty_along(at, iy, n[1], n[0]) +
	       penalty_along(at, iz, n[2], n[0] * n[1]);
}

ISO_HD iso_real penalty_at(const struct penalty *p, const iso_real *x, int64_t ix, int64_t iy, int64_t iz)
{
	const iso_real *at = x + (iz * p->n[1] + iy) * p->n[0] + ix;

	switch (p->kind) {
	case PENALTY_SMOOTHNESS:
		return penalty_smoothness(p->n, at, ix, iy, iz);
	case PENALTY_SIZE: /* <x, x> */
		return at[0];
	}
	return 0;
}

#endif
