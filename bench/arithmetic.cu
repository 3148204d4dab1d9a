/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring a CUDA device's rate of fused multiply-adds. */
#include "arithmetic.h"

#include "core/cuda.cuh"
#include "core/progress.h"

#define ROUNDS 4096
#define CHAINS 8 /* independent of one another */
#define BLOCKS 4096
#define REPEATS 3 /* the best of them counts */

static __global__ void spin(float *sink, float start)
{
	float x[CHAINS], sum = 0;

#pragma unroll
	for (int k = 0; k < CHAINS; k++) x[k] = start + k + threadIdx.x;
	for (int r = 0; r < ROUNDS; r++)
#pragma unroll
		for (int k = 0; k < CHAINS; k++) x[k] = fmaf(x[k], .5f, 1.f);
#pragma unroll
	for (int k = 0; k < CHAINS; k++) sum += x[k];
	if (sum < 0) /* never; but the work can't be left out */
		*sink = sum;
}

static int finish(iso_ctx *ctx)
{
	return iso_cuda_check("arithmetic", cudaStreamSynchronize(iso_stream(ctx)));
}

/* The first launch is the warm-up. */
extern "C" int iso_arithmetic_cuda(double *per_s, iso_ctx *ctx)
{
	int st = iso_cuda_use(ctx);

	*per_s = 0;
	if (!st) st = finish(ctx);
	for (int r = 0; r <= REPEATS && !st; r++) {
		double start_s = iso_now_s();

		spin<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(nullptr, (float)r);
		if ((st = iso_cuda_launched("arithmetic")) || (st = finish(ctx))) return st;
		double now = (double)ROUNDS * CHAINS * BLOCKS * ISO_THREADS / (iso_now_s() - start_s);

		*per_s = r > 0 && now > *per_s ? now : *per_s;
	}
	return st;
}
