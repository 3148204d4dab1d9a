/* SPDX-License-Identifier: BSD-3-Clause */
/* The fixed-point image of core/loop/fixed.h on CUDA: one copy, added to by 64-bit atomics, whose order
   does not matter. */
#ifndef ISO_FIXED_CUH
#define ISO_FIXED_CUH

#include "core/comm.h"
#include "core/cuda.cuh"
#include "core/hd.h"

struct iso_fixed_cuda {
	int64_t n;
	unsigned long long *v; /* n sums on the device, times the scale */
	double scale;
};

/* `value` is already times the scale; two's complement makes signed sums work unsigned. */
static __device__ inline void iso_fixed_add(struct iso_fixed_cuda f, int64_t i, double value)
{
	atomicAdd(f.v + i, (unsigned long long)__double2ll_rn(value));
}

static inline void iso_fixed_open(struct iso_fixed_cuda *f, struct iso_room *room, int64_t n)
{
	f->n = n;
	ISO_DEVICE(room, f->v, n);
}

static inline int iso_fixed_begin(struct iso_fixed_cuda *f, const iso_ctx *ctx, double bound)
{
	f->scale = iso_fixed_scale(bound);
	return iso_cuda_check("clear",
	                      cudaMemsetAsync(f->v, 0, (size_t)f->n * sizeof *f->v, iso_stream(ctx)));
}

/* The sums of this rank become those of all ranks; collective, see comm.h. */
static inline int iso_fixed_sum(struct iso_fixed_cuda *f, iso_ctx *ctx, int st)
{
	return iso_comm_sum_device(ctx, st, (int64_t *)f->v, f->n);
}

static __global__ void iso_fixed_to_real(iso_real *x, struct iso_fixed_cuda f)
{
	ISO_GRID_LOOP (i, f.n) x[i] = (iso_real)((double)(long long)f.v[i] / f.scale);
}

static inline int iso_fixed_end(iso_real *x, struct iso_fixed_cuda *f, const iso_ctx *ctx)
{
	iso_fixed_to_real<<<iso_blocks(f->n), ISO_THREADS, 0, iso_stream(ctx)>>>(x, *f);
	return iso_cuda_launched("fixed point");
}

/* The same over u[i], which was in every term; 0 where that is not above 0. */
static __global__ void iso_fixed_to_real_over(iso_real *x, struct iso_fixed_cuda f, const iso_real *u)
{
	ISO_GRID_LOOP (i, f.n) x[i] = u[i] > 0 ? (iso_real)((double)(long long)f.v[i] / f.scale / u[i]) : 0;
}

static inline int iso_fixed_end_over(iso_real *x, struct iso_fixed_cuda *f, const iso_ctx *ctx,
                                     const iso_real *u)
{
	iso_fixed_to_real_over<<<iso_blocks(f->n), ISO_THREADS, 0, iso_stream(ctx)>>>(x, *f, u);
	return iso_cuda_launched("fixed point");
}

#endif
