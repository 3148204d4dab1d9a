/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares with total variation and a sign: problems whose solution is known in closed form;
   also built in double. Runs that stop anywhere, and go on. */
#include "test.h"

#include "core/op.h"

static void solve(iso_ctx *ctx, struct iso_fista p, int n, const iso_real *d, const iso_real *y,
                  const double *want)
{
	iso_real x[8] = { 0 };
	struct iso_fista_result r = { .size = sizeof r };

	OK(iso_diag_create(&p.op, ctx, n, d));
	p.y = y;
	p.iterations = 300;
	p.tv_steps = 50;
	OK(iso_fista_run(x, &r, &p, NULL));
	assert_int_equal(r.n, 300);
	for (int i = 1; i <= r.n; i++) assert_true(r.cost[i] <= r.cost[i - 1]);
	for (int i = 0; i < n; i++) NEAR(x[i], want[i], TOLERANCE(2e-4, 1e-5));
	iso_fista_result_free(&r);
	iso_op_free(p.op);
}

/* |y - d x|^2 with x >= 0: max(y/d, 0). */
static void check_sign(iso_ctx *ctx)
{
	const struct iso_fista p = { .size = sizeof p,
		                     .grid = { { 4, 1, 1 }, { 1, 1, 1 }, { 0 } },
		                     .nonneg = true };
	const iso_real d[] = { 1, 2, 3, 1.5f }, y[] = { 1, -2, 6, -.1f };
	const double want[] = { 1, 0, 2, 0 };

	solve(ctx, p, 4, d, y, want);
}

/* |y - x|^2 + tv |x_1 - x_0|, y = (0, 4): each goes tv/2 towards the other, until they meet. Along
   every axis. */
static void check_variation(iso_ctx *ctx)
{
	const iso_real d[] = { 1, 1 }, y[] = { 0, 4 };
	const double apart[] = { 1, 3 }, met[] = { 2, 2 };

	for (int axis = 0; axis < 3; axis++) {
		struct iso_fista p = { .size = sizeof p,
			               .grid = { { 1, 1, 1 }, { 1, 1, 1 }, { 0 } },
			               .tv = 2 };

		p.grid.n[axis] = 2;
		solve(ctx, p, 2, d, y, apart);
		p.tv = 10;
		solve(ctx, p, 2, d, y, met);
	}
}

/* On a plane of 2 x 2, y = (0, a, a, a): the three others stay alike, so TV is sqrt(2) times their
   step from the first, which rises by tv sqrt(2)/2 while they fall by a third of that. */
static void check_isotropic(iso_ctx *ctx)
{
	const struct iso_fista p = { .size = sizeof p, .grid = { { 2, 2, 1 }, { 1, 1, 1 }, { 0 } }, .tv = 1 };
	const iso_real d[] = { 1, 1, 1, 1 }, y[] = { 0, 6, 6, 6 };
	const double low = sqrt(2) / 2, high = 6 - low / 3;
	const double want[] = { low, high, high, high };

	solve(ctx, p, 4, d, y, want);
}

/* (1 + mu L) x = y, as conjugate gradients have it: x = (15, 6, 3)/8. */
static void check_smooth(iso_ctx *ctx)
{
	struct iso_fista p = { .size = sizeof p, .grid = { { 3, 1, 1 }, { 1, 1, 1 }, { 0 } }, .mu = 1 };
	const iso_real d[] = { 1, 1, 1 }, y[] = { 3, 0, 0 };
	const double want[] = { 15. / 8, 6. / 8, 3. / 8 };

	OK(iso_smoothness_create(&p.penalty, ctx, &p.grid));
	solve(ctx, p, 3, d, y, want);
	iso_op_free(p.penalty);
}

static void check_all(iso_ctx *ctx)
{
	check_sign(ctx);
	check_variation(ctx);
	check_isotropic(ctx);
	check_smooth(ctx);
}

static void solutions(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_all(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_solutions, check_all)

/* ---- a first step that is too long ---- */

/* Rows of length sqrt(3) and 1 at right angles. The power method begins along the second and takes 1
   for the largest eigenvalue, which is 3: a step made for 1.1 goes back and forth along the first row,
   farther each time. */
struct corner {
	iso_real row[2][2];
};

static int corner_forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	const struct corner *c = arg;

	(void)sub;
	for (int j = 0; j < 2; j++) y[j] = c->row[j][0] * x[0] + c->row[j][1] * x[1];
	return ISO_OK;
}

static int corner_adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	const struct corner *c = arg;

	(void)sub;
	for (int i = 0; i < 2; i++) x[i] = c->row[0][i] * y[0] + c->row[1][i] * y[1];
	return ISO_OK;
}

static void steps_too_long_are_shortened(void **state)
{
	const iso_real truth[2] = { 2, -3 };
	iso_ctx *ctx = cpu(1);
	iso_real u[2], y[2], x[2] = { 0 };
	struct corner c;
	struct iso_custom functions = { .size = sizeof functions,
		                        .n_in = 2,
		                        .n_out = 2,
		                        .n_sub = 1,
		                        .forward = corner_forward,
		                        .adjoint = corner_adjoint,
		                        .arg = &c };
	struct iso_fista p = { .size = sizeof p,
		               .y = y,
		               .grid = { { 2, 1, 1 }, { 1, 1, 1 }, { 0 } },
		               .iterations = 100,
		               .tv_steps = 1 };
	struct iso_fista_result r = { .size = sizeof r };

	(void)state;
	OK(iso_ctx_vec(ctx)->uniform(ctx, 2, u, 1)); /* where the power method begins */
	for (int i = 0; i < 2; i++) {
		double size = sqrt((double)u[0] * u[0] + (double)u[1] * u[1]);

		c.row[0][i] = (iso_real)(sqrt(3) * (i ? -u[0] : u[1]) / size);
		c.row[1][i] = (iso_real)(u[i] / size);
	}
	OK(corner_forward(&c, ISO_ALL, y, truth));
	OK(iso_custom_create(&p.op, ctx, &functions));
	OK(iso_fista_run(x, &r, &p, NULL));
	NEAR(r.change[1], 0, 0); /* the first step was too long, and not taken */
	for (int i = 1; i <= r.n; i++) assert_true(r.cost[i] <= r.cost[i - 1]);
	for (int i = 0; i < 2; i++) NEAR(x[i], truth[i], TOLERANCE(1e-4, 1e-5));
	iso_fista_result_free(&r);
	iso_op_free(p.op);
	iso_ctx_free(ctx);
}

/* ---- runs that stop and go on ---- */

enum { VOXELS = 36, ITERATIONS = 9 };

/* The identity, which stops its context at the apply that brings the count to 0. */
static int applies_left;

static int fuse_apply(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub;
	if (--applies_left == 0) iso_ctx_cancel(op->ctx);
	return iso_stopped(op->ctx) ? iso_ctx_poll(op->ctx) : op->ctx->vec->copy(op->ctx, VOXELS, y, x);
}

static const struct iso_op_fn fuse_fn = { .forward = fuse_apply, .adjoint = fuse_apply };

static void make_ops(iso_ctx *ctx, struct iso_fista *p)
{
	iso_real d[VOXELS];
	iso_op *fuse = NULL, *diag = NULL;

	for (int i = 0; i < VOXELS; i++) d[i] = (iso_real)(1 + .3 * (i * 7 % 5));
	OK(iso_op_create(&fuse, ctx, &fuse_fn, VOXELS, VOXELS, 1, malloc(1)));
	OK(iso_diag_create(&diag, ctx, VOXELS, d));
	OK(iso_chain_create(&p->op, diag, fuse));
	OK(iso_smoothness_create(&p->penalty, ctx, &p->grid));
	iso_op_free(fuse);
	iso_op_free(diag);
}

/* The run is stopped at apply number `at`, is begun anew from what it left, and so on to its end. */
static void in_parts(iso_ctx *ctx, struct iso_fista p, int at, const iso_real *whole,
                     const struct iso_fista_result *want)
{
	iso_real x[VOXELS] = { 0 };
	struct iso_fista_result r = { .size = sizeof r };
	const struct iso_run run = {
		.size = sizeof run, .checkpoint = "fista.ckpt", .checkpoint_minutes = 60, .resume = true
	};
	int st, stops = 0;

	remove(run.checkpoint);
	do {
		iso_ctx_clear_cancel(ctx);
		applies_left = stops == 0 ? at : 3;
		if ((st = iso_fista_run(x, &r, &p, &run)) == ISO_ECANCEL)
			assert_non_null(strstr(iso_message(), "resume continues from fista.ckpt"));
		else
			OK(st);
	} while (st && ++stops < 2 * ITERATIONS + 2);
	assert_true(stops > 0);
	assert_true(r.resumed_from > 0);
	assert_int_equal(r.n, ITERATIONS);
	assert_memory_equal(x, whole, sizeof x);
	assert_memory_equal(r.cost, want->cost, (ITERATIONS + 1) * sizeof *r.cost);
	assert_memory_equal(r.change, want->change, (ITERATIONS + 1) * sizeof *r.cost);
	iso_fista_result_free(&r);
	remove(run.checkpoint);
}

/* Before the iterations begin there are 12 pairs of applies for the slope and one for the start; then
   an adjoint and a forward each. */
static void check_parts(iso_ctx *ctx)
{
	struct iso_fista p = { .size = sizeof p,
		               .grid = { { 4, 3, 3 }, { 1, 1, 1 }, { 0 } },
		               .mu = .05,
		               .tv = .3,
		               .nonneg = true,
		               .iterations = ITERATIONS,
		               .tv_steps = 5 };
	iso_real y[VOXELS], whole[VOXELS] = { 0 };
	struct iso_fista_result want = { .size = sizeof want };

	for (int i = 0; i < VOXELS; i++) y[i] = (iso_real)(i * 11 % 17 - 5);
	p.y = y;
	for (int tv = 0; tv < 2; tv++) {
		p.tv = tv * .3;
		make_ops(ctx, &p);
		applies_left = 0;
		memset(whole, 0, sizeof whole);
		OK(iso_fista_run(whole, &want, &p, NULL));
		for (int at = 26; at < 25 + 2 * ITERATIONS; at++) in_parts(ctx, p, at, whole, &want);
		iso_ctx_clear_cancel(ctx);
		iso_fista_result_free(&want);
		iso_op_free(p.op);
		iso_op_free(p.penalty);
	}
}

static void parts(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_parts(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_parts, check_parts)

static void refusals(void **state)
{
	const iso_real d[] = { 1, 1 }, good[] = { 1, 2 }, bad[] = { 1, INFINITY };
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	iso_real x[2] = { 0 };

	(void)state;
	OK(iso_diag_create(&op, ctx, 2, d));
	const struct iso_fista fine = { .size = sizeof fine,
		                        .op = op,
		                        .y = good,
		                        .iterations = 1,
		                        .tv_steps = 1,
		                        .grid = { { 2, 1, 1 }, { 1, 1, 1 }, { 0 } } };
	struct iso_fista p = fine;

	p.size = 0;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "struct iso_fista: size is 0");
	p = fine;
	p.y = NULL;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "fista: there is no data");
	p = fine;
	p.grid.n[0] = 3;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "the grid has 3 voxels, the image 2");
	p = fine;
	p.iterations = 0;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "0 iterations");
	p = fine;
	p.tv = -1;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "tv is -1");
	p = fine;
	p.mu = 1;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EARG, "no penalty");
	p = fine;
	p.y = bad;
	REFUSED(iso_fista_run(x, NULL, &p, NULL), ISO_EINPUT, "data holds inf at 1");
	iso_op_free(op);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solutions), cmocka_unit_test(cuda_solutions),
		cmocka_unit_test(parts),     cmocka_unit_test(cuda_parts),
		cmocka_unit_test(refusals),  cmocka_unit_test(steps_too_long_are_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
