/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on CUDA: what its strategies share. */
#ifndef ISO_STRIP_CUDA_CUH
#define ISO_STRIP_CUDA_CUH

#include "core/fixed.cuh"
#include "strip.h"

#define STRIP_BLOCKS 1024	/* fixed, so that sums over blocks have a fixed order */

/* What a step needs besides the model. */
struct strip_step {
	struct strip_model m;
	struct iso_rows rows;
	struct iso_em_data d;
	const float *x;
	struct iso_fixed_cuda acc;
	struct iso_em_stat *stat;	/* STRIP_BLOCKS of them, added to */
};

/* What an event sends back, y / (ax + a), or 0 if it is skipped; and its part of the sums. */
static __device__ inline double strip_respond(struct iso_em_stat *s, const struct iso_em_data *d,
					      int64_t row, double ax)
{
	double mult = d->mult ? d->mult[row] : 1, count = d->y ? d->y[row] : 1;
	double q = ax + (d->add ? d->add[row] : 0);

	if (!(mult > 0) || !(q > 0)) {
		s->skipped++;
		return 0;
	}
	s->used++;
	s->counts += ax > 0 ? count : 0;
	s->loglik += count * log(mult * q);
	return ax > 0 ? count / q : 0;
}

static __device__ inline void strip_leave_sums(struct iso_em_stat *stat, struct iso_em_stat s)
{
	struct iso_em_stat all = { iso_block_sum(s.loglik), iso_block_sum(s.counts),
				   (int64_t)iso_block_sum((long long)s.used),
				   (int64_t)iso_block_sum((long long)s.skipped) };

	if (threadIdx.x == 0) {
		stat[blockIdx.x].loglik += all.loglik;
		stat[blockIdx.x].counts += all.counts;
		stat[blockIdx.x].used += all.used;
		stat[blockIdx.x].skipped += all.skipped;
	}
}

/* The image in shared memory and a row of the ellipse a lane; serves images and ellipses that are
   small enough. */
bool iso_strip_fast_serves(const iso_ctx *ctx, const struct strip_model *m);
int iso_strip_fast_step(const struct strip_step *s, iso_ctx *ctx);

#endif
