/* SPDX-License-Identifier: BSD-3-Clause */
/* What a prior is inside. */
#ifndef ISO_PRIOR_IN_H
#define ISO_PRIOR_IN_H

#include "algo/prior.h"
#include "core/room.h"
#include "potentials.h"

ISO_BEGIN_C

/* What an evaluation gives, each NULL: not wanted. */
struct prior_want {
	double *value;
	iso_real *gradient, *curvature, *hessian;
};

/* The rest of iso_prior_step; `to` has the gradient, or nothing where there is no prior. */
struct prior_update {
	iso_real *z;
	const iso_real *g, *p;
	iso_real scale, beta, step, grow, off;
};

/* [x + step p (scale z + g - beta gradient)]+, at most grow (x + off) */
ISO_HD iso_real prior_updated(const struct prior_update *u, iso_real x, iso_real z, iso_real g, iso_real p,
                              iso_real gradient)
{
	const iso_real to = x + u->step * p * (u->scale * z + g - u->beta * gradient),
		       most = u->grow * (x + u->off);

	return to > most ? most : to > 0 ? to : 0;
}

struct iso_prior {
	iso_ctx *ctx;
	struct prior_par par;
	bool pairs;            /* of its kind */
	struct iso_room room;  /* has the arrays, on the context's device */
	const iso_real *kappa; /* NULL: 1 */
	const uint32_t *
		bits; /* Bowsher's weights, a word a voxel; NULL: 1. Bits 2 i and 2 i + 1 hold twice the weight of
	                          the pair with neighbour i in front: 0, 1 or 2 */
	/* on CUDA, looked up once */
	int (*eval_cuda)(iso_prior *r, const struct prior_want *want, const iso_real *x);
	int (*step_cuda)(iso_prior *r, iso_real *to, const iso_real *x, const struct prior_update *u);
	int (*product_cuda)(iso_prior *r, iso_real *to, const iso_real *x, const iso_real *v);
	double *partial; /* on CUDA: the value's sum over each block */
};

/* potentials.c: the kind, its parameters, and whether it has the pairs that an anatomical image needs. */
int iso_prior_check(const struct iso_prior_spec *p);
void iso_prior_constants(struct prior_par *p, const struct iso_prior_spec *s);

/* Weights of all pairs, n = voxels words on the host; the anatomical image lies on the host. */
void iso_prior_bowsher(uint32_t *bits, const iso_ctx *ctx, const struct iso_grid *g, const iso_real *anatomy,
                       int neighbours);

/* On the CPU: all of `want`; or, with `u`, the step, whose result is want->gradient. */
int iso_prior_cpu(iso_prior *r, const struct prior_want *want, const iso_real *x,
                  const struct prior_update *u);

ISO_END_C
#endif
