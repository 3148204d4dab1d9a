/* SPDX-License-Identifier: BSD-3-Clause */
/* The fit of a few voxels' coefficients to the EM images of the bins: step 2 of nested EM (Wang and Qi 2010). All factors
   are of size 1: products of basis curves and sensitivities would leave the range of float. */
#ifndef ISO_KINETIC_KERN_H
#define ISO_KINETIC_KERN_H

#include "core/hd.h"

#ifdef __CUDACC__
enum { KINETIC_WIDTH = 1 }; /* voxels at a time: a thread has one */
#else
enum { KINETIC_WIDTH = 16 };
#endif

struct kinetic_fit {
	int64_t n; /* voxels */
	int coefficients, bins, inner;
	const iso_real *mean;  /* coefficients x bins: means of the basis curves */
	const iso_real *share; /* the same: weight of the bin times mean, over their sum over bins */
	const iso_real *seen;  /* bins images: one EM step of each bin over weight and sensitivity */
	const iso_real *sens;
	/* of the penalty: an image a coefficient; NULL: none. `strength`: its beta over the sum above */
	const iso_real *gradient, *curvature, *strength;
};

/* The positive root of c t^2 + p t = e. */
ISO_HD iso_real kinetic_root(iso_real c, iso_real p, iso_real e)
{
	iso_real root = iso_sqrt(p * p + 4 * c * e);

	return p > 0 ? 2 * e / (p + root) : (root - p) / (2 * c);
}

/* r[k][v] = sum over bins of share seen / f, f from the coefficients as they are; 0 where f is. */
ISO_HD void kinetic_ratios(iso_real r[][KINETIC_WIDTH], const struct kinetic_fit *p, int64_t first, int width,
                           iso_real theta[][KINETIC_WIDTH])
{
	for (int k = 0; k < p->coefficients; k++)
		for (int v = 0; v < width; v++) r[k][v] = 0;
	for (int m = 0; m < p->bins; m++) {
		const iso_real *seen = p->seen + m * p->n + first;
		iso_real f[KINETIC_WIDTH] = ISO_ZERO;

		for (int k = 0; k < p->coefficients; k++)
			for (int v = 0; v < width; v++) f[v] += p->mean[k * p->bins + m] * theta[k][v];
		for (int v = 0; v < width; v++) f[v] = f[v] > 0 ? seen[v] / f[v] : 0;
		for (int k = 0; k < p->coefficients; k++)
			for (int v = 0; v < width; v++) r[k][v] += p->share[k * p->bins + m] * f[v];
	}
}

/* `width` voxels from `first` on. */
ISO_HD void kinetic_fit_voxels(iso_real *x, const struct kinetic_fit *p, int64_t first, int width)
{
	iso_real theta[ISO_BASES_MOST][KINETIC_WIDTH], r[ISO_BASES_MOST][KINETIC_WIDTH];

	for (int k = 0; k < p->coefficients; k++)
		for (int v = 0; v < width; v++)
			theta[k][v] = p->sens[first + v] > 0 ? x[k * p->n + first + v] : 0;
	for (int it = 0; it < p->inner; it++) {
		kinetic_ratios(r, p, first, width, theta);
		for (int k = 0; k < p->coefficients; k++)
			for (int v = 0; v < width; v++) theta[k][v] *= r[k][v];
		for (int k = 0; k < (p->gradient ? p->coefficients : 0); k++)
			for (int v = 0; v < width; v++) {
				const int64_t at = k * p->n + first + v;
				const iso_real s =
					p->sens[first + v] > 0 ? p->strength[k] / p->sens[first + v] : 0;
				const iso_real c = 2 * s * p->curvature[at];

				theta[k][v] =
					kinetic_root(c, 1 + s * p->gradient[at] - c * x[at], theta[k][v]);
			}
	}
	for (int k = 0; k < p->coefficients; k++)
		for (int v = 0; v < width; v++) x[k * p->n + first + v] = theta[k][v];
}

#endif
