/* SPDX-License-Identifier: BSD-3-Clause */
/* iso_forward_many and iso_adjoint_many: each image has the bits of a call of its own, in every model setting, batch and number
   of threads; what they refuse; also built in double. */
#include "test.h"

#include "core/philox.h"

enum { N = 12, VOXELS = N * N * N, EVENTS = 700, MOST = 11 };

static const struct iso_grid grid = { { N, N, N }, { 9, 10, 11 }, { 3, 0, -2 } };

static double draw(int64_t i, uint64_t seed)
{
	return (double)philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
}

/* Signed values, of image k about 10^-k. */
static iso_real *some_values(int64_t n, int images, uint64_t seed)
{
	iso_real *v = calloc((size_t)(n * images), sizeof *v);

	assert_non_null(v);
	for (int k = 0; k < images; k++)
		for (int64_t i = 0; i < n; i++)
			v[k * n + i] = (iso_real)(pow(10, -k % 5) * (draw(k * n + i, seed) - .3));
	return v;
}

/* Lines through the image, and one beside it. */
static struct iso_events some_events(void)
{
	struct iso_events e = { .n = EVENTS, .v = calloc(EVENTS, sizeof *e.v) };

	assert_non_null(e.v);
	for (int64_t j = 0; j < e.n; j++) {
		double a = 6.28 * draw(j, 7), b = a + 2 + 2 * draw(j, 8), far = j == 5 ? 1000 : 0;

		e.v[j] = (struct iso_event){
			.p1 = { (float)(120 * cos(a)), (float)(120 * sin(a)),
			        (float)(60 * draw(j, 9) - 30 + far) },
			.p2 = { (float)(120 * cos(b)), (float)(120 * sin(b)),
			        (float)(60 * draw(j, 10) - 30 + far) },
			.dt_ps = (float)(200 * draw(j, 11) - 100),
		};
	}
	return e;
}

/* All images at once and one by one, whole and by subset. */
static void check(iso_op *op, int images)
{
	int64_t rows = iso_op_n_out(op), voxels = iso_op_n_in(op);
	iso_real *x = some_values(voxels, images, 1), *y = some_values(rows, images, 2);
	iso_real *ax = some_values(rows, images, 3), *want = some_values(rows, images, 3);
	iso_real *back = some_values(voxels, images, 4), *one = some_values(voxels, images, 4);

	for (int sub = ISO_ALL; sub < iso_op_n_sub(op); sub++) {
		OK(iso_forward_many(ax, op, sub, images, x));
		OK(iso_adjoint_many(back, op, sub, images, y));
		for (int k = 0; k < images; k++) {
			OK(iso_forward(want + k * rows, op, sub, x + k * voxels));
			OK(iso_adjoint(one + k * voxels, op, sub, y + k * rows));
		}
		assert_memory_equal(ax, want, (size_t)(images * rows) * sizeof *ax);
		assert_memory_equal(back, one, (size_t)(images * voxels) * sizeof *back);
	}
	free(x);
	free(y);
	free(ax);
	free(want);
	free(back);
	free(one);
}

static iso_op *make(iso_ctx *ctx, enum iso_projector projector, double fwhm_ps, int rays, int subsets,
                    const struct iso_events *e)
{
	struct iso_ray p = { .size = sizeof p, .grid = grid, .projector = projector, .n_sub = subsets };
	iso_op *op = NULL;

	p.tof_fwhm_ps = fwhm_ps;
	p.tof_truncate = 3;
	p.rays = rays;
	p.spread_mm[0] = p.spread_mm[1] = 4;
	OK(iso_ray_create(&op, ctx, &p, e));
	return op;
}

static void bits(void **state)
{
	static const struct {
		enum iso_projector projector;
		double fwhm_ps;
		int rays, subsets;
	} settings[] = { { ISO_SLICE, 0, 1, 1 },
		         { ISO_JOSEPH, 0, 1, 3 },
		         { ISO_SLICE, 300, 1, 2 },
		         { ISO_JOSEPH, 300, 1, 1 },
		         { ISO_SLICE, 0, 4, 1 } };
	static const int batches[] = { 1, 3, 8, MOST, 2 };
	struct iso_events e = some_events();

	(void)state;
	for (int threads = 1; threads < 4; threads += 2) {
		iso_ctx *ctx = NULL;

		OK(iso_ctx_create(&ctx, "cpu", threads));
		for (int i = 0; i < N_OF(settings); i++) {
			iso_op *op = make(ctx, settings[i].projector, settings[i].fwhm_ps, settings[i].rays,
			                  settings[i].subsets, &e);

			for (int b = 0; b < N_OF(batches); b++) check(op, batches[b]);
			iso_op_free(op);
		}
		iso_ctx_free(ctx);
	}
	free(e.v);
}

/* Steps of EM and plain projections use the same memory, in any order and for any numbers of images. */
static void beside_steps(void **state)
{
	struct iso_events e = some_events();
	iso_ctx *ctx = NULL;
	iso_real *x = some_values(VOXELS, 5, 1), *y = calloc(5 * (size_t)EVENTS, sizeof *y);
	iso_real *acc = calloc(5 * (size_t)VOXELS, sizeof *acc), *one = calloc(VOXELS, sizeof *one);
	struct iso_em_data none = { 0 }, d = { 0 };
	struct iso_em_stat stat[5], single;

	(void)state;
	OK(iso_ctx_create(&ctx, "cpu", 2));
	iso_op *op = make(ctx, ISO_SLICE, 0, 1, 1, &e);

	for (int64_t i = 0; i < 5 * VOXELS; i++) x[i] = (iso_real)fabs((double)x[i]);
	for (int64_t j = 0; j < 5 * EVENTS; j++) y[j] = (iso_real)(j % 4);
	for (int images = 5; images > 1; images -= 3) {
		check(op, 8);
		OK(iso_op_em_step_many(acc, stat, op, ISO_ALL, images, x, y, &none));
		for (int k = 0; k < images; k++) {
			d.y = y + k * EVENTS;
			OK(iso_op_em_step(one, &single, op, ISO_ALL, x + k * VOXELS, &d));
			assert_memory_equal(acc + k * VOXELS, one, VOXELS * sizeof *one);
		}
	}
	iso_op_free(op);
	iso_ctx_free(ctx);
	free(e.v);
	free(x);
	free(y);
	free(acc);
	free(one);
}

/* Chains pass images on; a diagonal takes them one by one. */
static void chains(void **state)
{
	struct iso_events e = some_events();
	iso_real *d = some_values(VOXELS, 1, 12);
	iso_ctx *ctx = NULL;
	iso_op *diag = NULL, *chain = NULL;

	(void)state;
	OK(iso_ctx_create(&ctx, "cpu", 2));
	iso_op *op = make(ctx, ISO_SLICE, 0, 1, 2, &e);

	OK(iso_diag_create(&diag, ctx, VOXELS, d));
	OK(iso_chain_create(&chain, op, diag));
	check(diag, 3);
	check(chain, 5);
	iso_op_free(chain);
	iso_op_free(diag);
	iso_op_free(op);
	iso_ctx_free(ctx);
	free(e.v);
	free(d);
}

static void refused(void **state)
{
	struct iso_events e = some_events();
	iso_real *x = some_values(VOXELS, 2, 1), *y = some_values(EVENTS, 2, 2);
	iso_ctx *ctx = NULL;

	(void)state;
	OK(iso_ctx_create(&ctx, "cpu", 2));
	iso_op *op = make(ctx, ISO_SLICE, 0, 1, 1, &e);

	REFUSED(iso_forward_many(y, op, ISO_ALL, 0, x), ISO_EARG, "given 0 images, must be at least 1");
	REFUSED(iso_adjoint_many(x, op, 1, 2, y), ISO_EARG, "subset is 1, must be 0 to 0");
	y[EVENTS + 3] = INFINITY;
	REFUSED(iso_adjoint_many(x, op, ISO_ALL, 2, y), ISO_EARG, "a value to back project is not finite");
	iso_op_free(op);
	iso_ctx_free(ctx);
	free(e.v);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits),
		cmocka_unit_test(beside_steps),
		cmocka_unit_test(chains),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
