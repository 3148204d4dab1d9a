/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rates of float operations, and of loads from its first-level cache. */
#include "limits.h"

#include "core/ctx.h"
#include "core/progress.h"

#define REPEATS 3 /* the best of them counts */
#define ARITHMETIC_ROUNDS 1000000
#define CACHE_ROUNDS 20000

/* One register. The chains, independent of one another, are more than a core has in flight, and few
   enough for the compiler to keep them all in registers. */
#if defined(__AVX512F__)
enum { LANES = 16, CACHE_CHAINS = 8 };
#elif defined(__AVX__)
enum { LANES = 8, CACHE_CHAINS = 8 };
#else
enum { LANES = 4, CACHE_CHAINS = 16 };
#endif

enum { CHAINS = 12, WORDS = 4096 }; /* 16 KB: held by any first-level cache */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

static float sum_of(const lanes *x, int n)
{
	float sum = 0;

	for (int k = 0; k < n; k++)
		for (int i = 0; i < LANES; i++) sum += x[k][i];
	return sum;
}

/* x = x m + c in every lane, which stays near c / (1 - m). */
static float spin(float start)
{
	const lanes m = (lanes){ 0 } + .5f, c = (lanes){ 0 } + 1;
	lanes x[CHAINS];

	for (int k = 0; k < CHAINS; k++) x[k] = (lanes){ 0 } + (start + (float)k);
	for (int r = 0; r < ARITHMETIC_ROUNDS; r++)
		for (int k = 0; k < CHAINS; k++) x[k] = x[k] * m + c;
	return sum_of(x, CHAINS);
}

/* The empty statement may have changed the words, for all that the compiler knows: it loads them
   in every round. */
static float load_all(float start)
{
	float set[WORDS] __attribute__((aligned(64)));
	lanes sum[CACHE_CHAINS] = { { 0 } };

	for (int i = 0; i < WORDS; i++) set[i] = start;
	for (int r = 0; r < CACHE_ROUNDS; r++) {
		__asm__ volatile("" : : "r"(set) : "memory");
		for (int i = 0; i < WORDS; i += CACHE_CHAINS * LANES)
			for (int k = 0; k < CACHE_CHAINS; k++)
				sum[k] += *(const lanes *)(set + i + k * LANES);
	}
	return sum_of(sum, CACHE_CHAINS);
}

/* `work`, which gives a number above 0 that depends on all of it, does so many units in each thread;
   `cuda` names the function that measures the same there. */
static int measure(double *per_s, iso_ctx *ctx, float (*work)(float start), double units, const char *cuda)
{
	union {
		void *address;
		int (*measure)(double *per_s, iso_ctx *ctx);
	} there;
	const int threads = iso_ctx_threads(ctx);
	double sum = 0;
	int st;

	if (iso_ctx_is_cuda(ctx))
		return (st = iso_bench_cuda(&there.address, cuda)) ? st : there.measure(per_s, ctx);
	*per_s = 0;
	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : sum)
		for (int t = 0; t < threads; t++) sum += work((float)(1 + t + r));
		double now = units * threads / (iso_now_s() - start_s);

		*per_s = now > *per_s ? now : *per_s;
	}
	if (sum < 0) *per_s = 0; /* never; but the work can't be left out */
	return ISO_OK;
}

int iso_bench_cuda(void **address, const char *name)
{
	return iso_cuda_symbol_in(address, "libisotome_bench_cuda.so", name);
}

int iso_arithmetic_rate(double *per_s, iso_ctx *ctx)
{
	return measure(per_s, ctx, spin, 2. * ARITHMETIC_ROUNDS * CHAINS * LANES, "iso_arithmetic_cuda");
}

int iso_cache_rate(double *bytes_per_s, iso_ctx *ctx)
{
	return measure(bytes_per_s, ctx, load_all, (double)sizeof(float) * CACHE_ROUNDS * WORDS,
	               "iso_cache_cuda");
}
