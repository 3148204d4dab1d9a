/* SPDX-License-Identifier: BSD-3-Clause */
/* EM steps of several images through bricks: a ray carries four images at once. */
#ifndef ISO_RAY_MANY_CUH
#define ISO_RAY_MANY_CUH

#include "ray_brick.cuh"

/* Work space of a handle, made by its first step of several images. */
struct ray_group;

/* The images of a step, as iso_op_em_step_many has them. */
struct ray_images {
	int n;
	iso_real *acc;
	const iso_real *x, *y;
	const struct iso_em_data *data;
	struct iso_em_stat *stat;
};

/* The packs of an operator: those of subset s are first[s] ... first[s + 1] - 1. */
struct ray_packs {
	const struct ray_pack *pack;
	const int *first;
};

/* *g: the work space, NULL before the first step. */
int iso_ray_group_step(struct ray_group **g, const iso_op *op, const struct ray_model *m,
                       const struct ray_packs *packs, int sub, const struct ray_images *images);
void iso_ray_group_free(struct ray_group *g);

#endif
