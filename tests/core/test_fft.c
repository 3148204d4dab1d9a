/* SPDX-License-Identifier: BSD-3-Clause */
/* Real Fourier transforms of rows against the sums that define them; also built in double. */
#include "test.h"

#include "core/fft/fft.h"

enum { ROWS = 3, MOST = 30 };

static iso_real value(int r, int k)
{
	return (iso_real)(sin(1 + 3 * r + .7 * k * k) + .1 * r);
}

/* Line l of row r. */
static void line(double out[2], int n, int r, int l)
{
	out[0] = out[1] = 0;
	for (int k = 0; k < n; k++) {
		out[0] += value(r, k) * cos(2 * M_PI * k * l / n);
		out[1] -= value(r, k) * sin(2 * M_PI * k * l / n);
	}
}

/* Forward by definition, and back to n times the rows; even and odd lengths. */
static void transforms(iso_ctx *ctx)
{
	const int lengths[] = { 2, 16, 30, 15 };
	double tolerance = TOLERANCE(2e-5, 1e-12);

	for (int i = 0; i < N_OF(lengths); i++) {
		int n = lengths[i], lines = n / 2 + 1;
		iso_real x[ROWS * MOST], *dx, *ds, *back, *spectrum;
		struct iso_fft *f = NULL;

		for (int k = 0; k < ROWS * n; k++) x[k] = value(k / n, k % n);
		OK(iso_fft_create(&f, ctx, n, ROWS));
		dx = to_device(ctx, ROWS * n, x);
		ds = to_device(ctx, ROWS * 2 * lines, NULL);
		OK(iso_fft_forward(f, ds, dx));
		spectrum = to_host(ctx, ROWS * 2 * lines, ds);
		for (int l = 0; l < ROWS * lines; l++) {
			double want[2];

			line(want, n, l / lines, l % lines);
			NEAR(spectrum[2 * l], want[0], tolerance);
			NEAR(spectrum[2 * l + 1], want[1], tolerance);
		}
		OK(iso_fft_inverse(f, dx, ds));
		back = to_host(ctx, ROWS * n, dx);
		for (int k = 0; k < ROWS * n; k++) NEAR(back[k] / n, x[k], tolerance);
		iso_fft_free(f);
		device_free(ctx, dx);
		device_free(ctx, ds);
		free(spectrum);
		free(back);
	}
}

/* A host array of doubles on the device of the context. */
static double *doubles_to(iso_ctx *ctx, int64_t n, const double *v)
{
	const struct iso_vec *vec = iso_ctx_vec(ctx);
	void *d = NULL;

	OK(vec->alloc(ctx, &d, n * (int64_t)sizeof *v));
	OK(vec->upload(ctx, d, v, n * (int64_t)sizeof *v));
	return d;
}

/* In double whatever the storage, against the definition. */
static void double_transforms(iso_ctx *ctx)
{
	enum { N = 16, LINES = N / 2 + 1 };
	const struct iso_vec *vec = iso_ctx_vec(ctx);
	double x[ROWS * N], s[2 * ROWS * LINES] = { 0 };
	struct iso_fft *f = NULL;

	for (int k = 0; k < ROWS * N; k++) x[k] = value(k / N, k % N);
	double *dx = doubles_to(ctx, ROWS * N, x), *ds = doubles_to(ctx, 2 * ROWS * LINES, s);

	OK(iso_fft_create_double(&f, ctx, N, ROWS));
	OK(iso_fft_forward(f, ds, dx));
	OK(vec->download(ctx, s, ds, sizeof s));
	for (int l = 0; l < ROWS * LINES; l++) {
		double want[2];

		line(want, N, l / LINES, l % LINES);
		NEAR(s[2 * l], want[0], 1e-13);
		NEAR(s[2 * l + 1], want[1], 1e-13);
	}
	OK(iso_fft_inverse(f, dx, ds));
	OK(vec->download(ctx, x, dx, sizeof x));
	for (int k = 0; k < ROWS * N; k++) NEAR(x[k] / N, value(k / N, k % N), 1e-14);
	iso_fft_free(f);
	vec->free(ctx, dx);
	vec->free(ctx, ds);
}

/* One row of lines into all rows of a spectrum. */
static void products(iso_ctx *ctx)
{
	enum { N = 6, LINES = 4 };
	iso_real s[ROWS * 2 * LINES], w[2 * LINES], *ds, *dw, *got;
	struct iso_fft *f = NULL;

	for (int i = 0; i < ROWS * 2 * LINES; i++) s[i] = value(0, i);
	for (int i = 0; i < 2 * LINES; i++) w[i] = value(1, i);
	OK(iso_fft_create(&f, ctx, N, ROWS));
	ds = to_device(ctx, ROWS * 2 * LINES, s);
	dw = to_device(ctx, 2 * LINES, w);
	OK(iso_fft_multiply(f, ds, dw));
	got = to_host(ctx, ROWS * 2 * LINES, ds);
	for (int i = 0; i < ROWS * LINES; i++) {
		const iso_real *a = s + 2 * i, *b = w + 2 * (i % LINES);

		NEAR(got[2 * i], a[0] * b[0] - a[1] * b[1], 1e-6);
		NEAR(got[2 * i + 1], a[0] * b[1] + a[1] * b[0], 1e-6);
	}
	iso_fft_free(f);
	device_free(ctx, ds);
	device_free(ctx, dw);
	free(got);
}

static void cpu_transforms(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	transforms(ctx);
	double_transforms(ctx);
	products(ctx);
	iso_ctx_free(ctx);
}

/* The square root of the mean square error of a row's lines against their sums, and of the row that comes back,
   relative to the root mean square of either. */
static void check_own(iso_ctx *ctx, int n)
{
	int lines = n / 2 + 1;
	struct iso_fft *f = NULL;
	double *x = calloc((size_t)n, sizeof *x), *s = calloc(2 * (size_t)lines, sizeof *s), wrong = 0,
	       all = 0;

	for (int k = 0; k < n; k++) x[k] = value(0, k);
	OK(iso_fft_create_by(&f, &iso_fft_own_double, ctx, n, 1, true));
	OK(iso_fft_forward(f, s, x));
	for (int l = 0; l < lines; l++) {
		double want[2];

		line(want, n, 0, l);
		wrong += pow(s[2 * l] - want[0], 2) + pow(s[2 * l + 1] - want[1], 2);
		all += pow(want[0], 2) + pow(want[1], 2);
	}
	BELOW(sqrt(wrong / all), 1e-12); /* mostly of the angles of the sums, k l / n turns */
	s[1] = 5;                        /* which a real row does not have */
	if (n % 2 == 0) s[2 * lines - 1] = -3;
	OK(iso_fft_inverse(f, x, s));
	wrong = all = 0;
	for (int k = 0; k < n; k++) {
		wrong += pow(x[k] / n - value(0, k), 2);
		all += pow(value(0, k), 2);
	}
	BELOW(sqrt(wrong / all), 1e-15);
	iso_fft_free(f);
	free(x);
	free(s);
}

/* Every length up to that where all ways of cutting have been gone, and
   some above; rows of floats side by side. */
static void own_transforms(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_fft *f = NULL;
	enum { N = 96, LINES = N / 2 + 1 };
	iso_real x[ROWS * N], s[2 * ROWS * LINES];

	(void)state;
	for (int n = 2; n <= 70; n++) check_own(ctx, n);
	for (int n = 128; n <= 2048; n *= 2) check_own(ctx, n);
	check_own(ctx, 1009);
	check_own(ctx, 1500);
	for (int k = 0; k < ROWS * N; k++) x[k] = value(k / N, k % N);
	OK(iso_fft_create_by(&f, &iso_fft_own, ctx, N, ROWS, false));
	OK(iso_fft_forward(f, s, x));
	for (int l = 0; l < ROWS * LINES; l++) {
		double want[2];

		line(want, N, l / LINES, l % LINES);
		NEAR(s[2 * l], want[0], TOLERANCE(2e-5, 1e-12));
		NEAR(s[2 * l + 1], want[1], TOLERANCE(2e-5, 1e-12));
	}
	OK(iso_fft_inverse(f, x, s));
	for (int k = 0; k < ROWS * N; k++) NEAR(x[k] / N, value(k / N, k % N), TOLERANCE(2e-6, 1e-13));
	iso_fft_free(f);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_transforms, transforms)
CUDA_TEST(cuda_double_transforms, double_transforms)
CUDA_TEST(cuda_products, products)

static void refused(void **state)
{
	struct iso_fft *f = NULL;
	iso_ctx *ctx = cpu(1);

	(void)state;
	REFUSED(iso_fft_create(&f, ctx, 1, 1), ISO_EARG, "fft: 1 rows of 1 values");
	REFUSED(iso_fft_create(&f, ctx, 8, 0), ISO_EARG, "fft: 0 rows");
	assert_null(f);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_transforms),  cmocka_unit_test(own_transforms),
		cmocka_unit_test(cuda_transforms), cmocka_unit_test(cuda_double_transforms),
		cmocka_unit_test(cuda_products),   cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
