/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of nested EM on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "kinetic_vec.h"

struct means {
	iso_real v[ISO_BASES_MOST];
};

static __global__ void form(int64_t n, iso_real *f, const iso_real *x, int coefficients, struct means mean)
{
	ISO_GRID_LOOP (i, n) {
		iso_real sum = mean.v[0] * x[i];

		for (int k = 1; k < coefficients; k++) sum += mean.v[k] * x[k * n + i];
		f[i] = sum;
	}
}

static __global__ void fit(iso_real *x, struct kinetic_fit p)
{
	ISO_GRID_LOOP (i, p.n)
		if (p.sens[i] > 0) kinetic_fit_voxels(x, &p, i, 1);
}

static int form_cuda(iso_ctx *ctx, int64_t n, iso_real *f, const iso_real *x, int coefficients,
                     const iso_real *mean)
{
	struct means all = { { 0 } };

	for (int k = 0; k < coefficients; k++) all.v[k] = mean[k];
	form<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, f, x, coefficients, all);
	return iso_cuda_launched("image of a bin");
}

static int fit_cuda(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p)
{
	fit<<<iso_blocks(p->n), ISO_THREADS, 0, iso_stream(ctx)>>>(x, *p);
	return iso_cuda_launched("fit of coefficients");
}

extern "C" const struct kinetic_vec iso_kinetic_vec_cuda = { form_cuda, fit_cuda };
