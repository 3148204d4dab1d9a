/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing any work on a device, and the EM step of any operator. */
#include "bench.h"

#include "core/progress.h"

int bench_wait(iso_ctx *ctx, const iso_real *made)
{
	iso_real one;

	return iso_ctx_vec(ctx)->download(ctx, &one, made, sizeof one);
}

int bench_repeat(int n, double *seconds, const struct bench_work *w)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		if ((st = bench_wait(w->ctx, w->made))) break;
		double start_s = iso_now_s();

		if (!(st = w->once(w->arg))) st = bench_wait(w->ctx, w->made);
		seconds[i] = iso_now_s() - start_s;
	}
	return st;
}

int bench_vectors(iso_ctx *ctx, int n, iso_real **const *v, const int64_t *size)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		void *p = NULL;

		st = iso_ctx_vec(ctx)->alloc(ctx, &p, size[i] * (int64_t)sizeof **v[i]);
		*v[i] = p;
	}
	return st;
}

void bench_vectors_free(iso_ctx *ctx, int n, iso_real **const *v)
{
	for (int i = 0; i < n; i++) {
		iso_ctx_vec(ctx)->free(ctx, *v[i]);
		*v[i] = NULL;
	}
}

struct step {
	iso_op *op;
	iso_real *x, *acc;
	struct iso_em_stat stat;
};

static int one_step(void *arg)
{
	struct step *s = arg;

	return iso_em_step(s->op, 0, s->acc, s->x, &(struct iso_em_data){ 0 }, &s->stat);
}

int bench_steps(struct bench_steps *t, iso_op *op, int repeats)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const int64_t n = iso_op_n_in(op), size[] = { n, n };
	struct step s = { .op = op };
	iso_real **const vectors[] = { &s.x, &s.acc };
	double seconds[1 + BENCH_MOST_REPEATS];
	int st;

	if ((st = bench_vectors(ctx, 2, vectors, size))) goto done;
	if ((st = iso_ctx_vec(ctx)->fill(ctx, n, s.x, 1))) goto done;
	if ((st = bench_repeat(1 + repeats, seconds, &(struct bench_work){ ctx, s.acc, one_step, &s })))
		goto done;
	t->first_s = seconds[0];
	t->step = bench_time(repeats, seconds + 1);
	t->stat = s.stat;
	st = iso_ctx_vec(ctx)->asum(ctx, n, &t->sum, s.acc);
done:
	bench_vectors_free(ctx, 2, vectors);
	return st;
}
