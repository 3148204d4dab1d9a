/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of a barrel on CUDA: a block has a pair, a warp a column of it. A lane has the directions of one piece of one of
   the pixel's four points, whose chances all lanes add up; then lanes go along the planes. */
#include "core/loop/fixed.cuh"
#include "barrel_sens.h"

#include <stdlib.h>

#define PIECES (BARREL_CUTS - 1) /* of a point; four points have 28, a lane each */

struct barrel_sens_cuda {
	iso_ctx *ctx;
	struct iso_room room;
	struct iso_fixed_cuda acc;
	struct barrel_params p;
	struct barrel_fit *fit;        /* on the device, as what follows */
	struct barrel_job *job, *host; /* host: with places of factors on the device */
	iso_real *factor;
	float *sum;
	int planes;
};

struct pass {
	struct barrel_params p;
	const struct barrel_fit *fit;
	const struct barrel_job *job;
	struct iso_fixed_cuda acc;
	int n, planes;
};

/* The directions of this lane's piece; weights 0: it has none. */
static __device__ void take_rays(struct barrel_ray ray[BARREL_POINTS], const struct barrel_pair *p, float y,
                                 float d, float pixel)
{
	const int lane = threadIdx.x % ISO_WARP, point = lane / PIECES, piece = lane % PIECES;
	float cut[BARREL_CUTS], low = 0, high = 0;

	barrel_point(&y, &d, p, pixel, point);
	if (point < 4 && barrel_cuts(cut, p, y, d))
		for (int k = 0; k < PIECES; k++)
			if (k == piece) {
				low = cut[k];
				high = cut[k + 1];
			}
	for (int g = 0; g < BARREL_POINTS; g++) {
		ray[g].weight = ray[g].chord[0] = ray[g].chord[1] = ray[g].enter[0] = ray[g].enter[1] = 0;
		if (low < high) ray[g] = barrel_ray(p, y, d, low, high, g);
	}
}

static __device__ struct barrel_hits hits_of(const struct barrel_ray ray[BARREL_POINTS], float mu)
{
	struct barrel_sums s = ISO_ZERO;

	for (int g = 0; g < BARREL_POINTS; g++)
		if (ray[g].weight > 0) barrel_add(&s, ray + g, mu);
	s.w = iso_warp_sum(s.w);
	s.a = iso_warp_sum(s.a);
	s.b = iso_warp_sum(s.b);
	s.aa = iso_warp_sum(s.aa);
	s.bb = iso_warp_sum(s.bb);
	s.ab = iso_warp_sum(s.ab);
	return barrel_hits_of(&s, 4);
}

/* As iso_barrel_tilt_sum, by all lanes together. */
static __device__ bool tilt_sum(struct barrel_tilt_sum *s, const struct pass *a, const struct barrel_job *j,
                                double y, double d)
{
	struct barrel_ray ray[BARREL_POINTS];

	take_rays(ray, &j->l.pair, (float)y, (float)d, a->p.pixel);
	const struct barrel_hits h = hits_of(ray, j->l.pair.mu);

	if (!(h.t > 0)) return false;
	barrel_tilt_begin(s, j, &h, y);
	for (int k = 0; k < BARREL_FIT; k++) {
		const double mu = (double)j->l.pair.mu / cos(barrel_tilt_node(s, a->fit, k));
		double chance = 0;

		for (int g = 0; g < BARREL_POINTS; g++) chance += barrel_tilt_chance(ray + g, mu);
		barrel_tilt_add(s, j, a->fit, k, iso_warp_sum(chance));
	}
	return true;
}

static __global__ void __launch_bounds__(ISO_THREADS) add_pairs(struct pass a)
{
	__shared__ struct barrel_job job;
	const int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;

	if (threadIdx.x == 0) job = a.job[blockIdx.x];
	__syncthreads();
	const struct barrel_tube t = barrel_tube(&a.p, &job.l);

	for (int k = warp; k < t.n * t.wide; k += ISO_THREADS / ISO_WARP) {
		struct barrel_tilt_sum s;
		double y, d;
		int ix, iy;

		if (!barrel_candidate(&ix, &iy, &a.p, &t, k) ||
		    !barrel_sens_pixel(&y, &d, &job, &a.p, ix, iy) || !tilt_sum(&s, &a, &job, y, d))
			continue;
		const int64_t at = ((int64_t)iy * a.p.n[0] + ix) * a.p.n[2];

		for (int z = lane; z < a.planes; z += ISO_WARP) {
			const double value =
				barrel_sens_at(&job, &s, y, (double)a.p.first[2] + z * (double)a.p.plane);

			if (value > 0) iso_fixed_add(a.acc, at + z, value * job.weight * a.acc.scale);
		}
	}
}

static int open_sens(struct barrel_sens_cuda **to, iso_ctx *ctx, const struct barrel_params *p,
                     const struct barrel_fit *f, int planes, int64_t factors, double bound)
{
	const int64_t voxels = (int64_t)p->n[0] * p->n[1] * p->n[2];
	struct barrel_sens_cuda *s = (struct barrel_sens_cuda *)calloc(1, sizeof *s);

	if (!s) return iso_fail_memory("sensitivity", sizeof *s);
	*to = s;
	s->ctx = ctx;
	s->room = iso_room_of(ctx, "sensitivity");
	s->p = *p;
	s->planes = planes;
	iso_fixed_open(&s->acc, &s->room, voxels);
	ISO_UPLOAD(&s->room, s->fit, f, 1);
	ISO_DEVICE(&s->room, s->job, BARREL_BATCH);
	ISO_HOST(&s->room, s->host, BARREL_BATCH);
	if (factors) ISO_DEVICE(&s->room, s->factor, factors);
	ISO_DEVICE(&s->room, s->sum, voxels);
	return s->room.status ? s->room.status : iso_fixed_begin(&s->acc, ctx, bound);
}

static int add_jobs(struct barrel_sens_cuda *s, const struct barrel_job *job, int n, const iso_real *factor,
                    int64_t factors)
{
	const struct pass a = { s->p, s->fit, s->job, s->acc, n, s->planes };
	int st = ISO_OK;

	for (int k = 0; k < n; k++) {
		s->host[k] = job[k];
		if (job[k].f.v) s->host[k].f.v = s->factor + (job[k].f.v - factor);
	}
	if (factors) st = s->ctx->vec->upload(s->ctx, s->factor, factor, factors * (int64_t)sizeof *factor);
	if (!st) st = s->ctx->vec->upload(s->ctx, s->job, s->host, n * (int64_t)sizeof *job);
	if (st || n == 0) return st;
	add_pairs<<<n, ISO_THREADS, 0, iso_stream(s->ctx)>>>(a);
	return iso_cuda_launched("sensitivity of a barrel");
}

static int end_sens(iso_real *sum, struct barrel_sens_cuda *s, int st)
{
	if ((st = iso_fixed_sum(&s->acc, s->ctx, st)) || (st = iso_fixed_end(s->sum, &s->acc, s->ctx)))
		return st;
	return s->ctx->vec->download(s->ctx, sum, s->sum, s->acc.n * (int64_t)sizeof *sum);
}

static void close_sens(struct barrel_sens_cuda *s)
{
	if (!s) return;
	iso_room_free(&s->room);
	free(s);
}

extern "C" const struct barrel_sens_fn iso_barrel_sens_cuda = { open_sens, add_jobs, end_sens, close_sens };
