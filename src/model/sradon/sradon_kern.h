/* SPDX-License-Identifier: BSD-3-Clause */
/* Spherical Radon transform (Wang 2013, 12 and 36 to 39): where the sphere around a transducer is
   sampled. The sphere of sample k has radius rho = c (t0 + k dt); rings of equal angle theta from
   the axis that points at the image carry points at equal azimuths; a point takes the image by
   trilinear interpolation, with the weight of its patch. The edge h of a patch is that of a voxel, ds,
   unless the user takes a coarser or finer one. A transducer may lie close above a wide
   image: then rings go as far as theta = pi. */
#ifndef ISO_SRADON_KERN_H
#define ISO_SRADON_KERN_H

#include "core/hd.h"

#define SRADON_PI 3.14159265358979323846

/* A ring of points: point j at azimuth (j + shift) step. Unit sphere; the weight is mm^2. */
struct sradon_ring {
	double cos_theta, sin_theta, step, weight;
	int n;
};

/* Points first ... first + n - 1 of a ring. */
struct sradon_arc {
	int first, n;
};

struct sradon_params {
	int64_t n[3];        /* voxels along x, y, z */
	double ds, first[3]; /* edge, centre of the first voxel: mm */
	double h;            /* edge of a patch: between rings, and between points of a ring, mm */
	int64_t n_trans, samples;
	double speed, dt_us, first_us;
	double support; /* radius of the sphere that holds the image, mm */
	int sampling;   /* enum iso_sradon_sampling */
};

/* Of a transducer: place, right-handed axes with n towards the centre of the support, distance from it. */
struct sradon_frame {
	double pos[3], ex[3], ey[3], n[3], distance;
};

ISO_HD double sradon_radius(const struct sradon_params *p, int64_t k)
{
	return p->speed * (p->first_us + (double)k * p->dt_us);
}

/* Greatest angle at which the sphere of radius rho meets the support; pi where all of it lies inside;
   negative: they do not meet. */
ISO_HD double sradon_theta_max(const struct sradon_params *p, double distance, double rho)
{
	double c = (distance * distance + rho * rho - p->support * p->support) / (2 * rho * distance);

	return c >= 1 ? -1 : acos(c > -1 ? c : -1.);
}

/* Rings of a sphere: midpoints of steps h/rho from the axis, as many as there are whole steps in pi,
   rounded; or (algorithm 4) from theta_max down to above 0. */
ISO_HD int sradon_n_rings(const struct sradon_params *p, double rho, double theta_max)
{
	int n = theta_max <= 0 ? 0 : (int)ceil(theta_max * rho / p->h);
	int all = (int)floor(SRADON_PI * rho / p->h + .5);

	return p->sampling == ISO_SRADON_ALG4 || n < all ? n : all;
}

ISO_HD double sradon_theta(const struct sradon_params *p, double rho, double theta_max, int i)
{
	double step = p->h / rho;

	return p->sampling == ISO_SRADON_ALG4 ? theta_max - i * step : (i + .5) * step;
}

/* The azimuth of a ring's first point, in steps. */
ISO_HD double sradon_shift(const struct sradon_params *p)
{
	return p->sampling == ISO_SRADON_ALG4 ? 0 : .5;
}

/* Midpoint: the patch's exact area 2 pi rho^2 (cos(theta - a) - cos(theta + a))/n, a half a step,
   as 4 pi rho^2 sin(theta) sin(a)/n; the last ring before theta = pi has all that is left of the
   sphere. Algorithm 4: h^2 for each of ceil(2 pi rho sin(theta)/h). */
ISO_HD struct sradon_ring sradon_ring(const struct sradon_params *p, double rho, double theta)
{
	const double two_pi = 2 * SRADON_PI, step = p->h / rho;
	struct sradon_ring r;

	r.cos_theta = cos(theta);
	r.sin_theta = sin(theta);
	double around = two_pi * rho * r.sin_theta / p->h;

	if (p->sampling == ISO_SRADON_ALG4) {
		r.n = (int)ceil(around);
		r.step = around > 1 ? two_pi / around : two_pi; /* of one point, any */
		r.weight = p->h * p->h;
	} else {
		r.n = around < 1.5 ? 1 : (int)floor(around + .5);
		r.step = two_pi / r.n;
		r.weight = 2 * two_pi * rho * rho * r.sin_theta * sin(step / 2) / r.n;
		if (theta + step > SRADON_PI)
			r.weight = two_pi * rho * rho * (1 + cos(theta - step / 2)) / r.n;
	}
	return r;
}

/* ---- traces in time: the derivative D (13 and 22) and the impulse response He (14, 21), each at one sample;
   t is the trace, K long ---- */

struct sradon_time {
	int64_t samples;
	double first_us, dt_us;
	double scale; /* gamma / (4 pi c^2) / (2 dt) */
	int64_t n_eir;
	double *eir;
	bool response; /* He, else D */
	bool plain;    /* D of g itself, which has been divided where it was made */
};

/* g_k / t_k, or g_k; 0 before the laser pulse and outside of the record. */
ISO_HD double sradon_over_time(const struct sradon_time *p, const iso_real *g, int64_t k)
{
	double t = p->first_us + (double)k * p->dt_us;

	return k < 0 || k >= p->samples || t <= 0 ? 0 : p->plain ? g[k] : g[k] / t;
}

ISO_HD double sradon_derivative(const struct sradon_time *p, const iso_real *g, int64_t k)
{
	return p->scale * (sradon_over_time(p, g, k + 1) - sradon_over_time(p, g, k - 1));
}

ISO_HD double sradon_derivative_adjoint(const struct sradon_time *p, const iso_real *u, int64_t k)
{
	double t = p->first_us + (double)k * p->dt_us;
	double before = k > 0 ? u[k - 1] : 0, after = k < p->samples - 1 ? u[k + 1] : 0;

	return t <= 0 ? 0 : p->scale * (before - after) / (p->plain ? 1 : t);
}

/* sum of h_i p_{k-i}; of the adjoint, h_i u_{k+i} */
ISO_HD double sradon_response(const struct sradon_time *p, bool adjoint, const iso_real *u, int64_t k)
{
	int64_t step = adjoint ? 1 : -1, n = adjoint ? p->samples - k : k + 1;
	double sum = 0;

	for (int64_t i = 0; i < p->n_eir && i < n; i++) sum += p->eir[i] * u[k + step * i];
	return sum;
}

ISO_HD double sradon_time(const struct sradon_time *p, bool adjoint, const iso_real *t, int64_t k)
{
	if (p->response) return sradon_response(p, adjoint, t, k);
	return adjoint ? sradon_derivative_adjoint(p, t, k) : sradon_derivative(p, t, k);
}

#endif
