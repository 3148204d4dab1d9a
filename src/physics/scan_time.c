/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of a decaying scan: shares S(t) = (1 - exp(-lambda t)) / (1 - exp(-lambda T)), inverted. */
#include "scan_time.h"

double iso_scan_share(const struct scan_rate *r, double t)
{
	if (!(r->lambda > 0)) return t / r->duration;
	return expm1(-r->lambda * t) / expm1(-r->lambda * r->duration);
}

double iso_scan_when(const struct scan_rate *r, double u)
{
	if (!(r->lambda > 0)) return u * r->duration;
	return -log1p(u * expm1(-r->lambda * r->duration)) / r->lambda;
}

/* Uniform numbers in order, without sorting: sums of n + 1 exponential steps over the last sum. */
static void ordered_uniforms(double *u, int64_t n, uint64_t seed, uint64_t history, uint64_t draw)
{
	struct philox p = { { 0 } };
	double sum = 0;

	for (int64_t i = 0; i <= n; i++) {
		if (i % 4 == 0) p = philox_draw(seed, history, draw + (uint64_t)i / 4);
		sum -= (double)logf(philox_unit(p.w[i % 4]));
		if (i < n) u[i] = sum;
	}
	for (int64_t i = 0; i < n; i++) u[i] /= sum;
}

void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw)
{
	double first = iso_scan_share(r, from), width = iso_scan_share(r, to) - first;

	ordered_uniforms(t, n, seed, history, draw);
	for (int64_t i = 0; i < n; i++) t[i] = fmin(to, fmax(from, iso_scan_when(r, first + width * t[i])));
}

/* With q = exp(-lambda T): (lambda T / 2) (1 + q) / (1 - q). */
double iso_scan_pile_up(const struct scan_rate *r)
{
	double x = r->lambda * r->duration;

	return x > 0 ? .5 * x * (1 + exp(-x)) / -expm1(-x) : 1;
}
