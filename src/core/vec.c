/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors on the CPU. Sums run over blocks fixed by the length alone and are added in order, so
   their bits do not depend on the number of threads. */
#include "ctx.h"
#include "philox.h"
#include "size.h"

#define BLOCK 4096 /* terms of a partial sum */

int iso_vec_alloc(iso_ctx *ctx, iso_real **x, int64_t n)
{
	int64_t bytes;
	void *p = NULL;

	if (!size_mul(&bytes, n, sizeof **x)) return iso_fail_memory("vector", INT64_MAX);
	int st = iso_ctx_ready(ctx);

	if (!st) st = ctx->vec->alloc(ctx, &p, bytes);
	if (!st) *x = p;
	return st;
}

static int vec_alloc(iso_ctx *ctx, void **p, int64_t bytes)
{
	(void)ctx;
	void *q = size_alloc(bytes, 1);

	if (!q) return iso_fail_memory("vector", bytes);
	*p = q;
	return ISO_OK;
}

static void vec_free(iso_ctx *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int vec_move(iso_ctx *ctx, void *dst, const void *src, int64_t bytes)
{
	(void)ctx;
	memcpy(dst, src, (size_t)bytes);
	return ISO_OK;
}

static int vec_copy(iso_ctx *ctx, int64_t n, iso_real *y, const iso_real *x)
{
	return vec_move(ctx, y, x, n * (int64_t)sizeof *x);
}

static int vec_fill(iso_ctx *ctx, int64_t n, iso_real *x, double value)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)value;
	return ISO_OK;
}

static int vec_axpy(iso_ctx *ctx, int64_t n, iso_real *y, double a, const iso_real *x)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) y[i] = iso_fma((iso_real)a, x[i], y[i]);
	return ISO_OK;
}

static int vec_mul(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) z[i] = x[i] * y[i];
	return ISO_OK;
}

static int vec_div(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) z[i] = y[i] > 0 ? x[i] / y[i] : 0;
	return ISO_OK;
}

static int vec_update(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *acc, const iso_real *sens,
                      double scale)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++)
		if (sens[i] > 0) x[i] = acc[i] / ((iso_real)scale * sens[i]);
	return ISO_OK;
}

/* Sum of x y, or of |x| where y is NULL, over one block. */
static double block_sum(int64_t n, const iso_real *x, const iso_real *y)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++) s += y ? (double)x[i] * y[i] : fabs((double)x[i]);
	return s;
}

static int vec_dot(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *y)
{
	int64_t blocks = (n + BLOCK - 1) / BLOCK;
	double *part = size_alloc(blocks, sizeof *part);

	if (!part) return iso_fail_memory("sum", blocks * (int64_t)sizeof *part);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t b = 0; b < blocks; b++) {
		int64_t i = b * BLOCK, m = n - i < BLOCK ? n - i : BLOCK;

		part[b] = block_sum(m, x + i, y ? y + i : NULL);
	}
	*r = 0;
	for (int64_t b = 0; b < blocks; b++) *r += part[b];
	free(part);
	return ISO_OK;
}

static int vec_asum(iso_ctx *ctx, int64_t n, double *r, const iso_real *x)
{
	return vec_dot(ctx, n, r, x, NULL);
}

static int vec_uniform(iso_ctx *ctx, int64_t n, iso_real *x, uint64_t seed)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) x[i] = philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
	return ISO_OK;
}

const struct iso_vec iso_vec_cpu = {
	.alloc = vec_alloc,
	.free = vec_free,
	.upload = vec_move,
	.download = vec_move,
	.copy = vec_copy,
	.fill = vec_fill,
	.axpy = vec_axpy,
	.mul = vec_mul,
	.div = vec_div,
	.update = vec_update,
	.dot = vec_dot,
	.asum = vec_asum,
	.uniform = vec_uniform,
};
