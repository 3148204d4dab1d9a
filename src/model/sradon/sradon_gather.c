/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint of the spherical Radon transform, voxel by voxel: the samples that touch a voxel lie
   within sqrt(3) ds of it, and for a voxel at distance d and angles theta_n, phi_n

	chord^2 = (rho - d)^2 + 4 rho d sin^2((theta - theta_n)/2)
		+ 4 rho d sin(theta) sin(theta_n) sin^2((phi - phi_n)/2)

   bounds the spheres, then the rings, then the points to look at. */
#include "sradon.h"

#define MARGIN 1e-9 /* steps: a point on the bound is looked at */

/* A voxel as a transducer sees it. */
struct sight {
	const struct sradon *s;
	const struct sradon_frame *f;
	double voxel[3]; /* its indices */
	double d, theta, phi;
};

/* A ring among the voxels: point at azimuth phi is c + a cos(phi) + b sin(phi), counted in voxels
   from the centre of the first. */
struct circle {
	double c[3], a[3], b[3];
};

/* Trilinear weights of the points `first` to `last` of a ring at the voxel. */
static double hats(const struct sight *v, const struct circle *c, const struct sradon_ring *r, int first,
                   int last)
{
	double shift = sradon_shift(&v->s->p), sum = 0;

	for (int j = first; j <= last; j++) {
		double co = cos((j + shift) * r->step), si = sin((j + shift) * r->step), hat = 1;

		for (int a = 0; a < 3; a++)
			hat *= fmax(0, 1 - fabs(c->c[a] + c->a[a] * co + c->b[a] * si - v->voxel[a]));
		sum += hat;
	}
	return sum;
}

/* Angle whose chord has the square `budget` between directions of radii with product `rr`. */
static double angle_of(double budget, double rr)
{
	double s = budget / (4 * rr);

	return s < 1 ? 2 * asin(sqrt(s)) : M_PI;
}

/* Points within half an arc of the voxel's azimuth; they are numbered from azimuth 0, the voxel's lies
   in [-pi, pi]. */
static double ring_at(const struct sight *v, double rho, double theta, const struct sradon_ring *r,
                      double budget)
{
	const struct sradon_params *p = &v->s->p;
	double si = sin((theta - v->theta) / 2), left = budget - 4 * rho * v->d * (si * si), sum = 0;
	double half = angle_of(left, rho * v->d * r->sin_theta * sin(v->theta)), shift = sradon_shift(p);
	double along = rho * r->cos_theta, across = rho * r->sin_theta / p->ds;
	struct circle c;

	if (left < 0) return 0;
	for (int i = 0; i < 3; i++) {
		c.c[i] = (v->f->pos[i] + along * v->f->n[i] - p->first[i]) / p->ds;
		c.a[i] = across * v->f->ex[i];
		c.b[i] = across * v->f->ey[i];
	}
	if (!(half <= 3.1)) return r->weight * hats(v, &c, r, 0, r->n - 1); /* all, also if it is NaN */
	for (int turn = 0; turn < 2; turn++) {
		double at = v->phi + turn * 2 * M_PI;
		double first = ceil((at - half) / r->step - shift - MARGIN);
		double last = floor((at + half) / r->step - shift + MARGIN);

		sum += hats(v, &c, r, first > 0 ? (int)first : 0, last < r->n - 1 ? (int)last : r->n - 1);
	}
	return r->weight * sum;
}

/* What a sphere's points weigh at the voxel. */
static double sphere_at(const struct sight *v, int64_t k)
{
	const struct sradon_params *p = &v->s->p;
	double rho = sradon_radius(p, k), top = sradon_theta_max(p, v->f->distance, rho);
	double budget = 3 * p->ds * p->ds - (rho - v->d) * (rho - v->d), sum = 0;

	if (budget < 0 || top <= 0) return 0;
	double step = p->h / rho, half = angle_of(budget, rho * v->d) / step + MARGIN;
	double at = p->sampling == ISO_SRADON_MIDPOINT ? v->theta / step - .5 : (top - v->theta) / step;
	int n = sradon_n_rings(p, rho, top);

	for (int i = (int)fmax(0, ceil(at - half)); i < n && i <= at + half; i++) {
		struct sradon_ring r = sradon_ring_of(v->s, k, rho, top, i);

		sum += ring_at(v, rho, sradon_theta(p, rho, top, i), &r, budget);
	}
	return sum;
}

double iso_sradon_at(const struct sradon *s, int64_t n, const iso_real *y)
{
	const struct sradon_params *p = &s->p;
	struct sight v = { .s = s,
		           .voxel = { (double)(n % p->n[0]), (double)(n / p->n[0] % p->n[1]),
		                      (double)(n / p->n[0] / p->n[1]) } };
	double reach = sqrt(3) * p->ds, sum = 0;

	for (int64_t q = 0; q < p->n_trans; q++) {
		double ex = 0, ey = 0, en = 0; /* the voxel from the transducer, along its axes */

		v.f = &s->frame[q];
		for (int a = 0; a < 3; a++) {
			double r = p->first[a] + v.voxel[a] * p->ds - v.f->pos[a];

			ex += r * v.f->ex[a];
			ey += r * v.f->ey[a];
			en += r * v.f->n[a];
		}
		v.d = sqrt(ex * ex + ey * ey + en * en);
		v.theta = atan2(hypot(ex, ey), en);
		v.phi = atan2(ey, ex);
		double first = ceil(((v.d - reach) / p->speed - p->first_us) / p->dt_us - MARGIN);
		double last = floor(((v.d + reach) / p->speed - p->first_us) / p->dt_us + MARGIN);

		for (int64_t k = first > 0 ? (int64_t)first : 0; k < p->samples && (double)k <= last; k++)
			if (sradon_radius(p, k) > 0) sum += y[q * p->samples + k] * sphere_at(&v, k);
	}
	return sum;
}
