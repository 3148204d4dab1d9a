/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel on CUDA: a warp an event. Its lanes first make columns, one each, and leave those that are met in memory of the
   warp, which stays in the cache. Then 8 lanes go along a column, 4 columns at a time, forward and back. */
#include "core/loop/em.cuh"
#include "core/loop/fixed.cuh"
#include "core/loop/em_sum.h"
#include "barrel_op.h"

#define LANES 8    /* along a column */
#define GROUP 8    /* events that a warp prepares at once */
#define PIECES 160 /* between corners, of the points of a warp; of half of them never more than 112 */
#define BLOCKS_PER_SM 4

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
};

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

/* Sums of pieces between corners, by all lanes of a warp. A lane's point has none to seven pieces: they become one list, that
   the lanes take in turn. `v`: slopes low and high of each piece at first, its six sums at last. */
struct pieces {
	float v[6][PIECES];
	unsigned char owner[PIECES]; /* the lane whose point it is of */
	float y[ISO_WARP], d[ISO_WARP];
};

/* Those of `lanes` lanes from `from` on, n of this one, which come before + ... in the list of all. */
static __device__ void take_pieces(struct barrel_sums *sum, struct pieces *r, const struct barrel_pair *p,
                                   const float cut[BARREL_CUTS], int n, int before, float mu, int from,
                                   int lanes)
{
	const int lane = threadIdx.x % ISO_WARP, start = __shfl_sync(ISO_FULL_WARP, before, from);
	const int all = __shfl_sync(ISO_FULL_WARP, before + n, from + lanes - 1) - start;
	const bool mine = n > 0 && lane >= from && lane < from + lanes;

	for (int k = 0, at = before - start; mine && k < BARREL_CUTS - 1; k++) {
		if (!(cut[k] < cut[k + 1])) continue;
		r->v[0][at] = cut[k];
		r->v[1][at] = cut[k + 1];
		r->owner[at++] = (unsigned char)lane;
	}
	__syncwarp();
	for (int i = lane; i < all; i += ISO_WARP) {
		const float low = r->v[0][i], high = r->v[1][i], y = r->y[r->owner[i]], d = r->d[r->owner[i]];
		struct barrel_sums part = ISO_ZERO;

		for (int g = 0; g < BARREL_POINTS; g++) {
			struct barrel_ray ray = barrel_ray(p, y, d, low, high, g);

			barrel_add(&part, &ray, mu);
		}
		r->v[0][i] = part.w;
		r->v[1][i] = part.a;
		r->v[2][i] = part.b;
		r->v[3][i] = part.aa;
		r->v[4][i] = part.bb;
		r->v[5][i] = part.ab;
	}
	__syncwarp();
	for (int k = 0, at = before - start; mine && k < n; k++, at++) {
		sum->w += r->v[0][at];
		sum->a += r->v[1][at];
		sum->b += r->v[2][at];
		sum->aa += r->v[3][at];
		sum->bb += r->v[4][at];
		sum->ab += r->v[5][at];
	}
	__syncwarp();
}

/* Adds the point (y, d) of each lane that has one. */
static __device__ void add_points(struct barrel_sums *sum, struct pieces *r, const struct barrel_pair *p,
                                  bool in, float y, float d, float mu)
{
	const int lane = threadIdx.x % ISO_WARP;
	float cut[BARREL_CUTS];
	int n = 0, up_to;

	if (in && barrel_cuts(cut, p, y, d))
		for (int k = 0; k < BARREL_CUTS - 1; k++) n += cut[k] < cut[k + 1];
	up_to = n;
	for (int step = 1; step < ISO_WARP; step *= 2) {
		int other = __shfl_up_sync(ISO_FULL_WARP, up_to, step);

		up_to += lane >= step ? other : 0;
	}
	const int all = __shfl_sync(ISO_FULL_WARP, up_to, ISO_WARP - 1);

	if (all == 0) return;
	r->y[lane] = y;
	r->d[lane] = d;
	if (all <= PIECES) {
		take_pieces(sum, r, p, cut, n, up_to - n, mu, 0, ISO_WARP);
		return;
	}
	take_pieces(sum, r, p, cut, n, up_to - n, mu, 0, ISO_WARP / 2);
	take_pieces(sum, r, p, cut, n, up_to - n, mu, ISO_WARP / 2, ISO_WARP / 2);
}

/* The columns of an event, by all lanes of its warp; returns how many there are. */
static __device__ int meet(struct met *to, struct met_end *end, struct pieces *r,
                           const struct barrel_model *m, const struct barrel_line *l)
{
	const struct barrel_params *p = &m->p;
	const struct barrel_pair *pair = &l->pair;
	const struct barrel_tube t = barrel_tube(p, l);
	const int lane = threadIdx.x % ISO_WARP, all = t.n * t.wide;
	int n = 0;

	for (int i = lane; i - lane < all; i += ISO_WARP) {
		struct barrel_sums sum = ISO_ZERO;
		struct barrel_column k;
		int ix = 0, iy = 0, first = 0, count = 0;
		bool in = i < all && barrel_candidate(&ix, &iy, p, &t, i);
		const float u = p->first[0] + ix * p->pixel - pair->middle[0];
		const float v = p->first[1] + iy * p->pixel - pair->middle[1];
		const float y = u * pair->e[0] + v * pair->e[1], d = v * pair->e[0] - u * pair->e[1];

		in = in && y < pair->half && y > -pair->half;
		for (int point = 0; point < 4; point++) {
			float move_y = 0, move_d = 0;

			barrel_point(&move_y, &move_d, pair, p->pixel, point);
			add_points(&sum, r, pair, in, y + move_y, d + move_d, pair->mu * l->s);
		}
		struct barrel_hits hits = barrel_hits_of(&sum, 4);

		barrel_simplify(&hits, l, p->kernel);
		in = in && barrel_column(&k, l, y, &hits) && barrel_planes(&first, &count, p, &k);
		unsigned which = __ballot_sync(ISO_FULL_WARP, in);

		if (in) {
			int place = n + __popc(which & ((1u << lane) - 1));
			float low = p->first[2] + first * p->plane;
			bool edge = p->edge && barrel_near_end(l, &k, low, low + (count - 1) * p->plane);

			to[place] = met_of(&k, p, ix, iy, first, count);
			end[place] = { k.r_a, k.r_b, edge ? k.sharp : 0.f };
		}
		n += __popc(which);
	}
	__syncwarp();
	return n;
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

	for (int c = lane / LANES; c < n; c += ISO_WARP / LANES) {
		struct walk w = walk_of(met + c, end + c);

		for (int i = lane % LANES; i < w.n; i += LANES)
			iso_fixed_add(acc, w.at + i,
			              (double)(value(&w, l, p, i) * (x ? x[w.at + i] : 1)) * scale);
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

/* Each lane of the first GROUP prepares an event; then the warp goes through them. */
template <enum what WHAT> static __global__ void __launch_bounds__(ISO_THREADS, 2) pass_rows(struct pass a)
{
	__shared__ struct barrel_line line[ISO_THREADS / ISO_WARP][GROUP];
	__shared__ struct pieces pieces[ISO_THREADS / ISO_WARP];
	const int lane = threadIdx.x % ISO_WARP;
	const int64_t warp = blockIdx.x * (int64_t)(ISO_THREADS / ISO_WARP) + threadIdx.x / ISO_WARP;
	const int64_t step = gridDim.x * (int64_t)(ISO_THREADS / ISO_WARP) * GROUP,
		      behind = a.rows.first + a.rows.n;
	struct met *met = a.met + warp * a.m.most_columns;
	struct met_end *end = a.end + warp * a.m.most_columns;
	struct barrel_line *mine = line[threadIdx.x / ISO_WARP];
	struct em_tally tally = ISO_ZERO;
	double bound = 0;

	for (int64_t row = a.rows.first + warp * GROUP; row < behind; row += step) {
		int64_t own = row + lane;
		bool usable = lane < GROUP && own < behind &&
		              (WHAT != EM || !a.d.mult || a.d.mult[own] > 0) &&
		              barrel_line(mine + lane, &a.m.p, a.m.e + own, a.m.factor ? a.m.factor[own] : 1);
		unsigned which = __ballot_sync(ISO_FULL_WARP, usable);

		__syncwarp();
		for (int k = 0; k < GROUP && row + k < behind; k++) {
			const struct barrel_line *l = mine + k;
			bool there = which >> k & 1;
			int n = there ? meet(met, end, pieces + threadIdx.x / ISO_WARP, &a.m, l) : 0;
			float sum = WHAT != ADJOINT ? sum_of(met, end, n, l, &a.m.p, a.x) : 0;
			double send = respond<WHAT>(&a, row + k, sum, &tally, &bound);

			if (send < 0 || send > 0)
				give_back(met, end, n, l, &a.m.p, a.acc, a.x, send * a.acc.scale);
			__syncwarp();
		}
	}
	if (WHAT == EM) em_leave_tally(a.tally, &tally);
	if (WHAT == BOUND && lane == 0) a.bound[warp] = bound;
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

static struct iso_rows own_rows(const iso_op *op, int sub)
{
	const struct iso_rows rows = iso_op_rows(op, sub), own = iso_share(op->ctx, rows.n);
	struct iso_rows r = { rows.first + own.first, own.n };

	return r;
}

static struct pass pass_of(const iso_op *op, int sub)
{
	const struct barrel_cuda_work *w = (const struct barrel_cuda_work *)op->work;
	struct pass a = ISO_ZERO;

	a.m = *(const struct barrel_model *)op->data;
	a.rows = own_rows(op, sub);
	a.acc = w->acc;
	a.tally = w->tally;
	a.bound = w->bound;
	a.met = w->met;
	a.end = w->end;
	return a;
}

template <enum what WHAT> static int start(const iso_op *op, const struct pass *a)
{
	const struct barrel_cuda_work *w = (const struct barrel_cuda_work *)op->work;

	pass_rows<WHAT><<<w->blocks, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*a);
	return iso_cuda_launched("barrel pass");
}

static int barrel_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);
	struct pass a = pass_of(op, sub);
	int st = turn_image(op, w->x, x, a.m.p.n[2], plane(&a.m.p));

	a.x = w->x;
	a.to = y;
	if (!st) st = start<FORWARD>(op, &a);
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
static int find_bound(double *bound, const iso_op *op, const struct pass *a)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const int64_t warps = (int64_t)w->blocks * (ISO_THREADS / ISO_WARP);
	double *part = (double *)calloc((size_t)warps, sizeof *part);
	int st = part ? start<BOUND>(op, a) : iso_fail_memory("barrel", warps * (int64_t)sizeof *part);

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
	struct pass a = pass_of(op, sub);
	double bound;
	int st;

	a.y = y;
	if ((st = find_bound(&bound, op, &a))) return st;
	st = iso_fixed_begin(&a.acc, op->ctx, bound);
	if (!st) st = start<ADJOINT>(op, &a);
	return finish(x, op, &a.acc, st);
}

static int barrel_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct barrel_cuda_work *w = (struct barrel_cuda_work *)op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);
	struct pass a = pass_of(op, sub);
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
	if (!st) st = start<EM>(op, &a);
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
	ISO_MOVE(room, place, m->n_strips);
	m->p.place = place;
	ISO_MOVE(room, m->e, m->n);
	if (m->factor) ISO_MOVE(room, m->factor, m->n);
	op->fn = &barrel_fn_cuda;
	return room->status;
}
