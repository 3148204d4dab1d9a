/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of transducers in model svoxel (--sir near, focus): against vectors of an independent float64 program
   (tests/data/faces), and against as many points as it takes; also built in double. */
#include "test.h"

#include <complex.h>

enum { POINTS = 5, AXIS = 3, LINES = 40 };

/* The element of the vectors. */
static double position[3] = { -14.446302370292305, 25.28102914801153, -7.223151185146152 };
static double normal[3] = { 0.48154341234307685, -0.8427009716003844, 0.24077170617153842 };
static double ex[3] = { 0.11945621868631062, -0.20904838270104356, -0.9705817768262736 };
static double ey[3] = { 0.8682431421244591, 0.49613893835683387, 0.0 };
static double sides[2] = { 10, .8 }, round_side[2] = { 10, 10 }, focus = 30;

static const struct iso_transducers element = {
	.n = 1,
	.pos = position,
	.normal = normal,
	.ex = ex,
	.ey = ey,
	.aperture = sides,
	.speed = 1.482,
	.dt_us = .025,
	.samples = 2000,
	.gamma = 1,
	.radius = 30,
};

static const struct iso_faces cylinder = { sizeof cylinder, 1, &focus, false };
static const struct iso_faces bowl = { sizeof bowl, 1, &focus, true };

static double *faces_data(const char *name, int64_t n)
{
	char file[64];

	snprintf(file, sizeof file, "faces/%s.f64", name);
	return test_data(TEST_DATA, file, n, sizeof(double));
}

/* The spectrum of one voxel. */
static void spectrum(iso_real u[2 * LINES], const struct iso_svoxel *p)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	const iso_real one = 1;

	OK(iso_svoxel_create(&op, ctx, p));
	OK(iso_forward(u, op, ISO_ALL, &one));
	iso_op_free(op);
	iso_ctx_free(ctx);
}

static double distance(const double a[3], const double b[3])
{
	return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static struct iso_svoxel voxel_at(const double at[3], const struct iso_transducers *t,
                                  const struct iso_faces *faces, enum iso_sir sir, double error)
{
	return (struct iso_svoxel){ .size = sizeof(struct iso_svoxel),
		                    .t = t,
		                    .grid = { { 1, 1, 1 }, { .1, .1, .1 }, { at[0], at[1], at[2] } },
		                    .first_line = 1,
		                    .lines = LINES,
		                    .df_mhz = .2,
		                    .sir = sir,
		                    .transform = ISO_SVOXEL_DIRECT,
		                    .faces = faces,
		                    .sir_error = error };
}

/* What the face hears over what its middle does, times what a point is known to hear: h of every line. */
static void response(double complex h[LINES], const struct iso_svoxel *p)
{
	struct iso_svoxel middle = *p;
	iso_real u[2 * LINES], v[2 * LINES];
	double d = distance(p->grid.centre, p->t->pos);

	middle.sir = ISO_SIR_POINT;
	spectrum(u, p);
	spectrum(v, &middle);
	for (int l = 0; l < LINES; l++) {
		double complex face = (double)u[2 * l] + I * (double)u[2 * l + 1];
		double complex point = (double)v[2 * l] + I * (double)v[2 * l + 1];

		h[l] = face / point * cexp(-2 * M_PI * I * .2 * (l + 1) * d / p->t->speed) / (2 * M_PI * d);
	}
}

static double relative(const double complex h[LINES], const double *want)
{
	double wrong = 0, all = 0;

	for (int l = 0; l < LINES; l++) {
		double complex w = want[2 * l] + I * want[2 * l + 1];

		wrong += pow(cabs(h[l] - w), 2);
		all += pow(cabs(w), 2);
	}
	return sqrt(wrong / all);
}

static struct iso_transducers element_of(const struct iso_faces *f)
{
	struct iso_transducers t = element;

	if (f && f->bowl) t.aperture = round_side;
	return t;
}

static const struct {
	const char *name;
	enum iso_sir sir;
	const struct iso_faces *faces;
} shapes[] = {
	{ "h_rect", ISO_SIR_NEAR, NULL },
	{ "h_rect", ISO_SIR_FOCUS, NULL },
	{ "h_cylinder", ISO_SIR_FOCUS, &cylinder },
	{ "h_bowl", ISO_SIR_FOCUS, &bowl },
};

/* With as many points as it takes; and with the error that is asked for. */
static void vectors(void **state)
{
	static const double asked[] = { 1e-10, 1e-2, 1e-3, 1e-4 };
	double *at = faces_data("points", 3 * POINTS);
	double complex h[LINES];

	(void)state;
	for (int s = 0; s < N_OF(shapes); s++) {
		struct iso_transducers t = element_of(shapes[s].faces);
		double *want = faces_data(shapes[s].name, 2 * POINTS * LINES);

		for (int i = 0; i < POINTS * N_OF(asked); i++) {
			double error = asked[i / POINTS];
			struct iso_svoxel p =
				voxel_at(at + 3 * (i % POINTS), &t, shapes[s].faces, shapes[s].sir, error);

			response(h, &p);
			BELOW(relative(h, want + 2 * LINES * (i % POINTS)),
			      error < 1e-9 ? TOLERANCE(5e-5, 1e-9) : error);
		}
		free(want);
	}
	free(at);
}

/* The closed form on the axis: at 0.5, 1 and 1.3 of the focus. */
static void bowl_axis(void **state)
{
	static const double part[AXIS] = { .5, 1, 1.3 };
	struct iso_transducers t = element_of(&bowl);
	double *want = faces_data("bowl_axis", 2 * AXIS * LINES), at[3];
	double complex h[LINES];

	(void)state;
	for (int i = 0; i < AXIS; i++) {
		for (int a = 0; a < 3; a++) at[a] = position[a] + part[i] * focus * normal[a];
		struct iso_svoxel p = voxel_at(at, &t, &bowl, ISO_SIR_FOCUS, 1e-10);

		response(h, &p);
		BELOW(relative(h, want + 2 * LINES * i), TOLERANCE(5e-5, 1e-9));
	}
	free(want);
}

/* A near rectangle of 16 x 0.5 mm up to 8 MHz, of which 16 x 16 points were 16 % wrong. */
static void wide_rectangle(void **state)
{
	double wide[2] = { 16, .5 }, at[3] = { 3, -6, 5 };
	struct iso_transducers t = element;
	double complex h[LINES], fine[LINES];
	double want[2 * LINES];

	(void)state;
	t.aperture = wide;
	struct iso_svoxel p = voxel_at(at, &t, NULL, ISO_SIR_NEAR, 0);
	struct iso_face_points n = { .size = sizeof n };

	response(h, &p);
	OK(iso_svoxel_points(&n, &p));
	assert_true(n.along[0] > 16 && n.along[1] == 16 && n.computed == n.along[0] * 16);
	p.sir_error = 1e-9;
	response(fine, &p);
	for (int l = 0; l < LINES; l++) {
		want[2 * l] = creal(fine[l]);
		want[2 * l + 1] = cimag(fine[l]);
	}
	BELOW(relative(h, want), TOLERANCE(1e-4, 1e-5));
}

/* ---- images ---- */

enum { RING = 12, N = 20 };

/* An arc round the z axis whose elements are curved along it, and an image of nz planes. */
struct arc {
	struct iso_transducers t;
	struct iso_faces faces;
	double foci[RING];
	struct iso_svoxel p;
};

static void make_arc(struct arc *a, bool bowls, int nz)
{
	const struct iso_rings r = { 40, 1, RING, M_PI / 2, 1, -1, .4 };

	*a = (struct arc){
		.t = { .speed = 1.5, .dt_us = .05, .samples = 1200, .gamma = 1 },
		.faces = { sizeof a->faces, RING, a->foci, bowls },
	};
	OK(iso_transducers_rings(&a->t, &r));
	a->t.aperture = calloc(2 * RING, sizeof(double));
	for (int q = 0; q < RING; q++) {
		a->t.aperture[2 * q] = 8 + q % 2;
		a->t.aperture[2 * q + 1] = bowls ? a->t.aperture[2 * q] : .6;
		a->foci[q] = q % 3 || bowls ? 40 : 0;
	}
	a->p = (struct iso_svoxel){ .size = sizeof a->p,
		                    .t = &a->t,
		                    .grid = { { N, N, nz }, { .5, .5, .5 }, { 1, -2, 0 } },
		                    .first_line = 1,
		                    .lines = 40,
		                    .df_mhz = .05,
		                    .sir = ISO_SIR_FOCUS,
		                    .faces = &a->faces };
}

static void adjoint_of(iso_ctx *ctx, struct arc *a)
{
	iso_op *op = NULL;
	double err;

	OK(iso_svoxel_create(&op, ctx, &a->p));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
	BELOW(err, TOLERANCE(1e-5, 1e-12));
	iso_op_free(op);
}

/* Wide and narrow kernels, planes and volumes, cylinders beside flat faces, and bowls. */
static void check_adjoints(iso_ctx *ctx)
{
	static const double accuracy[] = { 0, 1e-3, 2e-2 };
	struct arc a;

	for (int i = 0; i < 2 * 2 * N_OF(accuracy); i++) {
		make_arc(&a, i & 1, i & 2 ? 3 : 1);
		a.p.accuracy = accuracy[i / 4];
		adjoint_of(ctx, &a);
		iso_transducers_free(&a.t);
	}
}

static void adjoints(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct arc a;

	(void)state;
	check_adjoints(ctx);
	make_arc(&a, true, 1);
	a.p.grid.n[0] = 3;
	a.p.transform = ISO_SVOXEL_DIRECT;
	adjoint_of(ctx, &a);
	iso_transducers_free(&a.t);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_adjoints, check_adjoints)

static iso_real *project(iso_ctx *ctx, const struct arc *a, const iso_real *image)
{
	iso_op *op = NULL;
	int64_t n = iso_grid_voxels(&a->p.grid), rows = 2 * a->p.lines * RING;
	iso_real *x = to_device(ctx, n, image), *y = to_device(ctx, rows, NULL);

	OK(iso_svoxel_create(&op, ctx, &a->p));
	OK(iso_forward(y, op, ISO_ALL, x));
	iso_real *got = to_host(ctx, rows, y);

	iso_op_free(op);
	device_free(ctx, x);
	device_free(ctx, y);
	return got;
}

/* Of a plane that all faces are symmetric to, half of the points do; the same plane in a volume needs all. */
static void half_of_the_points(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_face_points plane = { .size = sizeof plane }, volume = plane;
	iso_real x[3 * N * N] = { 0 };
	struct arc a;

	(void)state;
	for (int i = 0; i < N * N; i++) x[N * N + i] = (iso_real)((i * 37) % 17) - 8;
	make_arc(&a, false, 1);
	a.p.sir_error = 1e-7;
	OK(iso_svoxel_points(&plane, &a.p));
	assert_int_equal(plane.computed, (plane.along[0] + 1) / 2 * plane.along[1]);
	iso_real *half = project(ctx, &a, x + N * N);

	a.p.grid.n[2] = 3;
	OK(iso_svoxel_points(&volume, &a.p));
	assert_int_equal(volume.computed, volume.along[0] * volume.along[1]);
	iso_real *all = project(ctx, &a, x);

	BELOW(relative_difference(2 * a.p.lines * RING, half, all), TOLERANCE(1e-5, 3e-6));
	iso_transducers_free(&a.t);
	iso_ctx_free(ctx);
	free(half);
	free(all);
}

/* The transforms agree, and CUDA with the CPU. */
static void check_against_direct(iso_ctx *ctx)
{
	iso_ctx *reference = cpu(2);
	iso_real x[3 * N * N];
	struct arc a;

	for (int i = 0; i < 3 * N * N; i++) x[i] = (iso_real)((i * 37) % 17) - 8;
	for (int bowls = 0; bowls < 2; bowls++) {
		make_arc(&a, bowls, 1);
		iso_real *fast = project(ctx, &a, x);

		a.p.transform = ISO_SVOXEL_DIRECT;
		iso_real *direct = project(reference, &a, x);

		BELOW(relative_difference(2 * a.p.lines * RING, fast, direct), TOLERANCE(1e-5, 3e-6));
		iso_transducers_free(&a.t);
		free(fast);
		free(direct);
	}
	iso_ctx_free(reference);
}

static void against_direct(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_against_direct(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_against_direct, check_against_direct)

/* The images of a batch, and threads, change no bit. */
static void same_bits(void **state)
{
	iso_ctx *one = cpu(1), *two = cpu(2);
	iso_real x[2 * N * N];
	struct arc a;

	(void)state;
	for (int i = 0; i < 2 * N * N; i++) x[i] = (iso_real)((i * 37) % 17) - 8;
	make_arc(&a, false, 1);
	a.p.accuracy = 1e-3;
	iso_real *first = project(one, &a, x), *again = project(two, &a, x);
	const size_t bytes = (size_t)(2 * a.p.lines * RING) * sizeof *first;

	assert_memory_equal(first, again, bytes);
	iso_transducers_free(&a.t);
	iso_ctx_free(one);
	iso_ctx_free(two);
	free(first);
	free(again);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_face_points n = { .size = sizeof n };
	double near_focus = 4, at[3] = { 20, 3, 0 };
	struct iso_faces short_focus = cylinder;
	struct iso_transducers t = element;
	struct iso_svoxel p = voxel_at(at, &t, &cylinder, ISO_SIR_NEAR, 0);
	iso_op *op = NULL;

	(void)state;
	assert_int_equal(iso_svoxel_create(&op, ctx, &p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "sir must be focus or point"));
	p.sir = ISO_SIR_FOCUS;
	short_focus.focus = &near_focus;
	p.faces = &short_focus;
	assert_int_equal(iso_svoxel_create(&op, ctx, &p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "at least half the width"));
	p.faces = &cylinder;
	p.sir_error = 1;
	assert_int_equal(iso_svoxel_points(&n, &p), ISO_EARG);
	p.sir_error = 0;
	p.df_mhz = 40; /* 1600 MHz: too many points */
	assert_int_equal(iso_svoxel_points(&n, &p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "points at 1600 MHz"));
	t.aperture = NULL;
	p.df_mhz = .2;
	assert_int_equal(iso_svoxel_create(&op, ctx, &p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "no aperture_mm"));
	assert_null(op);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),        cmocka_unit_test(bowl_axis),
		cmocka_unit_test(wide_rectangle), cmocka_unit_test(adjoints),
		cmocka_unit_test(cuda_adjoints),  cmocka_unit_test(half_of_the_points),
		cmocka_unit_test(against_direct), cmocka_unit_test(cuda_against_direct),
		cmocka_unit_test(same_bits),      cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
