/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares of a few unknowns, with and without a bound at 0. */
#include "nnls.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 10 * NNLS_MOST };
#define DEPENDENT 1e-14 /* of a pivot, where columns have length 1 */

/* Some of the columns, in rising order, with the Cholesky factor of their products. */
struct some {
	int n, of[NNLS_MOST];
	double l[NNLS_MOST * NNLS_MOST];
};

/* ---- Cholesky ---- */

/* The pivots of dependent columns are 0. */
static bool factorise(struct some *p, const struct nnls *s)
{
	bool regular = true;

	for (int i = 0; i < p->n; i++)
		for (int j = 0; j <= i; j++) {
			double sum = s->gram[p->of[i] * s->n + p->of[j]];

			for (int k = 0; k < j; k++) sum -= p->l[i * NNLS_MOST + k] * p->l[j * NNLS_MOST + k];
			if (i != j) {
				p->l[i * NNLS_MOST + j] =
					p->l[j * NNLS_MOST + j] > 0 ? sum / p->l[j * NNLS_MOST + j] : 0;
				continue;
			}
			regular = regular && sum > DEPENDENT;
			p->l[i * NNLS_MOST + i] = sum > DEPENDENT ? sqrt(sum) : 0;
		}
	return regular;
}

/* b = (L L^T)^-1 b; unknowns without a pivot are 0. */
static void substitute(double *b, const struct some *p)
{
	for (int i = 0; i < p->n; i++) {
		for (int k = 0; k < i; k++) b[i] -= p->l[i * NNLS_MOST + k] * b[k];
		b[i] = p->l[i * NNLS_MOST + i] > 0 ? b[i] / p->l[i * NNLS_MOST + i] : 0;
	}
	for (int i = p->n - 1; i >= 0; i--) {
		for (int k = i + 1; k < p->n; k++) b[i] -= p->l[k * NNLS_MOST + i] * b[k];
		b[i] = p->l[i * NNLS_MOST + i] > 0 ? b[i] / p->l[i * NNLS_MOST + i] : 0;
	}
}

/* ---- products with A ---- */

static double leave(double *rest, const struct nnls *s, const double *y, const double *x)
{
	double sum = 0;

	for (int i = 0; i < s->rows; i++) {
		double r = y[i];

		for (int j = 0; j < s->n; j++) r -= s->a[i * s->n + j] * x[j];
		rest[i] = r;
		sum += r * r;
	}
	return sum;
}

static double slope(const struct nnls *s, const double *rest, int j)
{
	double sum = 0;

	for (int i = 0; i < s->rows; i++) sum += s->a[i * s->n + j] * rest[i];
	return sum;
}

/* x of the chosen columns, 0 of the others; a second round takes what rounding left of the first. */
static double solve(double *x, double *rest, const struct nnls *s, const struct some *p, const double *y)
{
	double part[NNLS_MOST];

	memset(x, 0, (size_t)s->n * sizeof *x);
	double sum = leave(rest, s, y, x);

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < p->n; i++) part[i] = slope(s, rest, p->of[i]);
		substitute(part, p);
		for (int i = 0; i < p->n; i++) x[p->of[i]] += part[i];
		sum = leave(rest, s, y, x);
	}
	return sum;
}

static struct some all_of(const struct nnls *s)
{
	struct some p = { .n = s->n };

	for (int j = 0; j < s->n; j++) p.of[j] = j;
	memcpy(p.l, s->factor, sizeof p.l);
	return p;
}

bool nnls_begin(struct nnls *s, int rows, int n, const double *a)
{
	struct some p;

	*s = (struct nnls){ .rows = rows, .n = n, .a = a };
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < rows; k++) s->gram[i * n + j] += a[k * n + i] * a[k * n + j];
	p = all_of(s);
	const bool regular = factorise(&p, s);

	memcpy(s->factor, p.l, sizeof s->factor);
	return regular;
}

double nnls_plain(double *x, double *rest, const struct nnls *s, const double *y)
{
	const struct some p = all_of(s);

	return solve(x, rest, s, &p, y);
}

/* ---- not below 0 ---- */

/* The column outside that would lower the rest most; -1: none would. */
static int next_column(const struct nnls *s, const bool *in, const double *rest, double least)
{
	double most = least;
	int best = -1;

	for (int j = 0; j < s->n; j++) {
		const double g = in[j] ? 0 : slope(s, rest, j);

		if (g <= most) continue;
		most = g;
		best = j;
	}
	return best;
}

static struct some chosen(const struct nnls *s, const bool *in)
{
	struct some p = { .n = 0 };

	for (int j = 0; j < s->n; j++)
		if (in[j]) p.of[p.n++] = j;
	factorise(&p, s);
	return p;
}

/* From x as far towards z as no unknown falls below 0; those that reach 0 leave. True: all the way. */
static bool go(double *x, const double *z, bool *in, int n)
{
	double share = 1;
	int stops = -1;

	for (int j = 0; j < n; j++) {
		if (!in[j] || z[j] > 0) continue;
		const double part = x[j] / (x[j] - z[j]);

		if (!(x[j] > 0) || part < share || stops < 0) {
			share = x[j] > 0 ? fmin(share, part) : 0;
			stops = j;
		}
	}
	for (int j = 0; j < n; j++)
		if (in[j]) x[j] += share * (z[j] - x[j]);
	if (stops < 0) return true;
	for (int j = 0; j < n; j++)
		if (in[j] && (j == stops || (z[j] <= 0 && x[j] <= 0))) {
			in[j] = false;
			x[j] = 0;
		}
	return false;
}

double nnls_nonneg(double *x, double *rest, const struct nnls *s, const double *y)
{
	double z[NNLS_MOST], sum = nnls_plain(x, rest, s, y), size = 0;
	bool in[NNLS_MOST] = { false }, fits = true;

	for (int j = 0; j < s->n; j++) fits = fits && x[j] >= 0;
	if (fits) return sum;
	memset(x, 0, (size_t)s->n * sizeof *x);
	sum = leave(rest, s, y, x);
	for (int i = 0; i < s->rows; i++) size += fabs(y[i]);
	for (int round = 0; round < MOST_ROUNDS; round++) {
		const int j = next_column(s, in, rest, 10 * NNLS_MOST * DBL_EPSILON * size);

		if (j < 0) break;
		in[j] = true;
		for (int inner = 0; inner <= s->n; inner++) {
			const struct some p = chosen(s, in);

			solve(z, rest, s, &p, y);
			if (go(x, z, in, s->n)) break;
		}
		sum = leave(rest, s, y, x);
	}
	return sum;
}

void nnls_inverse(double *inverse, const struct nnls *s)
{
	const struct some p = all_of(s);
	double column[NNLS_MOST];

	for (int j = 0; j < s->n; j++) {
		memset(column, 0, sizeof column);
		column[j] = 1;
		substitute(column, &p);
		for (int i = 0; i < s->n; i++) inverse[i * s->n + j] = column[i];
	}
}
