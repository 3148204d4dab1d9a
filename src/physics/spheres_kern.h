/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres and their sound in closed form (Wang 2013, eq. (28), corrected).

   A uniform sphere of radius a and energy A at distance d is heard as
	p(t) = A Gamma/2 (1 - c t/d),  |c t - d| <= a.
   Smoothing A by a Gaussian of width s convolves p with one of width s/c, because r A(r) obeys the
   one-dimensional heat equation. With the smoothed x on [-a, a],
	q(x) = x [Phi((a-x)/s) - Phi((-a-x)/s)] + s [phi((-a-x)/s) - phi((a-x)/s)],
   p(t) = A Gamma/(2 d) [q(d - c t) + q(d + c t)] and A(r) = A q(r)/r. */
#ifndef ISO_SPHERES_KERN_H
#define ISO_SPHERES_KERN_H

#include "core/hd.h"
#include "scanner/aperture/aperture.h"

#define SPHERES_TAIL 9 /* in s: nothing beyond this counts in double */

enum { SPHERES_POINTS = 8 }; /* of a flat aperture along each axis, at least */

ISO_HD double spheres_distance(const double p[3], const double q[3])
{
	double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };

	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* phi(u) sqrt(2 pi), and q(x). */
ISO_HD double spheres_bell(double u)
{
	return exp(-u * u / 2);
}

ISO_HD double spheres_smoothed(double x, double a, double s)
{
	double u = (a - x) / s, v = (-a - x) / s;

	if (s == 0) return fabs(x) <= a ? x : 0;
	if (fabs(x) > a + SPHERES_TAIL * s) return 0;
	return x * .5 * (erf(u * M_SQRT1_2) - erf(v * M_SQRT1_2)) +
	       s / sqrt(2 * M_PI) * (spheres_bell(v) - spheres_bell(u));
}

/* The sum of n spheres at a point; sigma: of the Gaussian, mm. */
ISO_HD double spheres_value(const struct iso_sphere *v, int n, double sigma, const double p[3])
{
	double sum = 0;

	for (int i = 0; i < n; i++, v++) {
		double r = spheres_distance(p, v->centre);

		if (!(r <= v->radius + SPHERES_TAIL * sigma)) continue;
		r = fmax(r, sigma > 0 ? 1e-4 * sigma : 1e-9 * v->radius);
		sum += v->value * spheres_smoothed(r, v->radius, sigma) / r;
	}
	return sum;
}

/* Middle of voxel i of a grid, x fastest, mm. */
ISO_HD void spheres_place(double p[3], const struct iso_grid *g, int64_t i)
{
	int64_t row = i / g->n[0], at[3] = { i - row * g->n[0], row % g->n[1], row / g->n[1] };

	for (int a = 0; a < 3; a++)
		p[a] = g->centre[a] + ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

/* ---- one sphere, one point of a transducer ---- */

/* Samples *first to *last of the record hear sphere v at distance d. false: none does. */
ISO_HD bool spheres_samples(int64_t *first, int64_t *last, const struct iso_transducers *t,
                            const struct iso_sphere *v, double s, double d)
{
	double reach = v->radius + SPHERES_TAIL * s;
	double from = ((d - reach) / t->speed - t->first_us) / t->dt_us;
	double to = ((d + reach) / t->speed - t->first_us) / t->dt_us;

	if (!(from <= (double)(t->samples - 1) && to >= 0)) return false;
	*first = (int64_t)fmax(ceil(from), 0.);
	*last = (int64_t)fmin(floor(to), (double)(t->samples - 1));
	return true;
}

/* What sample k hears of it, over A Gamma/(2 d). */
ISO_HD double spheres_heard(const struct iso_transducers *t, const struct iso_sphere *v, double s, double d,
                            int64_t k)
{
	double ct = t->speed * (t->first_us + (double)k * t->dt_us);

	return spheres_smoothed(d - ct, v->radius, s) +
	       (d + ct < v->radius + SPHERES_TAIL * s ? spheres_smoothed(d + ct, v->radius, s) : 0);
}

/* Points of transducers: of their faces, or the middle where there is no aperture. */
ISO_HD int spheres_points(const struct aperture_points *face)
{
	return face->node ? face->points : 1;
}

/* Point i of the face of transducer q. Returns its share. */
ISO_HD double spheres_point(double p[3], const struct iso_transducers *t, const struct aperture_points *face,
                            int64_t q, int i)
{
	if (face->node) return aperture_point(p, face, t->pos + 3 * q, t->ex + 3 * q, t->ey + 3 * q, q, i);
	for (int a = 0; a < 3; a++) p[a] = t->pos[3 * q + a];
	return 1;
}

/* ---- on CUDA, of spheres.cu ---- */

/* Values of the spheres, smoothed by sigma, mm, at the middles of voxels. */
ISO_C int iso_spheres_raster_cuda(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, double sigma,
                                  const struct iso_grid *g);

/* Traces of transducers first to first + n - 1 into y, which is that of transducer 0. delays: NULL: one speed. */
ISO_C int iso_spheres_hear_cuda(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, double sigma,
                                const struct iso_transducers *t, const struct aperture_points *face,
                                const iso_delays *delays, int64_t first, int64_t n);

#endif
