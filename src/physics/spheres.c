/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres and their sound in closed form (Wang 2013, eq. (28), corrected).

   A uniform sphere of radius a and energy A at distance d is heard as
	p(t) = A Gamma/2 (1 - c t/d),  |c t - d| <= a.
   Smoothing A by a Gaussian of width s convolves p with one of width s/c, because r A(r) obeys the
   one-dimensional heat equation. With the smoothed x on [-a, a],
	q(x) = x [Phi((a-x)/s) - Phi((-a-x)/s)] + s [phi((-a-x)/s) - phi((a-x)/s)],
   p(t) = A Gamma/(2 d) [q(d - c t) + q(d + c t)] and A(r) = A q(r)/r. */
#include "spheres.h"

#include <math.h>

/* phi(u) sqrt(2 pi) */
static double bell(double u)
{
	return exp(-u * u / 2);
}

double iso_sphere_smoothed(double x, double a, double s)
{
	double u = (a - x) / s, v = (-a - x) / s;

	if (s == 0) return fabs(x) <= a ? x : 0;
	if (fabs(x) > a + SPHERES_TAIL * s) return 0;
	return x * .5 * (erf(u * M_SQRT1_2) - erf(v * M_SQRT1_2)) + s / sqrt(2 * M_PI) * (bell(v) - bell(u));
}

int iso_spheres_check(const struct iso_spheres *s)
{
	if (s->n < 0 || !(s->fwhm >= 0) || !isfinite(s->fwhm))
		return iso_fail(ISO_EARG, "spheres: %d of them, smoothed by %g mm; must not be negative",
		                s->n, s->fwhm);
	for (int i = 0; i < s->n; i++) {
		const struct iso_sphere *v = s->v + i;

		if (!(v->radius > 0) ||
		    !isfinite(v->radius + v->value + v->centre[0] + v->centre[1] + v->centre[2]))
			return iso_fail(ISO_EARG,
			                "spheres: number %d has radius %g mm and value %g; must be above 0, "
			                "and finite",
			                i, v->radius, v->value);
	}
	return ISO_OK;
}

/* ---- the image ---- */

static double value_at(const struct iso_spheres *s, const double p[3])
{
	double sum = 0, sigma = s->fwhm * SPHERES_PER_FWHM;

	for (int i = 0; i < s->n; i++) {
		const struct iso_sphere *v = s->v + i;
		double d[3] = { p[0] - v->centre[0], p[1] - v->centre[1], p[2] - v->centre[2] };
		double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);

		if (r <= v->radius + SPHERES_TAIL * sigma) {
			r = fmax(r, sigma > 0 ? 1e-4 * sigma : 1e-9 * v->radius);
			sum += v->value * iso_sphere_smoothed(r, v->radius, sigma) / r;
		}
	}
	return sum;
}

int iso_spheres_raster(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_grid *g)
{
	if (!x || !s || !g) return iso_fail_null(__func__);
	int st;

	if ((st = iso_grid_check(g)) || (st = iso_spheres_check(s))) return st;
#pragma omp parallel for num_threads(spheres_threads(ctx)) schedule(dynamic)
	for (int64_t row = 0; row < g->n[1] * g->n[2]; row++)
		for (int64_t i = 0; i < g->n[0]; i++) {
			int64_t at[3] = { i, row % g->n[1], row / g->n[1] };
			double p[3];

			for (int a = 0; a < 3; a++)
				p[a] = g->centre[a] +
				       ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
			x[row * g->n[0] + i] = (iso_real)value_at(s, p);
		}
	return ISO_OK;
}
