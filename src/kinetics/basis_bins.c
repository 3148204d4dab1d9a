/* SPDX-License-Identifier: BSD-3-Clause */
/* Means of basis curves over bins, weighted by decay and live share: Gauss-Legendre of 6 points on stretches without a knot. */
#include "basis.h"

#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

#define STRETCH_S 1. /* the longest stretch, */
#define OF_RATE 1.   /* and the longest over the fastest rate */
#define BEYOND_S 60. /* the last value of a curve holds for so long */
#define BELOW_0 1e-9 /* of the largest value: rounding */
#define SAME_S 1e-9

static const double node[] = { .23861918608319691, .66120938646626451, .93246951420315203 };
static const double of_node[] = { .46791393457269105, .36076157304813861, .17132449237917035 };

enum { HALF = 3 };

struct sums {
	const iso_basis *b;
	double rate; /* of the decay, 1/s */
	double sum[ISO_BASES_MOST], most[ISO_BASES_MOST];
	double lowest[ISO_BASES_MOST], lowest_at[ISO_BASES_MOST];
};

static void add_point(struct sums *s, double t, double weight)
{
	double v[ISO_BASES_MOST];

	basis_values(v, s->b, t);
	weight *= exp(-s->rate * t);
	for (int k = 0; k < s->b->k; k++) {
		s->sum[k] += weight * v[k];
		s->most[k] = fmax(s->most[k], fabs(v[k]));
		if (v[k] < s->lowest[k]) {
			s->lowest[k] = v[k];
			s->lowest_at[k] = t;
		}
	}
}

static void add_stretch(struct sums *s, double from, double to)
{
	double middle = (from + to) / 2, half = (to - from) / 2;

	for (int i = 0; i < HALF; i++) {
		add_point(s, middle - half * node[i], half * of_node[i]);
		add_point(s, middle + half * node[i], half * of_node[i]);
	}
}

/* The first knot of a curve behind t, if that is nearer than `next`. */
static double next_knot(const iso_curve *c, double t, double next)
{
	if (!c) return next;
	int64_t i = curve_place(c, t + SAME_S) + 1;

	return i < c->n ? fmin(next, c->t[i]) : next;
}

static double end_of_stretch(const iso_basis *b, double t, double end)
{
	double longest = STRETCH_S, next;

	for (int k = 0; k < b->rates; k++)
		if (b->beta[k] > 0) longest = fmin(longest, OF_RATE / b->beta[k]);
	next = fmin(end, t + longest);
	next = next_knot(b->input, t, next_knot(b->whole, t, next));
	for (int k = 0; k < b->is.columns && b->is.model == ISO_KINETIC_BASIS; k++)
		next = next_knot(b->column[k], t, next);
	for (int i = 0; i < b->is.knots; i++)
		if (b->is.knot[i] > t + SAME_S) next = fmin(next, b->is.knot[i]);
	return next;
}

static void add_bin(struct sums *s, double from, double to)
{
	memset(s->sum, 0, sizeof s->sum);
	while (from < to) {
		double end = end_of_stretch(s->b, from, to);

		add_stretch(s, from, end);
		from = end;
	}
}

static double integral_of_decay(double rate, double from, double to)
{
	return rate > 0 ? exp(-rate * from) * -expm1(-rate * (to - from)) / rate : to - from;
}

/* ---- what is refused ---- */

static int check_bins(const struct iso_bins *p)
{
	if (p->n < 1 || !p->edge_s)
		return iso_fail(ISO_EARG, "bins: %d of them, must be at least 1, with edges", p->n);
	for (int m = 0; m < p->n; m++) {
		if (!(p->edge_s[m + 1] > p->edge_s[m]) || !isfinite(p->edge_s[m + 1]) ||
		    !isfinite(p->edge_s[m]))
			return iso_fail(ISO_EARG, "bins: bin %d is from %g to %g s; edges must rise", m + 1,
			                p->edge_s[m], p->edge_s[m + 1]);
		if (p->live && !(p->live[m] > 0 && p->live[m] <= 1))
			return iso_fail(ISO_EARG,
			                "bins: the live share of bin %d is %g, must be above 0, at most 1",
			                m + 1, p->live[m]);
	}
	return ISO_OK;
}

static int check_end(const iso_curve *c, const char *what, double end)
{
	if (!c || c->t[c->n - 1] + BEYOND_S >= end) return ISO_OK;
	return iso_fail(
		ISO_EINPUT,
		"basis: %s ends at %g s, %g s before the last bin does; its last value holds for %g s "
		"only",
		what, c->t[c->n - 1], end - c->t[c->n - 1], BEYOND_S);
}

static int check_curves(const iso_basis *b, const struct iso_bins *p)
{
	const double end = p->edge_s[p->n];
	int st = check_end(b->input, "the input curve", end);

	if (!st && b->is.blood) st = check_end(b->whole, "the curve of whole blood", end);
	for (int k = 0; k < b->k && !st && b->is.model == ISO_KINETIC_BASIS; k++)
		st = check_end(b->column[k], "a curve of the basis", end);
	if (!st && b->is.model == ISO_KINETIC_BSPLINE &&
	    (p->edge_s[0] < b->is.knot[0] || end > b->is.knot[b->is.knots - 1]))
		st = iso_fail(ISO_EARG,
		              "basis: the knots go from %g to %g s, and must hold all bins, %g to %g s",
		              b->is.knot[0], b->is.knot[b->is.knots - 1], p->edge_s[0], end);
	return st;
}

/* Coefficients are not negative, so a curve that is would take activity away. */
static int check_signs(const struct sums *s)
{
	for (int k = 0; k < s->b->k; k++) {
		if (s->most[k] == 0) return iso_fail(ISO_EINPUT, "basis: curve %d is 0 in all bins", k + 1);
		if (s->lowest[k] < -BELOW_0 * s->most[k])
			return iso_fail(
				ISO_EINPUT,
				"basis: curve %d is %g at %g s; curves must not be negative inside the bins",
				k + 1, s->lowest[k], s->lowest_at[k]);
	}
	return ISO_OK;
}

int iso_basis_bins(double *mean, double *weight, const iso_basis *b, const struct iso_bins *given)
{
	struct iso_bins p;
	struct sums s = { .b = b };
	int st;

	if (!b) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&p, "iso_bins", sizeof p, given)) || (st = check_bins(&p)) ||
	    (st = check_curves(b, &p)))
		return st;
	s.rate = p.half_life_s > 0 ? log(2) / p.half_life_s : 0;
	for (int m = 0; m < p.n; m++) {
		double g = integral_of_decay(s.rate, p.edge_s[m], p.edge_s[m + 1]);

		if (weight) weight[m] = g * (p.live ? p.live[m] : 1);
		if (!mean) continue;
		add_bin(&s, p.edge_s[m], p.edge_s[m + 1]);
		for (int k = 0; k < b->k; k++) mean[k * p.n + m] = s.sum[k] / g;
	}
	return mean ? check_signs(&s) : ISO_OK;
}
