/* SPDX-License-Identifier: BSD-3-Clause */
/* What every .cu file shares: launch shapes, checks, sums whose order is fixed. */
#ifndef ISO_CUDA_CUH
#define ISO_CUDA_CUH

#include "op.h"

#include <cuda_runtime.h>

#define ISO_THREADS 256
#define ISO_WARP 32
#define ISO_FULL_WARP 0xffffffffu

/* for (i = this thread's first; i < n; i += all threads) */
#define ISO_GRID_LOOP(i, n)                                                       \
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (n); \
	     i += (int64_t)gridDim.x * blockDim.x)

/* for (row = this warp's first; ...; row += all warps), in blocks of ISO_THREADS */
#define ISO_WARP_LOOP(row, rows)                                                                             \
	for (int64_t row =                                                                                   \
	             (rows).first + blockIdx.x * (int64_t)(ISO_THREADS / ISO_WARP) + threadIdx.x / ISO_WARP; \
	     row < (rows).first + (rows).n; row += (int64_t)gridDim.x * (ISO_THREADS / ISO_WARP))

/* Blocks of ISO_THREADS for a grid loop over n: at most 2048, which fill any card, and whose partial sums
   are few enough to be added up on the host. */
static inline int iso_blocks(int64_t n)
{
	int64_t b = (n + ISO_THREADS - 1) / ISO_THREADS;

	return (int)(b < 1 ? 1 : b < 2048 ? b : 2048);
}

static inline cudaStream_t iso_stream(const iso_ctx *ctx)
{
	return (cudaStream_t)ctx->stream;
}

/* After the call `what` that returned e: its error, or one left by an earlier launch, as a status. */
static inline int iso_cuda_check(const char *what, cudaError_t e)
{
	cudaError_t last = cudaGetLastError();

	if (e == cudaSuccess) e = last;
	if (e == cudaSuccess) return ISO_OK;
	return iso_fail(e == cudaErrorMemoryAllocation ? ISO_ENOMEM : ISO_EDEVICE, "CUDA: %s: %s", what,
	                cudaGetErrorString(e));
}

static inline int iso_cuda_launched(const char *what)
{
	return iso_cuda_check(what, cudaSuccess);
}

/* Makes the context's device the current one of this thread. */
static inline int iso_cuda_use(const iso_ctx *ctx)
{
	return iso_cuda_check("cudaSetDevice", cudaSetDevice(ctx->cuda_device));
}

/* 1/v and 1/sqrt(v) to 2 units in the last place, for v far from 0 and infinity: one instruction. */
static __device__ __forceinline__ float iso_over(float v)
{
	float r;

	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

static __device__ __forceinline__ float iso_over_root(float v)
{
	float r;

	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

static __device__ __forceinline__ unsigned iso_warp_max(unsigned v)
{
#if __CUDA_ARCH__ >= 800
	return __reduce_max_sync(ISO_FULL_WARP, v);
#else
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		v = max(v, __shfl_xor_sync(ISO_FULL_WARP, v, step));
	return v;
#endif
}

template <class T> static __device__ T iso_warp_sum(T v)
{
	for (int step = ISO_WARP / 2; step > 0; step /= 2) v += __shfl_xor_sync(ISO_FULL_WARP, v, step);
	return v;
}

/* Sum over a block of whole warps, in a fixed order; valid in thread 0. */
template <class T> static __device__ T iso_block_sum(T v)
{
	__shared__ T part[ISO_WARP];

	v = iso_warp_sum(v);
	__syncthreads();
	if (threadIdx.x % ISO_WARP == 0) part[threadIdx.x / ISO_WARP] = v;
	__syncthreads();
	v = 0;
	for (int w = 0; w < (int)blockDim.x / ISO_WARP; w++) v += part[w];
	return v;
}

#endif
