/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel on CUDA: a warp an event, events of a pair of strips one after the other. Its lanes first make columns, one each,
   from the table of the pair, or from directions where there is none, and leave those that are met in memory of the warp, which
   stays in the cache. Then 8 lanes go along a column, 4 columns at a time, forward and back. */
#include "core/loop/em.cuh"
#include "core/loop/fixed.cuh"
#include "core/loop/em_sum.h"
#include "barrel_pieces.cuh"
#include "barrel_tables.h"

#define LANES 8         /* along a column */
#define GROUP 8         /* events that a warp prepares at once */
#define BLOCKS_PER_SM 6 /* of which so many are there at once: */
#ifndef RESIDENT
#	define RESIDENT 3
#endif

/* A column that an event meets: what a voxel of it needs. */
struct met {
	float factor, al, zc, least, tau,
		slope; /* as struct barrel_column; zc in planes from the first voxel of the image */
	int at, span;  /* of its first voxel; first plane and voxels, 20 and 12 bits */
};

/* What the ends of strips need besides. */
struct met_end {
	float r_a, r_b, sharp; /* sharp 0: the ends do not matter */
};

struct barrel_cuda_work {
	struct iso_fixed_cuda acc;
	struct em_tally *tally; /* on the device */
	double *bound;
	float *x;        /* with z fastest */
	struct met *met; /* most_columns for each warp */
	struct met_end *end;
	float *value; /* of a chunk of tables, where they do not all find room at once */
	int blocks;
};

enum what { FORWARD, BOUND, ADJOINT, EM };

/* A pass over rows. */
struct pass {
	struct barrel_model m;
	struct iso_rows rows;
	struct iso_fixed_cuda acc;
	struct em_tally *tally;
	struct em_scales scales;
	double *bound;
	struct met *met;
	struct met_end *end;
	const float *x; /* NULL: ones */
	const float *y;
	float *to;
	struct iso_em_data d;
	const unsigned *row, *group_of; /* as struct barrel_tables; `rows` are places there */
	const struct barrel_group *group;
	const float *value; /* less those of earlier chunks */
};

#define LARGEST 1e30 /* factor that leaves a product in float's range */

#define LAST_BITS 12
#define LONGEST ((1 << LAST_BITS) - 1)

/* ---- columns ---- */

static __device__ struct met met_of(const struct barrel_column *k, const struct barrel_params *p, int ix,
                                    int iy, int first, int n)
{
	struct met v;

	v.factor = k->factor;
	v.al = k->al;
	v.zc = k->zc;
	v.least = k->least;
	v.tau = k->tau;
	v.slope = k->slope;
	v.at = (iy * p->n[0] + ix) * p->n[2] + first;
	v.span = (first << LAST_BITS) | n;
	return v;
}

/* What all lanes of a warp know of the columns of an event. */
struct columns {
	const struct barrel_params *p;
	const struct barrel_line *l;
	struct met *to;
	struct met_end *end;
	int n;
};

/* Keeps the column that a lane has; called by all lanes together. */
static __device__ void keep_column(struct columns *c, bool in, int ix, int iy, float y,
                                   struct barrel_hits *hits)
{
	const struct barrel_params *p = c->p;
	struct barrel_column k;
	int first = 0, count = 0;

	if (in) {
		barrel_simplify(hits, c->l, p->kernel);
		in = barrel_column(&k, c->l, y, hits) && barrel_planes(&first, &count, p, &k);
	}
	const unsigned which = __ballot_sync(ISO_FULL_WARP, in);

	if (in) {
		const int place = c->n + __popc(which & ((1u << threadIdx.x % ISO_WARP) - 1));
		const float low = p->first[2] + first * p->plane;
		const bool edge = p->edge && barrel_near_end(c->l, &k, low, low + (count - 1) * p->plane);

		c->to[place] = met_of(&k, p, ix, iy, first, count);
		c->end[place] = { k.r_a, k.r_b, edge ? k.sharp : 0.f };
	}
	c->n += __popc(which);
}

/* A pixel in the frame of a pair; whether it lies between the strips. */
static __device__ bool pixel_at(float *y, float *d, const struct barrel_params *p,
                                const struct barrel_pair *pair, int ix, int iy)
{
	const float u = p->first[0] + ix * p->pixel - pair->middle[0];
	const float v = p->first[1] + iy * p->pixel - pair->middle[1];

	*y = u * pair->e[0] + v * pair->e[1];
	*d = v * pair->e[0] - u * pair->e[1];
	return *y<pair->half && * y> - pair->half;
}

/* From directions. */
static __device__ void meet(struct columns *c, struct pieces *r)
{
	const struct barrel_params *p = c->p;
	const struct barrel_pair *pair = &c->l->pair;
	const struct barrel_tube t = barrel_tube(p, c->l);
	const int lane = threadIdx.x % ISO_WARP, all = t.n * t.wide;

	for (int i = lane; i - lane < all; i += ISO_WARP) {
		int ix = 0, iy = 0;
		float y = 0, d = 0;
		bool in =
			i < all && barrel_candidate(&ix, &iy, p, &t, i) && pixel_at(&y, &d, p, pair, ix, iy);
		struct barrel_hits hits = pixel_hits(r, pair, in, y, d, p->pixel, pair->mu * c->l->s);

		keep_column(c, in, ix, iy, y, &hits);
	}
}

/* From a table: the part of the pair's pixels that the event may visit is one piece of it. */
static __device__ void meet_kept(struct columns *c, const struct barrel_group *g, const float *value)
{
	const struct barrel_params *p = c->p;
	const struct barrel_tube own = barrel_tube(p, c->l), *t = &g->tube;
	const int first = max(own.first, t->first) - t->first,
		  last = min(own.first + own.n, t->first + t->n) - t->first;
	const int lane = threadIdx.x % ISO_WARP, end = last * t->wide;
	float weight[BARREL_NODES];

	barrel_weights(weight, g->interval, c->l->s);
	for (int i = first * t->wide + lane; i - lane < end; i += ISO_WARP) {
		int ix = 0, iy = 0;
		float y = 0, d = 0;
		struct barrel_hits hits;
		bool in = i < end && barrel_kept_hits(&hits, value + i, g->pixels, weight, c->l->s) &&
		          barrel_candidate(&ix, &iy, p, t, i) && pixel_at(&y, &d, p, &c->l->pair, ix, iy);

		keep_column(c, in, ix, iy, y, &hits);
	}
}

/* A column as lanes go along it. */
struct walk {
	struct barrel_column c;
	int at, first, n;
	bool edge;
};

static __device__ struct walk walk_of(const struct met *v, const struct met_end *e)
{
	struct walk w;

	w.c.factor = v->factor;
	w.c.al = v->al;
	w.c.zc = v->zc;
	w.c.least = v->least;
	w.c.tau = v->tau;
	w.c.slope = v->slope;
	w.at = v->at;
	w.first = v->span >> LAST_BITS;
	w.n = v->span & LONGEST;
	w.c.r_a = e->r_a;
	w.c.r_b = e->r_b;
	w.c.sharp = e->sharp;
	w.edge = e->sharp > 0;
	return w;
}

static __device__ float value(const struct walk *w, const struct barrel_line *l,
                              const struct barrel_params *p, int i)
{
	float z = p->first[2] + (w->first + i) * p->plane, v = barrel_value(&w->c, z);

	return w->edge ? v * barrel_edge(l, &w->c, z) : v;
}

static __device__ float sum_of(const struct met *met, const struct met_end *end, int n,
                               const struct barrel_line *l, const struct barrel_params *p, const float *x)
{
	const int lane = threadIdx.x % ISO_WARP;
	float sum = 0;

	for (int c = lane / LANES; c < n; c += ISO_WARP / LANES) {
		struct walk w = walk_of(met + c, end + c);

		for (int i = lane % LANES; i < w.n; i += LANES)
			sum = fmaf(value(&w, l, p, i), x ? x[w.at + i] : 1, sum);
	}
	return iso_warp_sum(sum);
}

static __device__ void give_back(const struct met *met, const struct met_end *end, int n,
                                 const struct barrel_line *l, const struct barrel_params *p,
                                 struct iso_fixed_cuda acc, const float *x, double scale)
{
	const int lane = threadIdx.x % ISO_WARP;
	const float small = (float)scale;
	const bool plain = fabs(scale) < LARGEST && fabs(scale) > 1 / LARGEST;

	for (int c = lane / LANES; c < n; c += ISO_WARP / LANES) {
		struct walk w = walk_of(met + c, end + c);

		for (int i = lane % LANES; i < w.n; i += LANES) {
			const float v = value(&w, l, p, i) * (x ? x[w.at + i] : 1);

			if (plain)
				atomicAdd(acc.v + w.at + i, (unsigned long long)__float2ll_rn(v * small));
			else
				iso_fixed_add(acc, w.at + i, (double)v * scale);
		}
	}
}

/* ---- a pass ---- */

/* What a row gives back, by all lanes of its warp. */
template <enum what WHAT>
static __device__ double respond(const struct pass *a, int64_t row, float sum, struct em_tally *tally,
                                 double *bound)
{
	const bool first = threadIdx.x % ISO_WARP == 0;
	struct iso_em_stat stat = ISO_ZERO;
	double send = 0;

	if (WHAT == FORWARD && first) a->to[row] = sum;
	if (WHAT == BOUND && first) *bound += fabs((double)a->y[row]) * sum;
	if (WHAT == ADJOINT) send = a->y[row];
	if (WHAT == EM) send = em_respond(&stat, &a->d, row, sum);
	if (WHAT == EM && first) em_tally_row(tally, a->scales, &stat);
	return send;
}

/* Each lane of the first GROUP prepares an event; then the warp goes through them. KEPT: all of them have a table. */
template <enum what WHAT, bool KEPT>
static __global__ void __launch_bounds__(ISO_THREADS, RESIDENT) pass_rows(struct pass a)
{
	__shared__ struct barrel_line line[ISO_THREADS / ISO_WARP][GROUP];
	__shared__ struct pieces pieces[KEPT ? 1 : ISO_THREADS / ISO_WARP];
	const int lane = threadIdx.x % ISO_WARP;
	const int64_t warp = blockIdx.x * (int64_t)(ISO_THREADS / ISO_WARP) + threadIdx.x / ISO_WARP;
	const int64_t step = gridDim.x * (int64_t)(ISO_THREADS / ISO_WARP) * GROUP,
		      behind = a.rows.first + a.rows.n;
	struct barrel_line *mine = line[threadIdx.x / ISO_WARP];
	struct columns c = { &a.m.p, NULL, a.met + warp * a.m.most_columns, a.end + warp * a.m.most_columns,
		             0 };
	struct em_tally tally = ISO_ZERO;
	double bound = 0;

	for (int64_t place = a.rows.first + warp * GROUP; place < behind; place += step) {
		const bool some = lane < GROUP && place + lane < behind;
		const int64_t own = some ? a.row[place + lane] : 0;
		const unsigned group = KEPT && some ? a.group_of[place + lane] : 0;
		const bool usable =
			some && (WHAT != EM || !a.d.mult || a.d.mult[own] > 0) &&
			barrel_line(mine + lane, &a.m.p, a.m.e + own, a.m.factor ? a.m.factor[own] : 1);
		const unsigned which = __ballot_sync(ISO_FULL_WARP, usable);

		__syncwarp();
		for (int k = 0; k < GROUP && place + k < behind; k++) {
			const int64_t row = __shfl_sync(ISO_FULL_WARP, own, k);
			const struct barrel_group *g = a.group + __shfl_sync(ISO_FULL_WARP, group, k);

			c.l = mine + k;
			c.n = 0;
			if (which >> k & 1) {
				if (KEPT)
					meet_kept(&c, g, a.value + g->at);
				else
					meet(&c, pieces + threadIdx.x / ISO_WARP);
			}
			__syncwarp();
			float sum = WHAT != ADJOINT ? sum_of(c.to, c.end, c.n, c.l, &a.m.p, a.x) : 0;
			double send = respond<WHAT>(&a, row, sum, &tally, &bound);

			if (send < 0 || send > 0)
				give_back(c.to, c.end, c.n, c.l, &a.m.p, a.acc, a.x, send * a.acc.scale);
			__syncwarp();
		}
	}
	if (WHAT == EM) em_leave_tally(a.tally, &tally);
	if (WHAT == BOUND && lane == 0) a.bound[warp] += bound;
}

/* ---- images with z fastest ---- */

#define TILE 32

static __global__ void turn(float *to, const float *from, int64_t rows, int64_t columns)
{
	__shared__ float tile[TILE][TILE + 1];
	const int64_t across = (columns + TILE - 1) / TILE, tiles = across * ((rows + TILE - 1) / TILE);

	for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
		int64_t row = t / across * TILE, column = t % across * TILE;

		for (int i = threadIdx.y; i < TILE; i += blockDim.y)
			if (row + i < rows && column + threadIdx.x < columns)
				tile[i][threadIdx.x] = from[(row + i) * columns + column + threadIdx.x];
		__syncthreads();
		for (int i = threadIdx.y; i < TILE; i += blockDim.y)
			if (column + i < columns && row + threadIdx.x < rows)
				to[(column + i) * rows + row + threadIdx.x] = tile[threadIdx.x][i];
		__syncthreads();
	}
}

/* (rows, columns) becomes (columns, rows). */
static int turn_image(const iso_op *op, float *to, const float *from, int64_t rows, int64_t columns)
{
	turn<<<4096, dim3(TILE, 8), 0, iso_stream(op->ctx)>>>(to, from, rows, columns);
	return iso_cuda_launched("barrel image");
}

static int64_t plane(const struct barrel_params *p)
{
	return (int64_t)p->n[0] * p->n[1];
}

/* ---- the operator ---- */

static struct pass pass_of(const iso_op *op)
{
	const struct barrel_cuda_work *w = (const struct barrel_cuda_work *)op->work;
	struct pass a = ISO_ZERO;

	a.m = *(const struct barrel_model *)op->data;
	a.acc = w->acc;
	a.tally = w->tally;
	a.bound = w->bound;
	a.met = w->met;
	a.end = w->end;
	a.row = a.m.tables->row;
	a.group_of = a.m.tables->group_of;
	a.group = a.m.tables->group;
	return a;
}

template <enum what WHAT, bool KEPT>
static int launch(const iso_op *op, struct pass *a, int64_t first, int64_t behind)
{
	const struct barrel_cuda_work *w = (const struct barrel_cuda_work *)op->work;

	if (first == behind) return ISO_OK;
	a->rows.first = first;
	a->rows.n = behind - first;
	pass_rows<WHAT, KEPT><<<w->blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*a);
	return iso_cuda_launched("barrel pass");
}

/* Rows of a subset: those with tables, a chunk at a time, then the others. */
template <enum what WHAT> static int start(const iso_op *op, int sub, const struct pass *pass)
{
	const struct barrel_cuda_work *w = (const struct barrel_cuda_work *)op->work;
	const struct barrel_tables *t = pass->m.tables;
	const int order = sub >= 0 ? sub : t->orders - 1;
	const int64_t first = t->start[order], *bound = t->bound + order * (t->chunks + 1);
	struct pass a = *pass;
	int st = ISO_OK;

	for (int c = 0; c < t->chunks && !st; c++) {
		float *value = t->value ? t->value : w->value;

		if (bound[c] == bound[c + 1]) continue;
		if (!t->value) st = iso_barrel_tables_fill(value, t, op, c);
		a.value = value - t->chunk[c].at;
		if (!st) st = launch<WHAT, true>(op, &a, first + bound[c], first + bound[c + 1]);
	}
	return st ? st : launch<WHAT, false>(op, &a, first + bound[t->chunks], t->start[order + 1]);
}

static int barrel_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);
	struct pass a = pass_of(op);
	int st = turn_image(op, w->x, x, a.m.p.n[2], plane(&a.m.p));

	a.x = w->x;
	a.to = y;
	if (!st) st = start<FORWARD>(op, sub, &a);
	return iso_comm_gather(op->ctx, st, y + rows.first, rows.n, sizeof *y);
}

/* The sums of all ranks, as an image with x fastest. */
static int finish(iso_real *x, const iso_op *op, struct iso_fixed_cuda *acc, int st)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const struct barrel_params *p = &((const struct barrel_model *)op->data)->p;

	if ((st = iso_fixed_sum(acc, op->ctx, st)) || (st = iso_fixed_end(w->x, acc, op->ctx))) return st;
	return turn_image(op, x, w->x, plane(p), p->n[2]);
}

/* No voxel of A* y exceeds the sum of |A* y| over all voxels. */
static int find_bound(double *bound, const iso_op *op, int sub, const struct pass *a)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const int64_t warps = (int64_t)w->blocks * (ISO_THREADS / ISO_WARP);
	double *part = (double *)calloc((size_t)warps, sizeof *part);
	int st = part ? iso_cuda_check("clear", cudaMemsetAsync(w->bound, 0, (size_t)warps * sizeof *w->bound,
	                                                        iso_stream(op->ctx)))
	              : iso_fail_memory("barrel", warps * (int64_t)sizeof *part);

	if (!st) st = start<BOUND>(op, sub, a);
	if (!st) st = op->ctx->vec->download(op->ctx, part, w->bound, warps * (int64_t)sizeof *part);
	*bound = 0;
	for (int64_t i = 0; i < warps && !st; i++) *bound += part[i];
	free(part);
	if ((st = iso_comm_sum_real(op->ctx, st, bound, 1))) return st;
	if (!isfinite(*bound)) return iso_fail(ISO_EARG, "barrel: a value to back project is not finite");
	*bound = *bound > 0 ? ldexp(1, ilogb(*bound) + 1) : 1;
	return ISO_OK;
}

static int barrel_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct pass a = pass_of(op);
	double bound;
	int st;

	a.y = y;
	if ((st = find_bound(&bound, op, sub, &a))) return st;
	st = iso_fixed_begin(&a.acc, op->ctx, bound);
	if (!st) st = start<ADJOINT>(op, sub, &a);
	return finish(x, op, &a.acc, st);
}

static int barrel_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);
	struct pass a = pass_of(op);
	double bound = (double)rows.n; /* x w / q <= 1 for every event */
	struct em_tally all = ISO_ZERO;
	int st = d->y ? op->ctx->vec->asum(op->ctx, rows.n, &bound, d->y + rows.first) : ISO_OK;

	if (!st) st = turn_image(op, w->x, x, a.m.p.n[2], plane(&a.m.p));
	if (st) return st;
	a.x = w->x;
	a.d = *d;
	a.scales = em_scales(bound);
	if (!(st = iso_fixed_begin(&a.acc, op->ctx, bound)))
		st = iso_cuda_check("clear",
		                    cudaMemsetAsync(w->tally, 0, sizeof *w->tally, iso_stream(op->ctx)));
	if (!st) st = start<EM>(op, sub, &a);
	if (!st) st = op->ctx->vec->download(op->ctx, &all, w->tally, sizeof all);
	if ((st = iso_em_tally_sum(&all, op->ctx, st))) return st;
	*s = em_tally_stat(&all, a.scales);
	return finish(acc, op, &a.acc, ISO_OK);
}

static int barrel_open(iso_op *op)
{
	const struct barrel_model *m = (const struct barrel_model *)op->data;
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	int device = 0, sms = 1;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
	w->blocks = sms * BLOCKS_PER_SM;
	const int64_t warps = (int64_t)w->blocks * (ISO_THREADS / ISO_WARP);

	iso_fixed_open(&w->acc, &op->room, op->n_in);
	ISO_DEVICE(&op->room, w->tally, 1);
	ISO_DEVICE(&op->room, w->bound, warps);
	ISO_DEVICE(&op->room, w->x, op->n_in);
	ISO_DEVICE(&op->room, w->met, warps * m->most_columns);
	ISO_DEVICE(&op->room, w->end, warps * m->most_columns);
	if (!m->tables->value) ISO_DEVICE(&op->room, w->value, m->tables->most);
	return op->room.status;
}

static const struct iso_op_fn barrel_fn_cuda = {
	barrel_forward,
	barrel_adjoint,
	barrel_em_step,
	NULL,
	iso_barrel_rows,
	iso_barrel_file_row,
	barrel_open,
	NULL,
	NULL,
	NULL,
	sizeof(struct barrel_cuda_work),
	NULL,
	NULL,
	NULL,
};

/* Events, places and factors move to the device. */
extern "C" int iso_barrel_to_cuda(iso_op *op)
{
	struct barrel_model *m = (struct barrel_model *)op->data;
	struct iso_room *room = &op->shared->room;
	struct barrel_place *place = (struct barrel_place *)m->p.place;

	if (m->p.n[2] > LONGEST)
		return iso_fail(ISO_EARG, "barrel: %d planes, at most %d on CUDA", m->p.n[2], LONGEST);
	if ((int64_t)m->p.n[0] * m->p.n[1] * m->p.n[2] > INT32_MAX)
		return iso_fail(ISO_EARG, "barrel: more than %d voxels on CUDA", INT32_MAX);
	m->p.place = (const struct barrel_place *)iso_room_upload(room, place, m->n_strips, sizeof *place);
	ISO_MOVE(room, m->e, m->n);
	if (m->factor) ISO_MOVE(room, m->factor, m->n);
	ISO_HOST(room, m->tables, 1);
	if (room->status) return room->status;
	op->fn = &barrel_fn_cuda;
	int st = iso_barrel_tables_make(m->tables, op, place);

	iso_room_drop(room, place);
	return st;
}
