/* SPDX-License-Identifier: BSD-3-Clause */
/* Table I of Wang 2013: seconds of FBP, and of one iteration (H and its adjoint) of PLS-Int and
   PLS-Sph. On the CPU a few transducers, spread over the array, stand for all of them: time grows
   with their number, as the paper itself assumes. */
#include "reproduce_wang.h"

#include "bench/bench.h"
#include "core/progress.h"
#include "core/vec.h"

#include <math.h>
#include <stdlib.h>

struct run {
	iso_op *op;
	iso_real *x, *y;
	bool fbp;
};

static int wait_for(const struct run *r)
{
	iso_ctx *ctx = iso_op_ctx(r->op);
	iso_real one;

	return iso_ctx_vec(ctx)->download(ctx, &one, r->x, sizeof one);
}

static int once(double *seconds, const struct run *r)
{
	int st = wait_for(r);
	double start_s = iso_now_s();

	if (!st && !r->fbp) st = iso_forward(r->op, ISO_ALL, r->y, r->x);
	if (!st) st = iso_adjoint(r->op, ISO_ALL, r->x, r->y);
	if (!st) st = wait_for(r);
	*seconds = iso_now_s() - start_s;
	return st;
}

/* On CUDA after a warm-up. */
static int median(double *seconds, const struct run *r, int repeats)
{
	double s[BENCH_MOST_REPEATS];
	int st = iso_ctx_is_cuda(iso_op_ctx(r->op)) ? once(s, r) : ISO_OK;

	for (int i = 0; i < repeats && !st; i++) st = once(&s[i], r);
	if (!st) *seconds = bench_time(repeats, s).median;
	return st;
}

static int time_method(double *seconds, const struct wang *w, iso_ctx *ctx, const struct iso_transducers *t,
                       enum wang_method method)
{
	const struct wang_scale *c = w->scale;
	const struct wang_problem p = { .method = method, .t = t, .grid = c->times_grid, .fmax_mhz = 0 };
	struct run r = { .fbp = method == WANG_FBP };
	int st;

	if ((st = wang_op(&r.op, NULL, ctx, &p))) goto done;
	if ((st = iso_vec_alloc(ctx, &r.x, iso_op_n_in(r.op)))) goto done;
	if ((st = iso_vec_alloc(ctx, &r.y, iso_op_n_out(r.op)))) goto done;
	if ((st = iso_ctx_vec(ctx)->fill(ctx, iso_op_n_in(r.op), r.x, 1))) goto done;
	st = median(seconds, &r, c->repeats);
done:
	iso_ctx_vec(ctx)->free(ctx, r.x);
	iso_ctx_vec(ctx)->free(ctx, r.y);
	iso_op_free(r.op);
	return st ? st : wang_poll(w);
}

static int time_cpu(struct wang_times *row, const struct wang *w, const struct iso_transducers *t,
                    int methods)
{
	iso_ctx *cpu = w->devices.cpu;
	struct iso_transducers few = { 0 };
	int st = wang_part(&few, t, w->scale->part * iso_ctx_threads(cpu));

	row->part = few.n;
	for (int m = 0; m < methods && !st; m++) {
		st = time_method(&row->cpu[m], w, cpu, &few, (enum wang_method)m);
		row->cpu[m] *= (double)t->n / (double)few.n;
	}
	iso_transducers_free(&few);
	return st;
}

static int time_row(struct wang_times *row, const struct wang *w, const struct iso_transducers *t,
                    int methods)
{
	int st = time_cpu(row, w, t, methods);

	row->transducers = t->n;
	for (int m = 0; m < methods && !st && w->devices.cuda; m++)
		st = time_method(&row->cuda[m], w, w->devices.cuda, t, (enum wang_method)m);
	return st;
}

/* Rows of one array, thinned out; the first of the study has FBP alone, as in the paper. */
static int time_array(struct wang_times *rows, const struct wang *w, const struct wang_array *a, int n,
                      const int every[][2])
{
	struct iso_transducers all = { 0 };
	int st = wang_transducers(&all, a);

	for (int k = 0; k < n && !st; k++) {
		struct iso_transducers t = { 0 };

		if (!(st = wang_thin(&t, &all, a, every[k])))
			st = time_row(&rows[k], w, &t, n == WANG_SETS && k == 0 ? 1 : WANG_METHODS);
		iso_transducers_free(&t);
	}
	iso_transducers_free(&all);
	return st;
}

int wang_time(struct wang *w)
{
	const struct wang_scale *c = w->scale;
	int st;

	for (int k = 0; k < WANG_ROWS; k++)
		for (int m = 0; m < WANG_METHODS; m++) w->times[k].cpu[m] = w->times[k].cuda[m] = NAN;
	if ((st = time_array(w->times, w, &c->times_study, WANG_SETS, wang_every))) return st;
	return time_array(w->times + WANG_SETS, w, &c->times_scan, WANG_SCANS, wang_scan_every);
}
