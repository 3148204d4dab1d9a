/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of the algorithms of penalised likelihood on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "map_vec.h"

static __global__ void shift(int64_t n, iso_real *u, const iso_real *x, iso_real off)
{
	ISO_GRID_LOOP (i, n) u[i] = x[i] + off;
}

static __global__ void precondition(int64_t n, iso_real *p, const iso_real *u, const iso_real *sens,
                                    const iso_real *balance, const iso_real *curvature, double beta)
{
	ISO_GRID_LOOP (i, n)
		p[i] = map_precondition(u[i], sens[i], balance ? balance[i] : 0, curvature ? curvature[i] : 0,
		                        beta);
}

static __global__ void gather(int64_t n, iso_real *g, iso_real *balance, const iso_real *z, iso_real scale)
{
	ISO_GRID_LOOP (i, n) {
		g[i] += z[i];
		balance[i] = iso_fmax(balance[i], scale * z[i]);
	}
}

static __global__ void solve(int64_t n, iso_real *x, const iso_real *e, const iso_real *sens,
                             const iso_real *gradient, const iso_real *curvature, double beta)
{
	ISO_GRID_LOOP (i, n)
		x[i] = map_solve(x[i], e[i], sens[i], gradient ? gradient[i] : 0,
		                 curvature ? curvature[i] : 0, beta);
}

static __global__ void row_curvature(int64_t n, iso_real *here, const iso_real *there, double t)
{
	ISO_GRID_LOOP (i, n) here[i] = map_row_curvature(here[i], there[i], t);
}

static __global__ void root(int64_t n, iso_real *k, const iso_real *sens)
{
	ISO_GRID_LOOP (i, n) k[i] = sens[i] > 0 && k[i] > 0 ? iso_sqrt(k[i]) : 0;
}

static __global__ void scale_of(int64_t n, iso_real *p, const iso_real *k2, const iso_real *hessian,
                                const iso_real *u, const iso_real *sens, double beta)
{
	ISO_GRID_LOOP (i, n) p[i] = map_scale(k2[i], hessian ? hessian[i] : 0, beta, u[i], sens[i]);
}

static __global__ void find_free(int64_t n, iso_real *free, const iso_real *x, const iso_real *g,
                                 const iso_real *p, const iso_real *sens, double scale)
{
	ISO_GRID_LOOP (i, n) free[i] = map_is_free(x[i], g[i], scale * p[i], sens[i]);
}

static __global__ void join(int64_t n, iso_real *d, const iso_real *free, const iso_real *p,
                            const iso_real *g, iso_real scale)
{
	ISO_GRID_LOOP (i, n) d[i] = free[i] > 0 ? d[i] : scale * p[i] * g[i];
}

static __global__ void along(int64_t n, iso_real *to, const iso_real *x, iso_real t, const iso_real *d)
{
	ISO_GRID_LOOP (i, n) to[i] = iso_fmax(iso_fma(t, d[i], x[i]), 0);
}

static __global__ void limit(int64_t n, iso_real *x, iso_real most)
{
	ISO_GRID_LOOP (i, n) x[i] = iso_fmin(x[i], most);
}

/* The largest of a block, in shared memory; one a block to `part`. */
static __global__ void largest(int64_t n, double *part, const iso_real *x, const iso_real *g,
                               const iso_real *sens)
{
	__shared__ double of[ISO_THREADS];
	double most = 0;

	ISO_GRID_LOOP (i, n) {
		double v = g ? map_residual(x[i], g[i], sens[i]) : x[i];

		most = v > most ? v : most;
	}
	of[threadIdx.x] = most;
	__syncthreads();
	for (int half = ISO_THREADS / 2; half > 0; half /= 2) {
		if ((int)threadIdx.x < half && of[threadIdx.x + half] > of[threadIdx.x])
			of[threadIdx.x] = of[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) part[blockIdx.x] = of[0];
}

/* One grid loop over n on the context's device and stream. */
template <class... P, class... A>
static int launch(const char *what, iso_ctx *ctx, int64_t n, void (*kernel)(P...), A... argument)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	kernel<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(argument...);
	return iso_cuda_launched(what);
}

static int shift_cuda(iso_ctx *ctx, int64_t n, iso_real *u, const iso_real *x, double off)
{
	return launch("offset", ctx, n, shift, n, u, x, (iso_real)off);
}

static int precondition_cuda(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *u, const iso_real *sens,
                             const iso_real *balance, const iso_real *curvature, double beta)
{
	return launch("preconditioner", ctx, n, precondition, n, p, u, sens, balance, curvature, beta);
}

static int gather_cuda(iso_ctx *ctx, int64_t n, iso_real *g, iso_real *balance, const iso_real *z,
                       double scale)
{
	return launch("balance", ctx, n, gather, n, g, balance, z, (iso_real)scale);
}

static int solve_cuda(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *e, const iso_real *sens,
                      const iso_real *gradient, const iso_real *curvature, double beta)
{
	return launch("surrogate", ctx, n, solve, n, x, e, sens, gradient, curvature, beta);
}

static int row_curvature_cuda(iso_ctx *ctx, int64_t n, iso_real *here, const iso_real *there, double t)
{
	return launch("rows of kappa", ctx, n, row_curvature, n, here, there, t);
}

static int root_cuda(iso_ctx *ctx, int64_t n, iso_real *k, const iso_real *sens)
{
	return launch("kappa", ctx, n, root, n, k, sens);
}

static int scale_cuda(iso_ctx *ctx, int64_t n, iso_real *p, const iso_real *k2, const iso_real *hessian,
                      const iso_real *u, const iso_real *sens, double beta)
{
	return launch("scale", ctx, n, scale_of, n, p, k2, hessian, u, sens, beta);
}

static int find_free_cuda(iso_ctx *ctx, int64_t n, iso_real *free, const iso_real *x, const iso_real *g,
                          const iso_real *p, const iso_real *sens, double scale)
{
	return launch("free voxels", ctx, n, find_free, n, free, x, g, p, sens, scale);
}

static int join_cuda(iso_ctx *ctx, int64_t n, iso_real *d, const iso_real *free, const iso_real *p,
                     const iso_real *g, double scale)
{
	return launch("direction", ctx, n, join, n, d, free, p, g, (iso_real)scale);
}

static int along_cuda(iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, double t, const iso_real *d)
{
	return launch("step", ctx, n, along, n, to, x, (iso_real)t, d);
}

static int limit_cuda(iso_ctx *ctx, int64_t n, iso_real *x, double most)
{
	return launch("limit", ctx, n, limit, n, x, (iso_real)most);
}

static int largest_cuda(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *g,
                        const iso_real *sens)
{
	int blocks = iso_blocks(n);
	struct iso_room room = iso_room_of(ctx, "largest value");
	double *part, *host;
	int st;

	ISO_DEVICE(&room, part, blocks);
	ISO_HOST(&room, host, blocks);
	*r = 0;
	if (!(st = room.status) && !(st = launch("largest value", ctx, n, largest, n, part, x, g, sens)))
		st = ctx->vec->download(ctx, host, part, blocks * (int64_t)sizeof *part);
	for (int b = 0; !st && b < blocks; b++) *r = host[b] > *r ? host[b] : *r;
	iso_room_free(&room);
	return st;
}

extern "C" const struct map_vec iso_map_vec_cuda = {
	shift_cuda, precondition_cuda, gather_cuda, solve_cuda, row_curvature_cuda, root_cuda,
	scale_cuda, find_free_cuda,    join_cuda,   along_cuda, limit_cuda,         largest_cuda,
};
