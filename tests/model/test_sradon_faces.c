/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of transducers in model sradon (--sir focus) and in closed form: a smooth ball beside the axes of cylinders and
   bowls; also built in double. */
#include "test.h"

enum { VIEWS = 3, N = 16, SAMPLES = 160, DATA = VIEWS * SAMPLES };

#define DS .375

struct arc {
	struct iso_transducers t;
	struct iso_faces faces;
	double foci[VIEWS];
	struct iso_sradon p;
};

static const struct iso_sphere ball = { { 2, -4, 4 }, 1, 1 };
static const struct iso_spheres object = { 1, &ball, 1.7 };

static void make_arc(struct arc *a, bool bowls)
{
	const struct iso_rings r = { 20, 1, VIEWS, M_PI / 2, 1, -1, .7 };

	*a = (struct arc){
		.t = { .speed = 1.5, .dt_us = .08, .first_us = 8, .samples = SAMPLES, .gamma = 1 },
		.faces = { sizeof a->faces, VIEWS, a->foci, bowls },
	};
	OK(iso_transducers_rings(&a->t, &r));
	a->t.aperture = calloc(2 * VIEWS, sizeof(double));
	for (int q = 0; q < VIEWS; q++) {
		a->t.aperture[2 * q] = 8;
		a->t.aperture[2 * q + 1] = bowls ? 8 : .6;
		a->foci[q] = q == 1 && !bowls ? 0 : 20;
	}
	a->p = (struct iso_sradon){ .size = sizeof a->p,
		                    .t = &a->t,
		                    .grid = { { N, N, N }, { DS, DS, DS }, { 2, -4, 4 } },
		                    .step = .7,
		                    .focus = true,
		                    .faces = &a->faces };
}

/* Traces of the ball by the model; how well its adjoint fits. */
static iso_real *traces(iso_ctx *ctx, const struct arc *a)
{
	iso_real *image = calloc(N * N * N, sizeof *image);
	iso_op *op = NULL;
	double err;

	OK(iso_spheres_raster(image, NULL, &object, &a->p.grid));
	OK(iso_sradon_create(&op, ctx, &a->p));
	iso_real *x = to_device(ctx, N * N * N, image), *y = to_device(ctx, DATA, NULL);

	OK(iso_forward(y, op, ISO_ALL, x));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-5, 1e-8));
	iso_real *got = to_host(ctx, DATA, y);

	iso_op_free(op);
	device_free(ctx, x);
	device_free(ctx, y);
	free(image);
	return got;
}

/* The closed form of faces agrees with the model, that of points does not. */
static void check(iso_ctx *ctx)
{
	iso_real *want = calloc(DATA, sizeof *want);
	double greatest;
	struct arc a;

	for (int bowls = 0; bowls < 2; bowls++) {
		make_arc(&a, bowls);
		iso_real *got = traces(ctx, &a);

		OK(iso_spheres_traces_faces(want, &greatest, ctx, &object, &a.t, &a.faces, 0, 1));
		BELOW(relative_difference(DATA, got, want), .04);
		free(a.t.aperture);
		a.t.aperture = NULL;
		OK(iso_spheres_traces(want, &greatest, ctx, &object, &a.t, 0, 1));
		assert_true(relative_difference(DATA, got, want) > .1);
		iso_transducers_free(&a.t);
		free(got);
	}
	free(want);
}

static void faces(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_faces, check)

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	struct arc a;

	(void)state;
	make_arc(&a, true);
	a.foci[1] = 3; /* of faces 8 mm wide */
	assert_int_equal(iso_sradon_create(&op, ctx, &a.p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "at least half the width"));
	a.foci[1] = 0;
	assert_int_equal(iso_sradon_create(&op, ctx, &a.p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "a bowl without a focus"));
	free(a.t.aperture);
	a.t.aperture = NULL;
	assert_int_equal(iso_sradon_create(&op, ctx, &a.p), ISO_EARG);
	assert_non_null(strstr(iso_message(), "no aperture_mm"));
	assert_null(op);
	iso_transducers_free(&a.t);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faces),
		cmocka_unit_test(cuda_faces),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
