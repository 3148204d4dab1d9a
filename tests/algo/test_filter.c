/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters against reference vectors (tests/data/listmode) and plain loops; also built in double,
   for the float64 tolerance. */
#include "test.h"

enum { NX = 16, NY = 12, NZ = 10, VOXELS = NX * NY * NZ };

static const struct iso_grid grid = { { NX, NY, NZ }, { 4, 5, 6 }, { 0, 0, 0 } };

static iso_real *load_image(void)
{
	float *f = test_data(TEST_DATA "/listmode", "image.f32", VOXELS, sizeof *f);
	iso_real *v = calloc(VOXELS, sizeof *v);

	for (int i = 0; i < VOXELS; i++) v[i] = f[i];
	free(f);
	return v;
}

/* Values of both signs, some of them equal. */
static iso_real *noise(const struct iso_grid *g)
{
	int64_t n = iso_grid_voxels(g);
	iso_real *x = calloc((size_t)n, sizeof *x);
	uint32_t s = 12345;

	for (int64_t i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		x[i] = i % 5 ? (iso_real)((int32_t)s / 1e6) : (iso_real)(i % 3 - 1);
	}
	return x;
}

/* The filtered image, on the host. */
static iso_real *filtered(iso_ctx *ctx, const char *text, const struct iso_grid *g, const iso_real *x)
{
	int64_t n = iso_grid_voxels(g);
	iso_real *dx = to_device(ctx, n, x), *dy = to_device(ctx, n, NULL), *y;
	struct iso_filter f;

	OK(iso_filter_parse(&f, text));
	OK(iso_filter_apply(dy, ctx, &f, g, dx));
	y = to_host(ctx, n, dy);
	device_free(ctx, dx);
	device_free(ctx, dy);
	return y;
}

/* ---- plain loops ---- */

static int64_t clamped(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double voxel_at(const struct iso_grid *g, const double *x, const int64_t i[3])
{
	return x[(clamped(i[2], g->n[2]) * g->n[1] + clamped(i[1], g->n[1])) * g->n[0] +
	         clamped(i[0], g->n[0])];
}

static void smooth_axis(double *y, const struct iso_grid *g, int axis, double fwhm, const double *x)
{
	double sigma = fwhm / sqrt(8 * log(2)) / g->voxel[axis];
	int64_t radius = (int64_t)ceil(3 * sigma), n[3] = { g->n[0], g->n[1], g->n[2] };

	for (int64_t v = 0; v < iso_grid_voxels(g); v++) {
		double sum = 0, all = 0;

		for (int64_t k = -radius; k <= radius; k++) {
			int64_t i[3] = { v % n[0], v / n[0] % n[1], v / n[0] / n[1] };
			double w = sigma > 0 ? exp(-(double)(k * k) / (2 * sigma * sigma)) : 1;

			i[axis] += k;
			sum += w * voxel_at(g, x, i);
			all += w;
		}
		y[v] = sum / all;
	}
}

/* Largest difference from the plain Gaussian, over the largest value. */
static double gaussian_error(const struct iso_grid *g, const double fwhm[3], const iso_real *x,
                             const iso_real *got)
{
	int64_t n = iso_grid_voxels(g);
	double *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b);
	double worst = 0, top = 0;

	for (int64_t i = 0; i < n; i++) a[i] = x[i];
	for (int axis = 0; axis < 3; axis++) {
		smooth_axis(b, g, axis, fwhm[axis], a);
		memcpy(a, b, (size_t)n * sizeof *a);
	}
	for (int64_t i = 0; i < n; i++) {
		worst = fabs(got[i] - a[i]) > worst ? fabs(got[i] - a[i]) : worst;
		top = fabs((double)x[i]) > top ? fabs((double)x[i]) : top;
	}
	free(a);
	free(b);
	return worst / top;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double plain_median(const struct iso_grid *g, const double *x, int64_t v, int size)
{
	double window[9 * 9 * 9];
	int n = 0, h = size / 2;

	for (int dz = -h; dz <= h; dz++)
		for (int dy = -h; dy <= h; dy++)
			for (int dx = -h; dx <= h; dx++) {
				int64_t i[3] = { v % g->n[0] + dx, v / g->n[0] % g->n[1] + dy,
					         v / g->n[0] / g->n[1] + dz };

				window[n++] = voxel_at(g, x, i);
			}
	qsort(window, (size_t)n, sizeof *window, by_value);
	return window[n / 2];
}

/* ---- checks for either device ---- */

static void check_vectors(iso_ctx *ctx)
{
	iso_real *x = load_image(), *median = filtered(ctx, "median:3", &grid, x);
	iso_real *gauss = filtered(ctx, "gaussian:9", &grid, x);
	double *ref = test_data(TEST_DATA "/listmode", "median3.f64", VOXELS, sizeof *ref);
	double *smooth = test_data(TEST_DATA "/listmode", "gauss9mm.f64", VOXELS, sizeof *smooth), top = 0;

	for (int i = 0; i < VOXELS; i++) top = smooth[i] > top ? smooth[i] : top;
	for (int i = 0; i < VOXELS; i++) {
		assert_true(median[i] == ref[i]);
		NEAR(gauss[i], smooth[i], TOLERANCE(2e-6, 1e-9) * top);
	}
	free(x);
	free(median);
	free(gauss);
	free(ref);
	free(smooth);
}

/* Axes of one voxel, kernels wider than the image, FWHM per axis, rows that end inside a block. */
static void check_gaussian(iso_ctx *ctx)
{
	static const struct iso_grid grids[] = {
		{ { 37, 5, 3 }, { 2, 3, 1 }, { 0 } },
		{ { 1, 1, 1 }, { 1, 1, 1 }, { 0 } },
		{ { 1, 9, 1 }, { 1, 2, 1 }, { 0 } },
		{ { 2, 1, 40 }, { .5, 1, 3 }, { 0 } },
	};
	static const double fwhm[][3] = { { 5, 0, 0 },          { 0, 5, 0 },       { 0, 0, 5 }, { 4, 6, 9 },
		                          { 1e-3, 1e-3, 1e-3 }, { 300, 200, 100 }, { 0, 0, 0 } };

	for (int i = 0; i < N_OF(grids); i++)
		for (int k = 0; k < N_OF(fwhm); k++) {
			char text[96];
			iso_real *x = noise(&grids[i]), *y;

			snprintf(text, sizeof text, "gaussian:%g,%g,%g", fwhm[k][0], fwhm[k][1], fwhm[k][2]);
			y = filtered(ctx, text, &grids[i], x);
			NEAR(gaussian_error(&grids[i], fwhm[k], x, y), 0, TOLERANCE(5e-7, 1e-13));
			free(x);
			free(y);
		}
}

static void check_median(iso_ctx *ctx)
{
	static const struct iso_grid grids[] = {
		{ { 35, 6, 4 }, { 1, 1, 1 }, { 0 } },
		{ { 1, 1, 1 }, { 1, 1, 1 }, { 0 } },
		{ { 3, 1, 11 }, { 1, 1, 1 }, { 0 } },
	};

	for (int i = 0; i < N_OF(grids); i++)
		for (int size = 3; size <= 9; size += 2) {
			int64_t n = iso_grid_voxels(&grids[i]);
			char text[16];
			iso_real *x = noise(&grids[i]), *y;
			double *plain = calloc((size_t)n, sizeof *plain);

			snprintf(text, sizeof text, "median:%d", size);
			y = filtered(ctx, text, &grids[i], x);
			for (int64_t v = 0; v < n; v++) plain[v] = x[v];
			for (int64_t v = 0; v < n; v++)
				assert_true(y[v] == plain_median(&grids[i], plain, v, size));
			free(plain);
			free(x);
			free(y);
		}
}

/* A Gaussian and a median leave a constant as it is, however small or large. */
static void check_constants(iso_ctx *ctx)
{
	static const iso_real values[] = { 0, -3, (iso_real)1e-40, (iso_real)1e30, (iso_real)-1e30 };
	iso_real x[VOXELS];

	for (int k = 0; k < N_OF(values); k++) {
		for (int i = 0; i < VOXELS; i++) x[i] = values[k];
		iso_real *m = filtered(ctx, "median:5", &grid, x);
		iso_real *g = filtered(ctx, "gaussian:20", &grid, x);

		for (int i = 0; i < VOXELS; i++) {
			assert_true(m[i] == values[k]);
			NEAR(g[i], values[k], 1e-6 * fabs((double)values[k]));
		}
		free(m);
		free(g);
	}
}

/* ---- CPU ---- */

static void on_cpu(void (*check)(iso_ctx *))
{
	for (int threads = 1; threads <= 3; threads += 2) {
		iso_ctx *ctx = cpu(threads);

		check(ctx);
		iso_ctx_free(ctx);
	}
}

#define CPU_TEST(name, check)          \
	static void name(void **state) \
	{                              \
		(void)state;           \
		on_cpu(check);         \
	}

CPU_TEST(vectors, check_vectors)
CPU_TEST(gaussian, check_gaussian)
CPU_TEST(median, check_median)
CPU_TEST(constants, check_constants)

/* FWHM of one voxel: sigma = 1/sqrt(8 ln 2), so w(1)/w(0) = exp(-4 ln 2) = 1/16 and, with
   R = ceil(1.27) = 2, w(2)/w(0) = 1/16^4. */
static void kernel_by_hand(void **state)
{
	const struct iso_grid line = { { 7, 1, 1 }, { 3, 1, 1 }, { 0 } };
	iso_real x[7] = { 0, 0, 0, 1, 0, 0, 0 };
	double sum = 1 + 2. / 16 + 2. / 65536;
	iso_ctx *ctx = cpu(1);
	iso_real *y = filtered(ctx, "gaussian:3,0,0", &line, x);

	(void)state;
	assert_true(y[0] == 0 && y[6] == 0);
	NEAR(y[1], 1 / 65536. / sum, 1e-9);
	NEAR(y[2], 1 / 16. / sum, 1e-8);
	NEAR(y[3], 1 / sum, 1e-7);
	assert_true(y[4] == y[2] && y[5] == y[1]);
	free(y);
	iso_ctx_free(ctx);
}

static void same_bits_for_every_number_of_threads(void **state)
{
	static const char *const text[] = { "gaussian:9", "median:3" };
	iso_real *x = load_image();

	(void)state;
	for (int k = 0; k < N_OF(text); k++) {
		iso_ctx *one = cpu(1), *many = cpu(5);
		iso_real *a = filtered(one, text[k], &grid, x);
		iso_real *b = filtered(many, text[k], &grid, x);

		assert_memory_equal(a, b, VOXELS * sizeof *a);
		free(a);
		free(b);
		iso_ctx_free(one);
		iso_ctx_free(many);
	}
	free(x);
}

static void texts(void **state)
{
	static const char *const bad[] = {
		"",
		"gaussian",
		"gaussian:",
		"gaussian:x",
		"gaussian:1,2",
		"gaussian:1,2,3,4",
		"gaussian:1,,2",
		"gaussian:1,2,",
		"gaussian: 3",
		"gaussian:3mm",
		"gaussian:0x3",
		"gaussian:nan",
		"gaussian:+inf",
		"gauss:3",
		"Gaussian:3",
		"median",
		"median:",
		"median:3,3,3",
		"median:2.5",
		"median:1e99",
		"median:x",
		"bilateral:3",
		":",
		":3",
	};
	struct iso_filter f = { .size = 77 };

	(void)state;
	for (int i = 0; i < N_OF(bad); i++) REFUSED(iso_filter_parse(&f, bad[i]), ISO_EARG, "gaussian:MM");
	REFUSED(iso_filter_parse(&f, "median:4"), ISO_EARG, "size is 4, must be 3, 5, 7 or 9");
	REFUSED(iso_filter_parse(&f, "median:1"), ISO_EARG, "size is 1");
	REFUSED(iso_filter_parse(&f, "median:11"), ISO_EARG, "size is 11");
	REFUSED(iso_filter_parse(&f, "median:-3"), ISO_EARG, "size is -3");
	REFUSED(iso_filter_parse(&f, "gaussian:-1"), ISO_EARG, "FWHM along x is -1 mm");
	REFUSED(iso_filter_parse(&f, "gaussian:1,2,1e99"), ISO_EARG, "FWHM along z is 1e+99");
	assert_int_equal(f.size, 77);
	OK(iso_filter_parse(&f, "gaussian:4.5"));
	assert_true(f.kind == ISO_GAUSSIAN && f.fwhm[0] == 4.5 && f.fwhm[2] == 4.5);
	OK(iso_filter_parse(&f, "gaussian:1,0,2.5e1"));
	assert_true(f.fwhm[0] == 1 && f.fwhm[1] == 0 && f.fwhm[2] == 25);
	OK(iso_filter_parse(&f, "median:7"));
	assert_true(f.kind == ISO_MEDIAN && f.size == 7);
}

static void bad_arguments_are_refused(void **state)
{
	struct iso_filter median4 = { .kind = ISO_MEDIAN, .size = 4 };
	struct iso_filter nan = { .kind = ISO_GAUSSIAN, .fwhm = { 1, NAN, 1 } };
	struct iso_filter good = { .kind = ISO_GAUSSIAN, .fwhm = { 5, 5, 5 } };
	struct iso_grid empty = grid, tiny = grid;
	iso_real *x = load_image(), *y = calloc(VOXELS, sizeof *y);
	iso_ctx *ctx = cpu(1);

	(void)state;
	empty.n[1] = 0;
	tiny.voxel[2] = 1e-7;
	REFUSED(iso_filter_apply(y, ctx, &median4, &grid, x), ISO_EARG, "size is 4");
	REFUSED(iso_filter_apply(y, ctx, &nan, &grid, x), ISO_EARG, "FWHM along y is nan");
	REFUSED(iso_filter_apply(y, ctx, &good, &empty, x), ISO_EARG, "size y is 0");
	REFUSED(iso_filter_apply(y, ctx, &good, &tiny, x), ISO_EARG, "too many voxels");
	REFUSED(iso_filter_apply(x, ctx, &good, &grid, x), ISO_EARG, "the same array");
	iso_ctx_cancel(ctx);
	REFUSED(iso_filter_apply(y, ctx, &good, &grid, x), ISO_ECANCEL, "");
	free(x);
	free(y);
	iso_ctx_free(ctx);
}

/* The plan names what the threads take: for a plane of 100 x 200 voxels, at least that plane. */
static void plan(void **state)
{
	const struct iso_grid g = { { 100, 200, 3 }, { 1, 1, 1 }, { 0 } };
	struct iso_plan p = { 0 };
	struct iso_filter f;
	iso_ctx *ctx = cpu(2);

	(void)state;
	OK(iso_filter_parse(&f, "gaussian:3"));
	iso_filter_plan(&p, ctx, &f, &g);
	assert_int_equal(iso_plan_size(&p), 1);
	assert_in_range(iso_plan_line(&p, 0).host, 2 * 20000 * sizeof(iso_real),
	                4 * 20000 * sizeof(iso_real));
	assert_int_equal(iso_plan_line(&p, 0).device, 0);
	OK(iso_filter_parse(&f, "median:3"));
	iso_filter_plan(&p, ctx, &f, &g);
	assert_in_range(iso_plan_line(&p, 1).host, 2 * 9 * 102 * sizeof(iso_real),
	                2 * 9 * 150 * sizeof(iso_real));
	iso_plan_free(&p);
	iso_ctx_free(ctx);
}

/* ---- CUDA ---- */

#ifndef ISO_DOUBLE
CUDA_TEST(cuda_vectors, check_vectors)
CUDA_TEST(cuda_gaussian, check_gaussian)
CUDA_TEST(cuda_median, check_median)
CUDA_TEST(cuda_constants, check_constants)

/* More voxels than a launch has threads. */
static void cuda_image_is_the_cpu_image(void **state)
{
	static const char *const text[] = { "gaussian:4,7,3", "median:3", "median:5" };
	static const double tolerance[] = { 1e-6, 0, 0 };
	const struct iso_grid g = { { 131, 70, 67 }, { 1, 2, 3 }, { 0 } };
	iso_ctx *ctx = cuda_or_skip(), *host = cpu(0);
	iso_real *x = noise(&g);

	(void)state;
	for (int k = 0; k < N_OF(text); k++) {
		iso_real *a = filtered(ctx, text[k], &g, x), *b = filtered(host, text[k], &g, x);

		for (int64_t i = 0; i < iso_grid_voxels(&g); i++)
			NEAR(a[i], b[i], tolerance[k] * 2200); /* |x| < 2148 */
		free(a);
		free(b);
	}
	free(x);
	iso_ctx_free(ctx);
	iso_ctx_free(host);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(gaussian),
		cmocka_unit_test(median),
		cmocka_unit_test(constants),
		cmocka_unit_test(kernel_by_hand),
		cmocka_unit_test(same_bits_for_every_number_of_threads),
		cmocka_unit_test(texts),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(plan),
#ifndef ISO_DOUBLE
		cmocka_unit_test(cuda_vectors),
		cmocka_unit_test(cuda_gaussian),
		cmocka_unit_test(cuda_median),
		cmocka_unit_test(cuda_constants),
		cmocka_unit_test(cuda_image_is_the_cpu_image),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
