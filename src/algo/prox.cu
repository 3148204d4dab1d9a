/* SPDX-License-Identifier: BSD-3-Clause */
/* The proximal map of total variation and sign on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "prox_kern.h"

static __global__ void image(struct prox p, int64_t n, iso_real *u, const iso_real *dual, const iso_real *b)
{
	ISO_GRID_LOOP (v, n) u[v] = prox_image(&p, b, dual, v);
}

static __global__ void dual_step(struct prox p, int64_t n, iso_real *dual, const iso_real *u)
{
	ISO_GRID_LOOP (v, n) prox_dual(&p, dual, u, v);
}

static __global__ void steepness(struct prox p, int64_t n, iso_real *y, const iso_real *x)
{
	ISO_GRID_LOOP (v, n) y[v] = prox_steepness(&p, x, v);
}

extern "C" int iso_prox_apply_cuda(iso_real *u, iso_ctx *ctx, const struct prox *p, int steps, iso_real *dual,
                                   const iso_real *b)
{
	int64_t n = prox_voxels(p);
	int st = iso_cuda_use(ctx), blocks = iso_blocks(n);
	cudaStream_t stream = iso_stream(ctx);

	for (int i = 0; !st && p->lambda > 0 && i < steps; i++) {
		image<<<blocks, ISO_THREADS, 0, stream>>>(*p, n, u, dual, b);
		dual_step<<<blocks, ISO_THREADS, 0, stream>>>(*p, n, dual, u);
		st = iso_cuda_launched("total variation");
	}
	if (st) return st;
	image<<<blocks, ISO_THREADS, 0, stream>>>(*p, n, u, dual, b);
	return iso_cuda_launched("proximal map");
}

extern "C" int iso_prox_steepness_cuda(iso_real *y, iso_ctx *ctx, const struct prox *p, const iso_real *x)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	steepness<<<iso_blocks(prox_voxels(p)), ISO_THREADS, 0, iso_stream(ctx)>>>(*p, prox_voxels(p), y, x);
	return iso_cuda_launched("steepness");
}
