/* SPDX-License-Identifier: BSD-3-Clause */
/* The potentials of penalised likelihood: what a pair of neighbours adds to the penalty, or a voxel in the case of tv.
   Compiled as C and as CUDA.

	R(x) = 1/2 sum_n sum_m w_nm k_n k_m f(x_n, x_m),  d = x_n - x_m

   quadratic  f = d^2 / 2
   rdp        f = d^2 / (x_n + x_m + gamma |d| + epsilon)                     (Nuyts 2002)
   logcosh    f = log cosh(s d) / s^2
   huber      f = d^2 / 2, and delta |d| - delta^2 / 2 beyond |d| = delta
   ggd        f = delta^2 ((1 + u)^(p/2) - 1) / p, u = (d / delta)^2: a smooth |d|^p / p, 1 <= p <= 2
   tv         R = sum_n k_n^2 (q_n - eta), q_n = sqrt(sum_a D_a^2 + eta^2), D_a = (v_x / v_a) (x_{n+a} - x_n)

   Each unordered pair counts once: a voxel has 13 neighbours in front of it, as many behind. Names, parameters and their
   ranges are in the table of potentials.c. */
#ifndef ISO_POTENTIALS_H
#define ISO_POTENTIALS_H

#include "prior_math.h"

enum { PRIOR_PAIRS = 13, PRIOR_NEAR = 26 };

/* Kinds that are sums over pairs, and the words in the names of their functions. The compiler makes a loop over pairs for
   each, on the CPU and on CUDA, without a branch inside. */
#define PRIOR_EACH(OF)           \
	OF(QUADRATIC, quadratic) \
	OF(RDP, rdp)             \
	OF(LOGCOSH, logcosh)     \
	OF(HUBER, huber)         \
	OF(GGD, ggd)

/* The numbers that an evaluation reads. w: voxel size along x over the distance of the neighbours in front, in the order
   of prior_offset; in the case of tv the first three are v_x / v_a along x, y, z. */
struct prior_par {
	enum iso_prior_kind kind;
	int64_t n[3];
	iso_real w[PRIOR_PAIRS];
	union { /* constants of the kind, set by its function in potentials.c */
		struct {
			iso_real gamma, epsilon;
			iso_real
				least; /* added to the denominator on CUDA: 0, or if epsilon is 0 a number that has a
			                   reciprocal and is too small to change any other sum */
		} rdp;
		struct {
			iso_real s, over_s; /* s and 1 / s */
		} logcosh;
		struct {
			iso_real delta;
		} huber;
		struct {
			iso_real p, over, scale; /* p, 1 / delta, delta^2 / p */
		} ggd;
		struct {
			iso_real eta;
		} tv;
	};
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

/* ---- pairs ---- */

/* What a pair gives: f, and for its first (1) and second voxel (2) the derivative, the second derivative, and the
   curvature for the preconditioner: (df/dx) / d, for rdp the second derivative. */
struct prior_pair {
	iso_real f, f1, f2, h1, h2, c1, c2;
};

/* A potential of d alone: f, f' = c d, f'', and c. */
ISO_HD struct prior_pair prior_even(iso_real f, iso_real f1, iso_real h, iso_real c)
{
	struct prior_pair q = { f, f1, -f1, h, h, c, c };

	return q;
}

ISO_HD struct prior_pair prior_quadratic(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y;

	(void)p;
	return prior_even((iso_real).5 * d * d, d, 1, 1);
}

/* Relative differences with one reciprocal, r = 1/D of the denominator D: u = (2 y + epsilon) r, f_1 = d r (1 + u),
   f_11 = 2 u^2 r. Where D is 0, r is 0 and so is all. */
ISO_HD struct prior_pair prior_rdp_of(const struct prior_par *p, iso_real x, iso_real y, iso_real r)
{
	iso_real d = x - y, u = (2 * y + p->rdp.epsilon) * r, v = (2 * x + p->rdp.epsilon) * r, dr = d * r,
		 twice = r + r;
	iso_real h1 = u * u * twice, h2 = v * v * twice;
	struct prior_pair q = { d * dr, dr + dr * u, -(dr + dr * v), h1, h2, h1, h2 };

	return q;
}

ISO_HD struct prior_pair prior_rdp(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real below = x + y + p->rdp.gamma * prior_abs(x - y) + p->rdp.epsilon;
	iso_real r = 1 / (below > 0 ? below : (iso_real)INFINITY);

	return prior_rdp_of(p, x, y, r);
}

ISO_HD struct prior_pair prior_logcosh(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y, t = p->logcosh.s * d, e = prior_exp_minus(2 * prior_abs(t));
	iso_real c = prior_tanh_over(t, e), root = t * c, h = (1 - root) * (1 + root);

	return prior_even(prior_log_cosh(t, e) * p->logcosh.over_s * p->logcosh.over_s, c * d, h, c);
}

ISO_HD struct prior_pair prior_huber(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y, a = prior_abs(d), delta = p->huber.delta,
		 c = prior_over(delta, a > delta ? a : delta);
	iso_real cut = a > delta ? delta : a, h = a > delta ? 0 : (iso_real)1;

	return prior_even(cut * (a - (iso_real).5 * cut), d < 0 ? -cut : cut, h, c);
}

/* f' / d = (1 + u)^(p/2 - 1), which is at most 1. */
ISO_HD struct prior_pair prior_ggd(const struct prior_par *p, iso_real x, iso_real y)
{
	iso_real d = x - y, t = d * p->ggd.over, u = t * t, q = p->ggd.p / 2;
	iso_real c = prior_exp_minus((1 - q) * prior_log(1 + u)),
		 h = prior_over(1 + (p->ggd.p - 1) * u, 1 + u);

	return prior_even(p->ggd.scale * prior_power_minus_1(u, q, c), c * d, c * h, c);
}

/* `kind` is known when compiled, and the switch is gone then. */
ISO_HD struct prior_pair prior_pair_of(enum iso_prior_kind kind, const struct prior_par *p, iso_real x,
                                       iso_real y)
{
	switch (kind) {
#define CASE(KIND, word) \
case ISO_PRIOR_##KIND:   \
	return prior_##word(p, x, y);
		PRIOR_EACH(CASE)
#undef CASE
	default:
		return prior_quadratic(p, x, y);
	}
}

/* ---- tv ---- */

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
	iso_real q = iso_sqrt(sum + p->tv.eta * p->tv.eta), over = 1 / q, over2 = over * over, t1 = 0, t2 = 0;

	for (int a = 0; a < 3; a++) {
		iso_real w2 = there[a] * p->w[a] * p->w[a];

		t.ga[a] = k2 * p->w[a] * D[a] * over;
		t.ca[a] = k2 * w2 * over;
		t.ha[a] = t.ca[a] * (1 - D[a] * D[a] * over2);
		t.g -= t.ga[a];
		t1 += p->w[a] * D[a];
		t2 += w2;
	}
	t.f = k2 * (sum / (q + p->tv.eta)); /* q - eta without loss of digits */
	t.c = k2 * t2 * over;
	t.h = k2 * over * (t2 - t1 * t1 * over2);
	return t;
}

#endif
