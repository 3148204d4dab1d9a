/* SPDX-License-Identifier: BSD-3-Clause */
/* EM steps of several subsets at once, each of an image of its own: few events would leave most of the card idle. */
#ifndef ISO_RAY_STEPS_CUH
#define ISO_RAY_STEPS_CUH

#include "ray_many.cuh"
#include "ray_respond.cuh"

/* Work space of a handle, made by its first such step. */
struct ray_steps;

/* The subsets first ... first + n - 1, as iso_op_em_steps has them. counts: of each, by all ranks; none is too many for bricks. */
struct ray_subsets {
	int first, n;
	iso_real *acc;
	const iso_real *x;
	const struct iso_em_data *data;
	const struct ray_counts *counts;
	struct iso_em_stat *stat;
};

/* *own: the work space, NULL before the first step. The bits are those of steps one after the other. */
int iso_ray_steps(struct ray_steps **own, const iso_op *op, const struct ray_model *m,
                  const struct ray_packs *packs, const struct ray_subsets *all);
void iso_ray_steps_free(struct ray_steps *w);

#endif
