/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter fraction and noise-equivalent counts of acquisitions, from the counts of their slices. With counts C (total),
   T (trues) and D (delayeds) of a slice, var C = C, cov(T, C) = T, and var T as struct nema_slice has it. */
#include "nema_rates.h"

#include <math.h>

/* T^2 / Q, where Q is C, or C + D: its variance. */
static double necr_variance(double t, double q, double var_t, double var_q)
{
	double by_t = 2 * t / q, by_q = -t * t / (q * q);

	return by_t * by_t * var_t + by_q * by_q * var_q + 2 * by_t * by_q * t;
}

static void add_necr(struct nema_rates *r, const struct nema_slice *s, double random, double seconds)
{
	double t = s->total - s->rest, q = s->total + random;

	if (s->total <= 0) return;
	r->necr += t * t / s->total / seconds;
	r->necr_err += necr_variance(t, s->total, s->variance, s->total) / (seconds * seconds);
	if (q <= 0) return;
	r->necr2 += t * t / q / seconds;
	r->necr2_err += necr_variance(t, q, s->variance, q) / (seconds * seconds);
}

/* From variances of counts to deviations of rates. */
static void finish(struct nema_rates *r, const struct nema_slice *sum, double seconds)
{
	r->total = sum->total / seconds;
	r->trues = (sum->total - sum->rest) / seconds;
	r->total_err = sqrt(sum->total) / seconds;
	r->trues_err = sqrt(sum->variance) / seconds;
	r->necr_err = sqrt(r->necr_err);
	r->necr2_err = sqrt(r->necr2_err);
}

static void add_slice(struct nema_slice *sum, const struct nema_slice *s)
{
	sum->total += s->total;
	sum->rest += s->rest;
	sum->variance += s->variance;
	sum->delayed += s->delayed;
}

void iso_nema_rates_delayed(struct nema_rates *r, const struct nema_acquisition *a, int n, int64_t slices)
{
	for (int j = 0; j < n; j++) {
		double seconds = a[j].duration_s;
		struct nema_slice sum = { 0 };

		r[j] = (struct nema_rates){ 0 };
		for (int64_t i = 0; i < slices; i++) {
			add_necr(&r[j], &a[j].slice[i], a[j].slice[i].delayed, seconds);
			add_slice(&sum, &a[j].slice[i]);
		}
		finish(&r[j], &sum, seconds);
		double t = sum.total - sum.rest, d = sum.delayed, p = sum.total - d;

		/* S = C - T - D; SF = S / (S + T) = 1 - T / (C - D) */
		r[j].randoms = d / seconds;
		r[j].randoms_err = sqrt(d) / seconds;
		r[j].scatter = (p - t) / seconds;
		r[j].scatter_err = sqrt(sum.total + d + sum.variance - 2 * t) / seconds;
		r[j].sf = (p - t) / p;
		r[j].sf_err = sqrt(sum.variance / (p * p) + t * t * (sum.total + d) / (p * p * p * p) -
		                   2 * t * t / (p * p * p));
	}
}

/* ---- without delayeds ---- */

/* Scatter over total of the low acquisitions in one slice; NaN: they have no counts there. */
static double low_share(struct nema_slice *sum, const struct nema_acquisition *a, int n, int64_t i)
{
	struct nema_slice low = { 0 };

	for (int j = 0; j < n; j++)
		if (a[j].low) add_slice(&low, &a[j].slice[i]);
	add_slice(sum, &low);
	return low.total > 0 ? low.rest / low.total : NAN;
}

/* R_s = SF / (1 - SF) R_t, R_r = R_tot - R_t / (1 - SF) of one slice. */
static void add_plain(struct nema_rates *r, const struct nema_slice *s, double sf, double seconds)
{
	double t = s->total - s->rest, random = s->total - t / (1 - sf);

	r->scatter += sf / (1 - sf) * t / seconds;
	r->scatter_err += sf / (1 - sf) * sf / (1 - sf) * s->variance / (seconds * seconds);
	r->randoms += random / seconds;
	r->randoms_err +=
		(s->total + s->variance / ((1 - sf) * (1 - sf)) - 2 * t / (1 - sf)) / (seconds * seconds);
	add_necr(r, s, random, seconds);
}

void iso_nema_rates_plain(struct nema_rates *r, const struct nema_acquisition *a, int n, int64_t slices)
{
	struct nema_slice low = { 0 };

	for (int j = 0; j < n; j++) r[j] = (struct nema_rates){ 0 };
	for (int64_t i = 0; i < slices; i++) {
		double sf = low_share(&low, a, n, i);

		for (int j = 0; j < n; j++)
			if (sf < 1) add_plain(&r[j], &a[j].slice[i], sf, a[j].duration_s);
	}
	double t = low.total - low.rest, c = low.total;

	for (int j = 0; j < n; j++) {
		struct nema_slice sum = { 0 };

		for (int64_t i = 0; i < slices; i++) add_slice(&sum, &a[j].slice[i]);
		finish(&r[j], &sum, a[j].duration_s);
		r[j].randoms_err = sqrt(fmax(r[j].randoms_err, 0));
		r[j].scatter_err = sqrt(r[j].scatter_err);
		r[j].sf = low.rest / low.total;
		r[j].sf_err = sqrt(low.variance / (c * c) + t * t / (c * c * c) - 2 * t * t / (c * c * c));
	}
}

/* ---- curves ---- */

/* The nearest point on one side of x[i]; -1: there is none. */
static int beside(const double *x, int n, int i, int side)
{
	int near = -1;

	for (int k = 0; k < n; k++) {
		double way = side * (x[k] - x[i]);

		if (way > 0 && (near < 0 || way < side * (x[near] - x[i]))) near = k;
	}
	return near;
}

struct nema_peak iso_nema_peak(const double *x, const double *y, int n)
{
	int top = 0;

	for (int k = 1; k < n; k++) top = y[k] > y[top] ? k : top;
	struct nema_peak p = { x[top], y[top], false };
	int low = beside(x, n, top, -1), high = beside(x, n, top, 1);

	if (low < 0 || high < 0) return p;
	/* y = y0 + b u + c u^2, u = x - x0 */
	double u = x[low] - p.x, v = x[high] - p.x;
	double f = (y[low] - p.y) / u, g = (y[high] - p.y) / v;
	double c = (g - f) / (v - u), b = f - c * u;

	p.inside = true;
	if (c < 0) {
		p.x -= b / (2 * c);
		p.y -= b * b / (4 * c);
	}
	return p;
}

double iso_nema_at(const double *x, const double *y, int n, double at)
{
	for (int k = 0; k < n; k++) {
		int next = beside(x, n, k, 1);

		if (x[k] == at) return y[k];
		if (next >= 0 && x[k] < at && at < x[next])
			return y[k] + (y[next] - y[k]) * (at - x[k]) / (x[next] - x[k]);
	}
	return NAN;
}
