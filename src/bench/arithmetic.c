/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rate of float operations. */
#include "arithmetic.h"

#include "core/ctx.h"
#include "core/progress.h"

#define ROUNDS 1000000
#define REPEATS 3	/* the best of them counts */

/* One register; CHAINS of them, independent of one another, are more than a core has in flight, and
   few enough for the compiler to keep them all in registers. */
#if defined(__AVX512F__)
enum { LANES = 16, CHAINS = 12 };
#elif defined(__AVX__)
enum { LANES = 8, CHAINS = 12 };
#else
enum { LANES = 4, CHAINS = 12 };
#endif

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* x = x m + c in every lane, which stays near c / (1 - m). */
static float spin(float start)
{
	const lanes m = (lanes){ 0 } + .5f, c = (lanes){ 0 } + 1;
	lanes x[CHAINS];
	float sum = 0;

	for (int k = 0; k < CHAINS; k++)
		x[k] = (lanes){ 0 } + (start + (float)k);
	for (int r = 0; r < ROUNDS; r++)
		for (int k = 0; k < CHAINS; k++)
			x[k] = x[k] * m + c;
	for (int k = 0; k < CHAINS; k++)
		for (int i = 0; i < LANES; i++)
			sum += x[k][i];
	return sum;
}

static double rate_cpu(const iso_ctx *ctx)
{
	double best = 0, sum = 0;

	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(ctx->threads) schedule(static, 1) reduction(+ : sum)
		for (int t = 0; t < ctx->threads; t++)
			sum += spin((float)(t + r));
		double now = 2. * ROUNDS * CHAINS * LANES * ctx->threads / (iso_now_s() - start_s);

		best = now > best ? now : best;
	}
	return sum < 0 ? 0 : best;	/* never; but the work can't be left out */
}

int iso_arithmetic_rate(double *per_s, iso_ctx *ctx)
{
	union {
		void *address;
		int (*measure)(double *per_s, iso_ctx *ctx);
	} cuda;
	int st;

	if (!iso_ctx_is_cuda(ctx)) {
		*per_s = rate_cpu(ctx);
		return ISO_OK;
	}
	if ((st = iso_cuda_symbol(&cuda.address, "iso_arithmetic_cuda")))
		return st;
	return cuda.measure(per_s, ctx);
}
