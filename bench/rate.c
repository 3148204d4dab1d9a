/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring a rate. */
#include "rate.h"

#include "core/ctx.h"
#include "core/progress.h"

#define REPEATS 3 /* the best of them counts */

static double rate_cpu(const iso_ctx *ctx, const struct iso_rate *p)
{
	double best = 0, sum = 0;

	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(ctx->threads) schedule(static, 1) reduction(+ : sum)
		for (int t = 0; t < ctx->threads; t++) sum += p->work((float)(1 + t + r));
		double now = p->units * ctx->threads / (iso_now_s() - start_s);

		best = now > best ? now : best;
	}
	return sum < 0 ? 0 : best; /* never; but the work can't be left out */
}

int iso_rate_measure(double *per_s, iso_ctx *ctx, const struct iso_rate *p)
{
	union {
		void *address;
		int (*measure)(double *per_s, iso_ctx *ctx);
	} cuda;
	int st;

	if (!iso_ctx_is_cuda(ctx)) {
		*per_s = rate_cpu(ctx, p);
		return ISO_OK;
	}
	if ((st = iso_cuda_symbol(&cuda.address, p->cuda))) return st;
	return cuda.measure(per_s, ctx);
}
