/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients that keep every voxel at 0 or above: solutions known in closed form, the same minimum as FISTA's
   of a matrix, far fewer iterations, and runs that stop anywhere and go on; also built in double. */
#include "test.h"

#include "core/op.h"

enum { ROWS = 60, VOXELS = 40, MANY = 400 };

static const struct iso_grid line = { { VOXELS, 1, 1 }, { 1, 1, 1 }, { 0 } };

/* ---- closed forms ---- */

static void solve(iso_ctx *ctx, struct iso_cg p, int n, const iso_real *d, const iso_real *y, iso_real *x,
                  const double *want)
{
	struct iso_cg_result r = { .size = sizeof r };

	OK(iso_diag_create(&p.op, ctx, n, d));
	p.y = y;
	p.iterations = 60;
	p.nonneg = true;
	OK(iso_cg_run(x, &r, &p, NULL));
	for (int i = 1; i <= r.n; i++) assert_true(r.cost[i] <= r.cost[i - 1]);
	for (int i = 0; i < n; i++) {
		NEAR(x[i], want[i], TOLERANCE(2e-5, 1e-9));
		assert_true(x[i] >= 0);
	}
	iso_cg_result_free(&r);
	iso_op_free(p.op);
}

/* |y - d x|^2 with x >= 0: max(y/d, 0), from 0, from ones and from an image with negative values. */
static void check_sign(iso_ctx *ctx)
{
	struct iso_cg p = { .size = sizeof p };
	const iso_real d[] = { 1, 2, 3, 1.5f }, y[] = { 1, -2, 6, -.1f };
	const double want[] = { 1, 0, 2, 0 };
	iso_real starts[3][4] = { { 0 }, { 1, 1, 1, 1 }, { -3, 5, -1, 0 } };

	for (int k = 0; k < 6; k++) {
		iso_real x[4];

		memcpy(x, starts[k % 3], sizeof x);
		p.by_image = k >= 3;
		solve(ctx, p, 4, d, y, x, want);
	}
}

/* (1 + mu L) x = y with y = (3, 0, -9): the last voxel is 0, and the others solve (2 -1; -1 3) x = (3, 0). */
static void check_smooth(iso_ctx *ctx)
{
	const struct iso_grid g = { { 3, 1, 1 }, { 1, 1, 1 }, { 0 } };
	struct iso_cg p = { .size = sizeof p, .mu = 1 };
	const iso_real d[] = { 1, 1, 1 }, y[] = { 3, 0, -9 };
	const double want[] = { 9. / 5, 3. / 5, 0 };
	iso_real x[3] = { 0 };

	OK(iso_smoothness_create(&p.penalty, ctx, &g));
	solve(ctx, p, 3, d, y, x, want);
	iso_op_free(p.penalty);
}

static void check_solutions(iso_ctx *ctx)
{
	check_sign(ctx);
	check_smooth(ctx);
}

static void solutions(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_solutions(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_solutions, check_solutions)

/* ---- a matrix ---- */

/* Smooth rows: neighbours in the image are heard much alike, so that some directions are a hundred times as steep as others. */
static iso_real matrix[ROWS][VOXELS];

static void make_matrix(void)
{
	for (int j = 0; j < ROWS; j++)
		for (int i = 0; i < VOXELS; i++) {
			double u = (j + .5) / ROWS - (i + .5) / VOXELS;

			matrix[j][i] = (iso_real)(exp(-300 * u * u) * cos(9 * u) + .05);
		}
}

static int rows_forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	(void)arg;
	(void)sub;
	for (int j = 0; j < ROWS; j++) {
		double sum = 0;

		for (int i = 0; i < VOXELS; i++) sum += (double)matrix[j][i] * x[i];
		y[j] = (iso_real)sum;
	}
	return ISO_OK;
}

static int rows_adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	(void)arg;
	(void)sub;
	for (int i = 0; i < VOXELS; i++) {
		double sum = 0;

		for (int j = 0; j < ROWS; j++) sum += (double)matrix[j][i] * y[j];
		x[i] = (iso_real)sum;
	}
	return ISO_OK;
}

static iso_op *matrix_operator(iso_ctx *ctx)
{
	const struct iso_custom functions = { .size = sizeof functions,
		                              .n_in = VOXELS,
		                              .n_out = ROWS,
		                              .n_sub = 1,
		                              .forward = rows_forward,
		                              .adjoint = rows_adjoint };
	iso_op *op = NULL;

	make_matrix();
	OK(iso_custom_create(&op, ctx, &functions));
	return op;
}

/* What is heard of a few peaks, with an error that no image above 0 explains. */
static void make_data(iso_op *op, iso_real *y)
{
	iso_real truth[VOXELS] = { [5] = 2, [6] = 3, [20] = 1, [31] = 4 };

	OK(iso_forward(y, op, ISO_ALL, truth));
	for (int j = 0; j < ROWS; j++) y[j] += (iso_real)(.2 * sin(37. * j));
}

static double cost_after(const struct iso_cg *p, iso_real *x, int iterations, bool by_image)
{
	struct iso_cg q = *p;
	struct iso_cg_result r = { .size = sizeof r };

	q.iterations = iterations;
	q.by_image = by_image;
	memset(x, 0, VOXELS * sizeof *x);
	OK(iso_cg_run(x, &r, &q, NULL));
	for (int i = 1; i <= r.n; i++) assert_true(r.cost[i] <= r.cost[i - 1]);
	double last = r.cost[r.n];

	iso_cg_result_free(&r);
	return last;
}

/* At the minimum the gradient is 0 where x is above 0, and nowhere points up from 0; FISTA needs several times as many
   iterations to come as near. */
static void minimum(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = matrix_operator(ctx);
	iso_real y[ROWS], x[VOXELS], e[ROWS], g[VOXELS];
	const struct iso_cg p = { .size = sizeof p, .op = op, .y = y, .nonneg = true };
	struct iso_fista f = {
		.size = sizeof f, .op = op, .y = y, .grid = line, .nonneg = true, .tv_steps = 1
	};
	struct iso_fista_result slow = { .size = sizeof slow };
	double least[2], soon;
	int zeros = 0;

	(void)state;
	make_data(op, y);
	for (int k = 0; k < 2; k++) {
		least[k] = cost_after(&p, x, MANY, k);
		OK(iso_forward(e, op, ISO_ALL, x));
		for (int j = 0; j < ROWS; j++) e[j] = y[j] - e[j];
		OK(iso_adjoint(g, op, ISO_ALL, e));
		for (int i = 0; i < VOXELS; i++) {
			if (x[i] > 0)
				BELOW(fabs(g[i]), TOLERANCE(2e-4, 1e-7));
			else
				BELOW(g[i], TOLERANCE(2e-4, 1e-7));
			zeros += x[i] == 0;
		}
	}
	assert_true(zeros > VOXELS / 4);
	NEAR(least[1] / least[0], 1, TOLERANCE(1e-5, 1e-9));
	soon = cost_after(&p, x, 15, false);
	f.iterations = 30;
	memset(x, 0, sizeof x);
	OK(iso_fista_run(x, &slow, &f, NULL));
	assert_true(slow.cost[30] - least[0] > 1.5 * (soon - least[0]));
	iso_fista_result_free(&slow);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* ---- the end, states, what is refused ---- */

static void tolerance_ends(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = matrix_operator(ctx);
	iso_real y[ROWS], x[VOXELS] = { 0 };
	struct iso_cg p = {
		.size = sizeof p, .op = op, .y = y, .nonneg = true, .iterations = MANY, .tolerance = 1e-2
	};
	struct iso_cg_result r = { .size = sizeof r };

	(void)state;
	make_data(op, y);
	OK(iso_cg_run(x, &r, &p, NULL));
	assert_true(r.n > 2 && r.n < MANY);
	BELOW(r.gradient[r.n], 1e-2);
	assert_true(r.gradient[r.n - 1] >= 1e-2);
	iso_cg_result_free(&r);
	for (int j = 0; j < ROWS; j++) y[j] = -1; /* the best image is 0, at once */
	memset(x, 0, sizeof x);
	p.tolerance = 0;
	OK(iso_cg_run(x, &r, &p, NULL));
	for (int i = 0; i < VOXELS; i++) assert_true(x[i] == 0);
	iso_cg_result_free(&r);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* Step by step, and in two runs with a checkpoint between: the same bits. */
static int stop_at(void *arg, int iteration, const iso_real *x)
{
	(void)x;
	return iteration == *(int *)arg ? ISO_ECANCEL : ISO_OK;
}

static void same_bits(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_op *op = matrix_operator(ctx);
	iso_real y[ROWS], want[VOXELS], x[VOXELS] = { 0 };
	const struct iso_cg p = {
		.size = sizeof p, .op = op, .y = y, .nonneg = true, .by_image = true, .iterations = 12
	};
	iso_cg_state *c = NULL;
	int at = 5;
	struct iso_run run = { .size = sizeof run, .checkpoint = "nncg.ckpt", .each = stop_at, .arg = &at };

	(void)state;
	make_data(op, y);
	cost_after(&p, want, 12, true);
	OK(iso_cg_create(&c, &p, x));
	while (!iso_cg_finished(c)) OK(iso_cg_step(c));
	OK(iso_cg_image(x, c));
	iso_cg_free(c);
	assert_memory_equal(x, want, sizeof x);
	memset(x, 0, sizeof x);
	REFUSED(iso_cg_run(x, NULL, &p, &run), ISO_ECANCEL, "");
	run.resume = true;
	at = 0;
	OK(iso_cg_run(x, NULL, &p, &run));
	assert_memory_equal(x, want, sizeof x);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = matrix_operator(ctx);
	iso_real y[ROWS] = { 0 }, x[VOXELS] = { 0 };
	const struct iso_cg p = { .size = sizeof p, .op = op, .y = y, .by_image = true, .iterations = 2 };

	(void)state;
	REFUSED(iso_cg_run(x, NULL, &p, NULL), ISO_EARG, "'by_image'");
	iso_op_free(op);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solutions),      cmocka_unit_test(cuda_solutions), cmocka_unit_test(minimum),
		cmocka_unit_test(tolerance_ends), cmocka_unit_test(same_bits),      cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
