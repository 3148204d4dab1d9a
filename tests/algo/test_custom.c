/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator of the caller's own functions: a small matrix, through every algorithm, at once and step
   by step, against the same in double, spelled out; also built in double. */
#include "test.h"

enum { ROWS = 9, COLS = 5, SUBSETS = 3 };

static const struct iso_rows parts[SUBSETS] = { { 0, 2 }, { 2, 4 }, { 6, 3 } };
static const struct iso_grid line = { { COLS, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } };

/* What the functions below get as `arg`. */
struct matrix {
	iso_ctx *ctx;
	double a[ROWS][COLS];
	int steps, freed; /* calls of em_step and of free */
	int fail;         /* what forward returns instead, if not 0 */
};

static struct matrix matrix(iso_ctx *ctx)
{
	struct matrix m = { .ctx = ctx };

	for (int j = 0; j < ROWS; j++)
		for (int i = 0; i < COLS; i++) m.a[j][i] = (i == j % COLS) + (j * 7 + i * 5) % 11 / 16.;
	return m;
}

static struct iso_rows rows_of(int sub)
{
	return sub == ISO_ALL ? (struct iso_rows){ 0, ROWS } : parts[sub];
}

static int forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	const struct matrix *m = arg;
	struct iso_rows r = rows_of(sub);
	iso_real *hx = to_host(m->ctx, COLS, x), hy[ROWS] = { 0 };

	for (int64_t j = r.first; j < r.first + r.n; j++)
		for (int i = 0; i < COLS; i++) hy[j] += (iso_real)m->a[j][i] * hx[i];
	free(hx);
	if (m->fail) return m->fail;
	return iso_ctx_vec(m->ctx)->upload(m->ctx, y + r.first, hy + r.first, r.n * (int64_t)sizeof *hy);
}

static int adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	const struct matrix *m = arg;
	struct iso_rows r = rows_of(sub);
	iso_real *hy = to_host(m->ctx, ROWS, y), hx[COLS] = { 0 };

	for (int64_t j = r.first; j < r.first + r.n; j++)
		for (int i = 0; i < COLS; i++) hx[i] += (iso_real)m->a[j][i] * hy[j];
	free(hy);
	return iso_ctx_vec(m->ctx)->upload(m->ctx, x, hx, sizeof hx);
}

/* The numbers of one row of EM, as isotome/op.h defines them. */
static double respond(const struct iso_em_data *d, int64_t j, double ax, struct iso_em_stat *s)
{
	double y = d->y ? d->y[j] : 1, q = ax + (d->add ? d->add[j] : 0), m = d->mult ? d->mult[j] : 1;

	if (!(m > 0) || !(q > 0)) {
		s->skipped++;
		s->lost += y;
		return 0;
	}
	s->used++;
	s->counts += ax > 0 ? y : 0;
	s->loglik += y * log(m * q);
	return y / q;
}

/* In one pass; of the CPU alone. */
static int em_step(void *arg, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                   struct iso_em_stat *s)
{
	struct matrix *m = arg;
	struct iso_rows r = rows_of(sub);
	double sum[COLS] = { 0 };

	m->steps++;
	*s = (struct iso_em_stat){ 0 };
	for (int64_t j = r.first; j < r.first + r.n; j++) {
		double ax = 0;

		for (int i = 0; i < COLS; i++) ax += m->a[j][i] * x[i];
		double ratio = respond(d, j, ax, s);

		for (int i = 0; i < COLS; i++) sum[i] += m->a[j][i] * ratio;
	}
	for (int i = 0; i < COLS; i++) acc[i] = (iso_real)(sum[i] * x[i]);
	return ISO_OK;
}

static void count_free(void *arg)
{
	((struct matrix *)arg)->freed++;
}

static struct iso_custom functions(struct matrix *m)
{
	return (struct iso_custom){ .size = sizeof(struct iso_custom),
		                    .n_in = COLS,
		                    .n_out = ROWS,
		                    .n_sub = SUBSETS,
		                    .rows = parts,
		                    .forward = forward,
		                    .adjoint = adjoint,
		                    .free = count_free,
		                    .arg = m };
}

static iso_op *make(struct matrix *m)
{
	struct iso_custom p = functions(m);
	iso_op *op = NULL;

	OK(iso_custom_create(&op, m->ctx, &p));
	return op;
}

/* ---- the operator ---- */

static void check_operator(iso_ctx *ctx)
{
	struct matrix m = matrix(ctx);
	const iso_real d[COLS] = { 1, 2, 3, 4, 5 };
	iso_op *op = make(&m), *diag = NULL, *chain = NULL, *clone = NULL;
	double err;

	assert_int_equal(iso_op_n_sub(op), SUBSETS);
	assert_int_equal(iso_op_rows(op, 1).first, 2);
	assert_int_equal(iso_op_rows(op, 1).n, 4);
	OK(iso_diag_create(&diag, ctx, COLS, d));
	OK(iso_chain_create(&chain, op, diag));
	OK(iso_op_clone(&clone, op));
	for (int sub = ISO_ALL; sub < SUBSETS; sub++) {
		OK(iso_test_adjoint(&err, op, sub, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-13));
		OK(iso_test_adjoint(&err, chain, sub, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-13));
	}
	iso_op_free(op);
	iso_op_free(clone);
	assert_int_equal(m.freed, 0);
	iso_op_free(chain);
	assert_int_equal(m.freed, 1);
	iso_op_free(diag);
}

static void operator(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_operator(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_operator, check_operator)

/* ---- expectation maximisation ---- */

static const iso_real counts[ROWS] = { 3, 0, 7, 2, 5, 1, 4, 6, 2 };
static const iso_real randoms[ROWS] = { .5f, .25f, 0, 1, .5f, .75f, 0, .25f, 1 };
static const iso_real factor[ROWS] = { 1, .5f, 2, 1, 0, 1, .5f, 2, 1 };

/* S_b = A_b* m, of each subset. */
static void sensitivity(iso_real s[SUBSETS][COLS], const struct matrix *m)
{
	for (int b = 0; b < SUBSETS; b++)
		for (int i = 0; i < COLS; i++) {
			double sum = 0;

			for (int64_t j = parts[b].first; j < parts[b].first + parts[b].n; j++)
				sum += factor[j] * m->a[j][i];
			s[b][i] = (iso_real)sum;
		}
}

/* x <- x / S_b A_b*( y / (A_b x + r/m) ), rows with m = 0 left out; the log-likelihood before each. */
static void em_in_double(double x[COLS], double *loglik, const struct matrix *m, int iterations)
{
	iso_real s[SUBSETS][COLS];

	sensitivity(s, m);
	for (int u = 0; u < iterations * SUBSETS; u++) {
		const struct iso_rows *r = &parts[u % SUBSETS];
		double back[COLS] = { 0 };

		loglik[u] = 0;
		for (int64_t j = r->first; j < r->first + r->n; j++) {
			double q = factor[j] > 0 ? randoms[j] / factor[j] : 0;

			for (int i = 0; i < COLS; i++) q += m->a[j][i] * x[i];
			if (!(factor[j] > 0)) continue;
			loglik[u] += counts[j] * log(factor[j] * q);
			for (int i = 0; i < COLS; i++) back[i] += m->a[j][i] * counts[j] / q;
		}
		for (int i = 0; i < COLS; i++) {
			double sens = s[u % SUBSETS][i];

			loglik[u] -= sens * x[i];
			if (sens > 0) x[i] *= back[i] / sens;
		}
	}
}

enum { EM_ITERATIONS = 7 };

/* What was made step by step is the image of the run, whether the arrays are the host's or the
   device's, which may go once the state is made. */
static void same_image(iso_ctx *ctx, enum iso_place place, const iso_real *image, const iso_real *want)
{
	iso_real *host = place == ISO_DEVICE ? to_host(ctx, COLS, image) : NULL;

	assert_memory_equal(host ? host : image, want, COLS * sizeof *want);
	free(host);
}

static void steps_of_em(const struct iso_em *on_host, const iso_real *want, const struct iso_em_result *r)
{
	const iso_real start[COLS] = { 1, 1, 1, 1, 1 };
	iso_ctx *ctx = iso_op_ctx(on_host->op);

	for (int place = ISO_HOST; place <= ISO_DEVICE; place++) {
		iso_real *x = to_device(ctx, COLS, start), *y = to_device(ctx, ROWS, counts), host[COLS];
		iso_real *add = to_device(ctx, ROWS, randoms), *mult = to_device(ctx, ROWS, factor);
		iso_real *sens = to_device(ctx, SUBSETS * COLS, on_host->sens.image);
		iso_real *image = place == ISO_DEVICE ? x : host;
		struct iso_em em = *on_host;
		iso_em_state *e = NULL;
		int64_t used, skipped;
		double lost;
		int n;

		em.place = place;
		if (place == ISO_DEVICE) {
			em.data = (struct iso_em_data){ y, add, mult };
			em.sens.image = sens;
		}
		OK(iso_em_create(&e, &em, place == ISO_DEVICE ? x : start));
		device_free(ctx, y);
		device_free(ctx, add);
		device_free(ctx, mult);
		device_free(ctx, sens);
		for (int u = 0; u < r->n; u++) {
			OK(iso_em_step(e));
			const double *loglik = iso_em_loglik(&n, e);

			assert_int_equal(n, u + 1);
			NEAR(loglik[u], r->loglik[u], 0);
		}
		REFUSED(iso_em_step(e), ISO_EARG, "all 21 updates are done");
		iso_em_events(&used, &skipped, &lost, e);
		assert_int_equal(used, r->used);
		assert_int_equal(skipped, r->skipped);
		NEAR(lost, r->lost, 0);
		OK(iso_em_image(image, e));
		same_image(ctx, place, image, want);
		iso_em_free(e);
		device_free(ctx, x);
	}
}

/* Shown once each, in turn, whatever the number of subsets. */
static int next_iteration(void *arg, int iteration, const iso_real *x)
{
	(void)x;
	assert_int_equal(iteration, ++*(int *)arg);
	return ISO_OK;
}

static void check_em_of(iso_ctx *ctx, bool fused)
{
	struct matrix m = matrix(ctx);
	struct iso_custom p = functions(&m);
	iso_real x[COLS] = { 1, 1, 1, 1, 1 }, s[SUBSETS][COLS];
	double want[COLS] = { 1, 1, 1, 1, 1 }, loglik[EM_ITERATIONS * SUBSETS];
	struct iso_em_result r = { .size = sizeof r };
	int shown = 0;
	const struct iso_run run = { .size = sizeof run, .each = next_iteration, .arg = &shown };
	iso_op *op = NULL;

	if (fused) p.em_step = em_step;
	OK(iso_custom_create(&op, ctx, &p));
	sensitivity(s, &m);
	const struct iso_em em = { .size = sizeof em,
		                   .op = op,
		                   .data = { counts, randoms, factor },
		                   .sens = { SUBSETS, SUBSETS, s[0] },
		                   .iterations = EM_ITERATIONS };

	OK(iso_em_run(x, &r, &em, &run));
	assert_int_equal(shown, EM_ITERATIONS);
	em_in_double(want, loglik, &m, EM_ITERATIONS);
	assert_int_equal(r.n, EM_ITERATIONS * SUBSETS);
	assert_int_equal(m.steps, fused ? r.n : 0);
	assert_int_equal(r.skipped, 1);
	NEAR(r.lost, 5, 0);
	steps_of_em(&em, x, &r);
	for (int i = 0; i < COLS; i++) NEAR(x[i], want[i], TOLERANCE(1e-5, 1e-12));
	for (int u = 0; u < r.n; u++) NEAR(r.loglik[u], loglik[u], TOLERANCE(1e-4, 1e-11));
	iso_em_result_free(&r);
	iso_op_free(op);
}

static void check_em(iso_ctx *ctx)
{
	check_em_of(ctx, false);
}

static void em(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_em(ctx);
	check_em_of(ctx, true);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_em, check_em)

/* ---- least squares ---- */

static const iso_real traces[ROWS] = { 3, -1, 4, 1, -5, 9, -2, 6, 5 };

/* h = A* A + mu L, b = A* y, L of a line of COLS voxels. */
static void normal(double h[COLS][COLS], double b[COLS], const struct matrix *m, double mu)
{
	for (int i = 0; i < COLS; i++) {
		b[i] = 0;
		for (int j = 0; j < ROWS; j++) b[i] += m->a[j][i] * traces[j];
		for (int k = 0; k < COLS; k++) {
			double ends = (i == 0) + (i == COLS - 1);

			h[i][k] = i == k ? mu * (2 - ends) : abs(i - k) == 1 ? -mu : 0;
			for (int j = 0; j < ROWS; j++) h[i][k] += m->a[j][i] * m->a[j][k];
		}
	}
}

/* The smallest F for x >= 0, or any x, by coordinates in turn until nothing moves. */
static void solve_in_double(double x[COLS], const struct matrix *m, double mu, bool nonneg)
{
	double h[COLS][COLS], b[COLS];

	normal(h, b, m, mu);
	for (int round = 0; round < 20000; round++)
		for (int i = 0; i < COLS; i++) {
			double rest = b[i];

			for (int k = 0; k < COLS; k++) rest -= k == i ? 0 : h[i][k] * x[k];
			x[i] = rest / h[i][i];
			if (nonneg && x[i] < 0) x[i] = 0;
		}
}

static void steps_of_cg(struct iso_cg p, const iso_real *want, const struct iso_cg_result *r)
{
	const iso_real zero[COLS] = { 0 };
	iso_ctx *ctx = iso_op_ctx(p.op);
	iso_real *x = to_device(ctx, COLS, NULL), *y = to_device(ctx, ROWS, traces), host[COLS];
	int n;

	for (p.place = ISO_HOST; p.place <= ISO_DEVICE; p.place++) {
		bool device = p.place == ISO_DEVICE;
		iso_cg_state *c = NULL;

		p.y = device ? y : traces;
		OK(iso_cg_create(&c, &p, device ? x : zero));
		NEAR(iso_cg_cost(&n, c)[0], r->cost[0], 0);
		assert_int_equal(n, 1);
		while (!iso_cg_finished(c)) OK(iso_cg_step(c));
		assert_memory_equal(iso_cg_cost(&n, c), r->cost, (size_t)(r->n + 1) * sizeof *r->cost);
		assert_int_equal(n, r->n + 1);
		NEAR(iso_cg_gradient(&n, c)[r->n], r->gradient[r->n], 0);
		OK(iso_cg_image(device ? x : host, c));
		same_image(ctx, p.place, device ? x : host, want);
		iso_cg_free(c);
	}
	device_free(ctx, x);
	device_free(ctx, y);
}

static void check_cg(iso_ctx *ctx)
{
	struct matrix m = matrix(ctx);
	iso_real x[COLS] = { 0 }, elsewhere[COLS] = { 1, -20, 3, 0, 50 };
	double want[COLS] = { 0 };
	struct iso_cg cg = {
		.size = sizeof cg, .op = make(&m), .y = traces, .mu = .25, .iterations = 3 * COLS
	};

	OK(iso_smoothness_create(&cg.penalty, ctx, &line));
	struct iso_cg_result r = { .size = sizeof r };

	OK(iso_cg_run(x, &r, &cg, NULL));
	steps_of_cg(cg, x, &r);
	OK(iso_cg_run(elsewhere, NULL, &cg, NULL));
	iso_cg_result_free(&r);
	solve_in_double(want, &m, cg.mu, false);
	for (int i = 0; i < COLS; i++) {
		NEAR(x[i], want[i], TOLERANCE(1e-4, 1e-10));
		NEAR(elsewhere[i], want[i], TOLERANCE(1e-4, 1e-10));
	}
	iso_op_free(cg.penalty);
	iso_op_free(cg.op);
}

static void steps_of_fista(struct iso_fista p, const iso_real *want, const struct iso_fista_result *r)
{
	const iso_real zero[COLS] = { 0 };
	iso_ctx *ctx = iso_op_ctx(p.op);
	iso_real *x = to_device(ctx, COLS, NULL), *y = to_device(ctx, ROWS, traces), host[COLS];
	int n;

	for (p.place = ISO_HOST; p.place <= ISO_DEVICE; p.place++) {
		bool device = p.place == ISO_DEVICE;
		iso_fista_state *f = NULL;

		p.y = device ? y : traces;
		OK(iso_fista_create(&f, &p, device ? x : zero));
		for (int i = 0; i < p.iterations; i++) OK(iso_fista_step(f));
		REFUSED(iso_fista_step(f), ISO_EARG, "fista: all 600 iterations are done");
		assert_memory_equal(iso_fista_cost(&n, f), r->cost, (size_t)(r->n + 1) * sizeof *r->cost);
		assert_int_equal(n, r->n + 1);
		NEAR(iso_fista_change(&n, f)[7], r->change[7], 0);
		OK(iso_fista_image(device ? x : host, f));
		same_image(ctx, p.place, device ? x : host, want);
		iso_fista_free(f);
	}
	device_free(ctx, x);
	device_free(ctx, y);
}

static void check_fista(iso_ctx *ctx)
{
	struct matrix m = matrix(ctx);
	iso_real x[COLS] = { 0 };
	double want[COLS] = { 0 };
	int zeros = 0;
	struct iso_fista f = { .size = sizeof f,
		               .op = make(&m),
		               .y = traces,
		               .grid = line,
		               .mu = .25,
		               .nonneg = true,
		               .iterations = 600,
		               .tv_steps = 1 };

	OK(iso_smoothness_create(&f.penalty, ctx, &line));
	struct iso_fista_result r = { .size = sizeof r };

	OK(iso_fista_run(x, &r, &f, NULL));
	steps_of_fista(f, x, &r);
	iso_fista_result_free(&r);
	solve_in_double(want, &m, f.mu, true);
	for (int i = 0; i < COLS; i++) {
		NEAR(x[i], want[i], TOLERANCE(1e-3, 1e-6));
		zeros += want[i] == 0;
	}
	assert_in_range(zeros, 1, COLS - 1); /* the sign matters */
	iso_op_free(f.penalty);
	iso_op_free(f.op);
}

static void check_squares(iso_ctx *ctx)
{
	check_cg(ctx);
	check_fista(ctx);
}

static void squares(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_squares(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_squares, check_squares)

/* ---- refusals ---- */

static void refuse(iso_ctx *ctx, struct iso_custom p, const char *text)
{
	iso_op *op = NULL;

	REFUSED(iso_custom_create(&op, ctx, &p), ISO_EARG, text);
	assert_null(op);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct matrix m = matrix(ctx);
	struct iso_custom fine = functions(&m), p = fine;
	struct iso_rows gap[SUBSETS] = { { 0, 2 }, { 3, 3 }, { 6, 3 } }, few[2] = { { 0, 2 }, { 2, 4 } };

	(void)state;
	p.size = 0;
	refuse(ctx, p, "struct iso_custom: size is 0");
	p = fine;
	p.n_in = 0;
	refuse(ctx, p, "from 0 to 9 values");
	p = fine;
	p.adjoint = NULL;
	refuse(ctx, p, "no adjoint");
	p = fine;
	p.n_sub = 0;
	refuse(ctx, p, "0 subsets must be at least 1");
	p = fine;
	p.rows = NULL;
	refuse(ctx, p, "3 subsets without their rows");
	p = fine;
	p.rows = gap;
	refuse(ctx, p, "subset 1 has 3 rows from row 3, must begin at row 2");
	p = fine;
	p.rows = few;
	p.n_sub = 2;
	refuse(ctx, p, "the subsets have 6 of 9 rows");
	assert_int_equal(m.freed, 0);
	iso_ctx_free(ctx);
}

static void nothing(void **state)
{
	iso_real x[1];

	(void)state;
	REFUSED(iso_custom_create(NULL, NULL, NULL), ISO_EARG, "iso_custom_create");
	REFUSED(iso_em_create(NULL, NULL, NULL), ISO_EARG, "iso_em_create");
	REFUSED(iso_em_step(NULL), ISO_EARG, "iso_em_step");
	REFUSED(iso_em_image(x, NULL), ISO_EARG, "iso_em_image");
	REFUSED(iso_em_run(x, NULL, NULL, NULL), ISO_EARG, "struct iso_em");
	REFUSED(iso_cg_create(NULL, NULL, NULL), ISO_EARG, "iso_cg_create");
	REFUSED(iso_cg_step(NULL), ISO_EARG, "iso_cg_step");
	REFUSED(iso_cg_image(x, NULL), ISO_EARG, "iso_cg_image");
	REFUSED(iso_cg_run(x, NULL, NULL, NULL), ISO_EARG, "struct iso_cg");
	REFUSED(iso_fista_create(NULL, NULL, NULL), ISO_EARG, "iso_fista_create");
	REFUSED(iso_fista_step(NULL), ISO_EARG, "iso_fista_step");
	REFUSED(iso_fista_image(x, NULL), ISO_EARG, "iso_fista_image");
	REFUSED(iso_fista_run(x, NULL, NULL, NULL), ISO_EARG, "struct iso_fista");
	iso_em_free(NULL);
	iso_cg_free(NULL);
	iso_fista_free(NULL);
}

/* Of another version of the library: a shorter struct is filled up with zeros, a longer one is refused
   only if something is said behind our end. */
static void sizes(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct matrix m = matrix(ctx);
	struct {
		struct iso_custom p;
		char more[8];
	} newer = { functions(&m), { 0 } };
	struct iso_custom older = functions(&m);
	iso_op *op = NULL;

	(void)state;
	newer.p.size = sizeof newer;
	OK(iso_custom_create(&op, ctx, &newer.p));
	iso_op_free(op);
	assert_int_equal(m.freed, 1);
	newer.more[3] = 1;
	REFUSED(iso_custom_create(&op, ctx, &newer.p), ISO_EARG, "sets fields behind byte");
	older.size = offsetof(struct iso_custom, free);
	OK(iso_custom_create(&op, ctx, &older)); /* without a free and an argument */
	iso_op_free(op);
	assert_int_equal(m.freed, 1);
	iso_ctx_free(ctx);
}

/* A function that fails: with its own code where that is one of ours. */
static void failures(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct matrix m = matrix(ctx);
	iso_real x[COLS] = { 0 }, y[ROWS];
	iso_op *op = make(&m);

	(void)state;
	m.fail = ISO_EIO;
	REFUSED(iso_forward(y, op, ISO_ALL, x), ISO_EIO, "custom operator: forward returned -3");
	m.fail = 17;
	REFUSED(iso_forward(y, op, ISO_ALL, x), ISO_EARG, "forward returned 17, which is no code");
	m.fail = 0;
	OK(iso_forward(y, op, ISO_ALL, x));
	iso_op_free(op);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operator), cmocka_unit_test(cuda_operator), cmocka_unit_test(em),
		cmocka_unit_test(cuda_em),  cmocka_unit_test(squares),       cmocka_unit_test(cuda_squares),
		cmocka_unit_test(refusals), cmocka_unit_test(sizes),         cmocka_unit_test(failures),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
