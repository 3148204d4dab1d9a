/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of model ray on CUDA, block by block: crystal pairs are drawn as events, where the object lies still or
   moves, ordered, and traced back through bricks; with attenuation first forward through the maps, whose grids may be
   others. */
#include "ray_brick.cuh"
#include "model/ray/ray_moved_kern.h"
#include "physics/response/response.h"

#define TERM_BITS 30 /* of the largest term */

enum { MAPS = 1 + MOVED_BESIDE }; /* that of the object, and those beside */

struct sens_work {
	struct ray_model image, map[MAPS]; /* grids of the image and of the attenuation maps */
	struct iso_event *e;
	float *weight, *alpha; /* of each pair; alpha NULL: no attenuation */
	float *ones;           /* the image that is traced back */
	struct ray_packer *packer;
	struct ray_pack pack;
	struct ray_brick_work brick;
};

/* Which lines; tables on the device. */
struct lines {
	const struct ray_sens *q;
	int half;
	const struct ray_moved *moved; /* NULL: those of pairs as they are */
	int64_t n;
};

/* ---- kernels ---- */

/* weight 0: no ray. */
static __device__ struct iso_event event_of(const double p1[3], const double p2[3], double weight)
{
	struct iso_event e = ISO_ZERO;

	for (int c = 0; c < 3; c++) {
		e.p1[c] = (float)p1[c];
		e.p2[c] = (float)p2[c];
	}
	if (!(weight > 0)) e.p1[0] = NAN;
	return e;
}

static __global__ void draw(struct ray_sens q, int64_t first, int64_t n, int half, struct iso_event *e,
                            float *weight)
{
	ISO_GRID_LOOP (i, n) {
		struct ray_sens_pair pair = ray_sens_sample(&q, first + i, half);

		e[i] = event_of(pair.p1, pair.p2, pair.weight);
		weight[i] = (float)pair.weight;
	}
}

static __global__ void draw_moved(struct ray_moved m, int64_t first, int64_t n, struct iso_event *e,
                                  float *weight)
{
	ISO_GRID_LOOP (i, n) {
		struct moved_line line;

		moved_get_line(&line, &m, first + i);
		e[i] = event_of(line.p1, line.p2, line.weight);
		weight[i] = (float)line.weight;
	}
}

static __global__ void draw_beside(struct ray_moved m, int b, int64_t first, int64_t n, struct iso_event *e)
{
	ISO_GRID_LOOP (i, n) {
		struct moved_line line;
		double p1[3], p2[3];

		moved_get_line(&line, &m, first + i);
		if (line.weight > 0) moved_beside_ends(p1, p2, &m, b, &line);
		e[i] = event_of(p1, p2, line.weight);
	}
}

static __device__ void leave_largest(unsigned *largest, float most)
{
	for (int step = ISO_WARP / 2; step > 0; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(ISO_FULL_WARP, most, step));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(largest, __float_as_uint(most));
}

static __global__ void find_largest(struct ray_sens q, int64_t n, int half, unsigned *largest)
{
	float most = 0;

	ISO_GRID_LOOP (i, n) most = fmaxf(most, (float)ray_sens_sample(&q, i, half).weight);
	leave_largest(largest, most);
}

static __global__ void find_largest_moved(struct ray_moved m, int64_t n, unsigned *largest)
{
	float most = 0;

	ISO_GRID_LOOP (i, n) {
		struct moved_line line;

		moved_get_line(&line, &m, i);
		most = fmaxf(most, (float)line.weight);
	}
	leave_largest(largest, most);
}

/* alpha *= exp(-line integral of mu). */
static __global__ void attenuate(struct ray_pack p, struct ray_brick_work w, double sum_scale, float *alpha)
{
	double unit = 1 / (sum_scale * ray_brick_up(*w.limit));

	ISO_GRID_LOOP (i, p.slots)
		if (p.ray[i] != RAY_NO_RAY)
			alpha[p.ray[i]] *= expf(-(float)((double)w.sum[i] * unit * p.factor[i]));
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

static int draw_block(struct sens_work *w, iso_ctx *ctx, const struct lines *l, int64_t first, int64_t n)
{
	const int blocks = iso_blocks(n);

	if (l->moved)
		draw_moved<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*l->moved, first, n, w->e, w->weight);
	else
		draw<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*l->q, first, n, l->half, w->e, w->weight);
	return iso_cuda_launched("crystal pairs");
}

/* By the map of that number, for the lines in w->e. */
static int attenuation(struct sens_work *w, iso_ctx *ctx, int map, const iso_real *mu, int64_t n)
{
	const struct ray_model *m = &w->map[map];
	const struct iso_rows rows = { 0, n };
	int st;

	if ((st = iso_ray_pack_fill(&w->pack, w->packer, ctx, m, w->e, rows, NULL)) ||
	    (st = iso_ray_brick_limit(&w->brick, ctx, ray_voxels(&m->grid), mu)) ||
	    (st = iso_ray_brick_forward(&w->brick, ctx, m, &w->pack, mu)))
		return st;
	attenuate<<<iso_blocks(w->pack.slots), ISO_THREADS, 0, iso_stream(ctx)>>>(
		w->pack, w->brick, iso_ray_brick_scale(&m->grid), w->alpha);
	return iso_cuda_launched("attenuation of pairs");
}

static int beside(struct sens_work *w, iso_ctx *ctx, const struct lines *l, int64_t first, int64_t n)
{
	int st = ISO_OK;

	for (int b = 0; b < MOVED_BESIDE && l->moved && !st; b++) {
		if (!l->moved->beside[b].mu) continue;
		draw_beside<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(*l->moved, b, first, n, w->e);
		if (!(st = iso_cuda_launched("lines of a map")))
			st = attenuation(w, ctx, 1 + b, l->moved->beside[b].mu, n);
	}
	return st;
}

static int block(struct sens_work *w, iso_ctx *ctx, const struct lines *l, const struct iso_fixed_cuda *acc,
                 int64_t first, int64_t n)
{
	const struct ray_sens *q = l->q;
	struct iso_rows rows = { 0, n };
	int st = w->alpha ? ctx->vec->fill(ctx, n, w->alpha, 1) : ISO_OK;

	if (st || (st = beside(w, ctx, l, first, n)) || (st = draw_block(w, ctx, l, first, n))) return st;
	if (q->mu && (st = attenuation(w, ctx, 0, q->mu, n))) return st;
	if ((st = iso_ray_pack_fill(&w->pack, w->packer, ctx, &w->image, w->e, rows, NULL))) return st;
	weigh<<<iso_blocks(w->pack.slots), ISO_THREADS, 0, iso_stream(ctx)>>>(w->pack, w->brick, w->weight,
	                                                                      w->alpha, acc->scale);
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

static bool attenuated(const struct lines *l)
{
	bool any = l->q->mu;

	for (int b = 0; b < MOVED_BESIDE && l->moved; b++) any = any || l->moved->beside[b].mu;
	return any;
}

static int open_work(struct sens_work *w, struct iso_room *room, const struct lines *l, int64_t voxels,
                     int64_t n)
{
	const struct ray_sens *q = l->q;
	int st;

	w->image = lengths_on(&q->grid, q->projector, n);
	w->map[0] = lengths_on(&q->mu_grid, ISO_SLICE, n);
	for (int b = 0; b < MOVED_BESIDE && l->moved; b++)
		w->map[1 + b] = lengths_on(&l->moved->beside[b].grid, ISO_SLICE, n);
	ISO_DEVICE(room, w->e, n);
	ISO_DEVICE(room, w->weight, n);
	if (attenuated(l)) ISO_DEVICE(room, w->alpha, n);
	ISO_DEVICE(room, w->ones, voxels);
	if ((st = iso_ray_packer_create(&w->packer, room, n)) ||
	    (st = room->ctx->vec->fill(room->ctx, voxels, w->ones, 1)) ||
	    (st = iso_ray_pack_create(&w->pack, room, &w->image, n)))
		return st;
	return iso_ray_brick_open(&w->brick, room, iso_ray_pack_slots(n));
}

/* Terms are at most weight x diagonal of a voxel; the largest keeps TERM_BITS. */
static int choose_scale(struct iso_fixed_cuda *acc, struct sens_work *w, iso_ctx *ctx, const struct lines *l)
{
	unsigned *found = (unsigned *)w->brick.limit;
	const int blocks = iso_blocks(l->n);
	float largest = 0;
	int st = iso_fixed_begin(acc, ctx, 0);

	if (st || (st = ctx->vec->upload(ctx, w->brick.limit, &largest, sizeof largest))) return st;
	if (l->moved)
		find_largest_moved<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*l->moved, l->n, found);
	else
		find_largest<<<blocks, ISO_THREADS, 0, iso_stream(ctx)>>>(*l->q, l->n, l->half, found);
	if ((st = iso_cuda_launched("largest weight")) ||
	    (st = ctx->vec->download(ctx, &largest, w->brick.limit, sizeof largest)))
		return st;
	double most = largest * iso_ray_largest_weight(&l->q->grid, NULL);

	acc->scale = most > 0 ? ldexp(1, TERM_BITS - 1 - ilogb(most)) : 1;
	return ISO_OK;
}

/* Lines of a block; of n lines several blocks for each rank. */
static int64_t lines_at_a_time(const iso_ctx *ctx, int64_t n)
{
	int64_t each = iso_ranks(ctx) == 1 ? n : n / (4 * (int64_t)iso_ranks(ctx)) + 1;

	return each < RAY_SENS_BLOCK ? each : RAY_SENS_BLOCK;
}

/* acc = sum over this rank's lines of weight x attenuation x chord, with a scale of its own. */
static int trace_all(struct iso_fixed_cuda *acc, iso_ctx *ctx, const struct lines *l)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	struct sens_work w = ISO_ZERO;
	int64_t n = l->n, each = lines_at_a_time(ctx, n);
	int st = open_work(&w, &room, l, acc->n, each);

	if (!st) st = choose_scale(acc, &w, ctx, l);
	for (int64_t i = iso_rank(ctx) * each; i < n && !st; i += iso_ranks(ctx) * each) {
		int64_t m = n - i < each ? n - i : each;

		if (!(st = block(&w, ctx, l, acc, i, m))) st = iso_ctx_poll(ctx);
		ray_sens_step(l->q, (double)(i + m) / (double)n);
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
	response_send(room, &q.spread.response);
	ISO_UPLOAD(room, q.first, host->first, host->n_strata + 1);
	ISO_UPLOAD(room, q.drawn, host->drawn, host->n_strata + 1);
	return q;
}

/* s = the sums of all ranks. */
static int sum_all(iso_real *s, iso_ctx *ctx, struct iso_room *room, const struct lines *l)
{
	struct iso_fixed_cuda acc;
	iso_real *image;
	int st;

	iso_fixed_open(&acc, room, ray_voxels(&l->q->grid));
	ISO_DEVICE(room, image, acc.n);
	if (!(st = room->status)) st = trace_all(&acc, ctx, l);
	if (!(st = iso_fixed_sum(&acc, ctx, st)) && !(st = iso_fixed_end(image, &acc, ctx)))
		st = ctx->vec->download(ctx, s, image, acc.n * (int64_t)sizeof *s);
	return st;
}

extern "C" int iso_ray_sens_cuda(iso_real *s, iso_ctx *ctx, const struct ray_sens *host, int half)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	const struct ray_sens q = send_tables(&room, host);
	const struct lines l = { &q, half, NULL, ray_sens_lines(host) };
	int st = sum_all(s, ctx, &room, &l);

	iso_room_free(&room);
	return st;
}

extern "C" int iso_ray_moved_cuda(iso_real *s, iso_ctx *ctx, const struct ray_moved *host)
{
	struct iso_room room = iso_room_of(ctx, "sensitivity");
	struct ray_moved m = *host;

	m.q = send_tables(&room, &host->q);
	ISO_UPLOAD(&room, m.weight, host->weight, m.n);
	ISO_UPLOAD(&room, m.until, host->until, m.n + 1);
	ISO_UPLOAD(&room, m.back, host->back, m.n);
	for (int b = 0; b < MOVED_BESIDE; b++) {
		ISO_UPLOAD(&room, m.beside[b].mu, host->beside[b].mu, ray_voxels(&host->beside[b].grid));
		ISO_UPLOAD(&room, m.beside[b].back, host->beside[b].back, m.n);
	}
	const struct lines l = { &m.q, RAY_SENS_WHOLE, &m, moved_lines(host) };
	int st = sum_all(s, ctx, &room, &l);

	iso_room_free(&room);
	return st;
}
