/* SPDX-License-Identifier: BSD-3-Clause */
/* The image of a run against its data and its grid. */
#include "check.h"

#include <math.h>

#define SIGMAS 5
#define SETTLED 30 /* updates, after which the image and an additive term share the counts as they should */
#define MISSED .05 /* of the counts: as far as subsets take the sum */
#define MOVED \
	.6 /* as far as a filter does: near the axis, voxels that are crossed by many lines and by few alternate */
#define EXPLAINED .05   /* of the counts, the least that the image explains beside an additive term */
#define PILED 2.        /* activity a voxel at the border over that of one inside, at most, */
#define PILED_SHARE .05 /* where it is this share of the activity or more */
#define FAINT .01       /* of the greatest sensitivity */
#define FAINT_SHARE .2
#define FALL .01 /* of the rise, for methods with subsets */

/* sum_j (A x + r)_j over all lines is the number of counts, where x is the image of greatest likelihood. */
int check_counts(struct look *l)
{
	const struct run_made *m = l->made;
	double trues = m->expected, all = trues + m->added,
	       slack = (m->filtered ? MOVED : MISSED) * m->counts + SIGMAS * sqrt(m->counts);

	if (isnan(m->counts) || m->counts == 0) return ISO_OK;
	l->looked = true;
	if (isnan(m->added) && trues < EXPLAINED * m->counts)
		check_doubt(l,
		            "the image explains %.3g of the %.6g counts, the additive term all others: is "
		            "that in expected counts of the whole scan",
		            trues, m->counts);
	bool bounded = isnan(m->added) || (m->added > 0 && m->updates < SETTLED);

	if (bounded ? trues > m->counts + slack : fabs(all - m->counts) > slack)
		check_doubt(l,
		            "the image expects %.6g counts on all lines%s, %.6g were measured: sensitivity, "
		            "factors or additive term do not fit the data",
		            bounded ? trues : all, bounded ? ", without the additive term" : "", m->counts);
	return ISO_OK;
}

/* Activity beyond the grid piles up in its outermost voxels. Those at the ends along z are left out: a body goes on there,
   and the scanner sees little of them. */
int check_border(struct look *l)
{
	const struct iso_array *x = l->made->image;
	const int64_t *n = x->grid.n;
	double sum[2] = { 0 };
	int64_t seen[2] = { 0 };

	l->looked = true;
	for (int64_t i = 0, step = check_step(&x->grid); i < x->n; i += step) {
		int64_t ix = i % n[0], iy = i / n[0] % n[1];
		int at = ix == 0 || iy == 0 || ix == n[0] - 1 || iy == n[1] - 1;

		sum[at] += (double)x->v[i] * l->made->sens[i];
		seen[at] += l->made->sens[i] > 0;
	}
	double share = sum[1] / (sum[0] + sum[1]), voxels = (double)seen[1] / (double)(seen[0] + seen[1]);

	if (seen[0] > 0 && share > PILED_SHARE && share * (1 - voxels) > PILED * voxels * (1 - share))
		check_doubt(
			l,
			"%.0f %% of the activity lies in the outermost voxels across, which are %.2g %% of "
			"all: something outside of the image was measured; a larger 'grid' takes it in",
			100 * share, 100 * voxels);
	return ISO_OK;
}

/* Voxels that hardly any line crosses hold what the others can't explain. */
int check_faint(struct look *l)
{
	const struct iso_array *x = l->made->image;
	int64_t step = check_step(&x->grid);
	double faint = 0, all = 0;
	iso_real most = 0;

	l->looked = true;
	for (int64_t i = 0; i < x->n; i += step) most = l->made->sens[i] > most ? l->made->sens[i] : most;
	for (int64_t i = 0; i < x->n; i += step) {
		all += x->v[i];
		if (l->made->sens[i] < FAINT * most) faint += x->v[i];
	}
	if (faint > FAINT_SHARE * all)
		check_doubt(l,
		            "%.0f %% of the image's sum lies in voxels with less than %g %% of the greatest "
		            "sensitivity: noise of voxels that few lines cross, or activity outside of the "
		            "field of view",
		            100 * faint / all, 100 * FAINT);
	return ISO_OK;
}

/* Sum over the subsets of iteration k. */
static double likelihood(const json_t *all, int k, int subsets)
{
	double sum = 0;

	for (int i = 0; i < subsets; i++)
		sum += json_number_value(json_array_get(all, (size_t)(k * subsets + i)));
	return sum;
}

/* The first value is of the start image, whose scale is anybody's. */
int check_likelihood(struct look *l)
{
	const struct settings *s = &l->p->s;
	int subsets = (int)s->subsets, n = (int)json_array_size(l->made->loglik) / subsets;

	if (!l->made->loglik || l->made->added != 0 || n < 4 || s->filter_every < s->iterations)
		return ISO_OK;
	l->looked = true;
	double first = likelihood(l->made->loglik, 1, subsets), most = first,
	       last = likelihood(l->made->loglik, n - 1, subsets);

	for (int k = 2; k < n - 1; k++) most = fmax(most, likelihood(l->made->loglik, k, subsets));
	if (most - last >
	    (subsets > 1 ? FALL : 1e-3) * (most - first) + (subsets > 1 ? 1e-5 : 1e-9) * fabs(most))
		check_doubt(
			l,
			"the log-likelihood falls: %.9g before the last iteration, %.9g at its highest: %s",
			last, most,
			subsets > 1 ? "fewer 'subsets' would help" : "data or factors do not fit the model");
	return ISO_OK;
}
