/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of model ray on CUDA, block by block: crystal pairs are drawn as events, ordered, and
   traced back through bricks; with attenuation first forward through the map, whose grid may be
   another one. */
#include "ray_brick.cuh"
#include "model/ray/ray_sens.h"

#define TERM_BITS 30 /* of the largest term */

struct sens_work {
	struct ray_model image, map; /* grids of the image and of the attenuation map */
	struct iso_event *e;
	float *weight, *alpha; /* of each pair; alpha NULL: no attenuation */
	float *ones;           /* the image that is traced back */
	struct ray_packer *packer;
	struct ray_pack pack;
	struct ray_brick_work brick;
};

/* ---- kernels ---- */

static __device__ struct iso_event event_of(const struct ray_sens_pair *pair)
{
	struct iso_event e = ISO_ZERO;

	for (int c = 0; c < 3; c++) {
		e.p1[c] = (float)pair->p1[c];
		e.p2[c] = (float)pair->p2[c];
	}
	if (!(pair->weight > 0)) e.p1[0] = NAN; /* no ray */
	return e;
}

static __global__ void draw(struct ray_sens q, int64_t first, int64_t n, int half, struct iso_event *e,
                            float *weight)
{
	ISO_GRID_LOOP (i, n) {
		struct ray_sens_pair pair = ray_sens_sample(&q, first + i, half);

		e[i] = event_of(&pair);
		weight[i] = (float)pair.weight;
	}
}

static __global__ void find_largest(struct ray_sens q, int64_t n, int half, unsigned *largest)
{
	float most = 0;

	ISO_GRID_LOOP (i, n) most = fmaxf(most, (float)ray_sens_sample(&q, i, half).weight);
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(ISO_FULL_WARP, most, step));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(largest, __float_as_uint(most));
}

/* alpha = exp(-line integral of mu). */
static __global__ void attenuate(struct ray_pack p, struct ray_brick_work w, double sum_scale, float *alpha)
{
	double unit = 1 / (sum_scale * ray_brick_up(*w.limit));

	ISO_GRID_LOOP (i, p.slots)
		if (p.ray[i] != RAY_NO_RAY)
			alpha[p.ray[i]] = expf(-(float)((double)w.sum[i] * unit * p.factor[i]));
}

static __global__ void weigh(struct ray_pack p, struct ray_brick_work w, const float *weight,
                             const float *alpha, double scale)
{
	ISO_GRID_LOOP (i, p.slots) {
		unsigned row = p.ray[i];

		w.send[i] = row == RAY_NO_RAY ? 0
		                              : (float)((double)weight[row] * p.factor[i] * scale *
		                                        (alpha ? alpha[row] : 1));
	}
}

/* ---- one block ---- */

static int attenuation(struct sens_work *w, iso_ctx *ctx, const struct ray_sens *q, struct iso_rows rows)
{
	int st;

	if ((st = iso_ray_pack_fill(&w->pack, w->packer, ctx, &w->map, w->e, rows, NULL)) ||
	    (st = iso_ray_brick_limit(&w->brick, ctx, ray_voxels(&q->mu_grid), q->mu)) ||
	    (st = iso_ray_brick_forward(&w->brick, ctx, &w->map, &w->pack, q->mu)))
		return st;
	attenuate<<<iso_blocks(w->pack.slots), ISO_THREADS, 0, iso_stream(ctx)>>>(
		w->pack, w->brick, iso_ray_brick_scale(&w->map.grid), w->alpha);
	return iso_cuda_launched("attenuation of pairs");
}

static int block(struct sens_work *w, iso_ctx *ctx, const struct ray_sens *q,
                 const struct iso_fixed_cuda *acc, int64_t first, int64_t n, int half)
{
	struct iso_rows rows = { 0, n };
	int st;

	draw<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(*q, first, n, half, w->e, w->weight);
	if ((st = iso_cuda_launched("crystal pairs"))) return st;
	if (q->mu && (st = attenuation(w, ctx, q, rows))) return st;
	if ((st = iso_ray_pack_fill(&w->pack, w->packer, ctx, &w->image, w->e, rows, NULL))) return st;
	weigh<<<iso_blocks(w->pack.slots), ISO_THREADS, 0, iso_stream(ctx)>>>(
		w->pack, w->brick, w->weight, q->mu ? w->alpha : NULL, acc->scale);
	if ((st = iso_cuda_launched("weights of pairs"))) return st;
	if ((st = iso_ray_brick_limit(&w->brick, ctx, acc->n, w->ones))) return st;
	return iso_ray_brick_back(&w->brick, ctx, &w->image, &w->pack, w->ones, acc->v);
}

/* ---- all of them ---- */

static struct ray_model lengths_on(const struct ray_grid *g, enum iso_projector projector, int64_t n)
{
	struct ray_model m = ISO_ZERO;

	m.grid = *g;
	m.projector = projector;
	m.spread.lines = 1;
	m.n = n;
	return m;
}

static int open_work(struct sens_work *w, struct iso_room *room, const struct ray_sens *q, int64_t voxels,
                     int64_t n)
{
	int st;

	w->image = lengths_on(&q->grid, q->projector, n);
	w->map = lengths_on(&q->mu_grid, ISO_SLICE, n);
	ISO_DEVICE(room, w->e, n);
	ISO_DEVICE(room, w->weight, n);
	ISO_DEVICE(room, w->alpha, n);
	ISO_DEVICE(room, w->ones, voxels);
	if ((st = iso_ray_packer_create(&w->packer, room, n)) ||
	    (st = room->ctx->vec->fill(room->ctx, voxels, w->ones, 1)) ||
	    (st = iso_ray_pack_create(&w->pack, room, &w->image, n)))
		return st;
	return iso_ray_brick_open(&w->brick, room, iso_ray_pack_slots(n));
}

/* Terms are at most weight x diagonal of a voxel; the largest keeps TERM_BITS. */
static int choose_scale(struct iso_fixed_cuda *acc, struct sens_work *w, iso_ctx *ctx,
                        const struct ray_sens *q, int64_t n, int half)
{
	float largest = 0;
	int st = iso_fixed_begin(acc, ctx, 0);

	if (st || (st = ctx->vec->upload(ctx, w->brick.limit, &largest, sizeof largest))) return st;
	find_largest<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(*q, n, half,
	                                                                 (unsigned *)w->brick.limit);
	if ((st = iso_cuda_launched("largest weight")) ||
	    (st = ctx->vec->download(ctx, &largest, w->brick.limit, sizeof largest)))
		return st;
	double most = largest * iso_ray_largest_weight(&q->grid, NULL);

	acc->scale = most > 0 ? ldexp(1, TERM_BITS - 1 - ilogb(most)) : 1;
	return ISO_OK;
}

/* Lines of a block; of n lines several blocks for each rank. */
static int64_t lines_at_a_time(const iso_ctx *ctx, int64_t n)
{
	int64_t each = iso_ranks(ctx) == 1 ? n : n / (4 * (int64_t)iso_ranks(ctx)) + 1;

	return each < RAY_SENS_BLOCK ? each : RAY_SENS_BLOCK;
}

/* acc = sum over this rank's of n samples of weight x attenuation x chord, with a scale of its own. q: tables on the
   device. */
static int trace_all(struct iso_fixed_cuda *acc, iso_ctx *ctx, const struct ray_sens *q, int64_t n, int half)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	struct sens_work w = ISO_ZERO;
	int64_t each = lines_at_a_time(ctx, n);
	int st = open_work(&w, &room, q, acc->n, each);

	if (!st) st = choose_scale(acc, &w, ctx, q, n, half);
	for (int64_t i = iso_rank(ctx) * each; i < n && !st; i += iso_ranks(ctx) * each) {
		int64_t m = n - i < each ? n - i : each;

		if (!(st = block(&w, ctx, q, acc, i, m, half))) st = iso_ctx_poll(ctx);
		ray_sens_step(q, (double)(i + m) / (double)n);
	}
	iso_room_free(&room);
	return st;
}

static int64_t crystals(const struct ray_sens *q)
{
	return q->pairs.rings ? q->pairs.rings * q->pairs.per_ring : q->pairs.detectors;
}

/* The table, with arrays on the device. */
static const struct iso_efficiencies *send_efficiencies(struct iso_room *room,
                                                        const struct iso_efficiencies *host)
{
	const struct iso_efficiencies *sent = NULL;

	if (!host) return NULL;
	struct iso_efficiencies e = *host;

	ISO_UPLOAD(room, e.bin, host->bin, host->bins);
	ISO_UPLOAD(room, e.group, host->group, host->groups);
	ISO_UPLOAD(room, e.value, host->value, host->values);
	ISO_UPLOAD(room, e.t, host->t, host->block * host->per_ring);
	ISO_UPLOAD(room, e.z, host->z, host->rings * host->rings);
	ISO_UPLOAD(room, sent, &e, 1);
	return sent;
}

static struct ray_sens send_tables(struct iso_room *room, const struct ray_sens *host)
{
	struct ray_sens q = *host;

	ISO_UPLOAD(room, q.pos, host->pos, 3 * crystals(host));
	ISO_UPLOAD(room, q.eff, host->eff, crystals(host));
	ISO_UPLOAD(room, q.mu, host->mu, ray_voxels(&host->mu_grid));
	q.pair = send_efficiencies(room, host->pair);
	ISO_UPLOAD(room, q.first, host->first, host->n_strata + 1);
	ISO_UPLOAD(room, q.drawn, host->drawn, host->n_strata + 1);
	return q;
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
	if (!(st = room.status)) st = trace_all(&acc, ctx, &q, ray_sens_lines(host), half);
	if (!(st = iso_fixed_sum(&acc, ctx, st)) && !(st = iso_fixed_end(image, &acc, ctx)))
		st = ctx->vec->download(ctx, s, image, acc.n * (int64_t)sizeof *s);
	iso_room_free(&room);
	return st;
}
