/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties of penalised likelihood: what a pair of neighbours, or a voxel of tv, adds; for C and CUDA.

	R(x) = 1/2 sum_n sum_m w_nm k_n k_m f(x_n, x_m),  d = x_n - x_m

   quadratic  f = d^2 / 2
   rdp        f = d^2 / (x_n + x_m + gamma |d| + epsilon)                     (Nuyts 2002)
   logcosh    f = log cosh(s d) / s^2
   huber      f = d^2 / 2, and delta |d| - delta^2 / 2 beyond |d| = delta
   tv         R = sum_n k_n^2 (q_n - eta), q_n = sqrt(sum_a D_a^2 + eta^2), D_a = (v_x / v_a) (x_{n+a} - x_n)

   Each unordered pair counts once: a voxel has 13 neighbours in front of it, as many behind. */
#ifndef ISO_PRIOR_KERN_H
#define ISO_PRIOR_KERN_H

#include "core/hd.h"

enum { PRIOR_PAIRS = 13, PRIOR_NEAR = 26 };

/* What a kind has. Weights are v_x / distance of the neighbours in front, in the order of prior_offset; of tv the first
   three: v_x / v_a along x, y, z. */
struct prior_par {
	enum iso_prior_kind kind;
	int64_t n[3];
	iso_real gamma, epsilon, s, delta, eta;
	iso_real over_s; /* 1 / s */
	iso_real least; /* 0, or with epsilon 0 so little that it changes no sum and still has a reciprocal */
	iso_real w[PRIOR_PAIRS];
};

/* Neighbour i of a voxel, 0 to 25, in the order dz, dy, dx = -1 to 1, dx fastest: those from 13 on lie in front. */
ISO_HD void prior_near(int d[3], int i)
{
	int at = i < PRIOR_NEAR / 2 ? i : i + 1;

	d[0] = at % 3 - 1;
	d[1] = at / 3 % 3 - 1;
	d[2] = at / 9 - 1;
}

/* Neighbour in front number i, 0 to 12: (1,0,0), (-1,1,0), (0,1,0), (1,1,0), (-1,-1,1), ... (1,1,1). */
ISO_HD void prior_offset(int d[3], int i)
{
	prior_near(d, PRIOR_NEAR / 2 + i);
}

/* f and its derivatives at a pair: 1 of the first voxel, 2 of the other; c: curvatures for the preconditioner,
   (df/dx) / d, of rdp the second derivative. */
struct prior_pair {
	iso_real f, f1, f2, h1, h2, c1, c2;
};

ISO_HD iso_real prior_abs(iso_real v)
{
	return v < 0 ? -v : v;
}

/* a / b; on CUDA to 2 units in the last place. */
ISO_HD iso_real prior_over(iso_real a, iso_real b)
{
#if defined(__CUDA_ARCH__) && !defined(ISO_DOUBLE)
	return __fdividef(a, b);
#else
	return a / b;
#endif
}

/* exp(-a) for a >= 0, to 2e-7 of itself; beyond 87, where floats end, exp(-87). */
#ifdef ISO_DOUBLE
ISO_HD double prior_exp_minus(double a)
{
	return exp(-a);
}
#elif defined(__CUDA_ARCH__)
ISO_HD float prior_exp_minus(float a)
{
	return __expf(-a);
}
#else
/* exp(-a) = 2^-k e^r, |r| <= log(2) / 2: in operations that compilers make vectors of. */
ISO_HD float prior_exp_minus(float a)
{
	float more = a - 87,
	      b = a - (more > 0 ? more : 0); /* not `a < 87 ? a : 87`, of which gcc makes a branch */
	int32_t k = (int32_t)(b * 1.44269504f + .5f), bits = (127 - k) * (1 << 23);
	float fk = (float)k, r = (fk * .693359375f - b) - fk * 2.12194440e-4f, p = 1.f / 5040, power;

	p = p * r + 1.f / 720;
	p = p * r + 1.f / 120;
	p = p * r + 1.f / 24;
	p = p * r + 1.f / 6;
	p = p * r + .5f;
	p = p * r + 1;
	p = p * r + 1;
	memcpy(&power, &bits, sizeof power);
	return p * power;
}
#endif

/* tanh(t) / t, of t and e = exp(-2 |t|). Near 0, where 1 - e has lost digits, by its series. */
ISO_HD iso_real prior_tanh_over(iso_real t, iso_real e)
{
#ifdef ISO_DOUBLE
	(void)e;
	return prior_abs(t) < 1e-4 ? 1 - t * t / 3 : tanh(t) / t;
#else
	float a = prior_abs(t), least = a < .25f ? .25f : a, t2 = t * t;
	float series = 1 + t2 * (-1.f / 3 + t2 * (2.f / 15 + t2 * (-17.f / 315 + t2 * (62.f / 2835))));
	float whole = prior_over(1 - e, (1 + e) * least);

	return whole +
	       (a < .25f ? series - whole : 0); /* no branch around `whole`, which would end the vectors */
#endif
}

/* log cosh t = |t| + log(1 + e) - log 2, e = exp(-2 |t|); log(1 + e) = 2 atanh(e / (2 + e)). */
ISO_HD iso_real prior_log_cosh(iso_real t, iso_real e)
{
#ifdef ISO_DOUBLE
	return prior_abs(t) < 1e-2
	               ? t * t * (1. / 2 - t * t * (1. / 12 - t * t * (1. / 45 - t * t * 17. / 2520)))
	               : prior_abs(t) + log1p(e) - 0.69314718055994530942;
#else
	float t2 = t * t, a = prior_abs(t), z = prior_over(e, 2 + e), z2 = z * z;
	float series =
		t2 * (.5f + t2 * (-1.f / 12 +
	                          t2 * (1.f / 45 +
	                                t2 * (-17.f / 2520 + t2 * (31.f / 14175 + t2 * (-691.f / 935550))))));
	float more = 1.f / 3 +
	             z2 * (1.f / 5 + z2 * (1.f / 7 + z2 * (1.f / 9 + z2 * (1.f / 11 + z2 * (1.f / 13)))));

	return a < .5f ? series : (a - .69314718f) + 2 * (z + z * z2 * more);
#endif
}

/* Relative differences with one reciprocal: r = 1/D, u = (2 y + epsilon) r, f_1 = d r (1 + u), f_11 = 2 u^2 r. Where D is
   0 all are 0. */
ISO_HD struct prior_pair prior_rdp_of(const struct prior_par *p, iso_real x, iso_real y, iso_real r)
{
	iso_real d = x - y, u = (2 * y + p->epsilon) * r, v = (2 * x + p->epsilon) * r, dr = d * r,
		 twice = r + r;
	iso_real h1 = u * u * twice, h2 = v * v * twice;
	struct prior_pair q = { d * dr, dr + dr * u, -(dr + dr * v), h1, h2, h1, h2 };

	return q;
}

ISO_HD struct prior_pair prior_rdp(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real below = x + y + p->gamma * prior_abs(x - y) + p->epsilon;
	iso_real r = 1 / (below > 0 ? below : (iso_real)INFINITY);

	return prior_rdp_of(p, x, y, r);
}

ISO_HD struct prior_pair prior_quadratic(iso_real x, iso_real y)
{
	iso_real d = x - y;
	struct prior_pair q = { (iso_real).5 * d * d, d, -d, 1, 1, 1, 1 };

	return q;
}

ISO_HD struct prior_pair prior_logcosh(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y, t = p->s * d, e = prior_exp_minus(2 * prior_abs(t));
	iso_real c = prior_tanh_over(t, e), root = t * c, h = (1 - root) * (1 + root);
	struct prior_pair q = { prior_log_cosh(t, e) * p->over_s * p->over_s, c * d, -(c * d), h, h, c, c };

	return q;
}

ISO_HD struct prior_pair prior_huber(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y, a = prior_abs(d), delta = p->delta, c = prior_over(delta, a > delta ? a : delta);
	iso_real cut = a > delta ? delta : a, h = a > delta ? 0 : (iso_real)1, f1 = d < 0 ? -cut : cut;
	struct prior_pair q = { cut * (a - (iso_real).5 * cut), f1, -f1, h, h, c, c };

	return q;
}

ISO_HD struct prior_pair prior_pair_of(enum iso_prior_kind kind, const struct prior_par *p, iso_real x,
                                       iso_real y)
{
	return kind == ISO_PRIOR_RDP       ? prior_rdp(p, x, y)
	       : kind == ISO_PRIOR_LOGCOSH ? prior_logcosh(p, x, y)
	       : kind == ISO_PRIOR_HUBER   ? prior_huber(p, x, y)
	                                   : prior_quadratic(x, y);
}

/* A voxel's term of tv. k: kappa of the voxel; there[a]: 1 where its neighbour along a is in the image and seen, else 0;
   `next`: values of these neighbours. g, c, h of the voxel itself, and of neighbour a in [a]. */
struct prior_tv {
	iso_real f, g, c, h, ga[3], ca[3], ha[3];
};

ISO_HD struct prior_tv prior_tv_of(const struct prior_par *p, iso_real k, iso_real x, const iso_real next[3],
                                   const iso_real there[3])
{
	struct prior_tv t = ISO_ZERO;
	iso_real D[3], sum = 0, k2 = k * k;

	for (int a = 0; a < 3; a++) {
		D[a] = there[a] * p->w[a] * (next[a] - x);
		sum += D[a] * D[a];
	}
	iso_real q = iso_sqrt(sum + p->eta * p->eta), over = 1 / q, over2 = over * over, t1 = 0, t2 = 0;

	for (int a = 0; a < 3; a++) {
		iso_real w2 = there[a] * p->w[a] * p->w[a];

		t.ga[a] = k2 * p->w[a] * D[a] * over;
		t.ca[a] = k2 * w2 * over;
		t.ha[a] = t.ca[a] * (1 - D[a] * D[a] * over2);
		t.g -= t.ga[a];
		t1 += p->w[a] * D[a];
		t2 += w2;
	}
	t.f = k2 * (sum / (q + p->eta)); /* q - eta without loss of digits */
	t.c = k2 * t2 * over;
	t.h = k2 * over * (t2 - t1 * t1 * over2);
	return t;
}

#endif
