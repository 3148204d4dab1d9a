/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring a CUDA device's rates: loads and atomic adds, loads from shared memory, fused
   multiply-adds, and the link to it. */
#include "limits.h"

#include "core/cuda.cuh"
#include "core/philox.h"
#include "core/progress.h"

#define SET_WORDS (1 << 21) /* 8 MB: held by the second-level cache */
#define PIECES 256          /* of each group of threads, in one launch */
#define PIECE_BLOCKS 2048
#define BLOCKS 4096
#define REPEATS 3 /* the best of them counts */
#define TRIAD_WORDS (1ll << 27)
#define CHAINS 8 /* of a thread, independent of one another; words far apart */
#define ARITHMETIC_ROUNDS 4096
#define CACHE_ROUNDS 1024
#define LINK_BYTES (1ll << 28)

/* `run` neighbouring threads take the words of one piece, which begins at any word that leaves room for it. */
template <int run, bool add> static __global__ void pieces(float *set, float *sink, uint32_t seed)
{
	uint32_t group = (blockIdx.x * blockDim.x + threadIdx.x) / run, lane = threadIdx.x % run;
	uint32_t s = philox_draw(seed, group, 0).w[0];
	float sum = 0;

	for (int i = 0; i < PIECES; i++) {
		float *word = set + (uint32_t)(((uint64_t)s * (SET_WORDS - run)) >> 32) + lane;

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

static __global__ void spin(float *sink, float start)
{
	float x[CHAINS], sum = 0;

#pragma unroll
	for (int k = 0; k < CHAINS; k++) x[k] = start + k + threadIdx.x;
	for (int r = 0; r < ARITHMETIC_ROUNDS; r++)
#pragma unroll
		for (int k = 0; k < CHAINS; k++) x[k] = fmaf(x[k], .5f, 1.f);
#pragma unroll
	for (int k = 0; k < CHAINS; k++) sum += x[k];
	if (sum < 0) /* never; but the work can't be left out */
		*sink = sum;
}

/* Volatile: each load is done, in every round. */
static __global__ void load_all(float *sink, float start)
{
	__shared__ float set[CHAINS * ISO_THREADS];
	volatile float *mine = set + threadIdx.x;
	float sum[CHAINS] = { 0 }, all = 0;

	for (int k = 0; k < CHAINS; k++) mine[k * ISO_THREADS] = start;
	__syncthreads();
	for (int r = 0; r < CACHE_ROUNDS; r++)
#pragma unroll
		for (int k = 0; k < CHAINS; k++) sum[k] += mine[k * ISO_THREADS];
	for (int k = 0; k < CHAINS; k++) all += sum[k];
	if (all < 0) /* never; but the loads can't be left out */
		*sink = all;
}

/* Units a second, the best after one launch of warm-up; launch(r) does so many. */
template <class Launch> static int best_rate(double *best, iso_ctx *ctx, double units, Launch launch)
{
	cudaStream_t stream = iso_stream(ctx);
	int st = iso_cuda_use(ctx);

	*best = 0;
	if (!st) st = iso_cuda_check("limits", cudaStreamSynchronize(stream));
	for (int r = 0; r <= REPEATS && !st; r++) {
		double start_s = iso_now_s();

		launch(r, stream);
		if ((st = iso_cuda_launched("limits"))) break;
		if ((st = iso_cuda_check("limits", cudaStreamSynchronize(stream)))) break;
		double now = units / (iso_now_s() - start_s);

		if (r > 0 && now > *best) *best = now;
	}
	return st;
}

template <int run, bool add> static int piece_rate(double *best, iso_ctx *ctx, float *set)
{
	return best_rate(
		best, ctx, (double)PIECE_BLOCKS * ISO_THREADS * PIECES, [=](int r, cudaStream_t stream) {
			pieces<run, add>
				<<<PIECE_BLOCKS, ISO_THREADS, 0, stream>>>(set, set + SET_WORDS, (uint32_t)r);
		});
}

static int triad_rate(double *best, iso_ctx *ctx)
{
	const int64_t n = TRIAD_WORDS;
	void *memory = NULL;
	int st = ctx->vec->alloc(ctx, &memory, 3 * n * (int64_t)sizeof(float));
	float *v = (float *)memory;

	if (!st)
		st = best_rate(best, ctx, 3 * sizeof(float) * (double)n, [=](int, cudaStream_t stream) {
			triad<<<iso_blocks(n), ISO_THREADS, 0, stream>>>(n, v, v + n, v + 2 * n);
		});
	cudaFree(memory);
	return st;
}

extern "C" int iso_limits_cuda(struct iso_limits *l, iso_ctx *ctx, int64_t)
{
	void *memory = NULL;
	int st = ctx->vec->alloc(ctx, &memory, (SET_WORDS + 1) * (int64_t)sizeof(float));
	float *set = (float *)memory;

	l->bytes = SET_WORDS * (double)sizeof(float);
	if (!st) st = piece_rate<8, false>(&l->load_8, ctx, set);
	if (!st) st = piece_rate<32, false>(&l->load_32, ctx, set);
	if (!st) st = piece_rate<8, true>(&l->add_8, ctx, set);
	if (!st) st = piece_rate<32, true>(&l->add_32, ctx, set);
	cudaFree(memory);
	return st ? st : triad_rate(&l->triad, ctx);
}

extern "C" int iso_arithmetic_cuda(double *per_s, iso_ctx *ctx)
{
	return best_rate(per_s, ctx, (double)ARITHMETIC_ROUNDS * CHAINS * BLOCKS * ISO_THREADS,
	                 [](int r, cudaStream_t stream) {
				 spin<<<BLOCKS, ISO_THREADS, 0, stream>>>(nullptr, (float)r);
			 });
}

extern "C" int iso_cache_cuda(double *bytes_per_s, iso_ctx *ctx)
{
	return best_rate(bytes_per_s, ctx,
	                 (double)sizeof(float) * CACHE_ROUNDS * CHAINS * BLOCKS * ISO_THREADS,
	                 [](int r, cudaStream_t stream) {
				 load_all<<<BLOCKS, ISO_THREADS, 0, stream>>>(nullptr, (float)(1 + r));
			 });
}

extern "C" int iso_link_cuda(double *bytes_per_s, iso_ctx *ctx)
{
	void *host = NULL, *device = NULL;
	int st = iso_cuda_use(ctx);

	if (!st) st = iso_cuda_check("pinned memory", cudaMallocHost(&host, LINK_BYTES));
	if (!st) st = ctx->vec->alloc(ctx, &device, LINK_BYTES);
	if (!st)
		st = best_rate(bytes_per_s, ctx, (double)LINK_BYTES, [=](int, cudaStream_t stream) {
			cudaMemcpyAsync(device, host, LINK_BYTES, cudaMemcpyHostToDevice, stream);
		});
	cudaFree(device);
	cudaFreeHost(host);
	return st;
}
