/* SPDX-License-Identifier: BSD-3-Clause */
/* What an object and strips in between leave of the lines of a pair, by tilt and height. */
#include "barrel_sens.h"

/* Between the planes and tilts next to it; beyond them that of the border. */
double iso_barrel_factor(const struct barrel_factors *f, double theta, double z)
{
	double u = (theta / f->widest + 1) / 2 * (BARREL_TILTS - 1), v = (z - f->low) / f->plane;

	u = fmin(fmax(u, 0), BARREL_TILTS - 1);
	v = fmin(fmax(v, 0), f->planes - 1);
	int i = u < BARREL_TILTS - 2 ? (int)u : BARREL_TILTS - 2,
	    j = v < f->planes - 2 ? (int)v : f->planes - 2;

	j = j < 0 ? 0 : j;
	int next = f->planes > 1 ? 1 : 0;
	const iso_real *p = f->v + (int64_t)i * f->planes + j, *q = p + f->planes;

	u -= i;
	v -= j;
	return (1 - u) * ((1 - v) * (double)p[0] + v * (double)p[next]) +
	       u * ((1 - v) * (double)q[0] + v * (double)q[next]);
}
