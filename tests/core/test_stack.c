/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators one below the other, each behind one of the image's side: rows, the file's order, projections, steps and
   clones against the whole matrix. */
#include "test.h"

#include "core/op.h"

enum { ROWS = 9, COLS = 4, PARTS = 3, ALL = PARTS * ROWS };

struct dense {
	int64_t rows, cols, half; /* subset 0 has the first `half` rows; 0: one subset */
	const iso_real *a;
};

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

static struct iso_rows rows(const iso_op *op, int sub)
{
	const int64_t half = ((const struct dense *)op->data)->half;

	return sub ? (struct iso_rows){ half, op->n_out - half } : (struct iso_rows){ 0, half };
}

static int64_t backwards(const iso_op *op, int64_t row)
{
	return op->n_out - 1 - row;
}

static const struct iso_op_fn outer_fn = { .forward = forward,
	                                   .adjoint = adjoint,
	                                   .rows = rows,
	                                   .file_row = backwards },
			      inner_fn = { .forward = forward, .adjoint = adjoint };

static iso_op *dense(iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_rows, int64_t cols, int64_t half,
                     const iso_real *a)
{
	struct dense *d = malloc(sizeof *d);
	iso_op *op = NULL;

	assert_non_null(d);
	*d = (struct dense){ n_rows, cols, half, a };
	OK(iso_op_create(&op, ctx, fn, cols, n_rows, half ? 2 : 1, d));
	return op;
}

static iso_real a[2][ROWS * COLS],
	b[COLS * COLS]; /* parts 0 and 2 are the same, part 1 has no image's side */

/* Element of the whole matrix, row in the order of the file. */
static double element(int row, int col)
{
	const int part = row / ROWS, own = ROWS - 1 - row % ROWS;
	double sum = 0;

	if (part == 1) return (double)a[1][own * COLS + col];
	for (int m = 0; m < COLS; m++) sum += (double)a[0][own * COLS + m] * (double)b[m * COLS + col];
	return sum;
}

static iso_op *make(iso_ctx *ctx)
{
	iso_op *outer[PARTS], *inner[PARTS], *op = NULL;

	for (int i = 0; i < ROWS * COLS; i++) {
		a[0][i] = (iso_real)(1 + (i * 7) % 11);
		a[1][i] = (iso_real)(2 + (i * 5) % 13);
	}
	for (int i = 0; i < COLS * COLS; i++) b[i] = (iso_real)((i * 3) % 7);
	outer[0] = outer[2] = dense(ctx, &outer_fn, ROWS, COLS, 4, a[0]);
	outer[1] = dense(ctx, &outer_fn, ROWS, COLS, 2, a[1]);
	inner[0] = inner[2] = dense(ctx, &inner_fn, COLS, COLS, 0, b);
	inner[1] = NULL;
	OK(iso_stack_create(&op, PARTS, outer, inner));
	for (int k = 0; k < 2; k++) iso_op_free(outer[k]); /* the stack keeps them */
	iso_op_free(inner[0]);
	return op;
}

static void projections(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_op *op = make(ctx), *clone = NULL;
	const iso_real x[COLS] = { 1, 2, 3, 4 };
	iso_real y[ALL], in_file[ALL], sorted[ALL], back[COLS], parts[2][COLS];
	double err = 1;

	(void)state;
	OK(iso_op_clone(&clone, op));
	iso_op_free(op);
	assert_int_equal(iso_op_n_in(clone), COLS);
	assert_int_equal(iso_op_n_out(clone), ALL);
	assert_int_equal(iso_op_n_sub(clone), 2);
	assert_int_equal(iso_op_rows(clone, 1).first, 4 + 2 + 4);
	assert_int_equal(iso_op_rows(clone, 1).n, 5 + 7 + 5);
	OK(iso_forward(y, clone, ISO_ALL, x));
	iso_op_unsort(in_file, clone, y);
	for (int i = 0; i < ALL; i++) {
		double want = 0;

		for (int j = 0; j < COLS; j++) want += element(i, j) * (double)x[j];
		NEAR((double)in_file[i], want, 1e-6 * want);
	}
	iso_op_sort(sorted, clone, in_file);
	assert_memory_equal(sorted, y, sizeof y);
	memset(y, 0, sizeof y);
	for (int k = 0; k < 2; k++) {
		OK(iso_forward(y, clone, k, x));
		OK(iso_adjoint(parts[k], clone, k, sorted));
		OK(iso_test_adjoint(&err, clone, k, 2));
		BELOW(err, 1e-6);
	}
	assert_memory_equal(sorted, y, sizeof y);
	OK(iso_adjoint(back, clone, ISO_ALL, sorted));
	for (int j = 0; j < COLS; j++) {
		double want = 0;

		for (int i = 0; i < ALL; i++) want += element(i, j) * (double)in_file[i];
		NEAR((double)back[j], want, 1e-6 * want);
		NEAR((double)(parts[0][j] + parts[1][j]), want, 1e-6 * want);
	}
	OK(iso_test_adjoint(&err, clone, ISO_ALL, 1));
	BELOW(err, 1e-6);
	iso_op_free(clone);
	iso_ctx_free(ctx);
}

/* Against forward, ratio, adjoint; with an image of which a part sees nothing. */
static void steps(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = make(ctx);
	iso_real x[COLS] = { 1, 0, 3, 4 }, u[COLS] = { 1, 1, 1, 1 }, y[ALL], add[ALL], mult[ALL], acc[COLS],
		 ref[COLS], rho[2][ALL] = { { 0 } }, z[2][COLS];
	const struct iso_em_data data = { y, add, mult };
	struct iso_em_stat s, t;
	struct iso_ratio_stat rs, rt;

	(void)state;
	for (int i = 0; i < ALL; i++) {
		y[i] = (iso_real)(1 + i % 5);
		add[i] = (iso_real)(i % 3);
		mult[i] = i == 7 ? 0 : (iso_real).5;
	}
	for (int sub = ISO_ALL; sub < 2; sub++) {
		OK(iso_op_em_step(acc, &s, op, sub, x, &data));
		OK(iso_em_step_plain(op, sub, ref, x, &data, &t));
		for (int j = 0; j < COLS; j++) NEAR((double)acc[j], (double)ref[j], 1e-5 * (double)ref[j]);
		NEAR(s.loglik, t.loglik, 1e-6);
		NEAR(s.lost, t.lost, 0);
		NEAR(s.counts, t.counts, 0);
		assert_int_equal(s.used, t.used);
		assert_int_equal(s.skipped, t.skipped);
		OK(iso_op_ratio_step(z[0], rho[0], &rs, op, sub, false, x, u, &data));
		OK(iso_ratio_step_plain(op, sub, z[1], rho[1], false, x, u, &data, &rt));
		for (int j = 0; j < COLS; j++) NEAR((double)z[0][j], (double)z[1][j], 1e-6);
	}
	iso_op_free(op);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1), *other = cpu(1);
	const iso_real one[COLS] = { 1, 1, 1, 1 };
	iso_op *outer[2] = { dense(ctx, &outer_fn, ROWS, COLS, 4, a[0]), NULL }, *inner[2] = { NULL, NULL },
	       *op = NULL, *alone = dense(ctx, &inner_fn, ROWS, COLS, 0, a[0]), *short_one = NULL,
	       *foreign = NULL;

	(void)state;
	OK(iso_diag_create(&short_one, ctx, 3, one));
	OK(iso_diag_create(&foreign, other, COLS, one));
	REFUSED(iso_stack_create(&op, 0, outer, inner), ISO_EARG, "stack: 0 parts");
	REFUSED(iso_stack_create(&op, 2, outer, NULL), ISO_EARG, "NULL");
	outer[1] = alone;
	REFUSED(iso_stack_create(&op, 2, outer, NULL), ISO_EARG, "number of subsets (1), than part 0 (2)");
	outer[1] = outer[0];
	inner[1] = foreign;
	REFUSED(iso_stack_create(&op, 2, outer, inner), ISO_EARG, "part 1 has another context");
	inner[1] = short_one;
	REFUSED(iso_stack_create(&op, 2, outer, inner), ISO_EARG, "an operator of 3 values");
	assert_null(op);
	iso_op_free(outer[0]);
	iso_op_free(alone);
	iso_op_free(short_one);
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
