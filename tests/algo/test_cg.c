/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised least squares by conjugate gradients: small systems worked by hand, and the tiny inverse
   problems of tests/data/oat/pls through both optoacoustic models; also built in double. */
#include "test.h"
#include "oat_vectors.h"

#include "core/op.h"

enum {
	NX = 9,
	NY = 8,
	NZ = 10,
	VOXELS = NX * NY * NZ,
	TRANS = 30,
	SAMPLES = 84,
	LINES = 40,
	ITERATIONS = 10
};

static const struct iso_grid *pls_grid(void)
{
	static struct iso_grid g;

	g = cubes(NX, NY, NZ, .35, -1.4, -1.2, -1.6);
	return &g;
}

static struct iso_transducers transducers(void)
{
	const struct iso_rings r = { 14, 5, 6, M_PI / 10, M_PI / 5, .1, M_PI / 3 };
	struct iso_transducers t = {
		.speed = 1.54, .dt_us = .05, .first_us = 7, .samples = SAMPLES, .gamma = 2000
	};

	OK(iso_transducers_rings(&t, &r));
	t.aperture = calloc(2 * TRANS, sizeof *t.aperture);
	for (int i = 0; i < 2 * TRANS; i++) t.aperture[i] = 1.5;
	return t;
}

/* ---- the penalty ---- */

static void check_penalty(iso_ctx *ctx)
{
	iso_real *truth = scaled_vector("pls/truth", VOXELS, 1);
	iso_real *want = scaled_vector("pls/penalty_times_truth", VOXELS, 1);
	double *value = vector("pls/penalty_value", 1), sum = 0, err;
	iso_op *op = NULL;

	OK(iso_smoothness_create(&op, ctx, pls_grid()));
	BELOW(compare(op, false, truth, want), TOLERANCE(1e-6, 1e-13));
	for (int i = 0; i < VOXELS; i++) sum += (double)truth[i] * want[i];
	NEAR(sum, *value, TOLERANCE(1e-5, 1e-12) * *value);
	iso_op_free(op);
	for (int i = 0; iso_penalty(i); i++) {
		if (iso_penalty(i)->proximal) continue;
		OK(iso_penalty_create(&op, ctx, iso_penalty(i)->name, pls_grid()));
		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-12));
		iso_op_free(op);
	}
	free(truth);
	free(want);
	free(value);
}

static void penalty(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_penalty(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_penalty, check_penalty)

/* ---- the vectors ---- */

/* A problem of the vectors, which are in alpha: A = scale alpha, mu for A. */
struct problem {
	const char *data, *first, *last, *cost;
	double scale, mu;
	double first_tolerance; /* of the first image */
};

static const struct problem spectra = {
	"pls/u_sph", "pls/alpha_sph_it1",      "pls/alpha_sph",      "pls/cost_sph",
	M_PI / 6,    100 * 36 / (M_PI * M_PI), TOLERANCE(5e-5, 1e-6)
};
static const struct problem traces = { "pls/u_int", "pls/alpha_int_it1",  "pls/alpha_int", "pls/cost_int", 1,
	                               100,         TOLERANCE(5e-5, 1e-6) };

static int check_first(void *arg, int iteration, const iso_real *x)
{
	const struct problem *p = arg;
	iso_real *want = scaled_vector(p->first, VOXELS, p->scale);

	if (iteration == 1) BELOW(relative_difference(VOXELS, x, want), p->first_tolerance);
	free(want);
	return ISO_OK;
}

/* `tolerance` of the last image and of the costs; takes the operator over. */
static void solve(iso_op *op, const struct problem *p, double last, double cost)
{
	iso_real *y = scaled_vector(p->data, iso_op_n_out(op), 1), x[VOXELS] = { 0 };
	iso_real *want = scaled_vector(p->last, VOXELS, p->scale);
	double *costs = vector(p->cost, ITERATIONS + 1);
	iso_op *smooth = NULL;
	struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .mu = p->mu, .iterations = ITERATIONS };
	const struct iso_run run = { .size = sizeof run, .each = check_first, .arg = (void *)p };
	struct iso_cg_result r = { .size = sizeof r };

	OK(iso_smoothness_create(&smooth, iso_op_ctx(op), pls_grid()));
	cg.penalty = smooth;
	OK(iso_cg_run(x, &r, &cg, &run));
	assert_int_equal(r.n, ITERATIONS);
	BELOW(relative_difference(VOXELS, x, want), last);
	for (int i = 0; i <= ITERATIONS; i++) {
		NEAR(r.cost[i], costs[i], cost * costs[i]);
		assert_true(i == 0 || r.cost[i] <= r.cost[i - 1]);
	}
	iso_cg_result_free(&r);
	iso_op_free(smooth);
	iso_op_free(op);
	free(y);
	free(want);
	free(costs);
}

static void solve_spectra(iso_ctx *ctx, enum iso_svoxel_transform way, double accuracy, double last,
                          double cost)
{
	struct iso_transducers t = transducers();
	struct iso_svoxel p = { .size = sizeof p,
		                .t = &t,
		                .grid = *pls_grid(),
		                .first_line = 1,
		                .lines = LINES,
		                .df_mhz = .08,
		                .sir = ISO_SIR_RECT,
		                .transform = way,
		                .accuracy = accuracy };
	iso_op *op = NULL;

	OK(iso_svoxel_create(&op, ctx, &p));
	struct problem problem = spectra;

	if (accuracy > 0) problem.first_tolerance = accuracy;
	solve(op, &problem, last, cost);
	iso_transducers_free(&t);
}

static void check_fast(iso_ctx *ctx)
{
	solve_spectra(ctx, ISO_SVOXEL_NUFFT, 0, TOLERANCE(3e-4, 3e-5), TOLERANCE(1e-4, 1e-5));
	solve_spectra(ctx, ISO_SVOXEL_NUFFT, 1e-3, 1e-3, 1e-3);
}

static void check_traces(iso_ctx *ctx)
{
	struct iso_transducers t = transducers();
	struct iso_sradon p = { .size = sizeof p, .t = &t, .grid = *pls_grid() };
	iso_op *op = NULL;

	OK(iso_sradon_create(&op, ctx, &p));
	solve(op, &traces, TOLERANCE(3e-4, 1e-7), TOLERANCE(1e-4, 1e-9));
	iso_transducers_free(&t);
}

static void vectors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	solve_spectra(ctx, ISO_SVOXEL_DIRECT, 0, TOLERANCE(3e-4, 1e-7), TOLERANCE(1e-4, 1e-9));
	check_traces(ctx);
	iso_ctx_free(ctx);
}

static void fast(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_fast(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_fast, check_fast)
CUDA_TEST(cuda_traces, check_traces)

/* ---- systems worked by hand ---- */

static const struct iso_grid line = { { 3, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } };

static iso_op *diagonal(iso_ctx *ctx, iso_real a, iso_real b, iso_real c)
{
	const iso_real d[] = { a, b, c };
	iso_op *op = NULL;

	OK(iso_diag_create(&op, ctx, 3, d));
	return op;
}

/* diag(1, 2, 4) x = (1, 4, 2): three eigenvalues, three iterations, from anywhere. */
static void exact(void **state)
{
	const iso_real y[] = { 1, 4, 2 }, want[] = { 1, 2, .5 };
	iso_ctx *ctx = cpu(1);
	iso_op *op = diagonal(ctx, 1, 2, 4);

	(void)state;
	for (int start = 0; start < 2; start++) {
		iso_real x[3] = { 5 * (iso_real)start, 0, -(iso_real)start };
		struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .iterations = 3 };
		struct iso_cg_result r = { .size = sizeof r };

		OK(iso_cg_run(x, &r, &cg, NULL));
		for (int i = 0; i < 3; i++) NEAR(x[i], want[i], TOLERANCE(1e-5, 1e-13));
		BELOW(r.cost[3], TOLERANCE(1e-9, 1e-20));
		iso_cg_result_free(&r);
	}
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* A = 1, L of a line of three: (1 + mu L) x = y with y = (3, 0, 0), mu = 1 has x = (15, 6, 3)/8. */
static void smoothed(void **state)
{
	const iso_real y[] = { 3, 0, 0 };
	iso_ctx *ctx = cpu(1);
	iso_op *op = diagonal(ctx, 1, 1, 1), *smooth = NULL;
	iso_real x[3] = { 0 };
	struct iso_cg_result r = { .size = sizeof r };

	(void)state;
	OK(iso_smoothness_create(&smooth, ctx, &line));
	struct iso_cg cg = { .size = sizeof cg,
		             .op = op,
		             .y = y,
		             .penalty = smooth,
		             .mu = 1,
		             .iterations = 10,
		             .tolerance = 1e-5 };

	OK(iso_cg_run(x, &r, &cg, NULL));
	assert_true(r.n <= 4); /* the tolerance stops it */
	NEAR(x[0], 15. / 8, 1e-5);
	NEAR(x[1], 6. / 8, 1e-5);
	NEAR(x[2], 3. / 8, 1e-5);
	iso_cg_result_free(&r);
	iso_op_free(op);
	iso_op_free(smooth);
	iso_ctx_free(ctx);
}

/* No data: the image is 0, after no iteration. */
static void empty(void **state)
{
	const iso_real y[3] = { 0 };
	iso_ctx *ctx = cpu(1);
	iso_op *op = diagonal(ctx, 1, 2, 3);
	iso_real x[3] = { 0 };
	struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .iterations = 5 };
	struct iso_cg_result r = { .size = sizeof r };

	(void)state;
	OK(iso_cg_run(x, &r, &cg, NULL));
	assert_int_equal(r.n, 0);
	NEAR(x[0], 0, 0);
	iso_cg_result_free(&r);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* ---- runs that stop and go on ---- */

static int cancel_at_2(void *arg, int iteration, const iso_real *x)
{
	(void)x;
	if (iteration == 2) iso_ctx_cancel(arg);
	return ISO_OK;
}

/* Three voxels of twelve data: enough to differ after each iteration. */
static void resumed(void **state)
{
	const iso_real d[] = { 1, 2, 3, 5, 7, 9, 11, 13 }, y[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	iso_real whole[8] = { 0 }, parts[8] = { 0 };
	iso_ctx *ctx = cpu(1), *stopped = cpu(1);
	iso_op *op = NULL, *again = NULL;
	struct iso_cg_result r = { .size = sizeof r };

	(void)state;
	OK(iso_diag_create(&op, ctx, 8, d));
	struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .iterations = 5 };

	OK(iso_cg_run(whole, NULL, &cg, NULL));
	OK(iso_diag_create(&again, stopped, 8, d));
	struct iso_run run = { .size = sizeof run,
		               .checkpoint = "cg.ckpt",
		               .checkpoint_minutes = 60,
		               .key = 7,
		               .resume = true,
		               .each = cancel_at_2,
		               .arg = stopped };

	remove("cg.ckpt");
	cg.op = again;
	REFUSED(iso_cg_run(parts, &r, &cg, &run), ISO_ECANCEL, "stopped after 2 of 5");
	cg.op = op;
	run.each = NULL;
	run.key = 8;
	REFUSED(iso_cg_run(parts, &r, &cg, &run), ISO_EINPUT, "cg.ckpt");
	run.key = 7;
	OK(iso_cg_run(parts, &r, &cg, &run));
	assert_int_equal(r.resumed_from, 2);
	assert_int_equal(r.n, 5);
	assert_memory_equal(whole, parts, sizeof whole);
	iso_cg_result_free(&r);
	remove("cg.ckpt");
	iso_op_free(op);
	iso_op_free(again);
	iso_ctx_free(ctx);
	iso_ctx_free(stopped);
}

/* The identity as a penalty, which stops its context at the apply that brings the count to 0. */
static int applies_left;

static int fuse_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub;
	if (--applies_left == 0) iso_ctx_cancel(op->ctx);
	return iso_stopped(op->ctx) ? iso_ctx_poll(op->ctx) : op->ctx->vec->copy(op->ctx, 8, y, x);
}

/* A stop in the penalty may come after the image was changed and before its cost was noted. */
static void stopped_in_the_penalty(void **state)
{
	static const struct iso_op_fn fuse_fn = { .forward = fuse_apply, .adjoint = fuse_apply };
	const iso_real d[] = { 1, 2, 3, 5, 7, 9, 11, 13 }, y[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	iso_ctx *ctx = cpu(1);
	struct iso_cg cg = { .size = sizeof cg, .y = y, .iterations = 5, .mu = .1, .tolerance = 1e-9 };
	iso_real whole[8] = { 0 };
	struct iso_run run = {
		.size = sizeof run, .checkpoint = "cg.ckpt", .checkpoint_minutes = 60, .resume = true
	};
	struct iso_cg_result want = { .size = sizeof want }, r = { .size = sizeof r };

	(void)state;
	OK(iso_diag_create(&cg.op, ctx, 8, d));
	OK(iso_op_create(&cg.penalty, ctx, &fuse_fn, 8, 8, 1, malloc(1)));
	OK(iso_cg_run(whole, &want, &cg, NULL));
	for (int at = 3; at < 3 + 2 * 5; at++) { /* two before the iterations, two in each */
		iso_real parts[8] = { 0 };

		remove("cg.ckpt");
		applies_left = at;
		REFUSED(iso_cg_run(parts, &r, &cg, &run), ISO_ECANCEL, "of 5 iterations");
		iso_ctx_clear_cancel(ctx);
		applies_left = 0;
		OK(iso_cg_run(parts, &r, &cg, &run));
		assert_int_equal(r.n, 5);
		assert_memory_equal(whole, parts, sizeof whole);
		assert_memory_equal(r.cost, want.cost, 6 * sizeof *r.cost);
		iso_cg_result_free(&r);
	}
	remove("cg.ckpt");
	iso_cg_result_free(&want);
	iso_op_free(cg.op);
	iso_op_free(cg.penalty);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	const iso_real good[3] = { 1, 2, 3 }, bad[3] = { 1, NAN, 3 };
	const struct iso_grid other = { { 4, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } };
	iso_ctx *ctx = cpu(1);
	iso_op *op = diagonal(ctx, 1, 2, 3), *smooth = NULL;
	iso_real x[3] = { 0 };

	(void)state;
	OK(iso_smoothness_create(&smooth, ctx, &other));
	struct iso_cg none = { .size = sizeof none, .op = op, .y = good, .iterations = 0 };
	struct iso_cg nan = { .size = sizeof nan, .op = op, .y = bad, .iterations = 1 };
	struct iso_cg lacks = { .size = sizeof lacks, .op = op, .y = good, .iterations = 1, .mu = 1 };
	struct iso_cg minus = { .size = sizeof minus, .op = op, .y = good, .iterations = 1, .mu = -1 };
	struct iso_cg larger = {
		.size = sizeof larger, .op = op, .y = good, .iterations = 1, .mu = 1, .penalty = smooth
	};
	struct iso_cg loose = { .size = sizeof loose, .op = op, .y = good, .iterations = 1, .tolerance = 2 };

	REFUSED(iso_penalty_create(&lacks.penalty, ctx, "tv", &other), ISO_EARG,
	        "'tv' is none that is quadratic");
	REFUSED(iso_penalty_create(&lacks.penalty, ctx, "quad", &other), ISO_EARG, "'quad' is none");
	REFUSED(iso_cg_run(x, NULL, &none, NULL), ISO_EARG, "0 iterations");
	REFUSED(iso_cg_run(x, NULL, &nan, NULL), ISO_EINPUT, "data holds nan at 1");
	REFUSED(iso_cg_run(x, NULL, &lacks, NULL), ISO_EARG, "there is no penalty");
	REFUSED(iso_cg_run(x, NULL, &minus, NULL), ISO_EARG, "mu is -1");
	REFUSED(iso_cg_run(x, NULL, &larger, NULL), ISO_EARG, "takes 4 voxels, the image has 3");
	REFUSED(iso_cg_run(x, NULL, &loose, NULL), ISO_EARG, "tolerance is 2");
	iso_op_free(op);
	iso_op_free(smooth);
	iso_ctx_free(ctx);
}

/* ---- rows by weights ---- */

/* The operator of the traces with weights against the one without, element by element. */
static void check_weights(iso_ctx *ctx)
{
	struct iso_transducers t = transducers();
	const struct iso_sradon m = { .size = sizeof m, .t = &t, .grid = *pls_grid() };
	iso_real *x = scaled_vector("pls/truth", VOXELS, 1), *from = to_device(ctx, VOXELS, x);
	iso_real *to = to_device(ctx, TRANS * SAMPLES, NULL), *want;
	double w[TRANS], mean = 0, err;
	iso_op *op = NULL;

	for (int q = 0; q < TRANS; q++) mean += (w[q] = 1 + q % 7) / TRANS;
	OK(iso_sradon_create(&op, ctx, &m));
	OK(iso_forward(to, op, ISO_ALL, from));
	want = to_host(ctx, TRANS * SAMPLES, to);
	REFUSED(iso_weigh_rows(&op, 11, w), ISO_EARG, "11 for 2520 rows");
	OK(iso_weigh_rows(&op, TRANS, w));
	for (int i = 0; i < TRANS * SAMPLES; i++)
		want[i] = (iso_real)((double)want[i] * sqrt(w[i / SAMPLES] / mean));
	BELOW(compare(op, false, x, want), TOLERANCE(1e-6, 1e-12));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-6, 1e-12));
	iso_op_free(op);
	iso_transducers_free(&t);
	device_free(ctx, from);
	device_free(ctx, to);
	free(x);
	free(want);
}

static void weights(void **state)
{
	iso_real y[6] = { 1, 2, 3, 4, 5, 6 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_weights(ctx);
	OK(iso_weigh_data(y, 6, 2, (const double[]){ 1.5, .5 }));
	for (int i = 0; i < 6; i++) NEAR(y[i], (i + 1) * sqrt(i < 3 ? 1.5 : .5), TOLERANCE(1e-6, 1e-14));
	REFUSED(iso_weigh_data(y, 6, 2, (const double[]){ 1, -1 }), ISO_EARG, "number 1 is -1");
	REFUSED(iso_weigh_data(y, 6, 2, (const double[]){ 0, 0 }), ISO_EARG, "all are 0");
	REFUSED(iso_weigh_data(y, 6, 2, (const double[]){ NAN, 1 }), ISO_EARG, "number 0 is nan");
	REFUSED(iso_weigh_data(y, 6, 4, (const double[]){ 1, 1, 1, 1 }), ISO_EARG, "4 for 6 rows");
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_weights, check_weights)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(penalty),
		cmocka_unit_test(cuda_penalty),
		cmocka_unit_test(vectors),
		cmocka_unit_test(fast),
		cmocka_unit_test(cuda_fast),
		cmocka_unit_test(cuda_traces),
		cmocka_unit_test(exact),
		cmocka_unit_test(smoothed),
		cmocka_unit_test(empty),
		cmocka_unit_test(resumed),
		cmocka_unit_test(stopped_in_the_penalty),
		cmocka_unit_test(refusals),
		cmocka_unit_test(weights),
		cmocka_unit_test(cuda_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
