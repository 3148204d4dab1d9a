/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of conjugate gradients that keep every voxel at 0 or above, on CUDA: a thread a voxel. */
#include "core/cuda.cuh"
#include "cg_kern.h"

static __global__ void step(int64_t n, iso_real *s, const iso_real *x, iso_real t, const iso_real *d)
{
	ISO_GRID_LOOP (i, n) s[i] = cg_step(x[i], t, d[i]);
}

static __global__ void advance(int64_t n, iso_real *x, iso_real t, const iso_real *s)
{
	ISO_GRID_LOOP (i, n) x[i] = cg_advance(x[i], t, s[i]);
}

static __global__ void slope(int64_t n, iso_real *z, const iso_real *x, const iso_real *r, struct cg_slope p)
{
	ISO_GRID_LOOP (i, n) z[i] = cg_slope(p, x[i], r[i]);
}

static __global__ void turn(int64_t n, iso_real *z, const iso_real *x, const iso_real *r, struct cg_slope p,
                            iso_real beta, const iso_real *s)
{
	ISO_GRID_LOOP (i, n) z[i] = cg_turn(p, x[i], r[i], z[i], beta, s[i]);
}

/* The largest of a block, in shared memory; one a block to `part`. */
static __global__ void share(int64_t n, double *part, const iso_real *x, const iso_real *s)
{
	__shared__ double of[ISO_THREADS];
	double most = 0;

	ISO_GRID_LOOP (i, n) {
		double v = cg_share(x[i], s[i]);

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

static int step_cuda(iso_ctx *ctx, int64_t n, iso_real *s, const iso_real *x, double t, const iso_real *d)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	step<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, s, x, (iso_real)t, d);
	return iso_cuda_launched("step");
}

static int advance_cuda(iso_ctx *ctx, int64_t n, iso_real *x, double t, const iso_real *s)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	advance<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, x, (iso_real)t, s);
	return iso_cuda_launched("advance");
}

static int slope_cuda(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
                      struct cg_slope p)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	slope<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, z, x, r, p);
	return iso_cuda_launched("slope");
}

static int turn_cuda(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *r,
                     struct cg_slope p, double beta, const iso_real *s)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	turn<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, z, x, r, p, (iso_real)beta, s);
	return iso_cuda_launched("turn");
}

static int share_cuda(iso_ctx *ctx, int64_t n, double *largest, const iso_real *x, const iso_real *s)
{
	int st = iso_cuda_use(ctx), blocks = iso_blocks(n);
	struct iso_room room = iso_room_of(ctx, "largest share");
	double *part, *host;

	ISO_DEVICE(&room, part, blocks);
	ISO_HOST(&room, host, blocks);
	*largest = 0;
	if (!st && !(st = room.status)) {
		share<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(n, part, x, s);
		st = iso_cuda_launched("largest share");
	}
	if (!st) st = ctx->vec->download(ctx, host, part, blocks * (int64_t)sizeof *part);
	for (int b = 0; !st && b < blocks; b++) *largest = host[b] > *largest ? host[b] : *largest;
	iso_room_free(&room);
	return st;
}

extern "C" const struct cg_vec iso_cg_vec_cuda = { step_cuda, advance_cuda, slope_cuda, turn_cuda,
	                                           share_cuda };
