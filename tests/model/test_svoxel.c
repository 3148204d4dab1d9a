/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel against reference vectors of an independent float64 program (tests/data/oat/sph) and
   against its own direct sums; also built in double, for its float64 tolerances. */
#include "test.h"
#include "oat_vectors.h"

enum { NX = 14, NY = 12, NZ = 16, VOXELS = NX * NY * NZ, TRANS = 3, LINES = 64 };

/* The vectors are in alpha = (6/pi) A. */
static const double to_energy = M_PI / 6;

static struct iso_transducers transducers(void)
{
	struct iso_transducers t = {
		.n = TRANS,
		.speed = 1.54,
		.dt_us = .1,
		.samples = 200,
		.gamma = 2000,
		.radius = 1,
		.pos = vector("sph/transducers", 3 * TRANS),
		.normal = vector("sph/normals", 3 * TRANS),
		.ex = calloc(3 * TRANS, sizeof(double)),
		.ey = calloc(3 * TRANS, sizeof(double)),
		.aperture = calloc(2 * TRANS, sizeof(double)),
	};

	for (int q = 0; q < TRANS; q++) {
		iso_transducer_frame(t.ex + 3 * q, t.ey + 3 * q, t.normal + 3 * q);
		t.aperture[2 * q] = 2;
		t.aperture[2 * q + 1] = 1.5;
	}
	return t;
}

static struct iso_svoxel sph(const struct iso_transducers *t, enum iso_sir sir,
                             enum iso_svoxel_transform transform)
{
	return (struct iso_svoxel){ .size = sizeof(struct iso_svoxel),
		                    .t = t,
		                    .grid = cubes(NX, NY, NZ, .2, -1.4, -1.2, -1.5),
		                    .first_line = 1,
		                    .lines = LINES,
		                    .df_mhz = .078125,
		                    .sir = sir,
		                    .transform = transform };
}

/* Forward and adjoint of one way to do it; NULL: there is no reference. */
struct way {
	enum iso_sir sir;
	enum iso_svoxel_transform transform;
	int width;
	const char *forward, *adjoint;
	double tolerance; /* of the vectors */
	double transpose; /* of the adjoint test */
};

/* On CUDA the impulses of a rectangle are whole numbers of 22 bits, which all but cancel near its axis. */
static double transpose_limit(const iso_ctx *ctx, const struct way *w, double accuracy)
{
	return iso_ctx_is_cuda(ctx) && w->sir == ISO_SIR_RECT && accuracy > 0 ? 2e-6 : w->transpose;
}

static void against_vectors(iso_ctx *ctx, const struct way *w, double accuracy)
{
	struct iso_transducers t = transducers();
	double *eir = vector("sph/he_f", 2 * LINES);
	struct iso_svoxel p = sph(&t, w->sir, w->transform);
	iso_real *x = scaled_vector("sph/alpha", VOXELS, to_energy);
	iso_real *u = scaled_vector(w->forward, 2 * TRANS * LINES, 1);
	iso_real *v = scaled_vector("sph/v_in", 2 * TRANS * LINES, 1);
	iso_op *op = NULL;
	double err;

	p.eir = eir;
	p.width = w->width;
	p.accuracy = accuracy;
	OK(iso_svoxel_create(&op, ctx, &p));
	BELOW(compare(op, false, x, u), w->tolerance);
	if (w->adjoint) {
		iso_real *back = scaled_vector(w->adjoint, VOXELS, 1 / to_energy);

		BELOW(compare(op, true, v, back), w->tolerance);
		free(back);
	}
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, transpose_limit(ctx, w, accuracy));
	iso_op_free(op);
	iso_transducers_free(&t);
	free(eir);
	free(x);
	free(u);
	free(v);
}

static const struct way direct_ways[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_DIRECT, 0, "sph/u_point", "sph/adj_point", TOLERANCE(5e-5, 1e-11),
	  TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_DIRECT, 0, "sph/u_far", "sph/adj_far", TOLERANCE(5e-5, 1e-11),
	  TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_DIRECT, 0, "sph/u_near", NULL, TOLERANCE(5e-5, 1e-8),
	  TOLERANCE(1e-6, 1e-12) },
};

static const struct way fast_ways[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 0, "sph/u_point", "sph/adj_point", TOLERANCE(5e-6, 3e-6),
	  TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 4, "sph/u_point", "sph/adj_point", 2e-3, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 8, "sph/u_point", "sph/adj_point", TOLERANCE(5e-6, 3e-7),
	  TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 7, "sph/u_far", "sph/adj_far", TOLERANCE(1e-4, 5e-5),
	  TOLERANCE(1e-5, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 8, "sph/u_far", "sph/adj_far", TOLERANCE(5e-5, 5e-6),
	  TOLERANCE(1e-5, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_NUFFT, 0, "sph/u_near", NULL, TOLERANCE(5e-6, 3e-6),
	  TOLERANCE(1e-6, 1e-12) },
};

/* With the accuracy that is their tolerance. */
static const struct way accurate_ways[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 0, "sph/u_point", "sph/adj_point", 1e-3, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 0, "sph/u_far", "sph/adj_far", 1e-3, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_NUFFT, 0, "sph/u_near", NULL, 1e-3, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 0, "sph/u_point", "sph/adj_point", 2e-2, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 0, "sph/u_far", "sph/adj_far", 2e-2, TOLERANCE(1e-6, 1e-12) },
};

static void direct_sums(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < N_OF(direct_ways); i++) against_vectors(ctx, &direct_ways[i], 0);
	iso_ctx_free(ctx);
}

static void check_fast(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(fast_ways); i++) against_vectors(ctx, &fast_ways[i], 0);
}

static void fast(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_fast(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_fast, check_fast)

static void check_accurate(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(accurate_ways); i++)
		against_vectors(ctx, &accurate_ways[i], accurate_ways[i].tolerance);
}

static void accurate(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_accurate(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_accurate, check_accurate)

/* Without a response of the array, the model's own factor: p0 of the vectors. */
static void without_response(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_transducers t = transducers();
	struct iso_svoxel p = sph(&t, ISO_SIR_POINT, ISO_SVOXEL_DIRECT);
	iso_real *x = scaled_vector("sph/alpha", VOXELS, to_energy);
	iso_real *u = scaled_vector("sph/u_point_noeir", 2 * TRANS * LINES, 1);
	iso_op *op = NULL;

	(void)state;
	OK(iso_svoxel_create(&op, ctx, &p));
	BELOW(compare(op, false, x, u), TOLERANCE(5e-5, 1e-11));
	iso_op_free(op);
	/* and with one that halves, and comes a sample late: every line turns back by 2 pi f dt */
	t.n_eir = 2;
	t.eir = calloc(2, sizeof *t.eir);
	t.eir[1] = .5;
	for (int i = 0; i < TRANS * LINES; i++) {
		double turn = 2 * M_PI * (double)(p.first_line + i % LINES) * p.df_mhz * t.dt_us;
		double re = u[2 * i], im = u[2 * i + 1];

		u[2 * i] = (iso_real)(.5 * (re * cos(turn) + im * sin(turn)));
		u[2 * i + 1] = (iso_real)(.5 * (im * cos(turn) - re * sin(turn)));
	}
	OK(iso_svoxel_create(&op, ctx, &p));
	BELOW(compare(op, false, x, u), TOLERANCE(5e-5, 1e-11));
	iso_op_free(op);
	iso_transducers_free(&t);
	free(x);
	free(u);
	iso_ctx_free(ctx);
}

/* The paper's record: 511 lines in (0, 5] MHz, the last at 5. */
static void lines(void **state)
{
	struct iso_transducers t = transducers();
	struct iso_svoxel p = { .size = sizeof p, .t = &t };

	(void)state;
	t.dt_us = .05;
	t.samples = 1022;
	OK(iso_svoxel_lines(&p, 0));
	assert_int_equal(p.first_line, 1);
	assert_int_equal(p.lines, 511);
	NEAR((double)p.lines * p.df_mhz, 5, 1e-12);
	OK(iso_svoxel_lines(&p, 99)); /* half the sampling rate */
	assert_int_equal(p.lines, 1022);
	REFUSED(iso_svoxel_lines(&p, .001), ISO_EARG, "no line up to 0.001 MHz");
	iso_transducers_free(&t);
}

/* ---- lines anywhere ---- */

/* Lines at (start + l STRIDE) df/STRIDE are every STRIDE-th of those df/STRIDE apart, which need no
   offset. */
enum { STRIDE = 3, FEW = 20 };

static iso_real *spectrum_of(iso_ctx *ctx, const struct iso_svoxel *p, const iso_real *x, double *err)
{
	iso_op *op = NULL;

	OK(iso_svoxel_create(&op, ctx, p));
	int64_t n = iso_op_n_out(op);
	iso_real *device = to_device(ctx, VOXELS, x), *u = to_device(ctx, n, NULL);

	OK(iso_forward(u, op, ISO_ALL, device));
	iso_real *host = to_host(ctx, n, u);

	OK(iso_test_adjoint(err, op, ISO_ALL, 1));
	device_free(ctx, device);
	device_free(ctx, u);
	iso_op_free(op);
	return host;
}

static void beside_multiples(iso_ctx *ctx, const struct way *w, int start)
{
	struct iso_transducers t = transducers();
	struct iso_svoxel fine = sph(&t, w->sir, w->transform), p = fine;
	iso_real *x = scaled_vector("sph/alpha", VOXELS, to_energy);
	iso_real want[2 * TRANS * FEW];
	double df = p.df_mhz, err;

	p.width = fine.width = w->width;
	OK(iso_svoxel_lines_at(&fine, start * df / STRIDE, df / STRIDE, STRIDE * FEW));
	assert_int_equal(fine.first_line, start);
	NEAR(fine.offset_mhz, 0, 0);
	OK(iso_svoxel_lines_at(&p, start * df / STRIDE, df, FEW));
	assert_int_equal(p.first_line, start / STRIDE);
	assert_int_equal(p.offset_mhz > 0, start % STRIDE > 0);
	NEAR(iso_svoxel_line_mhz(&p, 2), (start + 2 * STRIDE) * df / STRIDE, 1e-12);
	iso_real *u = spectrum_of(ctx, &fine, x, &err);

	for (int i = 0; i < TRANS * FEW; i++)
		for (int c = 0; c < 2; c++) want[2 * i + c] = u[2 * STRIDE * i + c];
	free(u);
	u = spectrum_of(ctx, &p, x, &err);
	BELOW(relative_difference(2 * TRANS * FEW, u, want), w->tolerance);
	BELOW(err, w->transpose);
	free(u);
	free(x);
	iso_transducers_free(&t);
}

static const struct way direct_beside[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_DIRECT, 0, NULL, NULL, TOLERANCE(1e-6, 1e-11), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_DIRECT, 0, NULL, NULL, TOLERANCE(1e-6, 1e-11), TOLERANCE(1e-6, 1e-12) },
};

static const struct way fast_beside[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 0, NULL, NULL, TOLERANCE(5e-6, 5e-6), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 8, NULL, NULL, TOLERANCE(5e-6, 1e-6), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 8, NULL, NULL, TOLERANCE(1e-4, 5e-5), TOLERANCE(1e-5, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_NUFFT, 0, NULL, NULL, TOLERANCE(5e-6, 5e-6), TOLERANCE(1e-6, 1e-12) },
};

/* From below the first multiple of df, beside others, and on one. */
static void check_beside(iso_ctx *ctx, const struct way *w)
{
	static const int starts[] = { 1, 4, 38, 6 };

	for (int i = 0; i < (w->sir == ISO_SIR_NEAR ? 1 : N_OF(starts)); i++)
		beside_multiples(ctx, w, starts[i]);
}

static void check_fast_beside(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(fast_beside); i++) check_beside(ctx, &fast_beside[i]);
}

static void lines_beside_multiples(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < N_OF(direct_beside); i++) check_beside(ctx, &direct_beside[i]);
	check_fast_beside(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_lines_beside_multiples, check_fast_beside)

/* Periods far shorter than the delays: 1/df of 0.4 us, delays of 7 us and more, against the direct sum. */
static void check_short_periods(iso_ctx *ctx)
{
	struct iso_transducers t = transducers();
	struct iso_svoxel p = sph(&t, ISO_SIR_POINT, ISO_SVOXEL_NUFFT);
	iso_real *x = scaled_vector("sph/alpha", VOXELS, to_energy);
	iso_ctx *host = cpu(2);
	double err;

	OK(iso_svoxel_lines_at(&p, .613, 2.47, 2));
	iso_real *fast = spectrum_of(ctx, &p, x, &err);

	BELOW(err, TOLERANCE(1e-6, 1e-12));
	p.transform = ISO_SVOXEL_DIRECT;
	iso_real *want = spectrum_of(host, &p, x, &err);

	BELOW(relative_difference(2 * TRANS * 2, fast, want), 5e-6);
	free(fast);
	free(want);
	free(x);
	iso_transducers_free(&t);
	iso_ctx_free(host);
}

static void short_periods(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_short_periods(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_short_periods, check_short_periods)

/* An impulse at sample 3 has the spectrum dt exp(-j 2 pi f t), t after the laser pulse. */
static void spectra(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_transducers t = transducers();
	struct iso_svoxel p = { .size = sizeof p, .t = &t };
	iso_real *y = calloc((size_t)(t.n * t.samples), sizeof *y);

	(void)state;
	t.first_us = 17.5;
	OK(iso_svoxel_lines(&p, 2));
	iso_real *u = calloc((size_t)(2 * t.n * p.lines), sizeof *u);

	y[t.samples + 3] = 2;
	OK(iso_svoxel_spectra(u, ctx, &p, y));
	for (int64_t l = 0; l < p.lines; l++) {
		double a = 2 * M_PI * (double)(1 + l) * p.df_mhz * (17.5 + 3 * t.dt_us);

		NEAR(u[2 * l], 0, 0);
		NEAR(u[2 * (p.lines + l)], 2 * t.dt_us * cos(a), TOLERANCE(1e-7, 1e-12));
		NEAR(u[2 * (p.lines + l) + 1], -2 * t.dt_us * sin(a), TOLERANCE(1e-7, 1e-12));
	}
	free(y);
	free(u);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

/* The whole matrix on a few voxels: columns by forward, rows by adjoint. */
static void matrix(void **state)
{
	enum { SIDE = 3, N = SIDE * SIDE * SIDE, ROWS = 2 * TRANS * 5 };
	iso_ctx *ctx = cpu(1);
	struct iso_transducers t = transducers();
	struct iso_svoxel p = sph(&t, ISO_SIR_RECT, ISO_SVOXEL_NUFFT);
	iso_real x[N] = { 0 }, y[ROWS] = { 0 }, column[ROWS], row[N];
	iso_op *op = NULL;

	(void)state;
	p.grid = cubes(SIDE, SIDE, SIDE, .2, -.1, .3, 0);
	p.first_line = 40;
	p.lines = 5;
	OK(iso_svoxel_create(&op, ctx, &p));
	for (int j = 0; j < ROWS; j += 7) {
		y[j] = 1;
		OK(iso_adjoint(row, op, ISO_ALL, y));
		y[j] = 0;
		for (int n = 0; n < N; n++) {
			x[n] = 1;
			OK(iso_forward(column, op, ISO_ALL, x));
			x[n] = 0;
			NEAR(row[n], column[j], TOLERANCE(1e-5, 1e-12) * fabs(column[j]) + 1e-6);
		}
	}
	iso_op_free(op);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_transducers t = transducers();
	struct iso_svoxel good = sph(&t, ISO_SIR_RECT, ISO_SVOXEL_NUFFT), p = good;
	iso_op *op = NULL;

	(void)state;
	p.grid.voxel[2] = .3;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "must be cubes");
	p = good;
	p.grid.centre[0] = t.pos[0];
	p.grid.centre[1] = t.pos[1];
	p.grid.centre[2] = t.pos[2];
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EINPUT, "transducer 0");
	p = good;
	p.grid.centre[1] = 1e20;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "1e+20 mm from the origin");
	p = good;
	p.sir = ISO_SIR_NEAR; /* the first transducer's edge is in the image, its middle is not */
	p.grid.centre[0] = t.pos[0] + NX * .1 + t.aperture[0] / 4;
	p.grid.centre[1] = t.pos[1];
	p.grid.centre[2] = t.pos[2];
	for (int a = 0; a < 3; a++) t.ex[a] = a == 0;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EINPUT, "lies in the image");
	p = good;
	p.lines = 0;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "0 lines");
	p = good;
	p.offset_mhz = p.df_mhz;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "beside multiples");
	REFUSED(iso_svoxel_lines_at(&p, -1, 1, 3), ISO_EARG, "3 lines from -1 MHz on");
	REFUSED(iso_svoxel_lines_at(&p, 1, 0, 3), ISO_EARG, "0 MHz apart");
	p = good;
	p.width = 1;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "width is 1");
	p = good;
	p.df_mhz = 1e9;
	REFUSED(iso_svoxel_create(&op, ctx, &p), ISO_EARG, "do not suit this distance");
	t.ey[4] += 1;
	REFUSED(iso_svoxel_create(&op, ctx, &good), ISO_EINPUT, "axes of transducer 1 must have length 1");
	free(t.aperture);
	t.aperture = NULL;
	REFUSED(iso_svoxel_create(&op, ctx, &good), ISO_EARG, "no aperture_mm");
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_sums),
		cmocka_unit_test(fast),
		cmocka_unit_test(accurate),
		cmocka_unit_test(without_response),
		cmocka_unit_test(lines),
		cmocka_unit_test(lines_beside_multiples),
		cmocka_unit_test(cuda_lines_beside_multiples),
		cmocka_unit_test(short_periods),
		cmocka_unit_test(cuda_short_periods),
		cmocka_unit_test(spectra),
		cmocka_unit_test(matrix),
		cmocka_unit_test(refusals),
		cmocka_unit_test(cuda_fast),
		cmocka_unit_test(cuda_accurate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
