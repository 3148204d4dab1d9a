/* SPDX-License-Identifier: BSD-3-Clause */
/* The data side of an EM step on CUDA, the same for every model. */
#ifndef ISO_EM_CUH
#define ISO_EM_CUH

#include "cuda.cuh"

/* What an event sends back, y / (ax + a), or 0 if it is skipped; and its part of the sums. */
static __device__ inline double iso_em_respond(struct iso_em_stat *s, const struct iso_em_data *d,
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

/* A block's sums are added to its place in stat. */
static __device__ inline void iso_em_leave_sums(struct iso_em_stat *stat, struct iso_em_stat s)
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

#endif
