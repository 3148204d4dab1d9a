/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on CUDA. The EM step and both projections go through bricks (ray_brick.cu); what bricks do not
   serve takes one warp an event, its lanes along the slices of the main axis, weights computed again on the
   way back. */
#include "ray_respond.cuh"
#include "ray_row.cuh"
#include "ray_load.cuh"
#include "ray_many.cuh"
#include "ray_steps.cuh"

#include "core/progress.h"
#include "physics/response/response.h"

#include <stdlib.h>

#define BLOCKS 2048

/* Data of the operator. */
struct ray_cuda {
	struct ray_model
		m; /* first: the functions that both backends share see it alone; its events are here only
	                          where there are no packs */
	struct iso_room room;  /* of the packs */
	struct ray_pack *pack; /* subset after subset; NULL: m.plain has the reason */
	int *first;            /* pack of each subset, n_sub + 1 */
};

/* Packs first .. last - 1, of a subset or of all. */
struct pack_range {
	int first, last;
};

static struct pack_range packs_of(const iso_op *op, int sub)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;

	if (sub == ISO_ALL) return { 0, c->first[op->n_sub] };
	return { c->first[sub], c->first[sub + 1] };
}

/* Of values to back project: how many there are of each binary exponent (the last: infinity and NaN), and how many
   are below 0. */
#define LEVELS 256

struct ray_levels {
	int64_t n[LEVELS], negative;
};

/* Values from <= v < below are back projected by bricks, in units of 1 / scale. */
struct ray_window {
	double scale;
	float from, below;
};

/* How steps of several images go. */
enum way_of_images { WAY_UNKNOWN, WAY_GROUPS, WAY_EACH };

struct ray_cuda_work {
	struct ray_sum *sum;     /* of this operator's own steps; made by the first */
	enum way_of_images way;  /* on all ranks; the first step of several images finds it, */
	struct ray_group *group; /* and makes this */
	struct ray_steps *steps; /* of several subsets; made by the first of them */
	struct ray_brick_work brick;
	struct ray_levels *levels; /* on the device */
};

/* ---- one warp an event ---- */

template <class ROWS> static __global__ void forward(ROWS rows, iso_real *y, const iso_real *x)
{
	RAY_ROW_LOOP(i, rows)
	{
		float q = row_sum(&rows, i, x);

		if (threadIdx.x % ISO_WARP == 0) y[row] = q;
	}
}

static __global__ void adjoint(struct event_rows rows, struct iso_fixed_cuda acc, const iso_real *y)
{
	RAY_ROW_LOOP(i, rows)
	if (y[row] != 0) row_add(acc, &rows, i, NULL, y[row] * acc.scale, whole_terms());
}

/* The same of the few rows whose magnitudes are not between `from` and `below`. A warp looks at 32 rows at once. */
static __global__ void adjoint_outside(struct pack_rows rows, struct iso_fixed_cuda acc, const iso_real *y,
                                       float from, float below)
{
	struct iso_rows groups = { 0, (rows.n() + ISO_WARP - 1) / ISO_WARP };

	ISO_WARP_LOOP (g, groups) {
		int64_t first = g * ISO_WARP, mine = first + threadIdx.x % ISO_WARP;
		int64_t row = mine < rows.n() ? rows.row(mine) : -1;
		float v = row >= 0 ? y[row] : 0;
		unsigned left =
			__ballot_sync(ISO_FULL_WARP, v != 0 && (fabsf(v) < from || fabsf(v) >= below));

		for (; left; left &= left - 1) {
			int lane = __ffs((int)left) - 1;
			double value = __shfl_sync(ISO_FULL_WARP, v, lane);

			row_add(acc, &rows, first + lane, NULL, value * acc.scale, whole_terms());
		}
	}
}

/* ---- the data side of the adjoint ---- */

static __global__ void count_levels(struct ray_levels *levels, int64_t n, const iso_real *y)
{
	__shared__ unsigned part[LEVELS], negative;

	for (int i = threadIdx.x; i < LEVELS; i += ISO_THREADS) part[i] = 0;
	if (threadIdx.x == 0) negative = 0;
	__syncthreads();
	ISO_GRID_LOOP (i, n) {
		atomicAdd(part + (__float_as_uint(y[i]) >> 23 & (LEVELS - 1)), 1);
		if (y[i] < 0) atomicAdd(&negative, 1);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < LEVELS; i += ISO_THREADS)
		if (part[i]) atomicAdd((unsigned long long *)levels->n + i, part[i]);
	if (threadIdx.x == 0 && negative) atomicAdd((unsigned long long *)&levels->negative, negative);
}

/* What rays send back of values v = sign y in a window, from <= v < below; 0 for others. */
static __global__ void adjoint_slots(struct ray_pack p, struct ray_brick_work w, const iso_real *y,
                                     float sign, struct ray_window window)
{
	ISO_GRID_LOOP (i, p.slots) {
		if (p.ray[i] == RAY_NO_RAY) continue;
		float v = sign * y[p.rows.first + p.ray[i] / (unsigned)p.lines];
		bool inside = v > 0 && v >= window.from && v < window.below;

		w.send[i] = inside ? (float)(v * window.scale * p.factor[i] / p.lines) : 0;
	}
}

static __global__ void times(struct iso_fixed_cuda acc, int64_t factor)
{
	ISO_GRID_LOOP (i, acc.n) acc.v[i] *= factor;
}

/* ---- the data side of a step ---- */

/* acc = x A*(y / (A x + a)), one warp an event. */
template <class ROWS>
static __global__ void em_rows(ROWS rows, struct ray_sum sum, const iso_real *x, struct iso_em_data d)
{
	struct em_tally tally = ISO_ZERO;

	RAY_ROW_LOOP(i, rows)
	{
		struct iso_em_stat stat = ISO_ZERO;
		double ax = row_sum(&rows, i, x);
		double send = em_respond(&stat, &d, row, ax);

		if (threadIdx.x % ISO_WARP == 0) em_tally_row(&tally, sum.scales, &stat);
		if (send > 0) row_add(sum.acc, &rows, i, x, send * sum.acc.scale, whole_terms());
	}
	em_leave_tally(sum.tally, &tally);
}

/* acc = u A*(new - rho). All lanes of a warp have read a ratio before one of them changes it. */
template <class ROWS>
static __global__ void rows_of_ratios(ROWS rows, struct ray_sum sum, const iso_real *x, struct iso_em_data d,
                                      struct ratio_rows ratio)
{
	struct em_tally tally = ISO_ZERO;
	struct cut_terms cut = { sum.most * sum.acc.scale, &tally.cut };

	RAY_ROW_LOOP(i, rows)
	{
		struct iso_em_stat stat = ISO_ZERO;
		iso_real before = ratio.rho[row], now = ratio_new(&stat, &d, row, row_sum(&rows, i, x));
		double send = (double)now - before;

		__syncwarp();
		if (threadIdx.x % ISO_WARP == 0) {
			em_tally_row(&tally, sum.scales, &stat);
			if (!ratio.keep) ratio.rho[row] = now;
		}
		if (send != 0) row_add(sum.acc, &rows, i, sum.u, send * sum.acc.scale, cut);
	}
	em_leave_tally(sum.tally, &tally);
}

/* y = A x after the forward pass. */
static __global__ void leave_sums(struct ray_pack p, struct ray_brick_work w, double sum_scale, iso_real *y)
{
	double unit = 1 / (sum_scale * ray_brick_up(*w.limit));

	if (p.lines > 1)
		ISO_GRID_LOOP (r, p.rows.n) y[p.rows.first + r] = (float)mean_of_lines(&p, w.sum, r, unit);
	else
		ISO_GRID_LOOP (i, p.slots)
			if (p.ray[i] != RAY_NO_RAY)
				y[p.rows.first + p.ray[i]] =
					(float)((double)(long long)w.sum[i] * unit * p.factor[i]);
}

/* ---- the sums of a step ---- */

static void sum_free(void *arg)
{
	struct ray_sum *sum = (struct ray_sum *)arg;

	if (sum) iso_room_free(&sum->room);
	free(sum);
}

static int sum_create(void **out, iso_ctx *ctx, const struct ray_model *m)
{
	struct ray_sum *sum = (struct ray_sum *)calloc(1, sizeof *sum);
	int st;

	if (!sum) return iso_fail_memory("ray", sizeof *sum);
	sum->room = iso_room_of(ctx, "ray");
	sum->ctx = ctx;
	sum->may_brick = iso_ray_brick_serves(m);
	sum->times = iso_ray_times(m);
	iso_fixed_open(&sum->acc, &sum->room, ray_voxels(&m->grid));
	ISO_DEVICE(&sum->room, sum->tally, 1);
	if ((st = sum->room.status))
		sum_free(sum);
	else
		*out = sum;
	return st;
}

/* The scale of the sums: in bricks the bits of a term are few. */
static double scale_of(const struct ray_sum *sum, const struct ray_counts *c, double most)
{
	double whole = iso_fixed_scale(sum->u ? ratio_bound(c->rows, most, sum->times) : c->sum);
	double brick = iso_ray_brick_unit(most);

	if (!sum->bricks) return whole;
	return sum->u ? fmin(brick, whole) : brick;
}

static int sum_begin(void *arg, const struct ray_counts *c, const struct ray_step *p)
{
	struct ray_sum *sum = (struct ray_sum *)arg;
	double most = c->most > 0 ? c->most : 1;
	int st = iso_fixed_begin(&sum->acc, sum->ctx, 1);

	sum->scales = em_scales(c->sum);
	sum->bricks = sum->may_brick && c->most <= ISO_RAY_MOST_COUNT;
	sum->u = p->u;
	sum->most = RATIO_MOST * most;
	sum->acc.scale = scale_of(sum, c, most);
	return st ? st
	          : iso_cuda_check("clear",
	                           cudaMemsetAsync(sum->tally, 0, sizeof *sum->tally, iso_stream(sum->ctx)));
}

template <class ROWS>
static int step_of_rows(const ROWS &rows, const struct ray_sum *sum, iso_ctx *ctx, const struct ray_step *p,
                        const struct iso_em_data *d)
{
	if (p->u)
		rows_of_ratios<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(rows, *sum, p->x, *d, p->ratio);
	else
		em_rows<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(rows, *sum, p->x, *d);
	return iso_cuda_launched("ray step");
}

template <class RESPONSE>
static int respond_of_pack(const struct ray_sum *sum, iso_ctx *ctx, const struct ray_model *m,
                           const struct ray_brick_work *w, const struct ray_pack *p,
                           const struct iso_em_data *d, RESPONSE response)
{
	auto respond = p->lines == 1 ? respond_slots<RESPONSE> : respond_lines<RESPONSE>;

	respond<<<BLOCKS, ISO_THREADS, 0, iso_stream(ctx)>>>(*p, *w, iso_ray_brick_scale(&m->grid), *d, *sum,
	                                                     response);
	return iso_cuda_launched("ray response");
}

int iso_ray_pack_step(const struct ray_sum *sum, iso_ctx *ctx, const struct ray_model *m,
                      struct ray_brick_work *w, const struct ray_pack *p, const struct ray_step *q,
                      const struct iso_em_data *d)
{
	struct ray_brick_cut cut = { sum->most * sum->acc.scale, &sum->tally->cut };
	int st;

	if (!sum->bricks) return step_of_rows(pack_rows{ *m, *p }, sum, ctx, q, d);
	if ((st = iso_ray_brick_forward(w, ctx, m, p, q->x))) return st;
	if (!q->u) {
		st = respond_of_pack(sum, ctx, m, w, p, d, em_response());
		return st ? st : iso_ray_brick_back(w, ctx, m, p, q->x, sum->acc.v);
	}
	st = respond_of_pack(sum, ctx, m, w, p, d, ratio_response{ q->ratio });
	return st ? st : iso_ray_brick_back_signed(w, ctx, m, p, q->u, sum->acc.v, cut);
}

static int step_by_packs(const struct ray_sum *sum, const iso_op *op, int sub, const struct ray_step *p,
                         const struct iso_em_data *d)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct pack_range packs = packs_of(op, sub);
	int st = iso_ray_brick_limit(&w->brick, op->ctx, op->n_in, p->x);

	if (!st && p->u) st = iso_ray_brick_limit_u(&w->brick, op->ctx, op->n_in, p->u);
	for (int k = packs.first; k < packs.last && !st; k++)
		st = iso_ray_pack_step(sum, op->ctx, &c->m, &w->brick, c->pack + k, p, d);
	return st;
}

static int sum_add(void *arg, const iso_op *op, int sub, const struct ray_step *p,
                   const struct iso_em_data *d)
{
	const struct ray_sum *sum = (const struct ray_sum *)arg;

	const struct ray_cuda *c = (const struct ray_cuda *)op->data;

	if (c->pack) return step_by_packs(sum, op, sub, p, d);
	return step_of_rows(event_rows{ c->m, iso_op_rows(op, sub) }, sum, op->ctx, p, d);
}

static int sum_end(iso_real *acc, struct iso_ratio_stat *s, void *arg, int st)
{
	struct ray_sum *sum = (struct ray_sum *)arg;
	struct em_tally tally;

	if ((st = iso_fixed_sum(&sum->acc, sum->ctx, st)) ||
	    (st = iso_comm_sum_device(sum->ctx, st, (int64_t *)sum->tally, sizeof tally / sizeof(int64_t))))
		return st;
	st = sum->u ? iso_fixed_end_over(acc, &sum->acc, sum->ctx, sum->u)
	            : iso_fixed_end(acc, &sum->acc, sum->ctx);
	if (st || (st = sum->ctx->vec->download(sum->ctx, &tally, sum->tally, sizeof tally))) return st;
	*s = ratio_stat(&tally, sum->scales);
	return ISO_OK;
}

extern "C" const struct ray_sum_fn iso_ray_cuda_sum = { sum_create, sum_free, sum_begin, sum_add, sum_end };

/* This operator's own. */
static int own_sum(const iso_op *op, struct ray_sum **sum)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	void *made = NULL;
	int st = w->sum ? ISO_OK : sum_create(&made, op->ctx, &c->m);

	if (made) w->sum = (struct ray_sum *)made;
	*sum = w->sum;
	return st;
}

/* ---- functions of the operator ---- */

static int forward_by_packs(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct pack_range packs = packs_of(op, sub);
	int st = ISO_OK;

	for (int k = packs.first; k < packs.last && !st; k++) {
		const struct ray_pack *p = c->pack + k;

		if ((st = iso_ray_brick_forward(&w->brick, op->ctx, &c->m, p, x))) return st;
		leave_sums<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(
			*p, w->brick, iso_ray_brick_scale(&c->m.grid), y);
		st = iso_cuda_launched("ray sums");
	}
	return st;
}

static int forward_by_rows(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	int st = ISO_OK;

	if (!c->pack) {
		forward<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(
			event_rows{ c->m, iso_op_rows(op, sub) }, y, x);
		return iso_cuda_launched("ray forward");
	}
	struct pack_range packs = packs_of(op, sub);

	for (int k = packs.first; k < packs.last && !st; k++) {
		forward<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(pack_rows{ c->m, c->pack[k] }, y, x);
		st = iso_cuda_launched("ray forward");
	}
	return st;
}

/* An image that is not finite has no scale for its sums. */
static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	float most = 0;
	int st;

	if (c->pack && ((st = iso_ray_brick_limit(&w->brick, op->ctx, op->n_in, x)) ||
	                (st = op->ctx->vec->download(op->ctx, &most, w->brick.limit, sizeof most))))
		return st;
	return (c->pack && isfinite(most) ? forward_by_packs : forward_by_rows)(op, sub, y, x);
}

/* Of the rows of all ranks. */
static int find_levels(const iso_op *op, struct iso_rows rows, const iso_real *y, struct ray_levels *levels,
                       int st)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;

	if (!st)
		st = iso_cuda_check("clear",
		                    cudaMemsetAsync(w->levels, 0, sizeof *levels, iso_stream(op->ctx)));
	if (!st) {
		count_levels<<<iso_blocks(rows.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(w->levels, rows.n,
		                                                                          y + rows.first);
		st = iso_cuda_launched("levels");
	}
	if (!st) st = op->ctx->vec->download(op->ctx, levels, w->levels, sizeof *levels);
	return iso_comm_sum(op->ctx, st, (int64_t *)levels, sizeof *levels / sizeof(int64_t));
}

/* How values are back projected. The terms that bricks add are integers below 2^31, which hold magnitudes of WIDTH
   binary orders well: so one pass through the bricks for each window of WIDTH orders, the greatest first, in a unit
   that suits it. At most one row in FEW above all windows, and as many below, go event by event. */
#define FEW 256
#define WIDTH 12
#define WINDOWS 4 /* from 2^30 units of the first to the 2^62 that a sum has, at most */

struct ray_plan {
	double scale; /* of the sums, in the end */
	int windows;
	struct ray_window window[WINDOWS];
};

/* Values of exponent k lie below this. */
static double above_level(int k)
{
	return ldexp(1, k - 126);
}

/* The least level to go by bricks: below it, from level 1 on, are at most `few` rows. */
static int least_level(const struct ray_levels *levels, int most, int64_t few)
{
	int64_t below = 0;
	int k = 1;

	while (k < most && below + levels->n[k] <= few) below += levels->n[k++];
	return k;
}

static struct ray_plan plan_adjoint(const struct ray_levels *levels, double weight)
{
	struct ray_plan plan = ISO_ZERO;
	int64_t rows = 0, above = 0;
	double total = 0;
	int k = LEVELS - 2;

	for (int i = 0; i < LEVELS; i++) {
		rows += levels->n[i];
		total += (double)levels->n[i] * above_level(i);
	}
	while (k > 0 && above + levels->n[k] <= rows / FEW) above += levels->n[k--];
	int least = least_level(levels, k, rows / FEW);

	plan.scale = iso_fixed_scale(total * weight);
	for (bool last = false; !last && plan.windows < WINDOWS; k -= WIDTH) {
		struct ray_window *w = plan.window + plan.windows++;

		last = k - WIDTH < least || plan.windows == WINDOWS;
		w->scale = fmin(plan.scale, ldexp(1, 30 - (k - 126) - ilogb(weight)));
		last = last || w->scale == plan.scale; /* no unit is smaller */
		w->below = (float)above_level(k);
		w->from =
			last && w->scale == plan.scale ? 0 : (float)above_level(last ? least - 1 : k - WIDTH);
	}
	return plan;
}

/* Adds rows whose values have a sign to the sums, whatever that sign is. */
static int back_by_packs(const iso_op *op, int sub, const iso_real *y, struct ray_sum *sum, float sign,
                         const struct ray_window *window)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct pack_range packs = packs_of(op, sub);
	int st = ISO_OK;

	for (int k = packs.first; k < packs.last && !st; k++) {
		const struct ray_pack *p = c->pack + k;

		adjoint_slots<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(*p, w->brick, y, sign,
		                                                               *window);
		if (!(st = iso_cuda_launched("ray values")))
			st = iso_ray_brick_back(&w->brick, op->ctx, &c->m, p, NULL, sum->acc.v);
	}
	return st;
}

/* The sums times a power of two, or their sign changed. */
static int multiply_sums(const iso_op *op, struct ray_sum *sum, double factor)
{
	if (factor == 1) return ISO_OK;
	times<<<iso_blocks(sum->acc.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(sum->acc, (int64_t)factor);
	return iso_cuda_launched("ray units");
}

/* Bricks add what is positive: for values below 0 the sums change their sign, before and after. */
static int adjoint_by_packs(const iso_op *op, int sub, const iso_real *y, struct ray_sum *sum, bool negative,
                            const struct ray_plan *plan)
{
	double scale = plan->window[0].scale;
	int st = ISO_OK;

	for (int i = 0; i < plan->windows && !st; i++) {
		const struct ray_window *w = plan->window + i;

		st = multiply_sums(op, sum, (negative ? -1 : 1) * w->scale / scale);
		if (!st && negative && !(st = back_by_packs(op, sub, y, sum, -1, w)))
			st = multiply_sums(op, sum, -1);
		if (!st) st = back_by_packs(op, sub, y, sum, 1, w);
		scale = w->scale;
	}
	return st ? st : multiply_sums(op, sum, plan->scale / scale);
}

static int adjoint_beyond(const iso_op *op, int sub, const iso_real *y, const struct ray_sum *sum,
                          const struct ray_plan *plan)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	float from = plan->window[plan->windows - 1].from, below = plan->window[0].below;
	struct pack_range packs = packs_of(op, sub);
	int st = ISO_OK;

	for (int k = packs.first; k < packs.last && !st; k++) {
		adjoint_outside<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(
			pack_rows{ c->m, c->pack[k] }, sum->acc, y, from, below);
		st = iso_cuda_launched("ray adjoint");
	}
	return st;
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct iso_rows rows = iso_op_rows(op, sub);
	struct ray_levels levels = ISO_ZERO;
	struct ray_sum *sum;
	int st = own_sum(op, &sum);

	if ((st = find_levels(op, rows, y, &levels, st))) return st;
	if (levels.n[LEVELS - 1]) return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	struct ray_plan plan = plan_adjoint(&levels, iso_ray_largest_weight(&c->m.grid, &c->m.tof));

	st = iso_fixed_begin(&sum->acc, op->ctx, 1);
	sum->acc.scale = plan.scale;
	if (!st && c->pack) {
		st = adjoint_by_packs(op, sub, y, sum, levels.negative > 0, &plan);
		if (!st) st = adjoint_beyond(op, sub, y, sum, &plan);
	} else if (!st) {
		adjoint<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(event_rows{ c->m, rows }, sum->acc,
		                                                         y);
		st = iso_cuda_launched("ray adjoint");
	}
	return (st = iso_fixed_sum(&sum->acc, op->ctx, st)) ? st : iso_fixed_end(x, &sum->acc, op->ctx);
}

/* Of the rows of a step, of this rank; all 1 in list mode. */
static int find_counts(const iso_op *op, int sub, const struct iso_em_data *d, struct ray_counts *c)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	float most = 1;
	int st;

	*c = { (double)rows.n, 1, (double)rows.n };
	if (!d->y) return ISO_OK;
	if ((st = iso_ray_brick_limit(&w->brick, op->ctx, rows.n, d->y + rows.first)) ||
	    (st = op->ctx->vec->download(op->ctx, &most, w->brick.limit, sizeof most)))
		return st;
	c->most = most;
	return op->ctx->vec->asum(op->ctx, rows.n, &c->sum, d->y + rows.first);
}

static int ray_step(const iso_op *op, int sub, iso_real *acc, const struct ray_step *p,
                    const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	struct ray_counts c = ISO_ZERO;
	struct ray_sum *sum;
	int st = own_sum(op, &sum);

	if (!st) st = find_counts(op, sub, d, &c);
	if ((st = iso_ray_counts(&c, op->ctx, st))) return st;
	st = sum_begin(sum, &c, p);
	return sum_end(acc, s, sum, st ? st : sum_add(sum, op, sub, p, d));
}

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_step p = { x, NULL, ISO_ZERO };
	struct iso_ratio_stat all;
	int st = ray_step(op, sub, acc, &p, d, &all);

	if (!st) *s = all.em;
	return st;
}

/* Groups of images go through packs, or none does on any rank. Collective at the first step. */
static int find_way(const iso_op *op)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	double without = !c->pack || !iso_ray_brick_serves(&c->m);
	int st = ISO_OK;

	if (w->way == WAY_UNKNOWN && !(st = iso_comm_max(op->ctx, st, &without, 1)))
		w->way = without > 0 ? WAY_EACH : WAY_GROUPS;
	return st;
}

static int ray_em_step_many(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
                            const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct ray_packs packs = { c->pack, c->first };
	struct ray_images all = { images, acc, x, y, d, s };

	int st = find_way(op);

	if (st) return st;
	if (w->way == WAY_EACH) return iso_em_step_each(op, sub, images, acc, x, y, d, s);
	return iso_ray_group_step(&w->group, op, &c->m, &packs, sub, &all);
}

/* Together only where none has too many counts for bricks. */
static int ray_em_steps(const iso_op *op, int first, int n, iso_real *acc, const iso_real *x,
                        const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_room room = iso_room_of(op->ctx, "counts of subsets");
	struct ray_packs packs = { c->pack, c->first };
	struct ray_subsets all = { first, n, acc, x, d, NULL, s };
	struct ray_counts *counts;
	bool together;
	int st = find_way(op);

	ISO_HOST(&room, counts, n);
	if (!st) st = room.status;
	for (int i = 0; i < n && !st; i++) {
		st = find_counts(op, first + i, d, counts + i);
		st = iso_ray_counts(counts + i, op->ctx, st);
	}
	together = w->way == WAY_GROUPS;
	for (int i = 0; i < n && !st; i++) together = together && counts[i].most <= ISO_RAY_MOST_COUNT;
	all.counts = counts;
	if (!st)
		st = together ? iso_ray_steps(&w->steps, op, &c->m, &packs, &all)
		              : iso_em_steps_each(op, first, n, acc, x, d, s);
	iso_room_free(&room);
	return st;
}

static int ray_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                          const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	struct ray_step p = { x, u, { rho, keep } };

	return ray_step(op, sub, z, &p, d, s);
}

/* ---- memory ---- */

static void ray_close(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;

	cudaStreamSynchronize(iso_stream(op->ctx)); /* it may still add to the sums of others */
	sum_free(w->sum);
	iso_ray_group_free(w->group);
	iso_ray_steps_free(w->steps);
}

static int64_t most_slots(const iso_op *op)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	int64_t most = 0;

	for (int k = 0; c->pack && k < c->first[op->n_sub]; k++)
		most = c->pack[k].slots > most ? c->pack[k].slots : most;
	return most;
}

static int ray_open(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;

	ISO_DEVICE(&op->room, w->levels, 1);
	return iso_ray_brick_open(&w->brick, &op->room, most_slots(op));
}

static void ray_free(iso_op *op)
{
	iso_room_free(&((struct ray_cuda *)op->data)->room);
}

static const struct iso_op_fn ray_fn_cuda = {
	ray_forward,
	ray_adjoint,
	ray_em_step,
	ray_ratio_step,
	iso_ray_rows,
	iso_ray_file_row,
	ray_open,
	ray_close,
	ray_free,
	NULL,
	sizeof(struct ray_cuda_work),
	NULL,
	ray_em_step_many,
	NULL,
	NULL,
	NULL,
	ray_em_steps,
};

/* ---- from the host's model ---- */

/* What packs are made with, for a while. */
struct pack_maker {
	struct iso_room room;
	struct iso_event *e;
	struct ray_sender sender;
	struct ray_packer *packer;
};

static int order_pack(struct ray_pack *p, struct pack_maker *k, iso_op *op, struct ray_cuda *c,
                      const struct iso_event *e, struct iso_rows rows)
{
	double began = iso_now_s();
	int st = iso_ray_pack_create(p, &c->room, &c->m, rows.n);

	if (!st) st = iso_ray_pack_fill(p, k->packer, op->ctx, &c->m, e, rows, &c->room);
	if (!st) st = iso_cuda_check("order", cudaStreamSynchronize(iso_stream(op->ctx)));
	c->m.ordering_s += iso_now_s() - began;
	return st;
}

/* Of events that are sent, or have been loaded. */
static int make_pack(int number, struct pack_maker *k, iso_op *op, struct ray_cuda *c, struct iso_rows rows)
{
	struct ray_pack *p = c->pack + number;
	struct ray_load *l = c->m.load;
	int st;

	if (l) {
		st = order_pack(p, k, op, c, l->e[number], rows);
		iso_room_drop(&l->passing, l->e[number]);
		l->e[number] = NULL;
		return st;
	}
	st = iso_ray_send(k->e, &k->sender, &c->m, op->ctx, rows);
	if (!st) st = iso_cuda_check("events to the device", cudaStreamSynchronize(iso_stream(op->ctx)));
	return st ? st : order_pack(p, k, op, c, k->e, rows);
}

static int make_packs_of(int sub, struct pack_maker *k, iso_op *op, struct ray_cuda *c)
{
	int first = c->first[sub], n = c->first[sub + 1] - first, st = ISO_OK;

	for (int i = 0; i < n && !st; i++)
		st = make_pack(first + i, k, op, c, ray_rows_of_pack(iso_op_rows(op, sub), i, n));
	return st;
}

/* Orders the events of each subset. */
static int make_packs(iso_op *op, struct ray_cuda *c)
{
	struct pack_maker k = ISO_ZERO;
	struct ray_load *l = c->m.load;
	int64_t most = l ? l->most : iso_ray_pack_rows(op->ctx, &c->m, order_most_rows(&c->m.order));
	int st = ISO_OK;

	k.room = iso_room_of(op->ctx, "ray");
	if (!ISO_HOST(&c->room, c->first, op->n_sub + 1) ||
	    !ISO_HOST(&c->room, c->pack, iso_ray_number_packs(c->first, &c->m, most) + 1))
		return c->room.status;
	if (!l) {
		const int64_t events = most * ray_stored(&c->m);

		ISO_DEVICE(&k.room, k.e, events);
		st = iso_ray_sender_open(&k.sender, events);
	}
	if (!st) st = iso_ray_packer_create(&k.packer, &k.room, most * c->m.spread.lines);
	for (int s = 0; s < op->n_sub && !st; s++) st = make_packs_of(s, &k, op, c);
	iso_ray_sender_close(&k.sender);
	iso_room_free(&k.room);
	return st;
}

/* Events one by one need no packs, and less memory. */
static int keep_events(iso_op *op, struct ray_cuda *c, const char *why)
{
	struct iso_rows all = { 0, c->m.n };
	const int64_t events = c->m.n * ray_stored(&c->m);
	struct ray_sender s;
	int st;

	iso_room_free(&c->room);
	c->room = iso_room_of(op->ctx, "ray");
	c->pack = NULL;
	c->m.ordering_s = 0;
	c->m.plain = why;
	if (!ISO_DEVICE(&c->room, c->m.e, events)) return c->room.status;
	if (c->m.n == 0) return ISO_OK; /* of a rank that has none */
	if (!(st = iso_ray_sender_open(&s, events))) st = iso_ray_send(c->m.e, &s, &c->m, op->ctx, all);
	if (!st) st = iso_cuda_check("events to the device", cudaStreamSynchronize(iso_stream(op->ctx)));
	iso_ray_sender_close(&s);
	return st;
}

/* Packs, or events and the reason why there are none. Of loaded events there are packs. */
static int order(iso_op *op, struct ray_cuda *c)
{
	int st;

	if (!iso_ray_brick_serves(&c->m) && !c->m.load)
		return keep_events(op, c, "too many subsets, lines or TOF bins");
	st = make_packs(op, c);
	if (c->m.load) iso_ray_load_end(c->m.load);
	c->m.load = NULL;
	return st == ISO_ENOMEM && c->m.from->v ? keep_events(op, c, "no device memory to order them") : st;
}

extern "C" int iso_ray_to_cuda(iso_op *op)
{
	const struct ray_model *m = (const struct ray_model *)op->data;
	struct iso_room *room = &op->shared->room;
	struct ray_cuda *c;

	if (!ISO_HOST(room, c, 1)) return room->status;
	c->m = *m;
	response_send(room, &c->m.spread.response);
	if (room->status) return room->status;
	c->room = iso_room_of(op->ctx, "ray");
	op->data = c; /* from here ray_free cleans up */
	op->fn = &ray_fn_cuda;
	return order(op, c);
}
