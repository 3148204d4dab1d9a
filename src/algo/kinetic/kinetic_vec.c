/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of nested EM on the CPU. */
#include "kinetic_vec.h"

#include "core/ctx.h"

static int form(iso_ctx *ctx, int64_t n, iso_real *f, const iso_real *x, int coefficients,
                const iso_real *mean)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i += KINETIC_WIDTH) {
		const int64_t end = n - i < KINETIC_WIDTH ? n : i + KINETIC_WIDTH;

		for (int64_t v = i; v < end; v++) f[v] = mean[0] * x[v];
		for (int k = 1; k < coefficients; k++)
			for (int64_t v = i; v < end; v++) f[v] += mean[k] * x[k * n + v];
	}
	return ISO_OK;
}

static int fit(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
	const int64_t whole = p->n / KINETIC_WIDTH * KINETIC_WIDTH;

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < whole; i += KINETIC_WIDTH) kinetic_fit_voxels(x, p, i, KINETIC_WIDTH);
	kinetic_fit_voxels(x, p, whole, (int)(p->n - whole));
	return ISO_OK;
}

static const struct kinetic_vec kinetic_vec_cpu = { form, fit };

int iso_kinetic_vec(const struct kinetic_vec **v, iso_ctx *ctx)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, "iso_kinetic_vec_cuda") : ISO_OK;

	*v = cuda ? cuda : &kinetic_vec_cpu;
	return st;
}
