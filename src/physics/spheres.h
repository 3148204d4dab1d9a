/* SPDX-License-Identifier: BSD-3-Clause */
/* What the image of spheres and their sound share: see spheres.c. */
#ifndef ISO_SPHERES_H
#define ISO_SPHERES_H

#include "base/constants.h"
#include "core/ctx.h"

#include <omp.h>

#define SPHERES_PER_FWHM (1 / ISO_FWHM_PER_SIGMA)
#define SPHERES_TAIL 9 /* in s: nothing beyond this counts in double */

/* q(x) of a sphere of radius a, smoothed by s. */
double iso_sphere_smoothed(double x, double a, double s);

int iso_spheres_check(const struct iso_spheres *s);

static inline int spheres_threads(const iso_ctx *ctx)
{
	return ctx ? iso_ctx_threads(ctx) : omp_get_max_threads();
}

#endif
