/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that potentials are made of, in operations of which compilers make vectors; for C and CUDA. */
#ifndef ISO_PRIOR_MATH_H
#define ISO_PRIOR_MATH_H

#include "core/hd.h"

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

/* log t for t >= 1, by log m = 2 atanh((m - 1) / (m + 1)) of t = 2^k m, m from sqrt(1/2) to sqrt(2). */
ISO_HD iso_real prior_log(iso_real t)
{
#ifdef ISO_DOUBLE
	return log(t);
#else
	int32_t bits, k;
	float m, z, z2;

	memcpy(&bits, &t, sizeof bits);
	k = (bits - 0x3f3504f3) >> 23; /* the bits of sqrt(1/2) */
	bits -= k * (1 << 23);
	memcpy(&m, &bits, sizeof m);
	z = prior_over(m - 1, m + 1);
	z2 = z * z;
	return (float)k * .69314718f +
	       2 * (z + z * z2 * (1.f / 3 + z2 * (1.f / 5 + z2 * (1.f / 7 + z2 * (1.f / 9)))));
#endif
}

/* (1 + u)^q - 1 for u >= 0, of u, q and c = (1 + u)^(q - 1). Near 0, where the difference loses digits, by its series. */
ISO_HD iso_real prior_power_minus_1(iso_real u, iso_real q, iso_real c)
{
#ifdef ISO_DOUBLE
	(void)c;
	return expm1(q * log1p(u));
#else
	float whole = c * (1 + u) - 1, series = 0;

	for (int k = 9; k > 0; k--) series = (q - k) * (1.f / (k + 1)) * u * (1 + series);
	return whole + (u < .25f ? q * u * (1 + series) - whole : 0);
#endif
}

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

#endif
