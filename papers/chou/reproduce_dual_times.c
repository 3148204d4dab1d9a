/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of the dual-head projectors: of ones, and of a first update from ones. */
#include "reproduce_dual.h"

#include "bench/bench.h"
#include "core/progress.h"
#include "core/vec.h"

#include <math.h>

struct bench_op {
	iso_op *op;
	iso_real *x, *y;         /* what is written */
	iso_real *ones, *counts; /* what is read: an image of ones, and data */
};

enum work { FORWARD, BACK, ITERATION };

static int bench_open(struct bench_op *b, iso_op *op)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	int st;

	*b = (struct bench_op){ .op = op };
	if ((st = iso_vec_alloc(ctx, &b->x, n)) || (st = iso_vec_alloc(ctx, &b->y, rows)) ||
	    (st = iso_vec_alloc(ctx, &b->ones, n)) || (st = iso_vec_alloc(ctx, &b->counts, rows)) ||
	    (st = iso_ctx_vec(ctx)->fill(ctx, n, b->ones, 1)))
		return st;
	return iso_ctx_vec(ctx)->fill(ctx, rows, b->counts, 1);
}

static void bench_close(struct bench_op *b)
{
	iso_ctx *ctx = iso_op_ctx(b->op);
	const struct iso_vec *v = iso_ctx_vec(ctx);

	v->free(ctx, b->x);
	v->free(ctx, b->y);
	v->free(ctx, b->ones);
	v->free(ctx, b->counts);
}

static int wait_for(const struct bench_op *b, const iso_real *v)
{
	iso_ctx *ctx = iso_op_ctx(b->op);
	iso_real one;

	return iso_ctx_vec(ctx)->download(ctx, &one, v, sizeof one);
}

static int one_subset(const struct bench_op *b, enum work w, int sub)
{
	const struct iso_em_data d = { .y = b->counts };
	struct iso_em_stat stat;

	if (w == ITERATION) return iso_em_step(b->op, sub, b->x, b->ones, &d, &stat);
	return w == BACK ? iso_adjoint(b->op, sub, b->x, b->counts) : iso_forward(b->op, sub, b->y, b->ones);
}

/* Subset `sub`, or each in turn. */
static int one_time(double *s, const struct bench_op *b, enum work w, int sub)
{
	const iso_real *made = w == FORWARD ? b->y : b->x;
	int first = sub == ISO_ALL ? 0 : sub, end = sub == ISO_ALL ? iso_op_n_sub(b->op) : sub + 1;
	int st = wait_for(b, made);
	double start_s = iso_now_s();

	for (int k = first; k < end && !st; k++) st = one_subset(b, w, k);
	if (!st) st = wait_for(b, made);
	*s = iso_now_s() - start_s;
	return st;
}

static int median(double *out, const struct bench_op *b, enum work w, int sub, int repeats)
{
	double s[BENCH_MOST_REPEATS];
	int st = one_time(s, b, w, sub);
	bool again = s[0] <= DUAL_LONG_S;

	repeats = again ? repeats : 1;
	for (int i = 0; i < repeats && again && !st; i++) st = one_time(s + i, b, w, sub);
	if (!st) *out = bench_time(repeats, s).median;
	return st;
}

/* With one subset its times are those of all. */
int dual_time(struct dual_times *t, const struct dual_model *m, bool all, int repeats)
{
	bool one = iso_op_n_sub(m->op) == 1;
	struct bench_op b;
	int st;

	*t = DUAL_NO_TIMES;
	if ((st = bench_open(&b, m->op))) goto done;
	if ((st = median(&t->forward_sub, &b, FORWARD, 0, repeats))) goto done;
	if ((st = median(&t->back_sub, &b, BACK, 0, repeats))) goto done;
	if (one) {
		t->forward = t->forward_sub;
		t->back = t->back_sub;
	} else if (all) {
		if ((st = median(&t->forward, &b, FORWARD, ISO_ALL, repeats))) goto done;
		st = median(&t->back, &b, BACK, ISO_ALL, repeats);
	}
done:
	bench_close(&b);
	return st;
}

/* The counts are those of the ones: every quotient is 1. */
int dual_time_iteration(double *s, const struct dual_model *m, int repeats)
{
	struct bench_op b;
	int st = bench_open(&b, m->op);

	if (!st) st = iso_forward(b.op, ISO_ALL, b.counts, b.ones);
	if (!st) st = median(s, &b, ITERATION, ISO_ALL, repeats);
	bench_close(&b);
	return st;
}

/* ---- the papers' variants ---- */

static int time_step(double *out, const struct bench_op *b, enum iso_srm_step step, int threads, int repeats)
{
	const struct iso_srm_ladder p = { step, threads };
	double s[BENCH_MOST_REPEATS];
	int st = iso_srm_ladder_forward(s, b->op, &p, b->y, b->ones);

	for (int i = 0; i < repeats && !st; i++) st = iso_srm_ladder_forward(s + i, b->op, &p, b->y, b->ones);
	if (!st) *out = bench_time(repeats, s).median;
	return st;
}

static int time_variants(struct dual_ladder *l, const struct bench_op *b, const iso_srm *srm, int repeats)
{
	int st = ISO_OK;

	for (int k = 0; k < ISO_SRM_STEPS && !st; k++)
		st = time_step(&l->step[k], b, (enum iso_srm_step)k, 128, repeats);
	if (!st) st = time_step(&l->one_thread, b, ISO_SRM_SHARED, 1, repeats);
	for (int k = 0; k < 2 && !st; k++)
		if (!(st = iso_srm_ladder_columns(b->op, srm, k == 1)))
			st = median(&l->columns[k], b, BACK, ISO_ALL, repeats);
	return st;
}

int dual_ladder(struct dual_ladder *l, const struct dual *d, int repeats)
{
	const struct dual_way way = {
		.ctx = d->devices.cuda, .strategy = ISO_SRM_COMBINED, .n_sub = 1, .rule = ISO_GROUPS
	};
	struct dual_model m = { 0 };
	struct bench_op b;
	int st;

	*l = (struct dual_ladder){ { NAN, NAN, NAN }, NAN, { NAN, NAN } };
	if (!way.ctx) return ISO_OK;
	if ((st = dual_model_open(&m, d, &way))) return st;
	if (!(st = bench_open(&b, m.op))) st = time_variants(l, &b, d->srm, repeats);
	bench_close(&b);
	dual_model_close(&m);
	return st;
}
