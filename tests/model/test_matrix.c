/* SPDX-License-Identifier: BSD-3-Clause */
/* Model matrix against the dense matrix by plain loops: both ways, whole and by subsets, on both devices; its adjoint; what
   is refused. */
#include "test.h"

#include "model/matrix/matrix.h"

enum { ROWS = 211, COLUMNS = 97, MOST = ROWS * COLUMNS };

/* A matrix with rows that are empty, short and full, the columns of which fall in every third row. */
struct sparse {
	double dense[ROWS][COLUMNS];
	int64_t start[ROWS + 1];
	int32_t at[MOST];
	iso_real w[MOST];
};

static struct sparse *make(void)
{
	struct sparse *s = calloc(1, sizeof *s);
	int64_t n = 0;

	assert_non_null(s);
	for (int i = 0; i < ROWS; i++) {
		s->start[i] = n;
		for (int k = 0; k < COLUMNS; k++) {
			int j = i % 3 == 0 ? COLUMNS - 1 - k : k;

			if (i == 7 || (i != 8 && (i * 31 + j * 17) % 11 > 2)) continue;
			s->at[n] = j;
			s->w[n] = (iso_real)(.25 + (i + 3 * j) % 13);
			s->dense[i][j] = (double)s->w[n++];
		}
	}
	s->start[ROWS] = n;
	return s;
}

static struct iso_matrix matrix(struct sparse *s, int n_sub, enum iso_subset_rule rule)
{
	return (struct iso_matrix){ ROWS, COLUMNS, { s->start, s->at, s->w }, n_sub, rule, 5 };
}

/* Rows of `sub` of y, and what they give back, in the operator's order; `row` is the file's. */
static void check_subset(iso_ctx *ctx, iso_op *op, const struct sparse *s, int sub)
{
	const struct iso_rows r = iso_op_rows(op, sub);
	iso_real x[COLUMNS], y[ROWS], back[ROWS];

	for (int j = 0; j < COLUMNS; j++) x[j] = (iso_real)(1 + j % 7);
	for (int i = 0; i < ROWS; i++) y[i] = (iso_real)(2 - i % 5);
	iso_real *dx = to_device(ctx, COLUMNS, x), *dy = to_device(ctx, ROWS, y);

	OK(iso_adjoint(dx, op, sub, dy));
	iso_real *got = to_host(ctx, COLUMNS, dx);

	for (int j = 0; j < COLUMNS; j++) {
		double want = 0;

		for (int64_t i = r.first; i < r.first + r.n; i++)
			want += s->dense[iso_matrix_file_row(op, i)][j] * (double)y[i];
		NEAR((double)got[j], want, 1e-6 * (1 + fabs(want)));
	}
	free(got);
	OK(iso_ctx_vec(ctx)->upload(ctx, dx, x, sizeof x));
	OK(iso_forward(dy, op, sub, dx));
	OK(iso_ctx_vec(ctx)->download(ctx, back, dy, sizeof back));
	for (int64_t i = 0; i < ROWS; i++) {
		double want = 0;
		bool in = i >= r.first && i < r.first + r.n;

		for (int j = 0; j < COLUMNS; j++)
			want += s->dense[iso_matrix_file_row(op, i)][j] * (double)x[j];
		NEAR((double)back[i], in ? want : (double)y[i], 1e-6 * (1 + fabs(want)));
	}
	device_free(ctx, dx);
	device_free(ctx, dy);
}

static void products(iso_ctx *ctx)
{
	static const struct {
		int n_sub;
		enum iso_subset_rule rule;
	} ways[] = { { 1, ISO_INTERLEAVED }, { 4, ISO_INTERLEAVED }, { 5, ISO_BLOCKS }, { 3, ISO_RANDOM } };
	struct sparse *s = make();

	for (int k = 0; k < N_OF(ways); k++) {
		struct iso_matrix p = matrix(s, ways[k].n_sub, ways[k].rule);
		iso_op *op = NULL;
		double err;

		OK(iso_matrix_create(&op, ctx, &p));
		for (int sub = ISO_ALL; sub < ways[k].n_sub; sub++) {
			check_subset(ctx, op, s, sub);
			OK(iso_test_adjoint(&err, op, sub, (uint64_t)(9 + sub)));
			BELOW(err, 1e-6);
		}
		iso_op_free(op);
	}
	free(s);
}

static void cpu_products(void **state)
{
	iso_ctx *ctx = cpu(3);

	(void)state;
	products(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_products, products)

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct sparse *s = make();
	struct iso_matrix p = matrix(s, 1, ISO_INTERLEAVED);
	iso_op *op = NULL;

	(void)state;
	p.n_sub = ROWS + 1;
	REFUSED(iso_matrix_create(&op, ctx, &p), ISO_EARG, "212 subsets of 211 rows");
	p.n_sub = 1;
	s->at[12] = COLUMNS;
	REFUSED(iso_matrix_create(&op, ctx, &p), ISO_EARG, "element 12 is in column 97 of 97");
	s->at[12] = 0;
	s->w[3] = -1;
	REFUSED(iso_matrix_create(&op, ctx, &p), ISO_EARG, "element 3 is -1, must be 0 or above");
	s->w[3] = 1;
	s->start[4] = s->start[5] + 1;
	REFUSED(iso_matrix_create(&op, ctx, &p), ISO_EARG, "row 4 ends before it begins");
	assert_null(op);
	free(s);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_products),
		cmocka_unit_test(cuda_products),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
