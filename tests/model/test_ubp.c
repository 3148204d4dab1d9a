/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp: reference images, solid angles, a term worked by hand, deconvolution, refusals;
   also built in double. */
#include "test.h"
#include "oat.h"

/* The image of traces on the context's device. */
static struct iso_array image_of(iso_ctx *ctx, const struct iso_ubp *p, const iso_real *y)
{
	int64_t n = p->transducers->n * p->transducers->samples;
	struct iso_array x = { 0 };
	iso_op *op = NULL;
	iso_real *dx, *dy;

	OK(iso_ubp_create(&op, ctx, p));
	assert_int_equal(iso_op_n_out(op), n);
	OK(iso_array_on_grid(&x, &p->grid));
	dx = to_device(ctx, x.n, NULL);
	dy = to_device(ctx, n, y);
	OK(iso_adjoint(dx, op, ISO_ALL, dy));
	OK(iso_ctx_vec(ctx)->download(ctx, x.v, dx, x.n * (int64_t)sizeof *x.v));
	device_free(ctx, dx);
	device_free(ctx, dy);
	iso_op_free(op);
	return x;
}

static double rmse(const struct iso_array *a, const struct iso_array *b)
{
	struct iso_rmse r = { .size = sizeof r };

	assert_int_equal(a->n, b->n);
	OK(iso_measure_rmse(&r, a->n, a->v, b->v, NULL, ISO_SCALE_NONE));
	return r.rmse;
}

static void reference(iso_ctx *ctx, const char *which)
{
	struct iso_transducers t = rings_of(which);
	struct iso_ubp p = { sizeof p, &t, node_grid(which), ISO_UBP_SPHERE, NULL };
	struct iso_array y = vector(which, "p"), ref = vector(which, "image"), x;
	struct iso_array truth = vector(which, "phantom");

	struct iso_diff d = { .size = sizeof d };

	x = image_of(ctx, &p, y.v);
	OK(iso_measure_diff(&d, x.n, x.v, ref.v));
	BELOW(d.l2, TOLERANCE(5e-4, 1e-10));
	BELOW(d.max_abs, TOLERANCE(2e-3, 1e-9)); /* the greatest value is 1 */
	NEAR(rmse(&x, &truth), param(which, "rmse_vs_phantom"), TOLERANCE(1e-5, 1e-10));
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&ref);
	iso_array_free(&truth);
	iso_transducers_free(&t);
}

static void references(iso_ctx *ctx)
{
	reference(ctx, "fbp");
	reference(ctx, "fbp_truncated");
}

static void cpu_references(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	references(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_references, references)

/* One transducer 10 mm below one voxel, p = 3, 5 around the delay of 20.25 samples. */
static void by_hand(iso_ctx *ctx)
{
	double pos[3] = { 0, 0, -10 }, normal[3] = { 0, 0, 1 }, ex[3] = { 1, 0, 0 }, ey[3] = { 0, 1, 0 };
	double area = 7;
	struct iso_transducers t = {
		.n = 1,
		.pos = pos,
		.normal = normal,
		.ex = ex,
		.ey = ey,
		.area = &area,
		.radius = 10,
		.speed = 2,
		.dt_us = .2,
		.first_us = .95,
		.samples = 22,
		.gamma = 4,
	};
	struct iso_ubp p = { sizeof p, &t, { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } }, ISO_UBP_SPHERE, NULL };
	iso_real y[22] = { [20] = 3, [21] = 5 };
	struct iso_array x = image_of(ctx, &p, y);
	double k = (10. / 2 - .95) / .2; /* 20.25 */

	NEAR(k, 20.25, 1e-12);
	NEAR(x.v[0], -7 * (2. / 10 * 3.5 + 2 / (2 * .2)) / (2 * M_PI * 4 * 10), 1e-6);
	iso_array_free(&x);
	p.weights = ISO_UBP_SOLID_ANGLE; /* of one patch: its own term */
	x = image_of(ctx, &p, y);
	NEAR(x.v[0], (2 * 3.5 - 2 * 5 * 2 / .2) / 4, 1e-4);
	iso_array_free(&x);
	p.grid = (struct iso_grid){ { 2, 1, 1 }, { 2, 2, 2 }, { 0, 0, 0 } };
	normal[0] = 1; /* turned aside: from behind nothing is seen */
	normal[2] = 0;
	x = image_of(ctx, &p, y);
	k = (sqrt(101) / 2 - .95) / .2 - 20;
	assert_true(x.v[0] == 0);
	NEAR(x.v[1], (2 * (3 + 2 * k) - sqrt(101) * 2 / .2) / 4, 1e-4);
	iso_array_free(&x);
	t.samples = 21; /* both neighbours must exist, here of the voxel below */
	p.weights = ISO_UBP_SPHERE;
	p.grid = (struct iso_grid){ { 1, 1, 2 }, { 1, 1, 1 }, { 0, 0, -.5 } };
	y[17] = y[18] = 1;
	x = image_of(ctx, &p, y);
	NEAR(x.v[0], -7 * (2. / 9) / (2 * M_PI * 4 * 10), 1e-6);
	assert_true(x.v[1] == 0);
	iso_array_free(&x);
}

/* Two patches, 10 mm below and 5 mm above a voxel: their solid angles are 7/100 and 3/25. */
static void by_hand_of_two(iso_ctx *ctx)
{
	double pos[6] = { 0, 0, -10, 0, 0, 5 }, normal[6] = { 0, 0, 1, 0, 0, -1 }, area[2] = { 7, 3 };
	double ex[6] = { 1, 0, 0, 1, 0, 0 }, ey[6] = { 0, 1, 0, 0, -1, 0 };
	struct iso_transducers t = { .n = 2,
		                     .pos = pos,
		                     .normal = normal,
		                     .ex = ex,
		                     .ey = ey,
		                     .area = area,
		                     .speed = 2,
		                     .dt_us = .2,
		                     .first_us = .95,
		                     .samples = 22,
		                     .gamma = 4 };
	struct iso_ubp p = { sizeof(struct iso_ubp),
		             &t,
		             { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } },
		             ISO_UBP_SOLID_ANGLE,
		             NULL };
	/* delays of 20.25 and 7.75 samples: p = 3.5 and 1.75, slopes of 2 and 1 a sample */
	iso_real y[44] = { [20] = 3, [21] = 5, [22 + 7] = 1, [22 + 8] = 2 };
	struct iso_array x = image_of(ctx, &p, y);
	double below = 2 * 3.5 - 2 * 5 * 2 / .2, above = 2 * 1.75 - 2 * 2.5 * 1 / .2;

	NEAR(x.v[0], (.07 * below + .12 * above) / .19 / 4, 1e-4);
	iso_array_free(&x);
}

/* What could only give an image of zeros. */
static void without_weight(void **state)
{
	struct iso_transducers t = rings_of("fbp");
	struct iso_ubp p = { sizeof p, &t, node_grid("fbp"), ISO_UBP_SPHERE, NULL };
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	struct iso_hearing h = { .size = sizeof h };

	(void)state;
	for (int64_t q = 0; q < t.n; q++)
		for (int a = 0; a < 3; a++) t.normal[3 * q + a] *= -1;
	OK(iso_transducers_hear(&h, &t, &p.grid));
	assert_int_equal(h.away, t.n);
	OK(iso_ubp_create(&op, ctx, &p)); /* on a sphere the normals do not count */
	iso_op_free(op);
	p.weights = ISO_UBP_SOLID_ANGLE;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EINPUT,
	        "no transducer faces the image: 1280 of 1280 normals");
	for (int a = 0; a < 3; a++) t.normal[3 * 77 + a] *= -1;
	OK(iso_transducers_hear(&h, &t, &p.grid));
	assert_int_equal(h.away, t.n - 1);
	op = NULL;
	OK(iso_ubp_create(&op, ctx, &p));
	iso_op_free(op);
	t.area[77] = 0; /* the only one that sees it */
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EINPUT, "no transducer faces the image");
	memset(t.area, 0, (size_t)t.n * sizeof *t.area);
	p.weights = ISO_UBP_SPHERE;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EINPUT, "the areas of all 1280 transducers are 0");
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

static void cpu_by_hand(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	by_hand(ctx);
	by_hand_of_two(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_by_hand, by_hand)
CUDA_TEST(cuda_by_hand_of_two, by_hand_of_two)

/* On a whole sphere the weights by solid angle find the object too. */
static void solid_angles(iso_ctx *ctx)
{
	struct iso_transducers t = rings_of("fbp");
	struct iso_ubp p = { sizeof p, &t, node_grid("fbp"), ISO_UBP_SOLID_ANGLE, NULL };
	struct iso_array y = vector("fbp", "p"), truth = vector("fbp", "phantom"), x;

	x = image_of(ctx, &p, y.v);
	assert_true(rmse(&x, &truth) < 4e-3);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_array_free(&truth);
	iso_transducers_free(&t);
}

static void cpu_solid_angles(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	solid_angles(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_solid_angles, solid_angles)

/* Sizes that leave every tile of either backend with a rest. */
static void odd_sizes(iso_ctx *ctx)
{
	struct iso_transducers t = rings_of("fbp");
	struct iso_ubp p = {
		sizeof p, &t, { { 131, 5, 35 }, { .07, .07, .07 }, { .1, -.2, .3 } }, ISO_UBP_SPHERE, NULL
	};
	struct iso_grid one = { { 1, 1, 1 }, { .07, .07, .07 }, { 0 } };
	struct iso_array y = vector("fbp", "p"), x = image_of(ctx, &p, y.v), v;
	iso_ctx *plain = cpu(1);

	for (int64_t i = 0; i < x.n; i += 977) {
		struct iso_ubp q = { sizeof q, &t, one, ISO_UBP_SPHERE, NULL };
		const int64_t at[3] = { i % 131, i / 131 % 5, i / 131 / 5 };

		for (int a = 0; a < 3; a++)
			q.grid.centre[a] =
				p.grid.centre[a] + ((double)at[a] - .5 * (double)(p.grid.n[a] - 1)) * .07;
		v = image_of(plain, &q, y.v);
		NEAR(x.v[i], v.v[0], TOLERANCE(2e-3, 1e-9));
		iso_array_free(&v);
	}
	iso_ctx_free(plain);
	iso_array_free(&x);
	iso_array_free(&y);
	iso_transducers_free(&t);
}

static void cpu_odd_sizes(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	odd_sizes(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_odd_sizes, odd_sizes)

/* Without areas each has its share of the sphere; threads change no bit. */
static void no_areas(void **state)
{
	struct iso_transducers t = rings_of("fbp"), bare = t;
	struct iso_ubp p = { sizeof p, &bare, node_grid("fbp"), ISO_UBP_SPHERE, NULL };
	struct iso_array y = vector("fbp", "p"), a, b;
	iso_ctx *one = cpu(1), *two = cpu(2);

	(void)state;
	bare.area = NULL;
	a = image_of(one, &p, y.v);
	b = image_of(two, &p, y.v);
	assert_memory_equal(a.v, b.v, (size_t)a.n * sizeof *a.v);
	iso_array_free(&b);
	for (int64_t q = 0; q < t.n; q++) t.area[q] = 4 * M_PI * t.radius * t.radius / (double)t.n;
	p.transducers = &t;
	b = image_of(two, &p, y.v);
	assert_memory_equal(a.v, b.v, (size_t)a.n * sizeof *a.v);
	iso_array_free(&a);
	iso_array_free(&b);
	iso_array_free(&y);
	iso_transducers_free(&t);
	iso_ctx_free(one);
	iso_ctx_free(two);
}

static void refused(void **state)
{
	struct iso_transducers t = rings_of("fbp");
	const struct iso_ubp good = { sizeof good, &t, node_grid("fbp"), ISO_UBP_SPHERE, NULL };
	struct iso_ubp p = good;
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	iso_real x = 0;

	(void)state;
	p.grid.voxel[1] *= 2;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EARG, "must be cubes");
	p = good;
	p.weights = 7;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EARG, "no weights 7");
	p = good;
	p.grid.n[0] = 200;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EINPUT, "lies inside the image");
	p = good;
	t.speed = 0;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EARG, "the speed of sound is 0");
	t.speed = 1.54;
	t.samples = 20;
	t.first_us = 0;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EINPUT, "but the image is heard from");
	t.samples = INT32_MAX;
	t.dt_us = 1e-7;
	REFUSED(iso_ubp_create(&op, ctx, &p), ISO_EARG, "at most 2097152 are possible");
	assert_null(op);
	t.samples = 256;
	t.dt_us = .05;
	t.first_us = 6.5;
	OK(iso_ubp_create(&op, ctx, &good));
	REFUSED(iso_forward(&x, op, ISO_ALL, &x), ISO_EARG, "there is no way back");
	iso_op_free(op);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

static struct iso_transducers deconv_record(double h[64])
{
	struct iso_array a = vector("deconv", "h_e");
	struct iso_transducers t = {
		.n = 4, .samples = 400, .dt_us = 1 / param("deconv", "fs"), .eir = h, .n_eir = a.n
	};

	assert_true(a.n <= 64);
	for (int64_t i = 0; i < a.n; i++) h[i] = a.v[i];
	iso_array_free(&a);
	return t;
}

static void deconvolution(iso_ctx *ctx)
{
	double h[64], fc = param("deconv", "fc");
	struct iso_transducers t = deconv_record(h);
	struct iso_array u = vector("deconv", "u"), p = vector("deconv", "p");

	OK(iso_traces_deconvolve(u.v, ctx, &t, fc, (int64_t)param("deconv", "nfft")));
	BELOW(relative_difference(u.n, u.v, p.v), TOLERANCE(1e-4, 1e-9));
	iso_array_free(&u);
	u = vector("deconv", "u"); /* the default length is that of the reference */
	OK(iso_traces_deconvolve(u.v, ctx, &t, fc, 0));
	BELOW(relative_difference(u.n, u.v, p.v), TOLERANCE(1e-4, 1e-9));
	iso_array_free(&u);
	iso_array_free(&p);
}

static void cpu_deconvolution(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	deconvolution(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_deconvolution, deconvolution)

/* A response of 5 ms, most of it 0, is that without its end; its lines are 2^17. By a sum for each they
   would take minutes. */
static void long_response(iso_ctx *ctx)
{
	enum { M = 100000, NFFT = 1 << 17 };
	static double longer[M];
	double h[64], fc = param("deconv", "fc");
	struct iso_transducers t = deconv_record(h);
	struct iso_array u = vector("deconv", "u"), v = vector("deconv", "u");

	memcpy(longer, h, (size_t)t.n_eir * sizeof *h);
	OK(iso_traces_deconvolve(u.v, ctx, &t, fc, NFFT));
	t.eir = longer;
	t.n_eir = M;
	OK(iso_traces_deconvolve(v.v, ctx, &t, fc, 0));
	BELOW(relative_difference(u.n, v.v, u.v), TOLERANCE(1e-6, 1e-12));
	iso_array_free(&u);
	iso_array_free(&v);
}

static void cpu_long_response(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	long_response(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_long_response, long_response)

/* Without a response the window alone: the wave at fc/2 is halved, that beyond fc is gone. */
static void window_alone(void **state)
{
	enum { K = 256, ROWS = 600 }; /* more than are transformed together */
	static iso_real y[ROWS * K];
	struct iso_transducers t = { .n = ROWS, .samples = K, .dt_us = .05 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < ROWS * K; i++) /* 2.5 and 7.5 MHz: 32 and 96 turns */
		y[i] = (iso_real)((i / K + 1) *
		                  (cos(2 * M_PI * 32 * (i % K) / K) + cos(2 * M_PI * 96 * (i % K) / K)));
	OK(iso_traces_deconvolve(y, ctx, &t, 5, K));
	for (int i = 0; i < ROWS * K; i++)
		NEAR(y[i], (i / K + 1) * .5 * cos(2 * M_PI * 32 * (i % K) / K),
		     TOLERANCE(1e-5, 1e-12) * (i / K + 1));
	iso_ctx_free(ctx);
}

static void deconvolution_refused(void **state)
{
	double h[64], flat[2] = { 1, 1 }, none[2] = { 0, 0 };
	struct iso_transducers t = deconv_record(h);
	iso_real y[1600] = { 0 };
	iso_ctx *ctx = cpu(1);

	(void)state;
	REFUSED(iso_traces_deconvolve(y, ctx, &t, 0, 0), ISO_EARG, "the cut-off is 0 MHz");
	REFUSED(iso_traces_deconvolve(y, ctx, &t, 5, 256), ISO_EARG, "256 points of a transform");
	t.eir = flat; /* H = 0 at 10 MHz, the last line */
	t.n_eir = 2;
	REFUSED(iso_traces_deconvolve(y, ctx, &t, 20, 0), ISO_EINPUT, "passes nothing at 10 MHz");
	t.eir = none;
	REFUSED(iso_traces_deconvolve(y, ctx, &t, 5, 0), ISO_EINPUT, "is 0 everywhere");
	iso_ctx_free(ctx);
}

/* Gain of a band at a frequency: the line of an impulse in the middle of the record. */
static double gain(const iso_real *y, int n, double dt, double mhz)
{
	double re = 0, im = 0;

	for (int k = 0; k < n; k++) {
		re += y[k] * cos(2 * M_PI * mhz * k * dt);
		im += y[k] * sin(2 * M_PI * mhz * k * dt);
	}
	return hypot(re, im);
}

/* Half passes at both ends; all between 1.5 low and 0.75 high; nothing from 0.5 low down, 1.25 high
   up. What the record's ends cut off is below 1e-3. */
static void band(iso_ctx *ctx)
{
	const double mhz[] = { 0, .4, .5, .75, 1, 1.5, 3, 4.5, 6, 7.5, 9 };
	const double want[] = { 0, 0, 0, .1464, .5, 1, 1, 1, .5, 0, 0 };
	enum { K = 1001 };
	struct iso_transducers t = { .n = 2, .samples = K, .dt_us = .05 };
	static iso_real y[2 * K];

	memset(y, 0, sizeof y);
	y[K / 2] = 1;
	y[K + K / 2] = -3;
	OK(iso_traces_band(y, ctx, &t, 1, 6));
	for (int i = 0; i < N_OF(mhz); i++) {
		NEAR(gain(y, K, t.dt_us, mhz[i]), want[i], 1e-3);
		NEAR(gain(y + K, K, t.dt_us, mhz[i]), 3 * want[i], 3e-3);
	}
	for (int k = 0; k < 2 * K; k++) y[k] = 5;
	OK(iso_traces_band(y, ctx, &t, 0, 6)); /* no lower edge: a mean stays */
	NEAR(y[K / 2], 5, 1e-2);
	REFUSED(iso_traces_band(y, ctx, &t, 2, 2), ISO_EARG, "from 2 to 2 MHz");
	t.samples = 512; /* what lies at the end of a record does not come round to its beginning */
	memset(y, 0, sizeof y);
	y[511] = 1;
	OK(iso_traces_band(y, ctx, &t, 1, 6));
	assert_true(y[511] > .1);
	for (int k = 0; k < 50; k++) NEAR(y[k], 0, 1e-3);
}

static void cpu_band(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	band(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_band, band)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_references),
		cmocka_unit_test(cuda_references),
		cmocka_unit_test(cpu_by_hand),
		cmocka_unit_test(cuda_by_hand),
		cmocka_unit_test(cuda_by_hand_of_two),
		cmocka_unit_test(without_weight),
		cmocka_unit_test(cpu_solid_angles),
		cmocka_unit_test(cuda_solid_angles),
		cmocka_unit_test(cpu_odd_sizes),
		cmocka_unit_test(cuda_odd_sizes),
		cmocka_unit_test(no_areas),
		cmocka_unit_test(refused),
		cmocka_unit_test(cpu_deconvolution),
		cmocka_unit_test(cuda_deconvolution),
		cmocka_unit_test(cpu_long_response),
		cmocka_unit_test(cuda_long_response),
		cmocka_unit_test(window_alone),
		cmocka_unit_test(deconvolution_refused),
		cmocka_unit_test(cpu_band),
		cmocka_unit_test(cuda_band),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
