/* SPDX-License-Identifier: BSD-3-Clause */
/* The proximal map of total variation and sign on the CPU. */
#include "prox_kern.h"

#include "core/ctx.h"

static void image(iso_real *u, const iso_ctx *ctx, const struct prox *p, const iso_real *dual,
                  const iso_real *b)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t v = 0; v < prox_voxels(p); v++) u[v] = prox_image(p, b, dual, v);
}

int iso_prox_apply(iso_real *u, iso_ctx *ctx, const struct prox *p, int steps, iso_real *dual,
                   const iso_real *b)
{
	void *cuda = NULL;
	int st;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cuda, "iso_prox_apply_cuda");
		return st ? st : ((typeof(&iso_prox_apply))cuda)(u, ctx, p, steps, dual, b);
	}
	for (int i = 0; p->lambda > 0 && i < steps; i++) {
		image(u, ctx, p, dual, b);
#pragma omp parallel for num_threads(ctx->threads)
		for (int64_t v = 0; v < prox_voxels(p); v++) prox_dual(p, dual, u, v);
	}
	image(u, ctx, p, dual, b);
	return ISO_OK;
}

int iso_prox_steepness(iso_real *y, iso_ctx *ctx, const struct prox *p, const iso_real *x)
{
	void *cuda = NULL;
	int st;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cuda, "iso_prox_steepness_cuda");
		return st ? st : ((typeof(&iso_prox_steepness))cuda)(y, ctx, p, x);
	}
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t v = 0; v < prox_voxels(p); v++) y[v] = prox_steepness(p, x, v);
	return ISO_OK;
}
