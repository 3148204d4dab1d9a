/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of the dual-head projectors: of ones, and of a first update from ones. */
#include "dual.h"

#define LONG_S 1. /* what takes longer is not repeated */

struct bench_op {
	iso_op *op;
	struct iso_room room;    /* has the vectors */
	iso_real *x, *y;         /* what is written */
	iso_real *ones, *counts; /* what is read: an image of ones, and data */
	enum work { FORWARD, BACK, ITERATION } work;
	bool all; /* subsets, each in turn; else subset 0 */
};

static int bench_open(struct bench_op *b, iso_op *op)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	int st;

	*b = (struct bench_op){ .op = op, .room = iso_room_of(ctx, "reproduce") };
	ISO_DEVICE(&b->room, b->x, n);
	ISO_DEVICE(&b->room, b->y, rows);
	ISO_DEVICE(&b->room, b->ones, n);
	ISO_DEVICE(&b->room, b->counts, rows);
	if ((st = b->room.status) || (st = iso_ctx_vec(ctx)->fill(ctx, n, b->ones, 1))) return st;
	return iso_ctx_vec(ctx)->fill(ctx, rows, b->counts, 1);
}

static int once(void *arg)
{
	const struct bench_op *b = arg;
	const int end = b->all ? iso_op_n_sub(b->op) : 1;
	const struct iso_em_data d = { .y = b->counts };
	struct iso_em_stat stat;
	int st = ISO_OK;

	for (int k = 0; k < end && !st; k++)
		st = b->work == ITERATION ? iso_em_step(b->op, k, b->x, b->ones, &d, &stat)
		     : b->work == BACK    ? iso_adjoint(b->op, k, b->x, b->counts)
		                          : iso_forward(b->op, k, b->y, b->ones);
	return st;
}

static int median(double *out, struct bench_op *b, enum work w, bool all, int repeats)
{
	const struct bench_work work = { iso_op_ctx(b->op), w == FORWARD ? b->y : b->x, once, b, NULL };
	double s[BENCH_MOST_REPEATS];
	int st;

	b->work = w;
	b->all = all;
	if ((st = bench_repeat(1, s, &work))) return st;
	const bool again = s[0] <= LONG_S;

	if (again) st = bench_repeat(repeats, s, &work);
	if (!st) *out = bench_time(again ? repeats : 1, s).median;
	return st;
}

/* With one subset its times are those of all. */
int dual_time(struct dual_times *t, const struct dual_model *m, bool all, int repeats)
{
	const bool one = iso_op_n_sub(m->op) == 1;
	struct bench_op b;
	int st = bench_open(&b, m->op);

	*t = DUAL_NO_TIMES;
	if (!st) st = median(&t->forward_sub, &b, FORWARD, false, repeats);
	if (!st) st = median(&t->back_sub, &b, BACK, false, repeats);
	if (!st && all && !one) st = median(&t->forward, &b, FORWARD, true, repeats);
	if (!st && all && !one) st = median(&t->back, &b, BACK, true, repeats);
	if (one) {
		t->forward = t->forward_sub;
		t->back = t->back_sub;
	}
	iso_room_free(&b.room);
	return st;
}

/* The counts are those of the ones: every quotient is 1. */
int dual_time_iteration(double *s, const struct dual_model *m, int repeats)
{
	struct bench_op b;
	int st = bench_open(&b, m->op);

	if (!st) st = iso_forward(b.op, ISO_ALL, b.counts, b.ones);
	if (!st) st = median(s, &b, ITERATION, true, repeats);
	iso_room_free(&b.room);
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

static int time_variants(struct dual_ladder *l, struct bench_op *b, const iso_srm *srm, int repeats)
{
	int st = ISO_OK;

	for (int k = 0; k < ISO_SRM_STEPS && !st; k++)
		st = time_step(&l->step[k], b, (enum iso_srm_step)k, 128, repeats);
	if (!st) st = time_step(&l->one_thread, b, ISO_SRM_SHARED, 1, repeats);
	for (int k = 0; k < 2 && !st; k++)
		if (!(st = iso_srm_ladder_columns(b->op, srm, k == 1)))
			st = median(&l->columns[k], b, BACK, true, repeats);
	return st;
}

int dual_ladder(struct dual_ladder *l, const struct dual *d, int repeats)
{
	struct dual_model m = { 0 };
	struct bench_op b;
	int st;

	*l = (struct dual_ladder){ { NAN, NAN, NAN }, NAN, { NAN, NAN } };
	if (!d->s.cuda) return ISO_OK;
	if ((st = dual_model_open(&m, d, d->s.cuda, ISO_SRM_COMBINED, 1))) return st;
	if (!(st = bench_open(&b, m.op))) st = time_variants(l, &b, d->srm, repeats);
	iso_room_free(&b.room);
	dual_model_close(&m);
	return st;
}
