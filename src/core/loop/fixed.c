/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixed-point accumulation: private copies, or one shared copy where memory is short. */
#include "fixed.h"
#include "core/size.h"

/* An atomic addition takes about 4 ns longer than a plain one; to clear a value of a copy and to
   add it up takes about 2 (measured on Neoverse V1). */
#define ADDITIONS_PER_VALUE .5

int iso_fixed_copies(const iso_ctx *ctx, int64_t n, double additions)
{
	int64_t all;

	if (additions < ADDITIONS_PER_VALUE * (double)n * ctx->threads) return 1;
	if (!size_mul(&all, n, (int64_t)sizeof(int64_t) * ctx->threads)) return 1;
	return all <= iso_ctx_host_memory(ctx) / 4 ? ctx->threads : 1;
}

int iso_fixed_create(struct iso_fixed *f, const iso_ctx *ctx, int64_t n, double additions)
{
	int copies = iso_fixed_copies(ctx, n, additions);
	int64_t *v = size_alloc(n * copies, sizeof *v);

	if (!v) return iso_fail_memory("fixed-point image", n * copies * (int64_t)sizeof *v);
	*f = (struct iso_fixed){
		.n = n, .copies = copies, .v = v, .scale = 1, .atomic = copies < ctx->threads
	};
	return ISO_OK;
}

void iso_fixed_free(struct iso_fixed *f)
{
	free(f->v);
	*f = (struct iso_fixed){ 0 };
}

void iso_fixed_begin(struct iso_fixed *f, const iso_ctx *ctx, double bound)
{
	f->scale = iso_fixed_scale(bound);
	f->added = false;
#pragma omp parallel for num_threads(ctx->threads) schedule(static, 1)
	for (int c = 0; c < f->copies; c++) memset(f->v + c * f->n, 0, (size_t)f->n * sizeof *f->v);
}

/* All into the first. */
static void add_copies(struct iso_fixed *f, int threads)
{
	if (f->copies == 1) return;
#pragma omp parallel for num_threads(threads)
	for (int64_t i = 0; i < f->n; i++)
		for (int c = 1; c < f->copies; c++) f->v[i] += f->v[c * f->n + i];
}

int iso_fixed_sum(struct iso_fixed *f, iso_ctx *ctx, int st)
{
	if (!ctx->comm) return st;
	if (!st) add_copies(f, ctx->threads);
	f->added = true;
	return iso_comm_sum(ctx, st, f->v, f->n);
}

void iso_fixed_end(iso_real *x, struct iso_fixed *f, const iso_ctx *ctx)
{
	const double unit = 1 / f->scale; /* exact: a power of two */

	if (!f->added) add_copies(f, ctx->threads);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < f->n; i++) x[i] = (iso_real)((double)f->v[i] * unit);
}

void iso_fixed_end_over(iso_real *x, struct iso_fixed *f, const iso_ctx *ctx, const iso_real *u)
{
	const double unit = 1 / f->scale;

	if (!f->added) add_copies(f, ctx->threads);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < f->n; i++) x[i] = u[i] > 0 ? (iso_real)((double)f->v[i] * unit / u[i]) : 0;
}
