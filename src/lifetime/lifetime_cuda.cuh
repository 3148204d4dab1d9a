/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of lifetimes on CUDA share. */
#ifndef ISO_LIFETIME_CUDA_CUH
#define ISO_LIFETIME_CUDA_CUH

#include "triples_cuda.h"

#include "core/cuda.cuh"

static __device__ inline int lane_of(void)
{
	return threadIdx.x % ISO_WARP;
}

static __device__ inline struct iso_rows all_of(int64_t n)
{
	return { 0, n };
}

/* likelihood.cu */
int iso_pass_cuda(double *loglik, struct likelihood *l);
int iso_scores_cuda(struct scores_cuda **s, struct iso_room *room, const struct likelihood *l, int per);
int iso_probe_cuda(double *to, struct scores_cuda *s, const double *x, uint64_t seed, int first);

#endif
