/* SPDX-License-Identifier: BSD-3-Clause */
/* The sums over the rows of an EM step on CUDA: doubles, one a block, added up on the host in their
   order; or integers, one tally that all blocks add to. */
#ifndef ISO_EM_CUH
#define ISO_EM_CUH

#include "core/cuda.cuh"
#include "em_kern.h"

/* Sums of each block of a step; their number is fixed, so that they are added in a fixed order. */
struct em_sums {
	int blocks;
	struct iso_em_stat *stat, *host; /* on the device, and their copy */
};

static inline int em_sums_open(struct em_sums *s, struct iso_room *room, int blocks)
{
	s->blocks = blocks;
	ISO_HOST(room, s->host, blocks);
	ISO_DEVICE(room, s->stat, blocks);
	return room->status;
}

static inline int em_sums_clear(const struct em_sums *s, iso_ctx *ctx)
{
	return iso_cuda_check("clear",
	                      cudaMemsetAsync(s->stat, 0, s->blocks * sizeof *s->stat, iso_stream(ctx)));
}

static inline int em_sums_get(struct iso_em_stat *all, const struct em_sums *s, iso_ctx *ctx)
{
	int st = ctx->vec->download(ctx, s->host, s->stat, s->blocks * (int64_t)sizeof *s->stat);

	if (!st) *all = em_stat_sum(s->blocks, s->host);
	return st;
}

/* stat[block] += the sums of its threads; all of them call it. */
static __device__ inline void em_leave_sums(struct iso_em_stat *stat, struct iso_em_stat s)
{
	struct iso_em_stat all = ISO_ZERO;

	all.loglik = iso_block_sum(s.loglik);
	all.counts = iso_block_sum(s.counts);
	all.lost = iso_block_sum(s.lost);
	all.used = (int64_t)iso_block_sum((long long)s.used);
	all.skipped = (int64_t)iso_block_sum((long long)s.skipped);
	if (threadIdx.x == 0) em_stat_add(stat + blockIdx.x, &all);
}

static __device__ inline void em_leave_integer(int64_t *all, int64_t v)
{
	long long sum = iso_block_sum((long long)v);

	if (threadIdx.x == 0) atomicAdd((unsigned long long *)all, (unsigned long long)sum);
}

/* all += the tallies of the threads; all of them call it. */
static __device__ inline void em_leave_tally(struct em_tally *all, const struct em_tally *t)
{
	em_leave_integer(&all->loglik, t->loglik);
	em_leave_integer(&all->counts, t->counts);
	em_leave_integer(&all->lost, t->lost);
	em_leave_integer(&all->used, t->used);
	em_leave_integer(&all->skipped, t->skipped);
	em_leave_integer(&all->infinite, t->infinite);
	em_leave_integer(&all->cut, t->cut);
}

/* ---- what kernels that add term by term make of a term, in units of the sums ---- */

/* It stays as it is. */
struct whole_terms {
	__device__ double operator()(double v) const
	{
		return v;
	}
};

/* It is cut to a limit, and counted, in a step of ratios. */
struct cut_terms {
	double limit;
	int64_t *count; /* the thread's own */

	__device__ double operator()(double v) const
	{
		return ratio_cut(v, limit, count);
	}
};

#endif
