/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rate of loads from its first-level cache. */
#include "cache.h"
#include "rate.h"

#define ROUNDS 20000

/* Registers; all CHAINS of them are sums of their own, so that no load waits for an addition. */
#if defined(__AVX512F__)
enum { LANES = 16, CHAINS = 8 };
#elif defined(__AVX__)
enum { LANES = 8, CHAINS = 8 };
#else
enum { LANES = 4, CHAINS = 16 };
#endif

enum { WORDS = 4096 }; /* 16 KB: held by any first-level cache */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* The empty statement may have changed the words, for all that the compiler knows: it loads them
   in every round. */
static float load_all(float start)
{
	float set[WORDS] __attribute__((aligned(64)));
	lanes sum[CHAINS] = { { 0 } };
	float all = 0;

	for (int i = 0; i < WORDS; i++) set[i] = start;
	for (int r = 0; r < ROUNDS; r++) {
		__asm__ volatile("" : : "r"(set) : "memory");
		for (int i = 0; i < WORDS; i += CHAINS * LANES)
			for (int k = 0; k < CHAINS; k++) sum[k] += *(const lanes *)(set + i + k * LANES);
	}
	for (int k = 0; k < CHAINS; k++)
		for (int i = 0; i < LANES; i++) all += sum[k][i];
	return all;
}

int iso_cache_rate(double *bytes_per_s, iso_ctx *ctx)
{
	const struct iso_rate rate = { load_all, (double)sizeof(float) * ROUNDS * WORDS, "iso_cache_cuda" };

	return iso_rate_measure(bytes_per_s, ctx, &rate);
}
