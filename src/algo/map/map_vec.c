/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of the algorithms of penalised likelihood on the CPU. */
#include "map_vec.h"

#include "core/ctx.h"

#define EACH                                                  \
	_Pragma("omp parallel for num_threads(ctx->threads)") \
	for (int64_t i = 0; i < n; i++)

static int shift(iso_ctx *ctx, int64_t n, iso_real *u, const iso_real *x, double off)
{
	EACH u[i] = x[i] + (iso_real)off;
	return ISO_OK;
}

static int precondition(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *u, const iso_real *sens,
                        const iso_real *balance, const iso_real *curvature, double beta)
{
	EACH p[i] =
		map_precondition(u[i], sens[i], balance ? balance[i] : 0, curvature ? curvature[i] : 0, beta);
	return ISO_OK;
}

static int gather(iso_ctx *ctx, int64_t n, iso_real *g, iso_real *balance, const iso_real *z, double scale)
{
	EACH
	{
		g[i] += z[i];
		balance[i] = iso_fmax(balance[i], (iso_real)scale * z[i]);
	}
	return ISO_OK;
}

static int solve(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *e, const iso_real *sens,
                 const iso_real *gradient, const iso_real *curvature, double beta)
{
	EACH x[i] = map_solve(x[i], e[i], sens[i], gradient ? gradient[i] : 0, curvature ? curvature[i] : 0,
	                      beta);
	return ISO_OK;
}

static int row_curvature(iso_ctx *ctx, int64_t n, iso_real *here, const iso_real *there, double t)
{
	EACH here[i] = map_row_curvature(here[i], there[i], t);
	return ISO_OK;
}

static int root(iso_ctx *ctx, int64_t n, iso_real *k, const iso_real *sens)
{
	EACH k[i] = sens[i] > 0 && k[i] > 0 ? iso_sqrt(k[i]) : 0;
	return ISO_OK;
}

static int scale_of(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *k2, const iso_real *hessian,
                    const iso_real *u, const iso_real *sens, double beta)
{
	EACH p[i] = map_scale(k2[i], hessian ? hessian[i] : 0, beta, u[i], sens[i]);
	return ISO_OK;
}

static int find_free(iso_ctx *ctx, int64_t n, iso_real *free, const iso_real *x, const iso_real *g,
                     const iso_real *p, const iso_real *sens, double scale)
{
	EACH free[i] = map_is_free(x[i], g[i], scale * p[i], sens[i]);
	return ISO_OK;
}

static int join(iso_ctx *ctx, int64_t n, iso_real *d, const iso_real *free, const iso_real *p,
                const iso_real *g, double scale)
{
	EACH d[i] = free[i] > 0 ? d[i] : (iso_real)scale * p[i] * g[i];
	return ISO_OK;
}

static int along(iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, double t, const iso_real *d)
{
	EACH to[i] = iso_fmax(iso_fma((iso_real)t, d[i], x[i]), 0);
	return ISO_OK;
}

static int limit(iso_ctx *ctx, int64_t n, iso_real *x, double most)
{
	EACH x[i] = iso_fmin(x[i], (iso_real)most);
	return ISO_OK;
}

static int largest(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *g,
                   const iso_real *sens)
{
	double most = 0;

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < n; i++) {
		double v = g ? map_residual(x[i], g[i], sens[i]) : x[i];

		most = v > most ? v : most;
	}
	*r = most;
	return ISO_OK;
}

static const struct map_vec map_vec_cpu = {
	shift,    precondition, gather, solve, row_curvature, root,
	scale_of, find_free,    join,   along, limit,         largest,
};

int iso_map_vec(const struct map_vec **v, iso_ctx *ctx)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, "iso_map_vec_cuda") : ISO_OK;

	*v = cuda ? cuda : &map_vec_cpu;
	return st;
}
