/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rate of float operations. */
#include "arithmetic.h"
#include "rate.h"

#define ROUNDS 1000000

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

	for (int k = 0; k < CHAINS; k++) x[k] = (lanes){ 0 } + (start + (float)k);
	for (int r = 0; r < ROUNDS; r++)
		for (int k = 0; k < CHAINS; k++) x[k] = x[k] * m + c;
	for (int k = 0; k < CHAINS; k++)
		for (int i = 0; i < LANES; i++) sum += x[k][i];
	return sum;
}

int iso_arithmetic_rate(double *per_s, iso_ctx *ctx)
{
	const struct iso_rate rate = { spin, 2. * ROUNDS * CHAINS * LANES, "iso_arithmetic_cuda" };

	return iso_rate_measure(per_s, ctx, &rate);
}
