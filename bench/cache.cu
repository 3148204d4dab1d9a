/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring a CUDA device's rate of loads from shared memory. */
#include "cache.h"

#include "core/cuda.cuh"
#include "core/progress.h"

#define ROUNDS 1024
#define CHAINS 8 /* words of a thread in a round, far apart */
#define BLOCKS 4096
#define REPEATS 3 /* the best of them counts */

/* Volatile: each load is done, in every round. */
static __global__ void load_all(float *sink, float start)
{
	__shared__ float set[CHAINS * ISO_THREADS];
	volatile float *mine = set + threadIdx.x;
	float sum[CHAINS] = { 0 }, all = 0;

	for (int k = 0; k < CHAINS; k++) mine[k * ISO_THREADS] = start;
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++)
#pragma unroll
		for (int k = 0; k < CHAINS; k++) sum[k] += mine[k * ISO_THREADS];
	for (int k = 0; k < CHAINS; k++) all += sum[k];
	if (all < 0) /* never; but the loads can't be left out */
		*sink = all;
}

static int finish(iso_ctx *ctx)
{
	return iso_cuda_check("cache", cudaStreamSynchronize(iso_stream(ctx)));
}

/* The first launch is the warm-up. */
extern "C" int iso_cache_cuda(double *bytes_per_s, iso_ctx *ctx)
{
	int st = iso_cuda_use(ctx);

	*bytes_per_s = 0;
	if (!st) st = finish(ctx);
	for (int r = 0; r <= REPEATS && !st; r++) {
		double start_s = iso_now_s();

		load_all<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(nullptr, (float)(1 + r));
		if ((st = iso_cuda_launched("cache")) || (st = finish(ctx))) return st;
		double now = (double)sizeof(float) * ROUNDS * CHAINS * BLOCKS * ISO_THREADS /
		             (iso_now_s() - start_s);

		*bytes_per_s = r > 0 && now > *bytes_per_s ? now : *bytes_per_s;
	}
	return st;
}
