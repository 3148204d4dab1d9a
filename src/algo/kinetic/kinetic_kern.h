/* SPDX-License-Identifier: BSD-3-Clause */
/* The fit of a voxel's coefficients to the EM steps of the bins: step 2 of nested EM (Wang and Qi 2010). Basis curves
   enter over their sums, because products of basis curves and sensitivities would leave the range of float. */
#ifndef ISO_KINETIC_KERN_H
#define ISO_KINETIC_KERN_H

#include "core/hd.h"

struct kinetic_fit {
	int64_t n; /* voxels */
	int coefficients, bins, inner;
	const iso_real *mean;  /* coefficients x bins: means of the basis curves */
	const iso_real *share; /* the same: mean times subsets, over the sum over bins of weight times mean */
	const iso_real *acc;   /* bins images: one EM step of each bin, counts */
	const iso_real *sens;  /* of all subsets */
	/* of the penalty: an image a coefficient; NULL: none. `strength`: its beta over the sum above */
	const iso_real *gradient, *curvature, *strength;
};

/* The positive root of c t^2 + p t = e. */
ISO_HD iso_real kinetic_root(iso_real c, iso_real p, iso_real e)
{
	iso_real root = iso_sqrt(p * p + 4 * c * e);

	return p > 0 ? 2 * e / (p + root) : (root - p) / (2 * c);
}

/* Coefficient k of voxel i with the penalty, from what it is without and from what step 1 had. */
ISO_HD iso_real kinetic_penalised(const struct kinetic_fit *p, int k, int64_t i, iso_real without,
                                  iso_real before)
{
	const int64_t at = k * p->n + i;
	const iso_real s = p->sens[i] > 0 ? p->strength[k] / p->sens[i] : 0, c = 2 * s * p->curvature[at];

	return kinetic_root(c, 1 + s * p->gradient[at] - c * before, without);
}

#endif
