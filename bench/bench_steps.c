/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing the EM step of any operator. */
#include "bench.h"

#include "core/progress.h"
#include "core/status.h"
#include "core/vec.h"

/* Waits for the device: what was asked for before is done. */
static int wait_for(iso_ctx *ctx, const iso_real *acc)
{
	iso_real one;

	return iso_ctx_vec(ctx)->download(ctx, &one, acc, sizeof one);
}

static int one_step(double *seconds, struct iso_em_stat *stat, iso_op *op, iso_real *acc, const iso_real *x)
{
	int st = wait_for(iso_op_ctx(op), acc);
	double start_s = iso_now_s();

	if (!st) st = iso_em_step(op, 0, acc, x, &(struct iso_em_data){ 0 }, stat);
	if (!st) st = wait_for(iso_op_ctx(op), acc);
	*seconds = iso_now_s() - start_s;
	return st;
}

int bench_steps(struct bench_steps *t, iso_op *op, int repeats)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int64_t n = iso_op_n_in(op);
	iso_real *x = NULL, *acc = NULL;
	double seconds[BENCH_MOST_REPEATS];
	int st;

	if ((st = iso_vec_alloc(ctx, &x, n))) goto done;
	if ((st = iso_vec_alloc(ctx, &acc, n))) goto done;
	if ((st = v->fill(ctx, n, x, 1))) goto done;
	if ((st = one_step(&t->first_s, &t->stat, op, acc, x))) goto done;
	for (int i = 0; i < repeats; i++)
		if ((st = one_step(&seconds[i], &t->stat, op, acc, x))) goto done;
	t->step = bench_time(repeats, seconds);
	st = v->asum(ctx, n, &t->sum, acc);
done:
	v->free(ctx, x);
	v->free(ctx, acc);
	return st;
}
