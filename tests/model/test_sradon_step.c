/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps between points on the spheres: each accuracy is reached by the step that it chooses, for balls
   whose edges are blurred by half a voxel; forward and adjoint fit at every step. */
#include "oat_vectors.h"

enum { N = 36, RINGS = 3, VIEWS = 2, SAMPLES = 160, DATA = RINGS * VIEWS * SAMPLES };

#define DS .14

static struct iso_transducers transducers(void)
{
	const struct iso_rings rings = { 65, RINGS, VIEWS, .4, 1.05, .15, 2.2 };
	struct iso_transducers t = {
		.speed = 1.54, .dt_us = .05, .first_us = 38.2, .samples = SAMPLES, .gamma = 1
	};

	OK(iso_transducers_rings(&t, &rings));
	return t;
}

static struct iso_sradon model(const struct iso_transducers *t, double step, double accuracy)
{
	return (struct iso_sradon){ .size = sizeof(struct iso_sradon),
		                    .t = t,
		                    .grid = { { N, N, N }, { DS, DS, DS }, { .4, -.3, .2 } },
		                    .step = step,
		                    .accuracy = accuracy };
}

/* Three balls, radii of 8, 5 and 3 voxels. */
static iso_real *balls(void)
{
	static const double ball[3][5] = { { 16, 17, 16, 8, 1 },
		                           { 25, 11, 22, 5, .7 },
		                           { 10, 25, 25, 3, 1 } };
	iso_real *x = calloc(N * N * N, sizeof *x);

	assert_non_null(x);
	for (int n = 0; n < N * N * N; n++)
		for (int b = 0; b < 3; b++) {
			const double *c = ball[b];
			double r = sqrt(pow(n % N - c[0], 2) + pow(n / N % N - c[1], 2) +
			                pow(n / N / N - c[2], 2));

			x[n] += (iso_real)(c[4] / 2 * erfc((r - c[3]) / (M_SQRT2 * .5)));
		}
	return x;
}

static iso_real *traces(iso_ctx *ctx, const struct iso_sradon *p, const iso_real *x)
{
	iso_real *y = calloc(DATA, sizeof *y);
	iso_op *op = NULL;
	double err;

	assert_non_null(y);
	OK(iso_sradon_create(&op, ctx, p));
	OK(iso_forward(y, op, ISO_ALL, x));
	if (iso_sradon_step(p) >= .5) {
		OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-12));
	}
	iso_op_free(op);
	return y;
}

static void accuracies(void **state)
{
	static const double asked[] = { 3e-2, 2e-2, 6e-3, 3e-3, 1e-3, 3e-4 };
	static const double step[] = { 2, M_SQRT2, 1, M_SQRT1_2, .5, .25 };
	struct iso_transducers t = transducers();
	struct iso_sradon finest = model(&t, .125, 0);
	iso_ctx *ctx = cpu(2);
	iso_real *x = balls(), *want = traces(ctx, &finest, x);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct iso_sradon p = model(&t, 0, asked[i]);
		iso_real *got = traces(ctx, &p, x);
		double error = relative_difference(DATA, got, want);

		BELOW(fabs(iso_sradon_step(&p) - step[i]), 1e-12);
		BELOW(error, asked[i]);
		free(got);
	}
	free(x);
	free(want);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

static void choices(void **state)
{
	struct iso_transducers t = transducers();
	struct iso_sradon p = model(&t, 0, 0);
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;

	(void)state;
	assert_true(iso_sradon_step(&p) == 1);
	p.accuracy = .5;
	assert_true(iso_sradon_step(&p) == 2);
	p.step = 1.25;
	assert_true(iso_sradon_step(&p) == 1.25);
	p.accuracy = 1e-6;
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EARG, "accuracy 1e-06, must be 0.0001 to below 1");
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(accuracies), cmocka_unit_test(choices) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
