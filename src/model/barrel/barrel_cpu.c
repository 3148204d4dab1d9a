/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel on the CPU. An event's columns are found once, then gone through forward and back; images are added up in fixed
   point, so that the sums are the same for every number of threads and ranks. */
#include "core/loop/em_sum.h"
#include "core/loop/fixed.h"
#include "core/op/entries.h"
#include "core/size.h"
#include "barrel_lanes.h"
#include "barrel_op.h"

#include <omp.h>

/* A column that an event meets. */
struct met {
	struct barrel_column c;
	int64_t at; /* of its first voxel, z fastest */
	int first, n;
	bool edge;
};

struct barrel_work {
	struct iso_fixed acc;
	iso_real *x;                /* with z fastest */
	struct met *met;            /* most_columns for each thread */
	struct barrel_batch *batch; /* one for each thread */
	struct em_tally *tally;     /* one for each thread */
	double *bound;              /* one for each thread */
};

/* ---- an event ---- */

/* A column, if it has a voxel that the event reaches; returns whether it does. */
static bool keep(struct met *k, const struct barrel_line *l, const struct barrel_params *p, int ix, int iy,
                 iso_real y, struct barrel_hits hits)
{
	barrel_simplify(&hits, l, p->kernel);
	if (!barrel_column(&k->c, l, y, &hits) || !barrel_planes(&k->first, &k->n, p, &k->c)) return false;
	k->at = ((int64_t)iy * p->n[0] + ix) * p->n[2] + k->first;
	iso_real low = p->first[2] + (iso_real)k->first * p->plane;

	k->edge = p->edge && barrel_near_end(l, &k->c, low, low + (iso_real)(k->n - 1) * p->plane);
	return true;
}

/* The columns of a batch, which is empty again; returns how many there are. */
static int64_t flush(struct met *to, struct barrel_batch *b, const struct barrel_line *l,
                     const struct barrel_params *p)
{
	int64_t n = 0;

	barrel_batch_sum(b, &l->pair, l->pair.mu * l->s);
	for (int i = 0; i < b->pixels; i++)
		n += keep(to + n, l, p, b->ix[i], b->iy[i], b->at[i], barrel_hits_of(b->sum + i, 4));
	b->pixels = b->pieces = 0;
	return n;
}

/* Those of all pixels of the tube, in lanes or one by one; returns how many there are. */
static int64_t meet_tube(struct met *to, struct barrel_batch *b, const struct barrel_line *l,
                         const struct barrel_params *p)
{
	const struct barrel_tube t = barrel_tube(p, l);
	const struct barrel_pair *pair = &l->pair;
	const bool lanes = barrel_series_serve(l);
	int64_t n = 0;

	for (int i = 0; i < t.n * t.wide; i++) {
		int ix, iy;

		if (!barrel_candidate(&ix, &iy, p, &t, i)) continue;
		iso_real u = p->first[0] + (iso_real)ix * p->pixel - pair->middle[0];
		iso_real v = p->first[1] + (iso_real)iy * p->pixel - pair->middle[1];
		iso_real y = u * pair->e[0] + v * pair->e[1], d = v * pair->e[0] - u * pair->e[1];

		if (!(y < pair->half && y > -pair->half)) continue;
		if (!lanes)
			n += keep(to + n, l, p, ix, iy, y, barrel_hits(pair, y, d, p->pixel, l->s));
		else if (barrel_batch_add(b, pair, ix, iy, y, d, p->pixel))
			barrel_batch_block(b, pair);
		if (lanes && barrel_batch_full(b)) n += flush(to + n, b, l, p);
	}
	barrel_batch_block(b, pair);
	return n + flush(to + n, b, l, p);
}

/* The columns of an event; returns how many there are. */
static int64_t meet(struct met *to, struct barrel_line *l, struct barrel_batch *b,
                    const struct barrel_model *m, int64_t row)
{
	b->pixels = b->pieces = b->waiting = 0;
	if (!barrel_line(l, &m->p, m->e + row, m->factor ? (iso_real)m->factor[row] : 1)) return 0;
	return meet_tube(to, b, l, &m->p);
}

static inline iso_real value(const struct met *k, const struct barrel_line *l, const struct barrel_params *p,
                             int i)
{
	iso_real z = p->first[2] + (iso_real)(k->first + i) * p->plane, v = barrel_value(&k->c, z);

	return k->edge ? v * barrel_edge(l, &k->c, z) : v;
}

/* The sum of weight x image; without an image of weights. */
static double sum_of(const struct met *met, int64_t n, const struct barrel_line *l,
                     const struct barrel_params *p, const iso_real *x)
{
	double sum = 0;

	for (int64_t c = 0; c < n; c++) {
		const struct met *k = met + c;
		iso_real part = 0;

		for (int i = 0; i < k->n; i++) part += value(k, l, p, i) * (x ? x[k->at + i] : 1);
		sum += (double)part;
	}
	return sum;
}

/* Adds `send` x weight, x image where there is one. */
static void give_back(const struct met *met, int64_t n, const struct barrel_line *l,
                      const struct barrel_params *p, struct iso_fixed *acc, const iso_real *x, double send)
{
	const int thread = omp_get_thread_num();
	const double scale = send * acc->scale;

	for (int64_t c = 0; c < n; c++) {
		const struct met *k = met + c;

		for (int i = 0; i < k->n; i++)
			iso_fixed_add(acc, thread, k->at + i,
			              (double)(value(k, l, p, i) * (x ? x[k->at + i] : 1)) * scale);
	}
}

/* ---- passes ---- */

struct pass {
	enum { FORWARD, BOUND, ADJOINT, EM } what;
	iso_real *to;                /* FORWARD */
	const iso_real *y;           /* BOUND, ADJOINT */
	const iso_real *x;           /* z fastest; NULL: ones */
	const struct iso_em_data *d; /* EM */
	struct em_scales scales;
};

/* What a row gives back. */
static double respond(const struct pass *a, struct barrel_work *w, int64_t row, double sum)
{
	const int thread = omp_get_thread_num();
	struct iso_em_stat stat = { 0 };
	double send = 0;

	switch (a->what) {
	case FORWARD:
		a->to[row] = (iso_real)sum;
		break;
	case BOUND:
		w->bound[row] = fabs((double)a->y[row]) * sum;
		break;
	case ADJOINT:
		send = (double)a->y[row];
		break;
	case EM:
		send = em_respond(&stat, a->d, row, sum);
		em_tally_row(w->tally + thread, a->scales, &stat);
		break;
	}
	return send;
}

/* The rows of `sub` that are this rank's. */
static struct iso_rows own_rows(const iso_op *op, int sub)
{
	const struct iso_rows rows = iso_op_rows(op, sub), own = iso_share(op->ctx, rows.n);

	return (struct iso_rows){ rows.first + own.first, own.n };
}

static int pass_events(const struct pass *a, const iso_op *op, int sub)
{
	const struct barrel_model *m = op->data;
	struct barrel_work *w = op->work;
	const struct iso_rows own = own_rows(op, sub);

	iso_op_counts(op, "update", "events", own.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic, 64)
	for (int64_t i = own.first; i < own.first + own.n; i++) {
		if (iso_stopped(op->ctx)) continue;
		struct met *met = w->met + omp_get_thread_num() * m->most_columns;
		struct barrel_line l;
		bool idle = (a->what == ADJOINT && !(a->y[i] < 0 || a->y[i] > 0)) ||
		            (a->what == EM && a->d->mult && !(a->d->mult[i] > 0));
		int64_t n = idle ? 0 : meet(met, &l, w->batch + omp_get_thread_num(), m, i);
		double sum = a->what == ADJOINT ? 0 : sum_of(met, n, &l, &m->p, a->x);
		double send = respond(a, w, i, sum);

		if (send < 0 || send > 0) give_back(met, n, &l, &m->p, &w->acc, a->x, send);
		if (i % 64 == 0) iso_op_count(op, 64);
	}
	return iso_ctx_poll(op->ctx);
}

static int barrel_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct barrel_model *m = op->data;
	struct barrel_work *w = op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);

	iso_barrel_turn(w->x, x, &m->p, op->ctx->threads);
	int st = pass_events(&(struct pass){ FORWARD, .to = y, .x = w->x }, op, sub);

	return iso_comm_gather(op->ctx, st, y + rows.first, rows.n, sizeof *y);
}

/* The sums of all ranks, as an image with x fastest. */
static int finish(iso_real *x, const iso_op *op, int st)
{
	const struct barrel_model *m = op->data;
	struct barrel_work *w = op->work;

	if ((st = iso_fixed_sum(&w->acc, op->ctx, st))) return st;
	iso_fixed_end(w->x, &w->acc, op->ctx);
	iso_barrel_turn_back(x, w->x, &m->p, op->ctx->threads);
	return ISO_OK;
}

/* No voxel of A* y exceeds the sum of |A* y| over all voxels. */
static int find_bound(double *bound, const iso_op *op, int sub, const iso_real *y)
{
	struct barrel_work *w = op->work;
	const struct iso_rows own = own_rows(op, sub);
	int st = pass_events(&(struct pass){ BOUND, .y = y }, op, sub);

	*bound = 0;
	for (int64_t i = own.first; i < own.first + own.n && !st; i++) *bound += w->bound[i];
	if ((st = iso_comm_sum_real(op->ctx, st, bound, 1))) return st;
	if (!isfinite(*bound)) return iso_fail(ISO_EARG, "barrel: a value to back project is not finite");
	*bound = *bound > 0 ? ldexp(1, ilogb(*bound) + 1) : 1; /* the same for any number of ranks */
	return ISO_OK;
}

static int barrel_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct barrel_work *w = op->work;
	double bound;
	int st = find_bound(&bound, op, sub, y);

	if (st) return st;
	iso_fixed_begin(&w->acc, op->ctx, bound);
	return finish(x, op, pass_events(&(struct pass){ ADJOINT, .y = y }, op, sub));
}

static int barrel_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct barrel_model *m = op->data;
	struct barrel_work *w = op->work;
	const struct iso_rows rows = iso_op_rows(op, sub);
	double bound = (double)rows.n; /* x w / q <= 1 for every event */
	struct em_tally all = { 0 };
	int st = d->y ? op->ctx->vec->asum(op->ctx, rows.n, &bound, d->y + rows.first) : ISO_OK;

	if (st) return st;
	struct pass a = { EM, .x = w->x, .d = d, .scales = em_scales(bound) };

	iso_barrel_turn(w->x, x, &m->p, op->ctx->threads);
	iso_fixed_begin(&w->acc, op->ctx, bound);
	memset(w->tally, 0, (size_t)op->ctx->threads * sizeof *w->tally);
	st = pass_events(&a, op, sub);
	for (int t = 0; t < op->ctx->threads; t++) em_tally_add(&all, w->tally + t);
	if ((st = iso_em_tally_sum(&all, op->ctx, st))) return st;
	*s = em_tally_stat(&all, a.scales);
	return finish(acc, op, ISO_OK);
}

/* ---- rows one by one ---- */

static int64_t barrel_entries(const iso_op *op, struct iso_entries *to, int64_t row)
{
	const struct barrel_model *m = op->data;
	const struct barrel_work *w = op->work;
	const struct barrel_params *p = &m->p;
	const int64_t plane = (int64_t)p->n[0] * p->n[1];
	struct met *met = w->met + omp_get_thread_num() * m->most_columns;
	struct barrel_line l;
	int64_t n = meet(met, &l, w->batch + omp_get_thread_num(), m, row);

	for (int64_t c = 0; c < n; c++) {
		const int64_t column = (met[c].at - met[c].first) / p->n[2];

		for (int i = 0; i < met[c].n; i++)
			iso_entries_add(to, (met[c].first + i) * plane + column, value(met + c, &l, p, i));
	}
	return row;
}

/* ---- work space ---- */

static double additions(const struct barrel_model *m)
{
	return (double)order_most_rows(&m->order) * 100;
}

static void barrel_close(iso_op *op)
{
	iso_fixed_free(&((struct barrel_work *)op->work)->acc);
}

static int barrel_open(iso_op *op)
{
	const struct barrel_model *m = op->data;
	struct barrel_work *w = op->work;
	int threads = op->ctx->threads;

	ISO_HOST(&op->room, w->x, op->n_in);
	ISO_HOST(&op->room, w->met, m->most_columns * threads);
	ISO_HOST(&op->room, w->batch, threads);
	ISO_HOST(&op->room, w->tally, threads);
	ISO_HOST(&op->room, w->bound, m->n);
	if (op->room.status) return op->room.status;
	return iso_fixed_create(&w->acc, op->ctx, op->n_in, additions(m));
}

const struct iso_op_fn iso_barrel_cpu_fn = {
	.forward = barrel_forward,
	.adjoint = barrel_adjoint,
	.em_step = barrel_em_step,
	.rows = iso_barrel_rows,
	.file_row = iso_barrel_file_row,
	.entries = barrel_entries,
	.open = barrel_open,
	.close = barrel_close,
	.to_cuda = "iso_barrel_to_cuda",
	.work = sizeof(struct barrel_work),
};

void iso_barrel_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct barrel_model *m)
{
	int64_t voxels = (int64_t)m->p.n[0] * m->p.n[1] * m->p.n[2];

	iso_plan_add(plan, "image with z fastest", voxels, sizeof(iso_real), false);
	iso_plan_add(plan, "columns of an event", m->most_columns, (int64_t)sizeof(struct met) * ctx->threads,
	             false);
	iso_plan_add(plan, "pieces of pixels", ctx->threads, sizeof(struct barrel_batch), false);
	iso_plan_add(plan, "sums of rows", m->n, sizeof(double), false);
	iso_plan_add(plan, "fixed-point image", voxels,
	             (int64_t)sizeof(int64_t) * iso_fixed_copies(ctx, voxels, (double)m->n * 100), false);
}
