/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring a CUDA device's rates of loads and atomic adds. */
#include "limits.h"

#include "core/cuda.cuh"
#include "core/philox.h"
#include "core/progress.h"

#define SET_WORDS (1 << 21) /* 8 MB: held by the second-level cache */
#define PIECES 256          /* of each group of threads, in one launch */
#define BLOCKS 2048
#define REPEATS 3 /* the best of them counts */
#define TRIAD_WORDS (1ll << 27)

/* Where a group's next piece begins: any word that leaves room for it. */
static __device__ uint32_t place(uint32_t s, int run)
{
	return (uint32_t)(((uint64_t)s * (SET_WORDS - run)) >> 32);
}

/* `run` neighbouring threads take the words of one piece. */
template <int run, bool add> static __global__ void pieces(float *set, float *sink, uint32_t seed)
{
	uint32_t group = (blockIdx.x * blockDim.x + threadIdx.x) / run, lane = threadIdx.x % run;
	uint32_t s = philox_draw(seed, group, 0).w[0];
	float sum = 0;

	for (int i = 0; i < PIECES; i++) {
		float *word = set + place(s, run) + lane;

		s = s * 1664525u + 1013904223u;
		if (add)
			atomicAdd(word, 1.f);
		else
			sum += __ldcg(word);
	}
	if (sum == -1) /* never; but the loads can't be left out */
		*sink = sum;
}

static __global__ void triad(int64_t n, float *a, const float *b, const float *c)
{
	ISO_GRID_LOOP (i, n) a[i] = b[i] + 3 * c[i];
}

static int finish(iso_ctx *ctx)
{
	return iso_cuda_check("limits", cudaStreamSynchronize(iso_stream(ctx)));
}

/* Words a second, the best after one launch of warm-up. */
template <int run, bool add> static int rate(double *best, iso_ctx *ctx, float *set)
{
	int st = finish(ctx);

	*best = 0;
	for (int r = 0; r <= REPEATS && !st; r++) {
		double start_s = iso_now_s();

		pieces<run, add>
			<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(set, set + SET_WORDS, (uint32_t)r);
		if ((st = iso_cuda_launched("limits")) || (st = finish(ctx))) return st;
		double now = (double)BLOCKS * ISO_THREADS * PIECES / (iso_now_s() - start_s);

		if (r > 0 && now > *best) *best = now;
	}
	return st;
}

static int measure_triad(double *best, iso_ctx *ctx)
{
	const int64_t n = TRIAD_WORDS;
	void *memory = NULL;
	int st = ctx->vec->alloc(ctx, &memory, 3 * n * (int64_t)sizeof(float));
	float *v = (float *)memory;

	*best = 0;
	for (int r = 0; r <= REPEATS && !st; r++) {
		if ((st = finish(ctx))) break;
		double start_s = iso_now_s();

		triad<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, v, v + n, v + 2 * n);
		if ((st = iso_cuda_launched("limits")) || (st = finish(ctx))) break;
		double now = 3 * sizeof(float) * (double)n / (iso_now_s() - start_s);

		if (r > 0 && now > *best) *best = now;
	}
	cudaFree(memory);
	return st;
}

static int measure(struct iso_limits *l, iso_ctx *ctx, float *set)
{
	int st;

	if ((st = rate<8, false>(&l->load_8, ctx, set))) return st;
	if ((st = rate<32, false>(&l->load_32, ctx, set))) return st;
	if ((st = rate<8, true>(&l->add_8, ctx, set))) return st;
	if ((st = rate<32, true>(&l->add_32, ctx, set))) return st;
	return measure_triad(&l->triad, ctx);
}

extern "C" int iso_limits_cuda(struct iso_limits *l, iso_ctx *ctx)
{
	void *set = NULL;
	int st = ctx->vec->alloc(ctx, &set, (SET_WORDS + 1) * (int64_t)sizeof(float));

	l->bytes = SET_WORDS * (double)sizeof(float);
	if (!st) st = measure(l, ctx, (float *)set);
	cudaFree(set);
	return st;
}
