/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rounds balance: the counts of a frame, its randoms, and the scatter that the table in force expects in all. */
#include "model_ray.h"

#include "core/size.h"
#include "ray_sum.h"
#include "scanner/scanner.h"

/* Crystal pairs that the sum of r is from, at most: of rings all but those of very long ones, 0.6 s on two cores; free
   detectors are looked up one by one: 4e6 pairs drawn alone would be good to 1 in 1000 or so, and these are spread evenly. */
#define RING_PAIRS 2e8
#define FREE_PAIRS 4e6

/* ---- over the events of a frame ---- */

enum { COUNTS, ADDED, SCATTERED, SUMS };

struct tally {
	bool scatter; /* of lines that list all: r too */
	bool prompts; /* into the histograms as well */
	struct ray_sum sum[SUMS];
};

static int add_up(void *arg, struct ray_problem *ray, const struct ray_some *some)
{
	struct tally *t = arg;
	iso_real *s = NULL;
	int st = t->scatter ? model_vector(&s, some->e.n, "scatter") : ISO_OK;

	if (!st && s) st = ray_scatter_add(ray, &some->e, some->mult, s);
	for (int64_t j = 0; j < some->e.n && !st; j++) {
		if (iso_event_bad(some->e.v + j)) continue;
		ray_sum_add(&t->sum[COUNTS], some->count[j]);
		ray_sum_add(&t->sum[ADDED], some->add[j]);
		if (s) ray_sum_add(&t->sum[SCATTERED], s[j]);
	}
	if (t->prompts && !st) ray_seen_prompts(ray, some);
	free(s);
	return st;
}

static int tally(struct tally *t, struct ray_problem *ray, bool scatter)
{
	*t = (struct tally){ .scatter = scatter, .prompts = !scatter };
	int st = ray_each(ray, add_up, t);

	return ray_sum_ranks(t->sum, SUMS, ray->p->ctx, st);
}

/* ---- efficiencies that only events have ---- */

struct mean {
	double most; /* 1 / eta of an event, so far; then of all */
	bool adds;
	struct ray_sum sum; /* of 1 / eta over the most */
	int64_t n;
};

static double inverse_efficiency(const struct ray_problem *ray, const struct iso_event *e, double mult)
{
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };
	double w = iso_scanner_pair_weight(ray->s, p1, p2);

	return mult > 0 ? w * ray->frame.factor / mult : 0;
}

static int see_efficiencies(void *arg, struct ray_problem *ray, const struct ray_some *some)
{
	struct mean *m = arg;

	for (int64_t j = 0; j < some->e.n; j++) {
		double v = iso_event_bad(some->e.v + j)
		                   ? 0
		                   : inverse_efficiency(ray, some->e.v + j, some->mult[j]);

		if (!m->adds) {
			m->most = fmax(m->most, v);
		} else if (v > 0) {
			ray_sum_add(&m->sum, v / m->most);
			m->n++;
		}
	}
	return ISO_OK;
}

/* The mean efficiency of pairs, from those of events, of which a pair has the more the greater its own: n / sum of 1/eta. */
static int mean_efficiency(double *eta, struct ray_problem *ray)
{
	iso_ctx *ctx = ray->p->ctx;
	struct mean m = { 0 };
	int st = iso_comm_max(ctx, ray_each(ray, see_efficiencies, &m), &m.most, 1);

	m.adds = true;
	if (st || !(m.most > 0)) return st;
	st = iso_comm_sum(ctx, ray_each(ray, see_efficiencies, &m), &m.n, 1);
	if (!st) st = ray_sum_ranks(&m.sum, 1, ctx, ISO_OK);
	if (!st && m.n > 0) *eta = (double)m.n / (ray_sum_value(&m.sum) * m.most);
	return st;
}

/* A sensitivity that is made here lacks factors of events, and so does the unit of the image: pairs have eta = 1 in it.
   One that is given has them. */
static bool sens_has_factors(const struct ray_problem *ray)
{
	return ray->p->s.sens;
}

int ray_count(struct ray_counts *to, struct ray_problem *ray)
{
	struct tally t;
	double randoms = 0;
	int st = tally(&t, ray, false);

	if (st || (st = ray_randoms_sum(ray, &randoms))) return st;
	to->all = ray_sum_value(&t.sum[COUNTS]);
	if (ray->scatter.seen) ray->scatter.seen->counts = to->all;
	to->net_known = ray->e.lists_all || !(ray->additive || (ray->e.add && !ray->rate));
	to->net = to->all - (ray->e.lists_all ? ray_sum_value(&t.sum[ADDED]) : randoms);
	ray->scatter.eta = 1;
	if (!ray->e.lists_all && ray_factors_not_in_sens(ray) && sens_has_factors(ray) &&
	    (st = mean_efficiency(&ray->scatter.eta, ray)))
		return st;
	if (to->net_known && !(to->net > 0))
		return iso_fail(ISO_EINPUT,
		                "'scatter': of %g counts, %g are expected to be randoms: none are left",
		                to->all, to->all - to->net);
	return ISO_OK;
}

/* ---- all scatter ---- */

/* sum over poses of their weight x the scatter of all pairs: f enters each estimate whole. */
static int sum_of_poses(double *sum, struct ray_problem *ray, const iso_real *eff, double share)
{
	const struct ray_scatter *s = &ray->scatter;
	int st = ISO_OK;

	*sum = 0;
	for (int64_t c = 0; c < s->poses && !st; c++) {
		double one = 0;

		st = iso_scatter_sum(&one, ray->p->ctx, s->pose[c].table, eff, share, (uint64_t)s->seed);
		*sum += s->pose[c].weight * one;
	}
	return st;
}

/* Over the scanner's pairs. Where 'norm' has factors of events, efficiencies that the scanner brings do not count. */
static int sum_of_pairs(double *sum, struct ray_problem *ray)
{
	const iso_scanner *s = ray->s;
	double share = (iso_scanner_kind(s) == ISO_CYLINDER ? RING_PAIRS : FREE_PAIRS) /
	               (double)iso_scanner_pairs(s);
	const iso_real *eff = ray_norm_per_crystal(ray) ? ray->factors.v : NULL;
	iso_real *ones = NULL;
	int st = ISO_OK;

	if (!eff && ray->norm && s->efficiencies &&
	    !(st = model_vector(&ones, iso_scanner_crystals(s), "efficiencies"))) {
		for (int64_t i = 0; i < iso_scanner_crystals(s); i++) ones[i] = 1;
		eff = ones;
	}
	if (!st) st = sum_of_poses(sum, ray, eff, fmin(1, share));
	free(ones);
	return st;
}

int ray_scatter_sum(double *sum, struct ray_problem *ray)
{
	struct tally t;
	int st;

	ray->scatter.by = 1 / ray->frame.units;
	if (ray->e.lists_all) {
		st = tally(&t, ray, true);
		*sum = ray_sum_value(&t.sum[SCATTERED]);
		return st;
	}
	st = iso_comm_agree(ray->p->ctx, sum_of_pairs(sum, ray));
	*sum *= ray->scatter.eta * ray->frame.factor / ray->frame.units;
	return st;
}
