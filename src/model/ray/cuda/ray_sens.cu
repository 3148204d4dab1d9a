/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of model ray on CUDA: through bricks (ray_sens_brick.cu), or, by the Joseph projector,
   one warp a crystal pair. */
#include "core/fixed.cuh"
#include "core/progress.h"
#include "ray_sens_brick.cuh"

#define WARPS (ISO_THREADS / ISO_WARP)
#define LAUNCH (1 << 22) /* samples a launch: the cancel flag is looked at in between */

/* exp(-sum of chord x mu) along the whole LOR, in every lane. */
static __device__ double attenuation(const struct ray_sens *q, const struct ray_sens_pair *pair)
{
	struct ray r = ray_setup(&q->mu_grid, pair->p1, pair->p2, NULL, 0);
	const struct ray_tof none = ISO_ZERO;
	struct ray_piece piece[3];
	float sum = 0;

	for (int k = r.k0 + threadIdx.x % ISO_WARP; k < r.k1; k += ISO_WARP) {
		ray_slice(piece, &r, &none, k);
		for (int i = 0; i < 3; i++) sum += piece[i].w * q->mu[piece[i].voxel];
	}
	return exp(-(double)iso_warp_sum(sum));
}

static __global__ void add_pairs(struct ray_sens q, struct iso_fixed_cuda acc, int64_t first, int64_t n,
                                 int half)
{
	for (int64_t i = blockIdx.x * (int64_t)WARPS + threadIdx.x / ISO_WARP; i < n;
	     i += (int64_t)gridDim.x * WARPS) {
		struct ray_sens_pair pair = ray_sens_sample(&q, first + i, half);
		struct ray_piece piece[RAY_PIECES];

		if (!(pair.weight > 0)) continue;
		struct ray r = ray_setup(&q.grid, pair.p1, pair.p2, NULL, 0);

		if (r.k0 >= r.k1) continue;
		double factor = acc.scale * pair.weight * (q.mu ? attenuation(&q, &pair) : 1);

		for (int k = r.k0 + threadIdx.x % ISO_WARP; k < r.k1; k += ISO_WARP) {
			int pieces = ray_sens_pieces(piece, &q, &r, k);

			for (int j = 0; j < pieces; j++)
				if (piece[j].w > 0) iso_fixed_add(acc, piece[j].voxel, piece[j].w * factor);
		}
	}
}

static int64_t crystals(const struct ray_sens *q)
{
	return q->pairs.rings ? q->pairs.rings * q->pairs.per_ring : q->pairs.detectors;
}

static struct ray_sens send_tables(struct iso_room *room, const struct ray_sens *host)
{
	struct ray_sens q = *host;

	ISO_UPLOAD(room, q.pos, host->pos, 3 * crystals(host));
	ISO_UPLOAD(room, q.eff, host->eff, crystals(host));
	ISO_UPLOAD(room, q.mu, host->mu, ray_voxels(&host->mu_grid));
	ISO_UPLOAD(room, q.first, host->first, host->n_strata + 1);
	ISO_UPLOAD(room, q.drawn, host->drawn, host->n_strata + 1);
	return q;
}

static int trace_all(const struct ray_sens *q, iso_ctx *ctx, struct iso_fixed_cuda *acc, int64_t n, int half)
{
	if (q->projector == ISO_SLICE) return iso_ray_sens_bricks(acc, ctx, q, n, half);
	struct iso_clock clock = iso_clock_start(ctx, "sensitivity", 0, n);
	int st = iso_fixed_begin(acc, ctx, q->bound);

	for (int64_t i = 0; i < n && !st; i += LAUNCH) {
		int64_t m = n - i < LAUNCH ? n - i : LAUNCH;

		add_pairs<<<4096, ISO_THREADS, 0, iso_stream(ctx)>>>(*q, *acc, i, m, half);
		if ((st = iso_cuda_launched("sensitivity")) || (st = iso_ctx_poll(ctx))) break;
		st = iso_cuda_check("sensitivity", cudaStreamSynchronize(iso_stream(ctx)));
		iso_clock_step(&clock, i + m, NULL);
	}
	return st;
}

extern "C" int iso_ray_sens_cuda(iso_real *s, iso_ctx *ctx, const struct ray_sens *host, int half)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	struct ray_sens q = send_tables(&room, host);
	struct iso_fixed_cuda acc;
	iso_real *image;
	int st;

	iso_fixed_open(&acc, &room, ray_voxels(&q.grid));
	ISO_DEVICE(&room, image, acc.n);
	if (!(st = room.status) && !(st = trace_all(&q, ctx, &acc, ray_sens_lines(host), half)) &&
	    !(st = iso_fixed_end(image, &acc, ctx)))
		st = ctx->vec->download(ctx, s, image, acc.n * (int64_t)sizeof *s);
	iso_room_free(&room);
	return st;
}
