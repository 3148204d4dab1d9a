/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of two to four taps of model svoxel: their error against direct sums, forward and back; that one is the
   other's transpose; batches of images; a planar array just above the image and a sphere around it. */
#include "test.h"

#include "isotome/svoxel.h"

enum { NX = 21, NY = 18, NZ = 13, VOXELS = NX * NY * NZ, TRANS = 45, BATCH = 3 };

static double pos[3 * TRANS], normal[3 * TRANS], ex[3 * TRANS], ey[3 * TRANS], side[2 * TRANS];

/* Places in a plane of 9 x 5, at `height` mm, or on a sphere of that radius. */
static struct iso_transducers array(bool plane, double height)
{
	struct iso_transducers t = { .n = TRANS,
		                     .speed = 1.5,
		                     .dt_us = .025,
		                     .samples = 1024,
		                     .gamma = 1,
		                     .radius = 1,
		                     .pos = pos,
		                     .normal = normal,
		                     .ex = ex,
		                     .ey = ey,
		                     .aperture = side };

	for (int q = 0; q < TRANS; q++) {
		double x = q % 9 / 4. - 1, y = q / 9 / 2. - 1, *at = pos + 3 * q;

		if (plane) {
			at[0] = 3 * x + .01 * q;
			at[1] = 4 * y;
			at[2] = height;
		} else {
			double a = 2.9 * x, b = 1.2 * y;

			at[0] = height * cos(a) * cos(b);
			at[1] = height * sin(a) * cos(b);
			at[2] = height * sin(b);
		}
		double r = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);

		for (int i = 0; i < 3; i++) normal[3 * q + i] = plane ? (i == 2 ? -1 : 0) : -at[i] / r;
		iso_transducer_frame(ex + 3 * q, ey + 3 * q, normal + 3 * q);
		side[2 * q] = 1;
		side[2 * q + 1] = .6;
	}
	return t;
}

static struct iso_svoxel model(const struct iso_transducers *t, enum iso_svoxel_transform transform,
                               int width, int per_wave, int batch)
{
	struct iso_svoxel p = {
		.size = sizeof p,
		.t = t,
		.grid = { .n = { NX, NY, NZ }, .voxel = { .1, .1, .1 }, .centre = { .05, 0, .02 } },
		.transform = transform,
		.width = width,
		.bins_per_wave = per_wave,
		.batch = batch,
	};

	OK(iso_svoxel_lines(&p, 7));
	return p;
}

static void draw(iso_real *v, int64_t n, uint32_t seed)
{
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		v[i] = (iso_real)(seed >> 8) / (1 << 23) - 1;
	}
}

/* The result of an operator, on the host. */
static iso_real *apply(iso_op *op, bool back, const iso_real *v)
{
	int64_t n_in = back ? iso_op_n_out(op) : iso_op_n_in(op),
		n = back ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_ctx *ctx = iso_op_ctx(op);
	iso_real *from = to_device(ctx, n_in, v), *result = to_device(ctx, n, NULL);

	OK((back ? iso_adjoint : iso_forward)(result, op, ISO_ALL, from));
	iso_real *to = to_host(ctx, n, result);

	device_free(ctx, from);
	device_free(ctx, result);
	return to;
}

static const struct kernel {
	int width, per_wave;
	double error;
} kernels[] = {
	{ 2, 5, 2e-2 },  { 2, 8, 8e-3 }, { 2, 16, 2e-3 }, { 2, 32, 5e-4 }, { 3, 6, 3e-3 },  { 3, 10, 1.3e-3 },
	{ 3, 16, 4e-4 }, { 4, 6, 8e-4 }, { 4, 8, 3e-4 },  { 4, 16, 2e-5 }, { 4, 32, 1e-5 },
};

static void against_direct(iso_ctx *ctx, bool plane, double height)
{
	struct iso_transducers t = array(plane, height);
	iso_ctx *host = cpu(2);
	struct iso_svoxel d = model(&t, ISO_SVOXEL_DIRECT, 0, 0, 1);
	int64_t rows = 2 * d.lines * TRANS;
	iso_real *x = malloc(VOXELS * sizeof *x), *y = malloc((size_t)rows * sizeof *y);
	iso_op *direct = NULL;

	draw(x, VOXELS, 1);
	OK(iso_svoxel_create(&direct, host, &d));
	iso_real *want = apply(direct, false, x);

	draw(y, rows, 2);
	iso_real *back = apply(direct, true, y);

	for (int i = 0; i < N_OF(kernels); i++) {
		struct iso_svoxel p = model(&t, ISO_SVOXEL_NUFFT, kernels[i].width, kernels[i].per_wave, 1);
		iso_op *op = NULL;
		double err;

		OK(iso_svoxel_create(&op, ctx, &p));
		iso_real *got = apply(op, false, x), *got_back = apply(op, true, y);

		print_message("%d taps, %d bins a wave: %.2e, back %.2e\n", kernels[i].width,
		              kernels[i].per_wave, relative_difference(rows, got, want),
		              relative_difference(VOXELS, got_back, back));
		BELOW(relative_difference(rows, got, want), kernels[i].error);
		BELOW(relative_difference(VOXELS, got_back, back), 2 * kernels[i].error);
		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		BELOW(err, 1e-6);
		free(got);
		free(got_back);
		iso_op_free(op);
	}
	free(x);
	free(y);
	free(want);
	free(back);
	iso_op_free(direct);
	iso_ctx_free(host);
}

/* Images of a batch have the bits that each has alone. */
static void batches(iso_ctx *ctx, int width, enum iso_sir sir)
{
	struct iso_transducers t = array(false, 20);
	struct iso_svoxel one = model(&t, ISO_SVOXEL_NUFFT, width, 0, 1), all = one;
	int64_t rows = 2 * one.lines * TRANS;
	iso_real *x = malloc(BATCH * VOXELS * sizeof *x), *y = malloc((size_t)(BATCH * rows) * sizeof *y);
	iso_op *single = NULL, *batch = NULL;

	one.sir = all.sir = sir;
	all.batch = BATCH;
	draw(x, BATCH * VOXELS, 3);
	draw(y, BATCH * rows, 4);
	memset(x, 0, 100 * sizeof *x);
	OK(iso_svoxel_create(&single, ctx, &one));
	OK(iso_svoxel_create(&batch, ctx, &all));
	iso_real *got = apply(batch, false, x), *got_back = apply(batch, true, y);

	for (int b = 0; b < BATCH; b++) {
		iso_real *want = apply(single, false, x + b * VOXELS),
			 *back = apply(single, true, y + b * rows);

		assert_memory_equal(got + b * rows, want, (size_t)rows * sizeof *want);
		assert_memory_equal(got_back + b * VOXELS, back, VOXELS * sizeof *back);
		free(want);
		free(back);
	}
	free(got);
	free(got_back);
	free(x);
	free(y);
	iso_op_free(single);
	iso_op_free(batch);
}

/* On CUDA the impulses of a rectangle, up to some thousand times as large as what is left of them, are added in float:
   the part by which spectra may differ for it. */
static double rounding(const iso_ctx *ctx)
{
	return iso_ctx_is_cuda(ctx) ? 2e-4 : 0;
}

/* Rectangles of 1 x 0.6 mm, which hear the image from all around: near their axes their four impulses all but
   cancel. */
static const struct kernel splines[] = {
	{ 4, 8, 1.2e-2 }, { 4, 16, 1.5e-3 }, { 4, 20, 8e-4 }, { 4, 32, 2e-4 }, { 8, 0, 5e-5 },
};

static void rectangles(iso_ctx *ctx)
{
	struct iso_transducers t = array(false, 30);
	iso_ctx *host = cpu(2);
	struct iso_svoxel d = model(&t, ISO_SVOXEL_DIRECT, 0, 0, 1);
	iso_real *x = malloc(VOXELS * sizeof *x);
	iso_op *op = NULL;
	double err;

	draw(x, VOXELS, 1);
	d.sir = ISO_SIR_RECT;
	OK(iso_svoxel_create(&op, host, &d));
	iso_real *want = apply(op, false, x);

	iso_op_free(op);
	for (int i = 0; i < N_OF(splines); i++) {
		struct iso_svoxel p = d;

		p.transform = ISO_SVOXEL_NUFFT;
		p.width = splines[i].width;
		p.bins_per_wave = splines[i].per_wave;
		OK(iso_svoxel_create(&op, ctx, &p));
		iso_real *got = apply(op, false, x);
		double off = relative_difference(2 * d.lines * TRANS, got, want);

		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		print_message("rectangles, %d taps, %d bins a wave: %.2e, transpose %.1e\n", p.width,
		              p.bins_per_wave, off, err);
		BELOW(off, splines[i].error + rounding(ctx));
		BELOW(err, p.width > 4 ? 1e-5 : iso_ctx_is_cuda(ctx) ? 2e-6 : 1e-6);
		free(got);
		iso_op_free(op);
	}
	free(x);
	free(want);
	iso_ctx_free(host);
}

/* A ball without noise, blurred by about two voxels. */
static void ball(iso_real *x)
{
	for (int i = 0; i < VOXELS; i++) {
		double dx = i % NX - 10.2, dy = i / NX % NY - 8.4, dz = i / NX / NY - 6.1;

		x[i] = (iso_real)exp(-(dx * dx + dy * dy + dz * dz) / 2 / 9);
	}
}

/* An accuracy that is asked for is reached, by few taps and few bins: for noise, and for a smooth image. */
static void accuracies(iso_ctx *ctx, enum iso_sir sir, double aperture, double least, bool smooth)
{
	struct iso_transducers t = array(false, 20);
	iso_ctx *host = cpu(2);
	struct iso_svoxel p = model(&t, ISO_SVOXEL_DIRECT, 0, 0, 1);
	iso_real *x = malloc(VOXELS * sizeof *x);
	iso_op *op = NULL;

	for (int q = 0; q < 2 * TRANS; q++) side[q] *= aperture;
	draw(x, VOXELS, 5);
	if (smooth) ball(x);
	p.sir = sir;
	OK(iso_svoxel_create(&op, host, &p));
	iso_real *want = apply(op, false, x);

	iso_op_free(op);
	p.transform = ISO_SVOXEL_NUFFT;
	for (p.accuracy = .1; p.accuracy > .99e-6; p.accuracy /= 10) {
		OK(iso_svoxel_create(&op, ctx, &p));
		iso_real *got = apply(op, false, x);
		double off = relative_difference(2 * p.lines * TRANS, got, want);

		print_message("accuracy %.0e, sir %d, %s: %.2e\n", p.accuracy, (int)sir,
		              smooth ? "smooth" : "noise", off);
		BELOW(off, fmax(p.accuracy, least));
		free(got);
		iso_op_free(op);
	}
	free(x);
	free(want);
	iso_ctx_free(host);
}

static void check_accuracies(iso_ctx *ctx)
{
	accuracies(ctx, ISO_SIR_POINT, 1, 3e-6, false);
	accuracies(ctx, ISO_SIR_POINT, 1, 3e-6, true);
	accuracies(ctx, ISO_SIR_RECT, 1, 5e-5 + rounding(ctx), false);
	accuracies(ctx, ISO_SIR_RECT, 4, 5e-5 + rounding(ctx), false);
	accuracies(ctx, ISO_SIR_RECT, 4, 2e-4 + rounding(ctx), true);
}

static void check_errors(iso_ctx *ctx)
{
	rectangles(ctx);
	against_direct(ctx, false, 30);
	against_direct(ctx, true, 2);
}

static void check_batches(iso_ctx *ctx)
{
	for (int width = 2; width <= 8; width++) batches(ctx, width, ISO_SIR_POINT);
	batches(ctx, 4, ISO_SIR_RECT);
}

/* Transducers whose traces are too long to be kept at once: lines up to 2000 MHz and 32 bins a wave. */
static void check_groups(iso_ctx *ctx)
{
	struct iso_transducers t = array(false, 30);
	iso_ctx *host = cpu(2);
	struct iso_svoxel p = model(&t, ISO_SVOXEL_DIRECT, 0, 0, 1);
	iso_op *direct = NULL, *op = NULL;
	double err;

	OK(iso_svoxel_lines_at(&p, 1950, 5, 11));
	int64_t rows = 2 * p.lines * TRANS;
	iso_real *y = malloc((size_t)rows * sizeof *y);

	draw(y, rows, 6);
	OK(iso_svoxel_create(&direct, host, &p));
	p.transform = ISO_SVOXEL_NUFFT;
	p.width = 2;
	p.bins_per_wave = 32;
	OK(iso_svoxel_create(&op, ctx, &p));
	iso_real *want = apply(direct, true, y), *got = apply(op, true, y);

	BELOW(relative_difference(VOXELS, got, want), 5e-3);
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err,
	      iso_ctx_is_cuda(ctx) ? 3e-5 : 1e-6); /* there floats count 40000 bins/mm from other middles */
	free(y);
	free(want);
	free(got);
	iso_op_free(op);
	iso_op_free(direct);
	iso_ctx_free(host);
}

static void groups(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_groups(ctx);
	iso_ctx_free(ctx);
}

/* The integral over near rectangles, by points; the number of threads changes no bit. */
static void near_and_threads(void **state)
{
	static const enum iso_sir sirs[] = { ISO_SIR_POINT, ISO_SIR_RECT, ISO_SIR_NEAR };
	iso_ctx *one = cpu(1), *two = cpu(2);
	struct iso_transducers t = array(false, 20);

	(void)state;
	t.n = 5;
	for (int i = 0; i < N_OF(sirs); i++)
		for (int width = sirs[i] == ISO_SIR_RECT ? 4 : 2; width <= 4; width++) {
			struct iso_svoxel p = model(&t, ISO_SVOXEL_NUFFT, width, 8, 2);
			iso_op *a = NULL, *b = NULL;
			double err;

			p.sir = sirs[i];
			p.grid.n[2] = 3;
			int64_t rows = 2 * 2 * p.lines * t.n, voxels = (int64_t)2 * NX * NY * 3;
			iso_real *x = malloc((size_t)voxels * sizeof *x),
				 *y = malloc((size_t)rows * sizeof *y);

			draw(x, voxels, 7);
			draw(y, rows, 8);
			OK(iso_svoxel_create(&a, one, &p));
			OK(iso_svoxel_create(&b, two, &p));
			iso_real *u = apply(a, false, x), *v = apply(b, false, x);

			assert_memory_equal(u, v, (size_t)rows * sizeof *u);
			free(u);
			free(v);
			u = apply(a, true, y);
			v = apply(b, true, y);
			assert_memory_equal(u, v, (size_t)voxels * sizeof *u);
			OK(iso_test_adjoint(&err, b, ISO_ALL, 1));
			BELOW(err, 1e-6);
			free(u);
			free(v);
			free(x);
			free(y);
			iso_op_free(a);
			iso_op_free(b);
		}
	iso_ctx_free(one);
	iso_ctx_free(two);
}

static void errors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_errors(ctx);
	iso_ctx_free(ctx);
}

static void chosen(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_accuracies(ctx);
	iso_ctx_free(ctx);
}

static void together(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_batches(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_errors, check_errors)
CUDA_TEST(cuda_chosen, check_accuracies)
CUDA_TEST(cuda_together, check_batches)
CUDA_TEST(cuda_groups, check_groups)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors),           cmocka_unit_test(chosen),
		cmocka_unit_test(together),         cmocka_unit_test(groups),
		cmocka_unit_test(near_and_threads), cmocka_unit_test(cuda_errors),
		cmocka_unit_test(cuda_chosen),      cmocka_unit_test(cuda_together),
		cmocka_unit_test(cuda_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
