/* SPDX-License-Identifier: BSD-3-Clause */
/* Primal-dual hybrid gradients on CUDA: a thread a voxel or row. */
#include "core/cuda.cuh"
#include "pdhg_kern.h"

template <enum pdhg_do WHAT>
static __global__ void loop(const __grid_constant__ struct pdhg c, struct iso_rows range)
{
	ISO_GRID_LOOP (i, range.n) pdhg_at(WHAT, &c, range.first + i);
}

/* Floats that are not negative are ordered as their bits are. */
static __global__ void most(const __grid_constant__ struct pdhg c, int64_t n, unsigned *largest)
{
	float own = 0;

	ISO_GRID_LOOP (v, n) own = fmaxf(own, pdhg_lack(&c, v));
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		own = fmaxf(own, __shfl_xor_sync(ISO_FULL_WARP, own, step));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(largest, __float_as_uint(own));
}

template <enum pdhg_do WHAT> static void launch(iso_ctx *ctx, const struct pdhg *c, struct iso_rows range)
{
	loop<WHAT><<<iso_blocks(range.n), ISO_THREADS, 0, iso_stream(ctx)>>>(*c, range);
}

extern "C" int iso_pdhg_loop_cuda(iso_ctx *ctx, enum pdhg_do what, const struct pdhg *c,
                                  struct iso_rows range)
{
	int st = iso_cuda_use(ctx);

	if (st || range.n < 1) return st;
	switch (what) {
	case PDHG_SIZE:
		launch<PDHG_SIZE>(ctx, c, range);
		break;
	case PDHG_ROWS_BEGIN:
		launch<PDHG_ROWS_BEGIN>(ctx, c, range);
		break;
	case PDHG_MOST_OF:
		launch<PDHG_MOST_OF>(ctx, c, range);
		break;
	case PDHG_STEPS:
		launch<PDHG_STEPS>(ctx, c, range);
		break;
	case PDHG_IMAGE:
		launch<PDHG_IMAGE>(ctx, c, range);
		break;
	case PDHG_FIELD:
		launch<PDHG_FIELD>(ctx, c, range);
		break;
	case PDHG_ROWS:
		launch<PDHG_ROWS>(ctx, c, range);
		break;
	case PDHG_COLLECT:
		launch<PDHG_COLLECT>(ctx, c, range);
		break;
	case PDHG_ROW_GAP:
		launch<PDHG_ROW_GAP>(ctx, c, range);
		break;
	case PDHG_COUNTS:
		launch<PDHG_COUNTS>(ctx, c, range);
		break;
	case PDHG_VOXEL_GAP:
		launch<PDHG_VOXEL_GAP>(ctx, c, range);
		break;
	}
	return iso_cuda_launched("primal-dual step");
}

/* `slope` is free until the voxels' part of a look: its first four bytes hold the result. */
extern "C" int iso_pdhg_most_cuda(iso_ctx *ctx, double *largest, const struct pdhg *c)
{
	int64_t n = prox_voxels(&c->box);
	unsigned *there = (unsigned *)c->slope;
	float value;
	int st = iso_cuda_use(ctx);

	if (st) return st;
	if ((st = iso_cuda_check("memset", cudaMemsetAsync(there, 0, sizeof *there, iso_stream(ctx)))))
		return st;
	most<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(*c, n, there);
	if ((st = iso_cuda_launched("largest value"))) return st;
	if ((st = ctx->vec->download(ctx, &value, there, sizeof value))) return st;
	*largest = value;
	return ISO_OK;
}
