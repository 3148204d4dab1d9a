/* SPDX-License-Identifier: BSD-3-Clause */
/* Poisson random numbers: multiplication for small means, transformed rejection (Hoermann 1993,
   algorithm PTRS) for large ones. */
#include "philox.h"

static int64_t by_multiplication(double mean, uint64_t seed, uint64_t history)
{
	double left = exp(-mean), product = 1;
	int64_t k = -1;

	for (uint64_t draw = 0; product > left; draw++) {
		struct philox p = philox_draw(seed, history, draw);

		product *= philox_unit_double(p.w[0], p.w[1]);
		k++;
	}
	return k;
}

static int64_t by_rejection(double mean, uint64_t seed, uint64_t history)
{
	double b = .931 + 2.53 * sqrt(mean), a = -.059 + .02483 * b;
	double inv_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = .9277 - 3.6224 / (b - 2);

	for (uint64_t draw = 0;; draw++) {
		struct philox p = philox_draw(seed, history, draw);
		double u = philox_unit_double(p.w[0], p.w[1]) - .5;
		double v = philox_unit_double(p.w[2], p.w[3]), us = .5 - fabs(u);
		double k = floor((2 * a / us + b) * u + mean + .43);

		if (us >= .07 && v <= v_r) return (int64_t)k;
		if (k < 0 || (us < .013 && v > us)) continue;
		if (log(v * inv_alpha / (a / (us * us) + b)) <= k * log(mean) - mean - lgamma(k + 1))
			return (int64_t)k;
	}
}

int64_t iso_poisson(double mean, uint64_t seed, uint64_t history)
{
	if (!(mean > 0)) return 0;
	return mean < 10 ? by_multiplication(mean, seed, history) : by_rejection(mean, seed, history);
}
