/* SPDX-License-Identifier: BSD-3-Clause */
/* Small panels, their analytic matrix, and the operator on the CPU that tables are held against. */
#ifndef SRM_PROBLEM_H
#define SRM_PROBLEM_H

#include "test.h"

#include "bench/srm/strategies.h"

struct problem {
	int nc[2], d[2], planes, layers, n_sub;
	enum iso_subset_rule rule;
	double share; /* of the weights that stay in the matrix */
};

static inline void random_values(int64_t n, iso_real *v, int seed)
{
	srand((unsigned)seed);
	for (int64_t i = 0; i < n; i++) v[i] = (iso_real)(2. * rand() / RAND_MAX - 1);
}

static inline iso_op *row_operator(iso_srm **srm, iso_ctx *ctx, const struct problem *p)
{
	const struct iso_panels panels = {
		.crystals = { p->nc[0], p->nc[1] },
		.pitch = { 2, 2.4 },
		.crystal = { 1.8, 2, 6 },
		.gap = 10,
		.layers = p->layers,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { p->d[0], p->d[1] },
		.planes = p->planes,
		.plane = 8. / p->planes,
	};
	struct iso_srm_model model = { .size = sizeof model, .n_sub = p->n_sub, .rule = p->rule, .seed = 3 };
	iso_op *op = NULL;

	OK(iso_srm_analytic(srm, ctx, &panels));
	OK(iso_srm_threshold(*srm, ctx, &(struct iso_srm_bound){ .share = p->share }));
	model.srm = *srm;
	OK(srm_strategy_create(&op, ctx, &model, SRM_ROW));
	return op;
}

#endif
