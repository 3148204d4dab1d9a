/* SPDX-License-Identifier: BSD-3-Clause */
/* The likelihood of triples on CUDA, and products with its scores. A warp has a row, which gives q; then a warp has a voxel,
   whose sums go over its triples by rising number. */
#include "core/philox.h"
#include "lifetime_cuda.cuh"

#include <stdlib.h>

#define WARPS (ISO_THREADS / ISO_WARP)

/* A node of the table at one time: the value, and its derivatives by u, by t, by both. */
struct emg_node {
	double v, by_u, by_t, by_both;
};

/* What a triple has: one sector of memory. */
struct __align__(32) triple_state
{
	double t, p, d, q;
};

/* On the device; of the likelihood's room. */
struct likelihood_cuda {
	struct triples_cuda t;
	struct mixture x;
	struct emg_table table;      /* without its values */
	const struct emg_node *node; /* (nodes, bins); NULL: by the formula */
	struct triple_state *triple;
	const double *background, *sigma; /* NULL: none; that of the model */
	const struct fixed_inside *own;
	struct voxel_state *state;
	double *sums, *logs; /* logs: of each block, and behind them how many triples nothing explains */
	double *q;           /* on the host */
	int blocks;
};

/* ---- densities ---- */

/* Value and slope by u of a node at a time. */
static __device__ void at_time(double *v, double *slope, const struct emg_place *p,
                               const struct emg_node *node)
{
	const struct emg_node low = node[p->bin], high = node[p->bin + 1];

	*v = p->low * low.v + p->high * high.v + p->slope_low * low.by_t + p->slope_high * high.by_t;
	*slope = p->low * low.by_u + p->high * high.by_u + p->slope_low * low.by_both +
	         p->slope_high * high.by_both;
}

static __device__ int node_of(const struct likelihood_cuda *l, double at)
{
	return min((int)at, l->table.nodes - 2);
}

/* By the formula. */
static __device__ struct density density_of(const struct likelihood_cuda *l, const struct triple_state *t,
                                            const struct voxel_state *s, int64_t j)
{
	const double sigma = l->sigma ? l->sigma[j] : l->x.m.sigma, o = emg(t->t, s->rate, sigma);
	const struct inside in = l->own ? mixture_inside(&l->x, l->own + j, s->rate, s->w, sigma) : s->in;
	const struct fixed_parts f = { t->p, t->d };

	return mixture_density(&l->x, &f, &in, s->w, o, emg_by_rate(o, t->t, s->rate, sigma));
}

static __device__ struct density density_between(const struct likelihood_cuda *l,
                                                 const struct triple_state *t, const struct voxel_state *s,
                                                 const double v[2], const double slope[2])
{
	const struct fixed_parts f = { t->p, t->d };
	double o, by_u;

	emg_between(&o, &by_u, s->at - node_of(l, s->at), l->table.du, v, slope);
	return mixture_density(&l->x, &f, &s->in, s->w, fmax(o, 0.), by_u / s->rate);
}

/* The table at the time of a row, for all nodes: values, then slopes. */
static __device__ void take_curve(double *curve, const struct likelihood_cuda *l, double t)
{
	const int n = l->table.nodes;
	const struct emg_place p = emg_place(&l->table, t);

	__syncwarp();
	for (int k = lane_of(); k < n; k += ISO_WARP)
		at_time(curve + k, curve + n + k, &p, l->node + k * l->table.bins);
	__syncwarp();
}

/* Of entry i, in a row whose curve was taken. */
static __device__ struct density in_row(const struct likelihood_cuda *l, const double *curve,
                                        const struct triple_state *t, const struct voxel_state *s, int64_t j)
{
	if (!l->node) return density_of(l, t, s, j);
	const int k = node_of(l, s->at);

	return density_between(l, t, s, curve + k, curve + l->table.nodes + k);
}

static __device__ struct density in_voxel(const struct likelihood_cuda *l, const struct triple_state *t,
                                          const struct voxel_state *s, int64_t j)
{
	if (!l->node) return density_of(l, t, s, j);
	const struct emg_place p = emg_place(&l->table, t->t);
	const struct emg_node *node = l->node + node_of(l, s->at) * l->table.bins;
	double v[2], slope[2];

	at_time(v, slope, &p, node);
	at_time(v + 1, slope + 1, &p, node + l->table.bins);
	return density_between(l, t, s, v, slope);
}

/* ---- a pass ---- */

/* q of each triple, and the sum of its logarithms. */
static __global__ void pass_rows(struct likelihood_cuda l)
{
	extern __shared__ double room[];
	double *curve = room + threadIdx.x / ISO_WARP * 2 * l.table.nodes;
	double logs = 0, without = 0;

	ISO_WARP_LOOP (j, all_of(l.t.n)) {
		const struct triple_state t = l.triple[j];
		double q = 0;

		if (l.node) take_curve(curve, &l, t.t);
		for (int64_t i = l.t.start[j] + lane_of(); i < l.t.start[j + 1]; i += ISO_WARP) {
			const struct voxel_state *s = l.state + l.t.voxel[i];

			if (s->f > 0) q += l.t.w[i] * s->f * in_row(&l, curve, &t, s, j).h;
		}
		q = iso_warp_sum(q) + (l.background ? l.background[j] : 0);
		if (lane_of() > 0) continue;
		l.triple[j].q = q;
		logs += q > 0 ? log(q) : 0;
		without += !(q > 0);
	}
	logs = iso_block_sum(logs);
	without = iso_block_sum(without);
	if (threadIdx.x > 0) return;
	l.logs[blockIdx.x] = logs;
	l.logs[gridDim.x + blockIdx.x] = without;
}

/* What a triple adds to the sums of a voxel; false: nothing explains it. */
static __device__ bool score(double *part, struct density *d, const struct likelihood_cuda *l,
                             const struct triple_entry *e, const struct voxel_state *s)
{
	const struct triple_state t = l->triple[e->triple];

	if (!(t.q > 0)) return false;
	*d = in_voxel(l, &t, s, e->triple);
	*part = e->w * s->f / t.q;
	return true;
}

static __global__ void pass_voxels(struct likelihood_cuda l)
{
	ISO_WARP_LOOP (v, all_of(l.t.voxels)) {
		const struct voxel_state s = l.state[v];
		const int64_t end = s.f > 0 ? l.t.begin[v + 1] : 0;
		double sum[SUMS] = { 0 };

		for (int64_t i = l.t.begin[v] + lane_of(); i < end; i += ISO_WARP) {
			struct density d;
			double part;

			if (!score(&part, &d, &l, l.t.entry + i, &s)) continue;
			const double rate = part * d.by_rate, w = part * d.by_w;

			sum[SUM_COUNTS] += part * d.h;
			sum[SUM_RATE] += rate;
			sum[SUM_W] += w;
			sum[SUM_RATE_RATE] += rate * rate;
			sum[SUM_RATE_W] += rate * w;
			sum[SUM_W_W] += w * w;
		}
		for (int k = 0; k < SUMS; k++) {
			const double all = iso_warp_sum(sum[k]);

			if (lane_of() == 0) l.sums[v * SUMS + k] = all;
		}
	}
}

/* ---- the beginning ---- */

static int upload_table(struct likelihood_cuda *c, struct iso_room *room, const struct emg_table *e)
{
	struct emg_node *node;

	if (!e) return ISO_OK;
	c->table = *e;
	c->table.v = NULL;
	if (!ISO_HOST(room, node, e->nodes * e->bins)) return room->status;
	for (int64_t b = 0; b < e->bins; b++)
		for (int k = 0; k < e->nodes; k++) {
			const double *v = e->v + b * 4 * e->nodes + k;

			node[k * e->bins + b] = { v[0], v[e->nodes], v[2 * e->nodes], v[3 * e->nodes] };
		}
	ISO_UPLOAD(room, c->node, node, e->nodes * e->bins);
	iso_room_drop(room, node);
	return room->status;
}

static int upload_triples(struct likelihood_cuda *c, struct iso_room *room, const struct likelihood *l)
{
	struct triple_state *triple;

	if (!ISO_HOST(room, triple, l->t->n)) return room->status;
	for (int64_t j = 0; j < l->t->n; j++) triple[j] = { l->t->t[j], l->fixed[j].p, l->fixed[j].d, 0 };
	ISO_UPLOAD(room, c->triple, triple, l->t->n);
	iso_room_drop(room, triple);
	ISO_UPLOAD(room, c->background, l->background, l->t->n);
	if (l->own) ISO_UPLOAD(room, c->sigma, l->t->sigma, l->t->n);
	ISO_UPLOAD(room, c->own, l->own, l->t->n);
	return room->status;
}

static int open_likelihood(struct likelihood *l)
{
	struct iso_room *room = l->room;
	struct likelihood_cuda *c;
	int st;

	if (!ISO_HOST(room, c, 1)) return room->status;
	c->t = *l->t->cuda;
	c->x = l->x;
	c->blocks = iso_blocks(c->t.n * ISO_WARP);
	if ((st = upload_table(c, room, l->table)) || (st = upload_triples(c, room, l))) return st;
	ISO_DEVICE(room, c->state, c->t.voxels);
	ISO_DEVICE(room, c->sums, c->t.voxels * SUMS);
	ISO_DEVICE(room, c->logs, 2 * c->blocks);
	if (!room->status) l->cuda = c;
	return room->status;
}

/* q of the triples as the file has them. */
static int give_q(const struct likelihood *l, iso_ctx *ctx)
{
	const int64_t n = l->t->n;
	struct triple_state *triple = (struct triple_state *)malloc((size_t)n * sizeof *triple);
	int st = triple ? ctx->vec->download(ctx, triple, l->cuda->triple, n * (int64_t)sizeof *triple)
	                : iso_fail_memory("likelihood of triples", n * (int64_t)sizeof *triple);

	for (int64_t j = 0; j < n && !st; j++) l->q[l->t->file[j]] = triple[j].q;
	free(triple);
	return st;
}

int iso_pass_cuda(double *loglik, struct likelihood *l)
{
	iso_ctx *ctx = l->t->room.ctx;
	double logs[2 * 2048]; /* as many blocks as iso_blocks gives at most */
	int st = l->cuda ? ISO_OK : open_likelihood(l);

	if (st) return st;
	const struct likelihood_cuda *c = l->cuda;
	const size_t room = c->node ? (size_t)(WARPS * 2 * c->table.nodes) * sizeof(double) : 0;

	st = ctx->vec->upload(ctx, c->state, l->state, c->t.voxels * (int64_t)sizeof *c->state);
	if (st) return st;
	pass_rows<<<c->blocks, ISO_THREADS, room, iso_stream(ctx)>>>(*c);
	pass_voxels<<<iso_blocks(c->t.voxels * ISO_WARP), ISO_THREADS, 0, iso_stream(ctx)>>>(*c);
	if ((st = iso_cuda_launched("likelihood of triples")) ||
	    (st = ctx->vec->download(ctx, l->sums, c->sums, c->t.voxels * SUMS * (int64_t)sizeof *c->sums)) ||
	    (st = ctx->vec->download(ctx, logs, c->logs, 2 * c->blocks * (int64_t)sizeof *c->logs)))
		return st;
	*loglik = 0;
	l->without = 0;
	for (int b = 0; b < c->blocks; b++) {
		*loglik += logs[b];
		l->without += (int64_t)logs[c->blocks + b];
	}
	return l->q ? give_q(l, ctx) : ISO_OK;
}

/* ---- scores ---- */

struct scores_cuda {
	struct likelihood_cuda l;
	iso_ctx *ctx;
	int per;             /* unknowns of a voxel */
	float *row, *column; /* (entries, per) */
	float *x, *a;        /* SCORES_TOGETHER values of each unknown and each triple */
	double *wide;        /* as the host has them */
};

static __device__ void put_score(float *to, const struct scores_cuda *s, double part, const struct density *d,
                                 double rate)
{
	to[0] = (float)(part * d->by_rate * rate);
	if (s->per > 1) to[1] = (float)(part * d->by_w);
}

static __global__ void score_rows(struct scores_cuda s)
{
	extern __shared__ double room[];
	const struct likelihood_cuda *l = &s.l;
	double *curve = room + threadIdx.x / ISO_WARP * 2 * l->table.nodes;

	ISO_WARP_LOOP (j, all_of(l->t.n)) {
		const struct triple_state t = l->triple[j];

		if (l->node) take_curve(curve, l, t.t);
		for (int64_t i = l->t.start[j] + lane_of(); i < l->t.start[j + 1]; i += ISO_WARP) {
			const struct voxel_state *v = l->state + l->t.voxel[i];

			if (!(t.q > 0) || !(v->f > 0)) continue;
			const struct density d = in_row(l, curve, &t, v, j);

			put_score(s.row + i * s.per, &s, l->t.w[i] * v->f / t.q, &d, v->rate);
		}
	}
}

static __global__ void score_voxels(struct scores_cuda s)
{
	const struct likelihood_cuda *l = &s.l;

	ISO_WARP_LOOP (v, all_of(l->t.voxels)) {
		const struct voxel_state state = l->state[v];

		for (int64_t i = l->t.begin[v] + lane_of(); i < l->t.begin[v + 1]; i += ISO_WARP) {
			struct density d;
			double part;

			if (state.f > 0 && score(&part, &d, l, l->t.entry + i, &state))
				put_score(s.column + i * s.per, &s, part, &d, state.rate);
		}
	}
}

int iso_scores_cuda(struct scores_cuda **to, struct iso_room *room, const struct likelihood *l, int per)
{
	const struct likelihood_cuda *c = l->cuda;
	const int64_t unknowns = c->t.voxels * per * SCORES_TOGETHER;
	const size_t curves = c->node ? (size_t)(WARPS * 2 * c->table.nodes) * sizeof(double) : 0;
	struct scores_cuda *s;

	if (!ISO_HOST(room, s, 1)) return room->status;
	s->l = *c;
	s->ctx = room->ctx;
	s->per = per;
	ISO_DEVICE(room, s->row, c->t.entries * per);
	ISO_DEVICE(room, s->column, c->t.entries * per);
	ISO_DEVICE(room, s->x, unknowns);
	ISO_DEVICE(room, s->wide, unknowns);
	ISO_DEVICE(room, s->a, c->t.n * SCORES_TOGETHER);
	if (room->status) return room->status;
	score_rows<<<c->blocks, ISO_THREADS, curves, iso_stream(s->ctx)>>>(*s);
	score_voxels<<<iso_blocks(c->t.voxels * ISO_WARP), ISO_THREADS, 0, iso_stream(s->ctx)>>>(*s);
	*to = s;
	return iso_cuda_launched("scores of triples");
}

/* ---- products: the values of an unknown lie in lanes, four entries at a time ---- */

#define ENTRIES (ISO_WARP / SCORES_TOGETHER)

static __device__ double over_entries(double sum)
{
	for (int step = SCORES_TOGETHER; step < ISO_WARP; step *= 2)
		sum += __shfl_xor_sync(ISO_FULL_WARP, sum, step);
	return sum;
}

static __global__ void see(struct scores_cuda s)
{
	const int k = lane_of() % SCORES_TOGETHER, first = lane_of() / SCORES_TOGETHER;
	const struct triples_cuda *t = &s.l.t;

	ISO_WARP_LOOP (j, all_of(t->n)) {
		double sum = 0;

		for (int64_t i = t->start[j] + first; i < t->start[j + 1]; i += ENTRIES)
			for (int which = 0; which < s.per; which++)
				sum += s.row[i * s.per + which] *
				       s.x[(t->voxel[i] + which * t->voxels) * SCORES_TOGETHER + k];
		sum = over_entries(sum);
		if (first == 0) s.a[j * SCORES_TOGETHER + k] = (float)sum;
	}
}

static __global__ void draw(struct scores_cuda s, uint64_t seed, int first)
{
	ISO_GRID_LOOP (i, s.l.t.n * SCORES_TOGETHER) {
		const struct philox q = philox_draw(seed, (uint64_t)s.l.t.file[i / SCORES_TOGETHER],
		                                    (uint64_t)(first + i % SCORES_TOGETHER));

		s.a[i] = (float)philox_gauss(q.w[0], q.w[1]);
	}
}

static __global__ void give_back(struct scores_cuda s)
{
	const int k = lane_of() % SCORES_TOGETHER, first = lane_of() / SCORES_TOGETHER;
	const struct triples_cuda *t = &s.l.t;

	ISO_WARP_LOOP (v, all_of(t->voxels))
		for (int which = 0; which < s.per; which++) {
			double sum = 0;

			for (int64_t i = t->begin[v] + first; i < t->begin[v + 1]; i += ENTRIES)
				sum += s.column[i * s.per + which] *
				       s.a[t->entry[i].triple * (int64_t)SCORES_TOGETHER + k];
			sum = over_entries(sum);
			if (first == 0) s.wide[(v + which * t->voxels) * SCORES_TOGETHER + k] = sum;
		}
}

static __global__ void narrow(float *to, const double *from, int64_t n)
{
	ISO_GRID_LOOP (i, n) to[i] = (float)from[i];
}

int iso_probe_cuda(double *to, struct scores_cuda *s, const double *x, uint64_t seed, int first)
{
	const struct triples_cuda *t = &s->l.t;
	const int64_t n = t->voxels * s->per * SCORES_TOGETHER;
	const cudaStream_t stream = iso_stream(s->ctx);
	int st = x ? s->ctx->vec->upload(s->ctx, s->wide, x, n * (int64_t)sizeof *x) : ISO_OK;

	if (st) return st;
	if (x) {
		narrow<<<iso_blocks(n), ISO_THREADS, 0, stream>>>(s->x, s->wide, n);
		see<<<iso_blocks(t->n * ISO_WARP), ISO_THREADS, 0, stream>>>(*s);
	} else {
		draw<<<iso_blocks(t->n * SCORES_TOGETHER), ISO_THREADS, 0, stream>>>(*s, seed, first);
	}
	give_back<<<iso_blocks(t->voxels * ISO_WARP), ISO_THREADS, 0, stream>>>(*s);
	st = iso_cuda_launched("errors of lives");
	return st ? st : s->ctx->vec->download(s->ctx, to, s->wide, n * (int64_t)sizeof *to);
}
