/* SPDX-License-Identifier: BSD-3-Clause */
/* Across the strips: the chance that a pair of photons from a point hits both strips of a pair, and where in their depth.

   The frame of a pair has its origin in the middle between the strips, y towards strip a and d across; seen from strip b
   it is turned by half a turn, so that both strips are boxes around (half, 0). A direction is its slope w = d/y. Between
   the slopes of the corners all is smooth: the integral is cut there. */
#ifndef ISO_BARREL_HITS_H
#define ISO_BARREL_HITS_H

#include "core/hd.h"

/* Gauss points of a piece between two corners: values of the kernel are then within 4e-11 and 4e-6 (rms) of the integral. */
#ifdef ISO_DOUBLE
#	define BARREL_POINTS 8
#else
#	define BARREL_POINTS 3
#endif
#define BARREL_CUTS 8
#define BARREL_SMALL ((iso_real)1e-3) /* mm: a corner nearer along y is beside the point, or behind it */

/* Where a strip lies, with cosine and sine of its angle, which every event of it needs. */
struct barrel_place {
	double x, y, z, c, s, width, depth, length;
};

/* A strip, seen from the middle of its pair. */
struct barrel_box {
	iso_real c, s;         /* of the angle of its depth */
	iso_real half[2];      /* of depth and width, mm */
	iso_real corner[4][2]; /* y, d */
};

struct barrel_pair {
	iso_real e[2], middle[2]; /* towards strip a; between the strips, mm */
	iso_real half;            /* of the distance of the strips */
	iso_real widest;          /* |d| of any corner, at most */
	iso_real mu;              /* 1/mm */
	struct barrel_box a, b;
};

/* A direction from a point: ways from the point to either box, and through it, mm. */
struct barrel_ray {
	iso_real weight;   /* of the direction, rad */
	iso_real enter[2]; /* from the height of the strip's middle to the box */
	iso_real chord[2];
};

/* Sums over directions of weight times powers of the hits' places X. */
struct barrel_sums {
	iso_real w, a, b, aa, bb, ab;
};

/* Chance over s^-3 dtau, and moments of the places behind the height of the strips' middles, mm and mm^2. */
struct barrel_hits {
	iso_real t, m_a, m_b, v_a, v_b, v_ab;
};

/* ---- the frame of a pair ---- */

ISO_HD struct barrel_place barrel_place(const struct iso_barrel_strip *s)
{
	struct barrel_place p = { s->x,          s->y,     s->z,     cos(s->angle),
		                  sin(s->angle), s->width, s->depth, s->length };

	return p;
}

/* A quotient; on a device to two units in the last place. */
ISO_HD iso_real barrel_over(iso_real a, iso_real b)
{
#ifdef __CUDA_ARCH__
	return __fdividef(a, b);
#else
	return a / b;
#endif
}

/* The larger and the smaller; b, unless a is a number beyond it. By a comparison on the CPU, which loops over lanes are made of. */
ISO_HD iso_real barrel_more(iso_real a, iso_real b)
{
#ifdef __CUDA_ARCH__
	return fmaxf(a, b);
#else
	return a > b ? a : b;
#endif
}

ISO_HD iso_real barrel_less(iso_real a, iso_real b)
{
#ifdef __CUDA_ARCH__
	return fminf(a, b);
#else
	return a < b ? a : b;
#endif
}

ISO_HD struct barrel_box barrel_box(const struct barrel_place *s, double ex, double ey, double half)
{
	struct barrel_box box;
	double c = s->c * ex + s->s * ey, e = s->s * ex - s->c * ey;

	box.c = (iso_real)c;
	box.s = (iso_real)e;
	box.half[0] = (iso_real)(s->depth / 2);
	box.half[1] = (iso_real)(s->width / 2);
	for (int k = 0; k < 4; k++) {
		double along = (k & 1 ? .5 : -.5) * s->depth, across = (k & 2 ? .5 : -.5) * s->width;

		box.corner[k][0] = (iso_real)(half + along * c - across * e);
		box.corner[k][1] = (iso_real)(along * e + across * c);
	}
	return box;
}

ISO_HD struct barrel_pair barrel_pair(const struct barrel_place *a, const struct barrel_place *b, double mu)
{
	double x = a->x - b->x, y = a->y - b->y, length = sqrt(x * x + y * y);
	struct barrel_pair p;

	p.e[0] = (iso_real)(x / length);
	p.e[1] = (iso_real)(y / length);
	p.middle[0] = (iso_real)((a->x + b->x) / 2);
	p.middle[1] = (iso_real)((a->y + b->y) / 2);
	p.half = (iso_real)(length / 2);
	p.mu = (iso_real)mu;
	p.a = barrel_box(a, x / length, y / length, length / 2);
	p.b = barrel_box(b, -x / length, -y / length, length / 2);
	p.widest = 0;
	for (int k = 0; k < 4; k++)
		p.widest = iso_fmax(p.widest, iso_fmax((iso_real)fabs((double)p.a.corner[k][1]),
		                                       (iso_real)fabs((double)p.b.corner[k][1])));
	return p;
}

/* ---- directions ---- */

/* Slopes of the corners, and the range that they span; false: a corner is not in front of the point. */
ISO_HD bool barrel_slopes(iso_real cut[4], iso_real range[2], const struct barrel_box *box, iso_real y,
                          iso_real d)
{
	bool front = true;

	for (int k = 0; k < 4; k++) {
		iso_real ahead = box->corner[k][0] - y;

		front = front && ahead > BARREL_SMALL;
		cut[k] = barrel_over(box->corner[k][1] - d, ahead);
	}
	range[0] = iso_fmin(iso_fmin(cut[0], cut[1]), iso_fmin(cut[2], cut[3]));
	range[1] = iso_fmax(iso_fmax(cut[0], cut[1]), iso_fmax(cut[2], cut[3]));
	return front;
}

ISO_HD void barrel_order(iso_real *p, iso_real *q)
{
	iso_real low = barrel_less(*p, *q), high = barrel_more(*p, *q);

	*p = low;
	*q = high;
}

/* Rising slopes between which rays from a point meet both strips; false: none do. */
ISO_HD bool barrel_cuts(iso_real cut[BARREL_CUTS], const struct barrel_pair *p, iso_real y, iso_real d)
{
	iso_real a[2], b[2];

	if (!barrel_slopes(cut, a, &p->a, y, d) || !barrel_slopes(cut + 4, b, &p->b, -y, -d)) return false;
	iso_real low = iso_fmax(a[0], b[0]), high = iso_fmin(a[1], b[1]);

	if (!(low < high)) return false;
	for (int k = 0; k < BARREL_CUTS; k++) cut[k] = iso_fmin(iso_fmax(cut[k], low), high);
	/* Batcher's network */
	for (int k = 0; k < 8; k += 2) barrel_order(cut + k, cut + k + 1);
	for (int k = 0; k < 8; k += 4) {
		barrel_order(cut + k, cut + k + 2);
		barrel_order(cut + k + 1, cut + k + 3);
		barrel_order(cut + k + 1, cut + k + 2);
	}
	for (int k = 0; k < 4; k++) barrel_order(cut + k, cut + k + 4);
	for (int k = 2; k < 4; k++) barrel_order(cut + k, cut + k + 2);
	for (int k = 1; k < 6; k += 2) barrel_order(cut + k, cut + k + 1);
	return true;
}

/* Ways along the slope w, `longer` mm for one along y. */
ISO_HD void barrel_chord(iso_real *enter, iso_real *chord, const struct barrel_box *box, iso_real half,
                         iso_real y, iso_real d, iso_real w, iso_real longer)
{
	iso_real cy = half - y;
	iso_real deep = barrel_over(1, box->c + w * box->s), wide = barrel_over(1, w * box->c - box->s);
	iso_real at = (cy * box->c - d * box->s) * deep, to = -(cy * box->s + d * box->c) * wide;
	iso_real hd = box->half[0] * deep, hw = box->half[1] * wide;

	hd = barrel_more(hd, -hd);
	hw = barrel_more(hw, -hw);
	/* a ray along the depth gives 0 times infinity across it: not a number, which loses */
	iso_real in = barrel_more(to - hw, at - hd), out = barrel_less(to + hw, at + hd);

	*enter = longer * in - cy;
	*chord = barrel_more(longer * (out - in), 0);
}

/* Point g of the Gauss points between -1 and 1. */
ISO_HD void barrel_gauss(iso_real *x, iso_real *w, int g)
{
#if BARREL_POINTS == 3
	const iso_real at = (iso_real)0.7745966692414834;

	*x = (iso_real)(g - 1) * at;
	*w = (iso_real)(g == 1 ? 8. / 9 : 5. / 9);
#else
	const double at[4] = { 0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
		               0.9602898564975363 };
	const double of[4] = { 0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
		               0.1012285362903763 };

	*x = (iso_real)(g < 4 ? -at[g] : at[g - 4]);
	*w = (iso_real)of[g & 3];
#endif
}

/* Point g of the piece between two slopes. */
ISO_HD struct barrel_ray barrel_ray(const struct barrel_pair *p, iso_real y, iso_real d, iso_real low,
                                    iso_real high, int g)
{
	struct barrel_ray r;
	iso_real x, weight;

	barrel_gauss(&x, &weight, g);
	iso_real w = (low + high) / 2 + (high - low) / 2 * x, square = 1 + w * w;
#ifdef __CUDA_ARCH__
	iso_real shorter = rsqrtf(square);
#else
	iso_real shorter = 1 / iso_sqrt(square);
#endif
	iso_real longer = square * shorter;

	r.weight = weight * (high - low) / 2 * shorter * shorter;
	barrel_chord(r.enter, r.chord, &p->a, p->half, y, d, w, longer);
	barrel_chord(r.enter + 1, r.chord + 1, &p->b, p->half, -y, -d, w, longer);
	return r;
}

/* ---- a photon in a strip ---- */

/* Of a chord that is x mean free ways long: the chance of a hit, mean depth and variance of hits, over the chord and its
   square. The closed forms lose digits at small x, the series end at x^7 and more. */
#ifdef ISO_DOUBLE
#	define BARREL_SERIES .02
#else
#	define BARREL_SERIES .5f
#endif

ISO_HD void barrel_depth_series(iso_real *chance, iso_real *mean, iso_real *variance, iso_real x)
{
	iso_real q = x * x;

	*chance = x * (1 - x * (iso_real)(1. / 2) *
	                           (1 - x * (iso_real)(1. / 3) *
	                                        (1 - x * (iso_real)(1. / 4) *
	                                                     (1 - x * (iso_real)(1. / 5) *
	                                                                  (1 - x * (iso_real)(1. / 6))))));
	*mean = (iso_real).5 - x * ((iso_real)(1. / 12) - q * (iso_real)(1. / 720));
	*variance = (iso_real)(1. / 12) - q * ((iso_real)(1. / 240) - q * (iso_real)(1. / 6048));
}

ISO_HD void barrel_depth(iso_real *chance, iso_real *mean, iso_real *variance, iso_real x)
{
	if (x < BARREL_SERIES) {
		barrel_depth_series(chance, mean, variance, x);
		return;
	}
	double e = expm1((double)x), h = sinh((double)x / 2);

	*chance = (iso_real)(e / (e + 1));
	*mean = (iso_real)(1 / (double)x - 1 / e);
	*variance = (iso_real)(1 / ((double)x * (double)x) - 1 / (4 * h * h));
}

/* mu: of a ray whose ways are longer by the tilt. */
ISO_HD void barrel_add(struct barrel_sums *sum, const struct barrel_ray *r, iso_real mu)
{
	iso_real chance[2], x[2], v[2];

	for (int k = 0; k < 2; k++) {
		iso_real mean, variance;

		barrel_depth(chance + k, &mean, &variance, mu * r->chord[k]);
		x[k] = r->enter[k] + r->chord[k] * mean;
		v[k] = r->chord[k] * r->chord[k] * variance;
	}
	iso_real w = r->weight * chance[0] * chance[1], wa = w * x[0], wb = w * x[1];

	sum->w += w;
	sum->a += wa;
	sum->b += wb;
	sum->aa += wa * x[0] + w * v[0];
	sum->bb += wb * x[1] + w * v[1];
	sum->ab += wa * x[1];
}

ISO_HD void barrel_add_point(struct barrel_sums *sum, const struct barrel_pair *p, iso_real y, iso_real d,
                             iso_real mu)
{
	iso_real cut[BARREL_CUTS];

	if (!barrel_cuts(cut, p, y, d)) return;
	for (int k = 0; k < BARREL_CUTS - 1; k++) {
		/* the lanes of a warp come to their next piece together */
		while (k < BARREL_CUTS - 2 && !(cut[k] < cut[k + 1])) k++;
		for (int g = 0; cut[k] < cut[k + 1] && g < BARREL_POINTS; g++) {
			struct barrel_ray r = barrel_ray(p, y, d, cut[k], cut[k + 1], g);

			barrel_add(sum, &r, mu);
		}
	}
}

/* From the sums over `points` points. */
ISO_HD struct barrel_hits barrel_hits_of(const struct barrel_sums *sum, int points)
{
	struct barrel_hits h = ISO_ZERO;

	if (!(sum->w > 0)) return h;
	iso_real over = barrel_over(1, sum->w);

	h.t = sum->w * (iso_real)(1 / (2 * M_PI)) / (iso_real)points;
	h.m_a = sum->a * over;
	h.m_b = sum->b * over;
	h.v_a = iso_fmax(sum->aa * over - h.m_a * h.m_a, 0);
	h.v_b = iso_fmax(sum->bb * over - h.m_b * h.m_b, 0);
	h.v_ab = sum->ab * over - h.m_a * h.m_b;
	return h;
}

/* Point k of the four that stand for a pixel of edge h. */
ISO_HD void barrel_point(iso_real *y, iso_real *d, const struct barrel_pair *p, iso_real h, int k)
{
	iso_real off = h * (iso_real)0.28867513459481287, x = k & 1 ? off : -off, v = k & 2 ? off : -off;

	*y += x * p->e[0] + v * p->e[1];
	*d += v * p->e[0] - x * p->e[1];
}

/* Of a pixel of edge h around (y, d), or the point itself if h is 0; s: ways are longer by the tilt. */
ISO_HD struct barrel_hits barrel_hits(const struct barrel_pair *p, iso_real y, iso_real d, iso_real h,
                                      iso_real s)
{
	struct barrel_sums sum = ISO_ZERO;
	const int points = h > 0 ? 4 : 1;

	for (int k = 0; k < points; k++) {
		iso_real at_y = y, at_d = d, move_y = 0, move_d = 0;
		struct barrel_sums part = ISO_ZERO;

		if (h > 0) barrel_point(&move_y, &move_d, p, h, k);
		at_y += move_y;
		at_d += move_d;
		barrel_add_point(&part, p, at_y, at_d, p->mu * s);
		sum.w += part.w;
		sum.a += part.a;
		sum.b += part.b;
		sum.aa += part.aa;
		sum.bb += part.bb;
		sum.ab += part.ab;
	}
	return barrel_hits_of(&sum, points);
}

#endif
