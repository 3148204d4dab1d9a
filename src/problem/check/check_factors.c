/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies, randoms and additive terms of model ray against the prompts. */
#include "check.h"

#include "problem/ray/model_ray.h"
#include "scanner/scanner.h"

#define SIGMAS 5
#define ON_DEAD .02 /* share of events whose crystal has efficiency 0: noise, or a repaired crystal */

/* ---- efficiencies ---- */

static int64_t crystal_of(const struct ray_problem *ray, const struct some_events *some, int i)
{
	const float *p = i % 2 ? some->v[i / 2].p2 : some->v[i / 2].p1;
	double d;

	if (some->crystal[i] >= 0) return some->crystal[i];
	return iso_scanner_nearest(&d, ray->s, (double[]){ p[0], p[1], p[2] });
}

/* Efficiencies in another order than the crystals: then dead ones have events. */
int check_efficiencies(struct look *l)
{
	struct ray_problem *ray = l->p->self;
	struct some_events some;
	int dead = 0, st;

	if (!ray->norm || !ray->factors.v || !ray_norm_per_crystal(ray)) return ISO_OK;
	if ((st = check_some_events(&some, ray)) || some.n == 0) return st;
	l->looked = true;
	for (int i = 0; i < 2 * some.n; i++) {
		int64_t c = crystal_of(ray, &some, i);

		dead += c < ray->factors.n && ray->factors.v[c] == 0;
	}
	if (dead > ON_DEAD * 2 * some.n)
		check_doubt(l,
		            "%s: %d of %d ends looked at lie on crystals whose efficiency is 0: are the "
		            "efficiencies in the order of the crystals of %s",
		            ray->norm, dead, 2 * some.n, iso_scanner_name(ray->s));
	return ISO_OK;
}

/* ---- randoms ---- */

/* Counts of the file, where they are all here. */
static bool counts_of_file(double *n, const struct ray_problem *ray)
{
	if (ray->dealt || ray->disk || ray->dry) {
		*n = (double)ray->n;
		return !ray->e.count;
	}
	*n = (double)ray->e.n;
	if (!ray->e.count) return true;
	*n = 0;
	for (int64_t i = 0; i < ray->e.n; i++) *n += ray->e.count[i];
	return true;
}

/* Randoms are some of the prompts. */
int check_randoms(struct look *l)
{
	struct ray_problem *ray = l->p->self;
	double randoms = (double)ray->late.n, prompts;
	int st = ISO_OK;

	if (!ray->rate || ray->p->record->read.dry_run || !counts_of_file(&prompts, ray)) return ISO_OK;
	l->looked = true;
	if (ray->singles && (st = ray_rates_sum(ray, &randoms))) return st;
	if (ray->late.count) {
		randoms = 0;
		for (int64_t i = 0; i < ray->late.n; i++) randoms += ray->late.count[i];
	}
	if (randoms > prompts + SIGMAS * sqrt(prompts + randoms))
		check_refuse(l,
		             "%s: %.6g randoms, more than the %.6g prompts of %s that they are a part of%s",
		             ray->singles ? ray->singles : ray->late_file, randoms, prompts, ray->events,
		             ray->singles ? ": do single counts, duration and coincidence window fit the scan"
		                          : "");
	return ISO_OK;
}

/* ---- the additive term ---- */

/* Of a histogram of all lines: what is added is a part of what was measured. */
int check_additive(struct look *l)
{
	struct ray_problem *ray = l->p->self;
	double sum = 0, counts;

	bool density = ray->tof > 0 && !(ray->bin > 0); /* it is per mm */

	if (!ray->additive || ray->additive_over_m || density || !ray->e.count ||
	    !counts_of_file(&counts, ray))
		return ISO_OK;
	l->looked = true;
	for (int64_t i = 0; i < ray->e.n; i++) sum += ray->add.v ? (double)ray->add.v[i] : ray->add_constant;
	if (sum > counts + SIGMAS * sqrt(counts + sum))
		check_refuse(l,
		             "%s: %.6g expected counts are to be added to the lines of %s, which holds %.6g: "
		             "is it in counts of the whole scan",
		             ray->additive, sum, ray->events, counts);
	return ISO_OK;
}
