/* SPDX-License-Identifier: BSD-3-Clause */
/* The sums over the rows of an EM step on CUDA: one a block, added up on the host. */
#ifndef ISO_EM_CUH
#define ISO_EM_CUH

#include "cuda.cuh"
#include "em_kern.h"

/* stat[block] += the sums of its threads; all of them call it. */
static __device__ inline void em_leave_sums(struct iso_em_stat *stat, struct iso_em_stat s)
{
	struct iso_em_stat all = ISO_ZERO;

	all.loglik = iso_block_sum(s.loglik);
	all.counts = iso_block_sum(s.counts);
	all.lost = iso_block_sum(s.lost);
	all.used = (int64_t)iso_block_sum((long long)s.used);
	all.skipped = (int64_t)iso_block_sum((long long)s.skipped);
	if (threadIdx.x == 0)
		em_stat_add(stat + blockIdx.x, &all);
}

#endif
