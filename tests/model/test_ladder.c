/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks: tiles against the reference vector, every step of the ladder against the model, voxels
   counted by hand. */
#include "test.h"

#include "bench/limits.h"
#include "bench/ladder.h"
#include "bench/ray_tile.h"

#define EVENTS 3000
#define ITERATIONS 2

static const struct iso_grid grid = { { 16, 12, 10 }, { 4, 5, 6 }, { 1, -2, 3 } };

/* Uniform in -1..1, the same on every machine. */
static float draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) * 0x1p-23f - 1;
}

/* Segments through and past the image; the last two are no lines at all. */
static struct iso_events make_events(void)
{
	struct iso_events e = { .n = EVENTS, .v = calloc(EVENTS, sizeof *e.v) };
	uint32_t state = 1;

	assert_non_null(e.v);
	for (int64_t j = 0; j < e.n; j++)
		for (int a = 0; a < 3; a++) {
			e.v[j].p1[a] = 60 * draw(&state);
			e.v[j].p2[a] = 60 * draw(&state);
		}
	memcpy(e.v[EVENTS - 2].p2, e.v[EVENTS - 2].p1, sizeof e.v[0].p1);
	e.v[EVENTS - 1].p1[1] = NAN;
	return e;
}

static iso_real *ones(int64_t n)
{
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	for (int64_t i = 0; i < n; i++) x[i] = 1;
	return x;
}

/* x = acc, the update with a sensitivity of 1, by the model itself. */
static iso_real *model_image(iso_ctx *ctx, const struct iso_events *e)
{
	const struct iso_ray ray = { .size = sizeof ray, .grid = grid, .n_sub = 1 };
	int64_t n = iso_grid_voxels(&grid);
	iso_real *host = ones(n), *x = to_device(ctx, n, host), *acc = to_device(ctx, n, NULL);
	struct iso_em_stat stat;
	iso_op *op = NULL;

	free(host);
	OK(iso_ray_create(&op, ctx, &ray, e));
	for (int it = 0; it < ITERATIONS; it++) {
		OK(iso_op_em_step(acc, &stat, op, 0, x, &(struct iso_em_data){ 0 }));
		OK(iso_ctx_vec(ctx)->copy(ctx, n, x, acc));
	}
	host = to_host(ctx, n, x);
	iso_op_free(op);
	device_free(ctx, x);
	device_free(ctx, acc);
	return host;
}

static void check_step(iso_ctx *ctx, enum iso_ladder_step step, bool wide)
{
	const struct iso_ladder p = { grid, step, wide, ITERATIONS };
	int64_t n = iso_grid_voxels(&grid);
	struct iso_events e = make_events();
	struct iso_ladder_time time;
	iso_real *x = ones(n), *want = model_image(ctx, &e);
	double error;

	OK(iso_ladder_run(x, &time, ctx, &p, &e));
	assert_true(time.iterations_s > 0 && time.total_s >= time.iterations_s);
	error = relative_difference(n, x, want);
	if (!(error < 1e-4)) {
		print_error("%s, %s: differs by %g\n", iso_ladder_name(step), wide ? "float64" : "float32",
		            error);
		fail();
	}
	free(x);
	free(want);
	iso_events_free(&e);
}

static void tiles(void **state)
{
	const int64_t n[3] = { 16, 12, 10 };
	struct ray_tiles t = ray_tiles(n);
	int32_t want[16 * 12 * 10];
	FILE *f = fopen(TEST_DATA "/listmode/tile4_index.i32", "rb");

	(void)state;
	assert_non_null(f);
	assert_int_equal(fread(want, sizeof *want, N_OF(want), f), N_OF(want));
	fclose(f);
	assert_int_equal(ray_tile_voxels(&t), 16 * 12 * 12);
	for (int i = 0; i < N_OF(want); i++)
		assert_int_equal(ray_tile_index(&t, i % 16, i / 16 % 12, i / 16 / 12), want[i]);
}

static void scalar(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_step(ctx, ISO_LADDER_SCALAR, false);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	struct iso_ladder p = { grid, ISO_LADDER_SCALAR, false, 0 };
	struct iso_events e = make_events();
	struct iso_ladder_time time;
	iso_real x[16 * 12 * 10];
	iso_ctx *ctx = cpu(1);

	(void)state;
	REFUSED(iso_ladder_run(x, &time, ctx, &p, &e), ISO_EARG, "0 iterations");
	p.iterations = 1;
	p.wide = true;
	REFUSED(iso_ladder_run(x, &time, ctx, &p, &e), ISO_EARG, "float32 only");
	p.step = ISO_LADDER_TILES;
	REFUSED(iso_ladder_run(x, &time, ctx, &p, &e), ISO_EARG, "'tiles' does not run on cpu");
	p.grid.n[1] = 0;
	REFUSED(iso_ladder_run(x, &time, ctx, &p, &e), ISO_EARG, "");
	iso_ctx_free(ctx);
	iso_events_free(&e);
}

/* ---- voxels visited: counted by hand ---- */

static void visits(void **state)
{
	struct iso_ray ray = { .size = sizeof ray, .grid = { { 8, 4, 4 }, { 2, 2, 2 }, { 0 } }, .n_sub = 1 };
	const struct iso_event along_x = { { -20, 1, 1 }, { 20, 1, 1 }, 0 };
	const struct iso_event slanted = { { -20, -1, 1 }, { 20, 1.5f, 1 }, 0 };
	const struct iso_event past = { { -20, 9, 1 }, { 20, 9, 1 }, 0 };
	const struct iso_event point = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };

	(void)state;
	NEAR(iso_bench_visits(&ray, &along_x, 1), 8, 0);
	NEAR(iso_bench_visits(&ray, &slanted, 1), 9, 0);
	NEAR(iso_bench_visits(&ray, &past, 1), 0, 0);
	NEAR(iso_bench_visits(&ray, &point, 1), 0, 0);
	NEAR(iso_bench_visits(&ray, (struct iso_event[]){ along_x, past }, 2), 4, 0);
	ray.projector = ISO_JOSEPH;
	NEAR(iso_bench_visits(&ray, &slanted, 1), 4 * 8, 0);
	ray.projector = ISO_SLICE;
	ray.tof_fwhm_ps = 2.3548200450309493 * 2 / 0.299792458; /* sigma 1 mm */
	ray.tof_truncate = 3;
	NEAR(iso_bench_visits(&ray, &along_x, 1), 4, 0); /* x = -3 to 3: voxels 2 to 5 */
}

/* ---- rates of the machine ---- */

static void check_limits(iso_ctx *ctx)
{
	struct iso_limits l;

	OK(iso_limits_measure(&l, ctx, 1 << 20));
	assert_true(l.bytes >= 1 << 20 && l.triad > 0);
	assert_true(l.load_8 > 0 && l.add_8 > 0 && l.load_32 > 0 && l.add_32 > 0);
}

static void limits(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_limits(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_limits, check_limits)

static void cuda_steps(void **state)
{
	iso_ctx *ctx = cuda_or_skip();

	(void)state;
	for (int step = ISO_LADDER_BASIC; step < ISO_LADDER_STEPS; step++) {
		check_step(ctx, (enum iso_ladder_step)step, false);
		check_step(ctx, (enum iso_ladder_step)step, true);
	}
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiles),       cmocka_unit_test(scalar), cmocka_unit_test(refusals),
		cmocka_unit_test(visits),      cmocka_unit_test(limits), cmocka_unit_test(cuda_steps),
		cmocka_unit_test(cuda_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
