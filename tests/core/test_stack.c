/* SPDX-License-Identifier: BSD-3-Clause */
/* One operator in several states of the image: rows, the file's order, projections, steps and clones against the whole
   matrix, with rows once a state and with subsets dealt to the states. */
#include "test.h"

#include "core/op.h"

enum { ROWS = 9, COLS = 4, STATES = 3, ALL = STATES * ROWS };

/* The matrix of a stack's outer operator: subsets of `part` rows, the last one with the rest. */
struct dense {
	int64_t cols, part;
	const iso_real *a;
};

static struct iso_rows rows(const iso_op *op, int sub)
{
	const int64_t part = ((const struct dense *)op->data)->part;

	return (struct iso_rows){ sub * part, sub < op->n_sub - 1 ? part : op->n_out - sub * part };
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct dense *d = op->data;
	const struct iso_rows r = iso_op_rows(op, sub);

	for (int64_t i = r.first; i < r.first + r.n; i++) {
		y[i] = 0;
		for (int64_t j = 0; j < d->cols; j++) y[i] += d->a[i * d->cols + j] * x[j];
	}
	return ISO_OK;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct dense *d = op->data;
	const struct iso_rows r = iso_op_rows(op, sub);

	for (int64_t j = 0; j < d->cols; j++) x[j] = 0;
	for (int64_t i = r.first; i < r.first + r.n; i++)
		for (int64_t j = 0; j < d->cols; j++) x[j] += d->a[i * d->cols + j] * y[i];
	return ISO_OK;
}

static int64_t backwards(const iso_op *op, int64_t row)
{
	return op->n_out - 1 - row;
}

static const struct iso_op_fn outer_fn = {
	.forward = forward, .adjoint = adjoint, .rows = rows, .file_row = backwards
};

static iso_op *dense(iso_ctx *ctx, int64_t n_rows, int n_sub, const iso_real *a)
{
	struct dense *d = malloc(sizeof *d);
	iso_op *op = NULL;

	assert_non_null(d);
	*d = (struct dense){ COLS, n_rows / n_sub, a };
	OK(iso_op_create(&op, ctx, &outer_fn, COLS, n_rows, n_sub, d));
	return op;
}

/* ---- states: subset k is matrix k of the image's side ---- */

static const iso_real *state_of(const iso_op *op, int sub)
{
	return (const iso_real *)op->data + (int64_t)sub * COLS * COLS;
}

static int state_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const iso_real *b = state_of(op, sub);

	for (int i = 0; i < COLS; i++) {
		y[i] = 0;
		for (int j = 0; j < COLS; j++) y[i] += b[i * COLS + j] * x[j];
	}
	return ISO_OK;
}

static int state_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const iso_real *b = state_of(op, sub);

	for (int j = 0; j < COLS; j++) {
		x[j] = 0;
		for (int i = 0; i < COLS; i++) x[j] += b[i * COLS + j] * y[i];
	}
	return ISO_OK;
}

static const struct iso_op_fn states_fn = { .forward = state_forward, .adjoint = state_adjoint };

static iso_op *states(iso_ctx *ctx, int n, int64_t cols)
{
	iso_real *b = calloc((size_t)(n * COLS * COLS), sizeof *b);
	iso_op *op = NULL;

	assert_non_null(b);
	for (int i = 0; i < n * COLS * COLS; i++) b[i] = (iso_real)((i * 3 + i / 16) % 7);
	OK(iso_op_create(&op, ctx, &states_fn, cols, cols, n, b));
	return op;
}

static iso_real a[ALL * COLS];

/* With `split` the matrix has all rows, in two subsets of three states; else those of one state, which counts thrice. */
static iso_op *make(iso_ctx *ctx, bool split)
{
	iso_op *outer, *inner = states(ctx, STATES, COLS), *op = NULL;

	for (int i = 0; i < ALL * COLS; i++) a[i] = (iso_real)(1 + (i * 7) % 11);
	outer = dense(ctx, split ? ALL : ROWS, split ? 2 * STATES : 2, a);
	OK(iso_stack_create(&op, outer, inner, split));
	iso_op_free(outer); /* the stack keeps them */
	iso_op_free(inner);
	return op;
}

/* Row in the order of the file -> the outer operator's row and the state. */
static int row_of(int *state, int row, bool split)
{
	const int part = ALL / (2 * STATES), own = split ? ALL - 1 - row : ROWS - 1 - row % ROWS;
	const int sub = own / part < 2 * STATES ? own / part : 2 * STATES - 1;

	*state = split ? sub % STATES : row / ROWS;
	return own;
}

static double element(int row, int col, bool split)
{
	double sum = 0;
	int state, own = row_of(&state, row, split);

	for (int m = 0; m < COLS; m++) {
		const int at = (state * COLS + m) * COLS + col;

		sum += (double)a[own * COLS + m] * (double)((at * 3 + at / 16) % 7);
	}
	return sum;
}

static void against_matrix(iso_op *op, bool split)
{
	const iso_real x[COLS] = { 1, 2, 3, 4 };
	iso_real y[ALL], in_file[ALL], sorted[ALL], back[COLS], parts[2][COLS];
	double err = 1;

	OK(iso_forward(y, op, ISO_ALL, x));
	iso_op_unsort(in_file, op, y);
	for (int i = 0; i < ALL; i++) {
		double want = 0;

		for (int j = 0; j < COLS; j++) want += element(i, j, split) * (double)x[j];
		NEAR((double)in_file[i], want, 1e-6 * want);
	}
	iso_op_sort(sorted, op, in_file);
	assert_memory_equal(sorted, y, sizeof y);
	memset(y, 0, sizeof y);
	for (int k = 0; k < 2; k++) {
		OK(iso_forward(y, op, k, x));
		OK(iso_adjoint(parts[k], op, k, sorted));
		OK(iso_test_adjoint(&err, op, k, 2));
		BELOW(err, 1e-6);
	}
	assert_memory_equal(sorted, y, sizeof y);
	OK(iso_adjoint(back, op, ISO_ALL, sorted));
	for (int j = 0; j < COLS; j++) {
		double want = 0;

		for (int i = 0; i < ALL; i++) want += element(i, j, split) * (double)in_file[i];
		NEAR((double)back[j], want, 1e-6 * want);
		NEAR((double)(parts[0][j] + parts[1][j]), want, 1e-6 * want);
	}
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, 1e-6);
}

static void projections(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int split = 0; split < 2; split++) {
		iso_op *op = make(ctx, split), *clone = NULL;

		OK(iso_op_clone(&clone, op));
		iso_op_free(op);
		assert_int_equal(iso_op_n_in(clone), COLS);
		assert_int_equal(iso_op_n_out(clone), ALL);
		assert_int_equal(iso_op_n_sub(clone), 2);
		assert_int_equal(iso_op_rows(clone, 1).first, 3 * 4);
		assert_int_equal(iso_op_rows(clone, 1).n, ALL - 3 * 4);
		against_matrix(clone, split);
		iso_op_free(clone);
	}
	iso_ctx_free(ctx);
}

/* Against forward, ratio, adjoint; with an image that is 0 in a voxel. */
static void steps(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_real x[COLS] = { 1, 0, 3, 4 }, u[COLS] = { 1, 1, 1, 1 }, y[ALL], add[ALL], mult[ALL], acc[COLS],
		 ref[COLS], z[2][COLS];
	const struct iso_em_data data = { y, add, mult };
	struct iso_em_stat s, t;
	struct iso_ratio_stat rs, rt;

	(void)state;
	for (int i = 0; i < ALL; i++) {
		y[i] = (iso_real)(1 + i % 5);
		add[i] = (iso_real)(i % 3);
		mult[i] = i == 7 ? 0 : (iso_real).5;
	}
	for (int split = 0; split < 2; split++) {
		iso_op *op = make(ctx, split);
		iso_real rho[2][ALL] = { { 0 } };

		for (int sub = ISO_ALL; sub < 2; sub++) {
			OK(iso_op_em_step(acc, &s, op, sub, x, &data));
			OK(iso_em_step_plain(op, sub, ref, x, &data, &t));
			for (int j = 0; j < COLS; j++)
				NEAR((double)acc[j], (double)ref[j], 1e-5 * (double)ref[j]);
			NEAR(s.loglik, t.loglik, 1e-6);
			NEAR(s.lost, t.lost, 0);
			NEAR(s.counts, t.counts, 0);
			assert_int_equal(s.used, t.used);
			assert_int_equal(s.skipped, t.skipped);
			OK(iso_op_ratio_step(z[0], rho[0], &rs, op, sub, false, x, u, &data));
			OK(iso_ratio_step_plain(op, sub, z[1], rho[1], false, x, u, &data, &rt));
			for (int j = 0; j < COLS; j++) NEAR((double)z[0][j], (double)z[1][j], 1e-5);
			for (int i = 0; i < ALL; i++) NEAR((double)rho[0][i], (double)rho[1][i], 1e-6);
			NEAR(rs.em.loglik, rt.em.loglik, 1e-5);
		}
		iso_op_free(op);
	}
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1), *other = cpu(1);
	iso_op *outer = dense(ctx, ROWS, 2, a), *op = NULL, *two = states(ctx, 2, COLS),
	       *three = states(ctx, STATES, COLS), *narrow = states(ctx, 2, 3),
	       *foreign = states(other, 2, COLS);

	(void)state;
	REFUSED(iso_stack_create(&op, outer, narrow, false), ISO_EARG,
	        "3 values before and 3 after, expected 4");
	REFUSED(iso_stack_create(&op, outer, foreign, false), ISO_EARG, "different contexts");
	REFUSED(iso_stack_create(&op, outer, three, true), ISO_EARG,
	        "the outer operator has 2 subsets, must be a multiple of 3 states");
	assert_null(op);
	OK(iso_stack_create(&op, outer, two, true));
	assert_int_equal(iso_op_n_out(op), ROWS);
	assert_int_equal(iso_op_n_sub(op), 1);
	iso_op_free(op);
	iso_op_free(outer);
	iso_op_free(two);
	iso_op_free(three);
	iso_op_free(narrow);
	iso_op_free(foreign);
	iso_ctx_free(ctx);
	iso_ctx_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(projections),
		cmocka_unit_test(steps),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
