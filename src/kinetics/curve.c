/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves that are linear between samples: values, integrals, convolutions with exponentials, all exact. */
#include "curve.h"

#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

static int check(int64_t n, const double *t, const double *y)
{
	if (n < 1) return iso_fail(ISO_EARG, "curve: %" PRId64 " samples, must be at least 1", n);
	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(t[i]) || !isfinite(y[i]))
			return iso_fail(ISO_EINPUT, "curve: sample %" PRId64 " is %g at %g s, must be finite",
			                i + 1, y[i], t[i]);
		if (i > 0 && !(t[i] > t[i - 1]))
			return iso_fail(ISO_EINPUT,
			                "curve: sample %" PRId64
			                " is at %g s, after one at %g s; times must rise",
			                i + 1, t[i], t[i - 1]);
	}
	return ISO_OK;
}

static int make(iso_curve **out, int64_t n, const double *t, const double *y, bool front)
{
	const int64_t all = n + front;
	iso_curve *c = size_alloc(1, sizeof *c);

	if (!c || !(c->t = size_alloc(all, 3 * sizeof *c->t))) {
		free(c);
		return iso_fail_memory("curve", 3 * all * (int64_t)sizeof *t);
	}
	c->n = all;
	c->y = c->t + all;
	c->area = c->y + all;
	memcpy(c->t + front, t, (size_t)n * sizeof *t);
	memcpy(c->y + front, y, (size_t)n * sizeof *y);
	for (int64_t i = 1; i < all; i++)
		c->area[i] = c->area[i - 1] + (c->t[i] - c->t[i - 1]) * (c->y[i] + c->y[i - 1]) / 2;
	*out = c;
	return ISO_OK;
}

int curve_of(iso_curve **c, int64_t n, const double *t, const double *y)
{
	int st = check(n, t, y);

	return st ? st : make(c, n, t, y, false);
}

int curve_copy(iso_curve **c, const iso_curve *from)
{
	int st = make(c, from->n, from->t, from->y, false);

	if (!st) memcpy((*c)->name, from->name, sizeof from->name);
	return st;
}

int iso_curve_create(iso_curve **c, int64_t n, const double *t, const double *y)
{
	if (!c || !t || !y) return iso_fail_null(__func__);
	int st = check(n, t, y);

	return st ? st : make(c, n, t, y, t[0] > 0);
}

void iso_curve_free(iso_curve *c)
{
	if (!c) return;
	free(c->t);
	free(c);
}

int64_t iso_curve_samples(const iso_curve *c, const double **t, const double **y)
{
	if (!c) return 0;
	if (t) *t = c->t;
	if (y) *y = c->y;
	return c->n;
}

const char *iso_curve_name(const iso_curve *c)
{
	return c ? c->name : NULL;
}

int64_t curve_place(const iso_curve *c, double t)
{
	int64_t low = 0, high = c->n;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (c->t[middle] <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

static double between(const iso_curve *c, int64_t i, double t)
{
	if (i == c->n - 1) return c->y[i];
	return c->y[i] + (t - c->t[i]) / (c->t[i + 1] - c->t[i]) * (c->y[i + 1] - c->y[i]);
}

double iso_curve_at(const iso_curve *c, double t)
{
	int64_t i = c ? curve_place(c, t) : -1;

	return i < 0 ? 0 : between(c, i, t);
}

double iso_curve_integral(const iso_curve *c, double t)
{
	int64_t i = c ? curve_place(c, t) : -1;

	return i < 0 ? 0 : c->area[i] + (t - c->t[i]) * (c->y[i] + between(c, i, t)) / 2;
}

#define SERIES .01 /* below it the closed forms lose digits */

/* (1 - exp(-z)) / z and (z - 1 + exp(-z)) / z^2 */
static void weights(double *p1, double *p2, double z)
{
	if (z >= SERIES) {
		*p1 = -expm1(-z) / z;
		*p2 = (z + expm1(-z)) / (z * z);
		return;
	}
	*p1 = 1 - z / 2 * (1 - z / 3 * (1 - z / 4 * (1 - z / 5 * (1 - z / 6))));
	*p2 = .5 * (1 - z / 3 * (1 - z / 4 * (1 - z / 5 * (1 - z / 6 * (1 - z / 7)))));
}

double curve_piece(double before, double c0, double c1, double h, double beta)
{
	double p1, p2, z = beta * h;

	weights(&p1, &p2, z);
	return before * exp(-z) + h * (c0 * p1 + (c1 - c0) * p2);
}
