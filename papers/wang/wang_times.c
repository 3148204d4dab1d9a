/* SPDX-License-Identifier: BSD-3-Clause */
/* Table I of Wang 2013: seconds of FBP, and of one iteration (H and its adjoint) of PLS-Int and
   PLS-Sph. On the CPU a few transducers, spread over the array, stand for all of them: time grows
   with their number, as the paper itself assumes. */
#include "wang.h"

/* Seconds of the whole array, in the order of enum wang_method; NaN: not measured. */
struct times {
	double cpu[WANG_METHODS], cuda[WANG_METHODS];
	int64_t part; /* transducers that the CPU was timed with */
};

struct run {
	iso_op *op;
	iso_real *x, *y;
	bool fbp;
};

static int once(void *arg)
{
	const struct run *r = arg;
	int st = r->fbp ? ISO_OK : iso_forward(r->op, ISO_ALL, r->y, r->x);

	return st ? st : iso_adjoint(r->op, ISO_ALL, r->x, r->y);
}

/* The median; on CUDA after a warm-up. */
static int time_method(double *seconds, const struct wang *w, iso_ctx *ctx, const struct iso_transducers *t,
                       enum wang_method method)
{
	const struct wang_problem p = { .method = method, .t = t, .grid = *w->scale->times_grid };
	const int warm = iso_ctx_is_cuda(ctx), repeats = w->scale->repeats;
	struct run r = { .fbp = method == WANG_FBP };
	iso_real **const vectors[] = { &r.x, &r.y };
	double s[1 + BENCH_MOST_REPEATS];
	int st;

	if ((st = wang_op(&r.op, NULL, ctx, &p))) goto done;
	const int64_t n = iso_op_n_in(r.op), size[] = { n, iso_op_n_out(r.op) };

	if ((st = bench_vectors(ctx, 2, vectors, size))) goto done;
	if ((st = iso_ctx_vec(ctx)->fill(ctx, n, r.x, 1))) goto done;
	if ((st = bench_repeat(warm + repeats, s, &(struct bench_work){ ctx, r.x, once, &r }))) goto done;
	*seconds = bench_time(repeats, s + warm).median;
done:
	bench_vectors_free(ctx, 2, vectors);
	iso_op_free(r.op);
	return st ? st : study_poll(&w->s);
}

static int time_cpu(struct times *row, const struct wang *w, const struct iso_transducers *t, int methods)
{
	iso_ctx *cpu = w->s.cpu;
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

static void tell(struct wang *w, json_t *rows, const struct times *row, const char *data, const char *name,
                 int64_t transducers)
{
	json_t *s[2];

	for (int k = 0; k < 2; k++) {
		const double *v = k ? row->cuda : row->cpu;

		s[k] = record_pack("{s:f, s:f, s:f}", "fbp", v[WANG_FBP], "int", v[WANG_INT], "sph",
		                   v[WANG_SPH]);
	}
	study_row(&w->s, "times", json_pack("[s,I,O,O]", name, (json_int_t)transducers, s[0], s[1]));
	if (!json_object_get(w->s.page, "part")) study_show(&w->s, "part", json_integer(row->part));
	json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:o, s:o}", "data", data, "transducers",
	                                      (json_int_t)transducers, "cpu_part", (json_int_t)row->part,
	                                      "cpu_s", s[0], "cuda_s", s[1]));
}

/* Rows of one array, thinned out; the first of the study has FBP alone, as in the paper. */
static int time_array(json_t *rows, struct wang *w, const struct wang_array *a, int n, const int every[][2])
{
	static const char *const scans[][2] = { { "full", "full data" }, { "quarter", "quarter data" } };
	const bool study = n == WANG_SETS;
	struct iso_transducers all = { 0 };
	int st = wang_transducers(&all, a);

	for (int k = 0; k < n && !st; k++) {
		struct times row = { { NAN, NAN, NAN }, { NAN, NAN, NAN }, 0 };
		const int methods = study && k == 0 ? 1 : WANG_METHODS;
		struct iso_transducers t = { 0 };

		if (!(st = wang_thin(&t, &all, a, every[k]))) st = time_cpu(&row, w, &t, methods);
		for (int m = 0; m < methods && !st && w->s.cuda; m++)
			st = time_method(&row.cuda[m], w, w->s.cuda, &t, (enum wang_method)m);
		tell(w, rows, &row, study ? wang_set_name(a, every[k], "x") : scans[k][0],
		     study ? wang_set_name(a, every[k], " \u00d7 ") : scans[k][1], t.n);
		iso_transducers_free(&t);
	}
	iso_transducers_free(&all);
	return st;
}

int wang_time(struct wang *w)
{
	const struct wang_scale *c = w->scale;
	const int64_t *n = c->times_grid->n;
	json_t *rows = json_array();
	int st = time_array(rows, w, &c->times_arrays[0], WANG_SETS, wang_every);

	if (!st) st = time_array(rows, w, &c->times_arrays[1], WANG_SCANS, wang_scan_every);
	study_show(&w->s, "times_grid",
	           json_pack("[I,I,I,I]", (json_int_t)n[0], (json_int_t)n[1], (json_int_t)n[2],
	                     (json_int_t)c->times_arrays[0].samples));
	study_result(&w->s, "table_1", rows);
	return st;
}
