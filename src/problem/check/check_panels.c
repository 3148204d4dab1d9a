/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors and randoms of two panels against the counts. */
#include "check.h"

#include "problem/srm/model_srm.h"

#include <math.h>

#define SIGMAS 5
#define ON_DEAD .02 /* share of the counts on LORs whose factor is 0 */

void check_panels_map(struct mapped *map, const struct srm_model *srm)
{
	const struct iso_panels *p = &srm->info.panels;
	const double half[3] = { .5 * p->crystals[0] * p->pitch[0], .5 * p->gap,
		                 .5 * p->crystals[1] * p->pitch[1] };

	*map = (struct mapped){ .path = srm->mu,
		                .mu = &srm->mu_map,
		                .image = &srm->p->found.grid,
		                .scanner = srm->scanner ? srm->scanner : srm->matrix };
	for (int k = 0; k < srm->turn.n; k++)
		for (int a = 0; a < 3; a++) {
			const double *row = srm->turn.at ? srm->turn.at[k].m + 4 * a : NULL;
			double middle = row ? row[3] : 0, wide = half[a];

			if (row)
				wide = fabs(row[0]) * half[0] + fabs(row[1]) * half[1] +
				       fabs(row[2]) * half[2];
			map->crystals.low[a] = fmin(k ? map->crystals.low[a] : middle - wide, middle - wide);
			map->crystals.high[a] =
				fmax(k ? map->crystals.high[a] : middle + wide, middle + wide);
		}
}

/* Sum of a histogram that was read; NaN: it was not. */
static double sum_of(const struct iso_array *a)
{
	double sum = 0;

	if (!a->v) return NAN;
	for (int64_t i = 0; i < a->n; i++) sum += a->v[i];
	return sum;
}

/* A part of the counts can't be more than they are. */
static bool exceeds(double part, double counts)
{
	return part > counts + SIGMAS * sqrt(counts + part);
}

int check_panels_efficiencies(struct look *l)
{
	const struct srm_model *srm = l->p->self;
	double counts = sum_of(&srm->counts), dead = 0;

	if (!srm->norm_of.v || !(counts > 0)) return ISO_OK;
	l->looked = true;
	for (int64_t i = 0; i < srm->counts.n; i++) dead += srm->norm_of.v[i] == 0 ? srm->counts.v[i] : 0;
	if (dead > ON_DEAD * counts)
		check_doubt(l,
		            "%s: %.0f %% of the counts of %s lie on LORs whose factor is 0: are the LORs of "
		            "both in the same order",
		            srm->norm, 100 * dead / counts, srm->data);
	return ISO_OK;
}

int check_panels_randoms(struct look *l)
{
	const struct srm_model *srm = l->p->self;
	double randoms = sum_of(&srm->late), counts = sum_of(&srm->counts);

	if (isnan(randoms) || isnan(counts)) return ISO_OK;
	l->looked = true;
	if (exceeds(randoms, counts))
		check_refuse(l, "%s: %.6g randoms, more than the %.6g counts of %s that they are a part of",
		             srm->delayed, randoms, counts, srm->data);
	return ISO_OK;
}

int check_panels_additive(struct look *l)
{
	const struct srm_model *srm = l->p->self;
	double sum = sum_of(&srm->add), counts = sum_of(&srm->counts);

	if (isnan(sum) || isnan(counts)) return ISO_OK;
	l->looked = true;
	if (exceeds(sum, counts))
		check_refuse(l,
		             "%s: %.6g expected counts are to be added to the LORs of %s, which holds %.6g: "
		             "is it in counts of the whole scan",
		             srm->additive, sum, srm->data, counts);
	return ISO_OK;
}
