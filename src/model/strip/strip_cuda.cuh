/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on CUDA: what its strategies share. */
#ifndef ISO_STRIP_CUDA_CUH
#define ISO_STRIP_CUDA_CUH

#include "core/loop/em.cuh"
#include "core/loop/fixed.cuh"
#include "core/loop/em_kern.h"
#include "strip.h"

#define STRIP_BLOCKS 1024 /* fixed, so that sums over blocks have a fixed order */

/* What a step needs besides the model: acc = x A*(y / (A x + a)), that of EM, or u A*(new - rho), one of ratios. */
struct strip_step {
	struct strip_model m;
	struct iso_rows rows;
	struct iso_em_data d;
	const float *x;
	struct iso_fixed_cuda acc;
	struct iso_em_stat *stat; /* STRIP_BLOCKS of them, added to */
	/* of a step of ratios: */
	const float *u; /* NULL: the step is one of EM */
	struct ratio_rows ratio;
	double limit; /* of a term, in units of the sums */
	int64_t *cut; /* terms that were cut to it, added to, on the device */
};

/* The image in shared memory and a row of the ellipse a lane; serves images and ellipses that are
   small enough. */
bool iso_strip_fast_serves(const iso_ctx *ctx, const struct strip_model *m);
int iso_strip_fast_step(const struct strip_step *s, iso_ctx *ctx);

#endif
