/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of a barrel at a voxel for one pair of strips, compiled as C and as CUDA: the chance over all tilts between
   those at which both hits lie on their strips. T(u; s) is smooth in s, so a few values of it serve all heights. With
   theta = atan(tau) the measure s^-3 dtau is cos(theta) dtheta, and h(theta) = cos(theta) T is even: a polynomial in
   theta^2. */
#ifndef ISO_BARREL_SENS_KERN_H
#define ISO_BARREL_SENS_KERN_H

#include "barrel_op.h"

#ifdef ISO_DOUBLE
enum { BARREL_FIT = 16 };
#else
enum { BARREL_FIT = 8 };
#endif

/* Interpolation at Chebyshev nodes of [0, 1] as powers. */
struct barrel_fit {
	double node[BARREL_FIT], power[BARREL_FIT][BARREL_FIT]; /* of node k: coefficients of q^i */
};

/* h(theta) as powers of (theta / widest)^2. */
struct barrel_tilt_sum {
	double widest, c[BARREL_FIT], at[4]; /* at: ways to nearer and farther hits, in a and in b */
};

enum { BARREL_TILTS = 17 };

/* What an object and strips of unlike lengths leave of the lines of a pair, by tilt and by the height in the middle between
   the strips. */
struct barrel_factors {
	int planes;
	double widest, low,
		plane;     /* tilts -widest .. widest (theta); height of the first plane, and of one, mm */
	const iso_real *v; /* (BARREL_TILTS, planes); NULL: 1 everywhere */
};

/* A pair at work. */
struct barrel_job {
	struct barrel_line l; /* as an event whose tube is the whole way between the strips */
	double end[2][2];     /* of strips a and b: low, high */
	double way;           /* through strips in between, where these are alike */
	double weight;        /* pairs that it stands for */
	struct barrel_factors f;
};

/* ---- tilts ---- */

/* Integral of h from 0 to theta. */
ISO_HD double barrel_tilt_integral(const struct barrel_tilt_sum *s, double theta)
{
	double q = theta / s->widest, sum = 0;

	q *= q;
	for (int k = BARREL_FIT - 1; k >= 0; k--) sum = sum * q + s->c[k] / (2 * k + 1);
	return sum * theta;
}

ISO_HD double barrel_tilt_value(const struct barrel_tilt_sum *s, double theta)
{
	double q = theta / s->widest, sum = 0;

	q *= q;
	for (int k = BARREL_FIT - 1; k >= 0; k--) sum = sum * q + s->c[k];
	return sum;
}

/* From the hits at tilt 0: where they lie, and the widest tilt; no line that meets both strips is more oblique. */
ISO_HD void barrel_tilt_begin(struct barrel_tilt_sum *s, const struct barrel_job *j,
                              const struct barrel_hits *h, double y)
{
	const double a = (double)j->l.pair.half - y + (double)h->m_a,
		     b = (double)j->l.pair.half + y + (double)h->m_b;
	const double spread[2] = { sqrt((double)h->v_a), sqrt((double)h->v_b) };

	s->at[0] = a - spread[0];
	s->at[1] = a + spread[0];
	s->at[2] = b - spread[1];
	s->at[3] = b + spread[1];
	s->widest = atan(fmax(fabs(j->end[0][1] - j->end[1][0]), fabs(j->end[1][1] - j->end[0][0])) /
	                 (s->at[0] + s->at[2]));
	for (int i = 0; i < BARREL_FIT; i++) s->c[i] = 0;
}

/* theta of node k; and h there, `sum` being that of weight (1 - e^..)(1 - e^..) over the directions of four points. */
ISO_HD double barrel_tilt_node(const struct barrel_tilt_sum *s, const struct barrel_fit *f, int k)
{
	return s->widest * sqrt(f->node[k]);
}

ISO_HD void barrel_tilt_add(struct barrel_tilt_sum *s, const struct barrel_job *j, const struct barrel_fit *f,
                            int k, double sum)
{
	const double c = cos(barrel_tilt_node(s, f, k));
	const double v = c * sum / (4 * 2 * M_PI) * exp(-(double)j->l.pair.mu * j->way / c);

	for (int i = 0; i < BARREL_FIT; i++) s->c[i] += v * f->power[k][i];
}

/* Of one direction, ways being longer by 1 / cosine. */
ISO_HD double barrel_tilt_chance(const struct barrel_ray *r, double mu)
{
	return (double)r->weight * expm1(-mu * (double)r->chord[0]) * expm1(-mu * (double)r->chord[1]);
}

/* ---- a voxel ---- */

ISO_HD double barrel_clamp(double v, double most)
{
	return fmin(fmax(v, -most), most);
}

/* The line of a pair through (y = 0, z) with a tilt: between the planes and tilts next to it; beyond them that of the
   border. */
ISO_HD double barrel_factor(const struct barrel_factors *f, double theta, double z)
{
	double u = (theta / f->widest + 1) / 2 * (BARREL_TILTS - 1), v = (z - f->low) / f->plane;

	u = fmin(fmax(u, 0.), (double)(BARREL_TILTS - 1));
	v = fmin(fmax(v, 0.), (double)(f->planes - 1));
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

enum { BARREL_BETWEEN = 16 }; /* Gauss points between the ends */

/* The mean factor between two tilts, by h. */
ISO_HD double barrel_mean_factor(const struct barrel_job *j, const struct barrel_tilt_sum *s, double low,
                                 double high, double y, double z)
{
	const double at[BARREL_BETWEEN / 2] = { 0.9894009349916499, 0.9445750230732326, 0.8656312023878318,
		                                0.755404408355003,  0.6178762444026438, 0.4580167776572274,
		                                0.2816035507792589, 0.09501250983763744 };
	const double of[BARREL_BETWEEN / 2] = { 0.02715245941175406, 0.06225352393864778, 0.0951585116824929,
		                                0.1246289712555339,  0.1495959888165768,  0.1691565193950026,
		                                0.1826034150449236,  0.1894506104550685 };
	double sum = 0, all = 0;

	for (int k = 0; k < BARREL_BETWEEN; k++) {
		double side = k % 2 ? at[k / 2] : -at[k / 2];
		double theta = (low + high) / 2 + (high - low) / 2 * side;
		double w = of[k / 2] * barrel_tilt_value(s, theta);

		sum += w * barrel_factor(&j->f, theta, z - y * tan(theta));
		all += w;
	}
	return all > 0 ? sum / all : 0;
}

/* The mean over nearer and farther hits in either strip, of directions between which both hits lie on their strips. */
ISO_HD double barrel_sens_at(const struct barrel_job *j, const struct barrel_tilt_sum *s, double y, double z)
{
	double theta[2][4], part[2][4], sum = 0,
					ends[2] = { 0, 0 }; /* low, high; of a nearer, a farther, b ... */
	int n = 0;

	for (int k = 0; k < 4; k++) {
		const double *end = j->end[k / 2], side = k < 2 ? 1 : -1;

		theta[1][k] = barrel_clamp(atan(side * (end[k < 2] - z) / s->at[k]), s->widest);
		theta[0][k] = barrel_clamp(atan(side * (end[k >= 2] - z) / s->at[k]), s->widest);
		for (int i = 0; i < 2; i++) part[i][k] = barrel_tilt_integral(s, theta[i][k]);
	}
	for (int a = 0; a < 2; a++)
		for (int b = 2; b < 4; b++) {
			double in = fmin(part[1][a], part[1][b]) - fmax(part[0][a], part[0][b]);

			if (!(in > 0)) continue;
			sum += in / 4;
			ends[0] += fmax(theta[0][a], theta[0][b]);
			ends[1] += fmin(theta[1][a], theta[1][b]);
			n++;
		}
	if (!j->f.v || n == 0) return sum;
	return sum * barrel_mean_factor(j, s, ends[0] / n, ends[1] / n, y, z);
}

/* The middle of a pixel in the frame of a pair; false: it does not lie between the strips. */
ISO_HD bool barrel_sens_pixel(double *y, double *d, const struct barrel_job *j, const struct barrel_params *p,
                              int ix, int iy)
{
	const struct barrel_pair *pair = &j->l.pair;
	const double u = (double)p->first[0] + ix * (double)p->pixel - (double)pair->middle[0];
	const double v = (double)p->first[1] + iy * (double)p->pixel - (double)pair->middle[1];

	*y = u * (double)pair->e[0] + v * (double)pair->e[1];
	*d = v * (double)pair->e[0] - u * (double)pair->e[1];
	return fabs(*y) < (double)pair->half;
}

#endif
