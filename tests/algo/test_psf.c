/* SPDX-License-Identifier: BSD-3-Clause */
/* The image-space point spread function; also built in double. */
#include "test.h"

#include "core/op.h"

enum { NX = 9, NY = 7, NZ = 5, VOXELS = NX * NY * NZ };

static const struct iso_grid grid = { { NX, NY, NZ }, { 2, 3, 4 }, { 1, -2, 3 } };
static const double fwhm[3] = { 5, 4, 9 };

static iso_op *psf(iso_ctx *ctx, const struct iso_grid *g, const double width[3])
{
	iso_op *op = NULL;

	OK(iso_psf_create(&op, ctx, g, width));
	assert_int_equal(iso_op_n_in(op), iso_grid_voxels(g));
	assert_int_equal(iso_op_n_out(op), iso_grid_voxels(g));
	return op;
}

/* exp(-d^2 / (2 sigma^2)) at d voxels, up to ceil(3 sigma), over its sum. */
static double tap(int axis, int64_t d)
{
	double sigma = fwhm[axis] / (2 * sqrt(2 * log(2))) / grid.voxel[axis], sum = 0;
	int64_t reach = (int64_t)ceil(3 * sigma);

	for (int64_t i = -reach; i <= reach; i++) sum += exp(-.5 * (double)(i * i) / (sigma * sigma));
	return llabs(d) > reach ? 0 : exp(-.5 * (double)(d * d) / (sigma * sigma)) / sum;
}

/* Every column of the matrix: a unit image in, products of three weights out. */
static void check_matrix(iso_ctx *ctx)
{
	iso_op *op = psf(ctx, &grid, fwhm);
	iso_real unit[VOXELS] = { 0 };

	for (int64_t j = 0; j < VOXELS; j += 3) {
		unit[j] = 1;
		iso_real *x = to_device(ctx, VOXELS, unit), *y = to_device(ctx, VOXELS, NULL);

		OK(iso_forward(y, op, ISO_ALL, x));
		iso_real *host = to_host(ctx, VOXELS, y);

		for (int64_t i = 0; i < VOXELS; i++)
			NEAR(host[i],
			     tap(0, i % NX - j % NX) * tap(1, i / NX % NY - j / NX % NY) *
			             tap(2, i / NX / NY - j / NX / NY),
			     TOLERANCE(1e-7, 1e-15));
		free(host);
		device_free(ctx, x);
		device_free(ctx, y);
		unit[j] = 0;
	}
	iso_op_free(op);
}

static void matrix(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_matrix(ctx);
	iso_ctx_free(ctx);
}

static void check_adjoint(iso_ctx *ctx)
{
	static const struct iso_grid flat = { { 40, 30, 1 }, { 2, 2, 2 }, { 0, 0, 0 } };
	static const double widths[][3] = { { 5, 4, 9 }, { 0, 0, 7 }, { 0, 0, 0 }, { 100, 1, 30 } };
	const struct iso_grid *grids[] = { &grid, &flat };

	for (int g = 0; g < 2; g++)
		for (int i = 0; i < N_OF(widths); i++) {
			iso_op *op = psf(ctx, grids[g], widths[i]);
			double err = 1;

			OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
			BELOW(err, TOLERANCE(1e-6, 1e-14));
			iso_op_free(op);
		}
}

static void adjoint(void **state)
{
	iso_ctx *ctx = cpu(3);

	(void)state;
	check_adjoint(ctx);
	iso_ctx_free(ctx);
}

/* em_step through a chain against forward, ratio and adjoint of the chain. */
static void chained_em_step_is_the_plain_pair(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_real d[VOXELS], x[VOXELS], y[VOXELS], fused[VOXELS], plain[VOXELS];
	struct iso_em_data data = { .y = y };
	struct iso_em_stat a, b;
	iso_op *diag = NULL, *inner = psf(ctx, &grid, fwhm), *chain = NULL;

	(void)state;
	for (int i = 0; i < VOXELS; i++) {
		d[i] = (iso_real)(1 + i % 4);
		x[i] = (iso_real)(i % 7);
		y[i] = (iso_real)(i % 5);
	}
	OK(iso_diag_create(&diag, ctx, VOXELS, d));
	OK(iso_chain_create(&chain, diag, inner));
	OK(iso_op_em_step(fused, &a, chain, 0, x, &data));
	OK(iso_em_step_plain(chain, 0, plain, x, &data, &b));
	BELOW(relative_difference(VOXELS, fused, plain), TOLERANCE(1e-6, 1e-14));
	NEAR(a.loglik, b.loglik, 1e-5 * fabs(b.loglik));
	iso_op_free(chain);
	iso_op_free(inner);
	iso_op_free(diag);
	iso_ctx_free(ctx);
}

static void bad_arguments_are_refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_grid none = grid;
	iso_op *op = NULL;

	(void)state;
	none.n[1] = 0;
	REFUSED(iso_psf_create(&op, ctx, &grid, (double[]){ 1, -1, 1 }), ISO_EARG, "along y is -1 mm");
	REFUSED(iso_psf_create(&op, ctx, &grid, (double[]){ NAN, 1, 1 }), ISO_EARG, "along x");
	REFUSED(iso_psf_create(&op, ctx, &none, fwhm), ISO_EARG, "grid");
	assert_null(op);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_matrix, check_matrix)
CUDA_TEST(cuda_adjoint, check_adjoint)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix),
		cmocka_unit_test(adjoint),
		cmocka_unit_test(chained_em_step_is_the_plain_pair),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(cuda_matrix),
		cmocka_unit_test(cuda_adjoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
