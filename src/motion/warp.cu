/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields on CUDA: one thread a voxel of the gate. The transpose adds the same integers as on the CPU, so that it
   has the same bits. */
#include "core/loop/fixed.cuh"
#include "warp.h"

struct warp_work {
	struct iso_fixed_cuda sum; /* of the adjoint */
	unsigned *most;            /* bits of a float of 0 or above: the largest so far */
	iso_real *u;               /* of fields that are sent: the one that is here, */
	const iso_real *which;     /* and where it is on the host; NULL: none */
};

/* ---- a thread a voxel ---- */

enum { WIDE = ISO_WARP, HIGH = ISO_THREADS / ISO_WARP };
#define MOST_BLOCKS ((int64_t)65535) /* along y and z */

template <class F> static __global__ void each_voxel(struct iso_grid g, F f)
{
	int64_t i[3];

	for (i[2] = blockIdx.z; i[2] < g.n[2]; i[2] += gridDim.z)
		for (i[1] = (int64_t)blockIdx.y * HIGH + threadIdx.y; i[1] < g.n[1];
		     i[1] += (int64_t)gridDim.y * HIGH)
			for (i[0] = (int64_t)blockIdx.x * WIDE + threadIdx.x; i[0] < g.n[0];
			     i[0] += (int64_t)gridDim.x * WIDE)
				f(i, (i[2] * g.n[1] + i[1]) * g.n[0] + i[0]);
}

static unsigned blocks_of(int64_t n, int per)
{
	const int64_t all = (n + per - 1) / per;

	return (unsigned)(all < MOST_BLOCKS ? all : MOST_BLOCKS);
}

template <class F> static int run(const char *what, const iso_ctx *ctx, const struct iso_grid *g, F f)
{
	const dim3 blocks(blocks_of(g->n[0], WIDE), blocks_of(g->n[1], HIGH), blocks_of(g->n[2], 1)),
		threads(WIDE, HIGH);

	each_voxel<<<blocks, threads, 0, iso_stream(ctx)>>>(*g, f);
	return iso_cuda_launched(what);
}

/* y = W x */
struct sample {
	struct warp w;
	iso_real *y;
	const iso_real *x;

	__device__ void operator()(const int64_t i[3], int64_t voxel) const
	{
		y[voxel] = (iso_real)warp_sample(&w, i, voxel, x);
	}
};

/* sum += W^t y, or |W|^t 1 where y is NULL */
struct spread {
	struct warp w;
	struct iso_fixed_cuda sum;
	const iso_real *y;

	__device__ void operator()(const int64_t i[3], int64_t voxel) const
	{
		double at[3];

		if (!warp_target(at, &w, i, voxel)) return;
		const double factor = warp_factor(&w, i, voxel),
			     value = (y ? (double)y[voxel] * factor : fabs(factor)) * sum.scale;

		if (!(value < 0 || value > 0)) return;
		const struct warp_cell c = warp_cell_of(at, w.grid.n);

		for (int k = 0; k < 8; k++)
			if (c.weight[k] > 0) iso_fixed_add(sum, c.voxel[k], c.weight[k] * value);
	}
};

/* ---- largest values ---- */

/* Bits of floats of 0 or above rise with them; those of NaN are above infinity's. */
static __device__ void leave_most(unsigned *most, unsigned own)
{
	own = iso_warp_max(own);
	if (threadIdx.x % ISO_WARP == 0) atomicMax(most, own);
}

static __global__ void largest(int64_t n, unsigned *most, const iso_real *y)
{
	unsigned own = 0;

	ISO_GRID_LOOP (i, n) own = max(own, __float_as_uint(fabsf(y[i])));
	leave_most(most, own);
}

struct factors {
	struct warp w;
	unsigned *most;

	__device__ void operator()(const int64_t i[3], int64_t voxel) const
	{
		const unsigned own = __float_as_uint(warp_factor_bound(&w, i, voxel));

		if (own > *(volatile unsigned *)most) atomicMax(most, own); /* few are */
	}
};

static __global__ void largest_sum(int64_t n, unsigned long long *most, const unsigned long long *v)
{
	unsigned long long own = 0;

	ISO_GRID_LOOP (i, n) own = max(own, v[i]);
	if (own > 0) atomicMax(most, own);
}

static int clear(const iso_ctx *ctx, void *p, size_t bytes)
{
	return iso_cuda_check("clear", cudaMemsetAsync(p, 0, bytes, iso_stream(ctx)));
}

static int get_most(double *value, iso_ctx *ctx, const unsigned *most)
{
	float host;
	int st = ctx->vec->download(ctx, &host, most, sizeof host);

	if (!st) *value = (double)host;
	return st;
}

/* ---- the operator ---- */

/* The field on the device. */
static int bring(struct warp *w, const iso_op *op, const struct warp_model *m)
{
	struct warp_work *work = (struct warp_work *)op->work;
	const iso_real *u = m->w.u;
	int st = ISO_OK;

	*w = m->w;
	if (!((const struct warps *)op->data)->sent || !u) return ISO_OK;
	w->u = work->u;
	if (work->which != u)
		st = op->ctx->vec->upload(op->ctx, work->u, u, 3 * op->n_in * (int64_t)sizeof *u);
	work->which = st ? NULL : u;
	return st;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct warp_model *m = iso_warps_choose(op, sub);
	struct warp w;
	int st;

	if (!m) return ISO_EARG;
	if (warp_is_one(&m->w)) return op->ctx->vec->copy(op->ctx, op->n_in, y, x);
	if ((st = bring(&w, op, m))) return st;
	const struct sample f = { w, y, x };

	return run("warp", op->ctx, &m->w.grid, f);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct warp_model *m = iso_warps_choose(op, sub);
	struct warp_work *work = (struct warp_work *)op->work;
	iso_ctx *ctx = op->ctx;
	struct warp w;
	double most = 0;
	int st;

	if (!m) return ISO_EARG;
	if (warp_is_one(&m->w)) return ctx->vec->copy(ctx, op->n_in, x, y);
	if ((st = bring(&w, op, m)) || (st = clear(ctx, work->most, sizeof *work->most))) return st;
	largest<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(ctx)>>>(op->n_in, work->most, y);
	if ((st = iso_cuda_launched("largest value")) || (st = get_most(&most, ctx, work->most)) ||
	    (st = iso_warp_check_largest(most)) || (st = iso_fixed_begin(&work->sum, ctx, most * m->reach)))
		return st;
	const struct spread f = { w, work->sum, y };

	st = run("warp back", ctx, &m->w.grid, f);
	return st ? st : iso_fixed_end(x, &work->sum, ctx);
}

static int open_work(iso_op *op)
{
	struct warp_work *work = (struct warp_work *)op->work;

	const struct warps *all = (const struct warps *)op->data;

	work->which = NULL;
	if (all->moves) {
		iso_fixed_open(&work->sum, &op->room, op->n_in);
		ISO_DEVICE(&op->room, work->most, 1);
		if (all->sent) ISO_DEVICE(&op->room, work->u, 3 * op->n_in);
	}
	return op->room.status;
}

/* ---- to the device ---- */

/* The largest sum of |W| over a column, as on the CPU. */
static int find_reach(struct warp_model *m, struct iso_fixed_cuda *sum, unsigned long long *most,
                      iso_ctx *ctx)
{
	const struct iso_grid *g = &m->w.grid;
	const int64_t n = iso_grid_voxels(g);
	const struct factors f = { m->w, (unsigned *)most };
	double factor = 0;
	long long found = 0;
	int st = clear(ctx, most, sizeof *most);

	if (st || (st = run("warp factors", ctx, g, f)) || (st = get_most(&factor, ctx, (unsigned *)most)) ||
	    (st = iso_fixed_begin(sum, ctx, factor * (double)n)) || (st = clear(ctx, most, sizeof *most)))
		return st;
	const struct spread s = { m->w, *sum, NULL };

	if ((st = run("warp reach", ctx, g, s))) return st;
	largest_sum<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(n, most, sum->v);
	if ((st = iso_cuda_launched("warp reach")) ||
	    (st = ctx->vec->download(ctx, &found, most, sizeof found)))
		return st;
	m->reach = iso_warp_reach(found, sum->scale);
	return ISO_OK;
}

static struct iso_op_fn warps_fn_cuda()
{
	struct iso_op_fn fn = {};

	fn.forward = forward;
	fn.adjoint = adjoint;
	fn.open = open_work;
	fn.work = sizeof(struct warp_work);
	return fn;
}

/* The field goes to the device: to stay there, or, of those that are sent, for a while to `u`. */
static int take_field(struct warp_model *m, struct iso_room *own, iso_real *u, int64_t n_in)
{
	iso_real *host = (iso_real *)m->w.u; /* of the room, on the host */

	if (!host) return ISO_OK;
	m->w.u = u ? u : ISO_MOVE(own, host, 3 * n_in);
	if (!u) return own->status;
	return own->ctx->vec->upload(own->ctx, u, host, 3 * n_in * (int64_t)sizeof *u);
}

static int fields_that_move(const struct warps *all)
{
	int n = 0;

	for (int k = 0; k < all->n; k++) n += all->model[k].w.u != NULL;
	return n;
}

/* The fields go to the device one by one. */
extern "C" int iso_warps_to_cuda(iso_op *op)
{
	static const struct iso_op_fn fn = warps_fn_cuda();
	struct warps *all = (struct warps *)op->data;
	struct iso_room room = iso_room_of(op->ctx, "displacement field"), *own = &op->shared->room;
	struct iso_fixed_cuda sum;
	unsigned long long *most;
	iso_real *u = NULL;
	int st;

	op->fn = &fn;
	if (!all->moves) return ISO_OK;
	all->sent = iso_warps_are_sent(op->ctx, fields_that_move(all), op->n_in);
	if (all->sent) ISO_DEVICE(&room, u, 3 * op->n_in);
	iso_fixed_open(&sum, &room, op->n_in);
	ISO_DEVICE(&room, most, 1);
	st = room.status;
	for (int k = 0; k < all->n && !st; k++) {
		struct warp_model *m = &all->model[k];
		const iso_real *host = m->w.u;

		if (warp_is_one(&m->w)) continue;
		if (!(st = take_field(m, own, u, op->n_in))) st = find_reach(m, &sum, most, op->ctx);
		if (all->sent) m->w.u = host;
	}
	iso_room_free(&room);
	return st;
}
