/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties: bits, parts of an evaluation, kappa of 0, the step of algorithms, refusals; also built in double. */
#include "priors.h"
#include "algo/prior.h"

/* ---- bits, and what is asked for ---- */

static void same_bits(const struct iso_grid *g, const struct prior_results *a, const struct prior_results *b)
{
	size_t bytes = (size_t)iso_grid_voxels(g) * sizeof(iso_real);

	assert_memory_equal(&a->value, &b->value, sizeof a->value);
	assert_memory_equal(a->gradient, b->gradient, bytes);
	assert_memory_equal(a->curvature, b->curvature, bytes);
	assert_memory_equal(a->hessian, b->hessian, bytes);
}

/* Of several tiles; the other of whole columns, for which CUDA has kernels of its own. */
static const struct iso_grid odd = { { 37, 35, 18 }, { 2, 2.5, 3 }, { 0 } };
static const struct iso_grid even = { { 36, 34, 9 }, { 2, 2.5, 3 }, { 0 } };

static void threads(void **state)
{
	iso_ctx *one = cpu(1), *three = cpu(3);
	int64_t n = iso_grid_voxels(&odd);
	iso_real *x = prior_noise(n, 9, 9), *kappa = prior_noise(n, 10, 9);

	(void)state;
	for (int k = 0; k < prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)k, &odd);

		s.kappa = kappa;
		struct prior_results a = prior_evaluated(one, &s, x), b = prior_evaluated(three, &s, x);

		same_bits(&odd, &a, &b);
		prior_results_free(&a);
		prior_results_free(&b);
	}
	free(x);
	free(kappa);
	iso_ctx_free(one);
	iso_ctx_free(three);
}

/* Twice the same bits; whatever else is asked for, each result stays what it is, on CUDA to rounding. */
static void check_parts_on(iso_ctx *ctx, const struct iso_grid *g)
{
	int64_t n = iso_grid_voxels(g);
	iso_real *x = prior_noise(n, 11, 9), *kappa = prior_noise(n, 12, 9), *dx = to_device(ctx, n, x);
	iso_real *dk = to_device(ctx, n, kappa), *d = to_device(ctx, n, x);

	for (int k = 0; k < 2 * prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)(k / 2), g);
		iso_prior *r = NULL;
		double value = -1;

		s.kappa = k % 2 ? kappa : NULL;
		struct prior_results a = prior_evaluated(ctx, &s, x);

		s.kappa = k % 2 ? dk : NULL;
		s.place = ISO_DEVICE;
		struct prior_results b = prior_evaluated(ctx, &s, x);
		const iso_real *whole[3] = { a.gradient, a.curvature, a.hessian };

		same_bits(g, &a, &b);
		OK(iso_prior_create(&r, ctx, &s));
		OK(iso_prior_eval(&value, NULL, NULL, NULL, r, dx));
		NEAR(value, a.value, 1e-7 * a.value);
		for (int o = 0; o < 3; o++) {
			OK(iso_prior_eval(NULL, o == 0 ? d : NULL, o == 1 ? d : NULL, o == 2 ? d : NULL, r,
			                  dx));
			iso_real *got = to_host(ctx, n, d);

			OK(iso_prior_eval(NULL, o == 0 ? d : NULL, o == 1 ? d : NULL, o == 2 ? d : NULL, r,
			                  dx));
			iso_real *again = to_host(ctx, n, d);

			assert_memory_equal(got, again, (size_t)n * sizeof *got);
			NEAR(relative_difference(n, got, whole[o]), 0, iso_ctx_is_cuda(ctx) ? 1e-6 : 0);
			free(got);
			free(again);
		}
		iso_prior_free(r);
		prior_results_free(&a);
		prior_results_free(&b);
	}
	free(x);
	free(kappa);
	device_free(ctx, dx);
	device_free(ctx, dk);
	device_free(ctx, d);
}

static void check_parts(iso_ctx *ctx)
{
	check_parts_on(ctx, &odd);
	check_parts_on(ctx, &even);
}

static void parts(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_parts(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_parts, check_parts)

/* A voxel of kappa 0 is nobody's neighbour. */
static void check_unseen(iso_ctx *ctx)
{
	static const struct iso_grid g = { { 20, 9, 7 }, { 2, 2.5, 3 }, { 0 } };
	int64_t n = iso_grid_voxels(&g);
	iso_real *x = prior_noise(n, 13, 9), *kappa = prior_noise(n, 14, 4);

	for (int k = 0; k < prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)k, &g);

		s.kappa = kappa;
		struct prior_results a = prior_evaluated(ctx, &s, x);

		for (int64_t v = 0; v < n; v++)
			if (!(kappa[v] > 0)) x[v] += 100;
		struct prior_results b = prior_evaluated(ctx, &s, x);

		if (!iso_ctx_is_cuda(ctx)) same_bits(&g, &a, &b);
		assert_true(a.value == b.value);
		for (int64_t v = 0; v < n; v++) { /* on CUDA zeros may differ by their sign */
			assert_true(a.gradient[v] == b.gradient[v] && a.curvature[v] == b.curvature[v] &&
			            a.hessian[v] == b.hessian[v]);
			if (kappa[v] > 0) continue;
			assert_true(a.gradient[v] == 0 && a.curvature[v] == 0);
			x[v] -= 100;
		}
		prior_results_free(&a);
		prior_results_free(&b);
	}
	free(x);
	free(kappa);
}

static void unseen(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_unseen(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_unseen, check_unseen)

/* ---- the step ---- */

static void check_one_step(iso_ctx *ctx, const struct iso_grid *grid, iso_prior *r, const iso_real *gradient,
                           const iso_real *x)
{
	int64_t n = iso_grid_voxels(grid);
	iso_real *z = prior_noise(n, 15, 9), *g = prior_noise(n, 16, 9), *p = prior_noise(n, 17, 9), *to,
		 *left;
	iso_real *dx = to_device(ctx, n, x), *dz = to_device(ctx, n, z), *dg, *dp,
		 *dto = to_device(ctx, n, z);
	const struct prior_length l = { .scale = 4, .beta = .2, .step = .5, .grow = 2, .off = .1 };
	int64_t zeros = 0, bound = 0;

	for (int64_t v = 0; v < n; v++) g[v] -= 3; /* some voxels end at 0 */
	dg = to_device(ctx, n, g);
	dp = to_device(ctx, n, p);
	OK(iso_prior_step(r, ctx, n, dto, dx, dz, dg, dp, &l));
	to = to_host(ctx, n, dto);
	left = to_host(ctx, n, dz);
	for (int64_t v = 0; v < n; v++) {
		double want = x[v] +
		              l.step * p[v] * (l.scale * z[v] + g[v] - l.beta * (gradient ? gradient[v] : 0)),
		       most = l.grow * (x[v] + l.off);

		assert_true(left[v] == 0);
		NEAR(to[v], want > most ? most : want > 0 ? want : 0, TOLERANCE(5e-6, 1e-14) * 4);
		zeros += to[v] == 0;
		bound += want > most;
	}
	assert_true(zeros > n / 20 && zeros < n / 2);
	assert_true(bound > n / 100 && bound < n / 2);
	iso_real *device[] = { dx, dz, dg, dp, dto }, *host[] = { z, g, p, to, left };

	for (int i = 0; i < 5; i++) {
		device_free(ctx, device[i]);
		free(host[i]);
	}
}

static void check_step_on(iso_ctx *ctx, const struct iso_grid *grid)
{
	int64_t n = iso_grid_voxels(grid);
	iso_real *x = prior_noise(n, 18, 9), *kappa = prior_noise(n, 19, 9), *anatomy = prior_noise(n, 20, 3);

	check_one_step(ctx, grid, NULL, NULL, x);
	for (int k = 0; k < 4 * prior_kinds(); k++) {
		struct iso_prior_spec s = prior_usual((enum iso_prior_kind)(k / 4), grid);
		iso_prior *r = NULL;

		s.kappa = k % 2 ? kappa : NULL;
		s.anatomy = k % 4 > 1 && prior_has_pairs(s.kind) ? anatomy : NULL;
		struct prior_results e = prior_evaluated(ctx, &s, x);

		OK(iso_prior_create(&r, ctx, &s));
		check_one_step(ctx, grid, r, e.gradient, x);
		iso_prior_free(r);
		prior_results_free(&e);
	}
	free(x);
	free(kappa);
	free(anatomy);
}

static void check_step(iso_ctx *ctx)
{
	check_step_on(ctx, &odd);
	check_step_on(ctx, &even);
}

static void step(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_step(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_step, check_step)

/* ---- refusals ---- */

static void refusals(void **state)
{
	static const struct iso_grid g = { { 3, 2, 2 }, { 1, 1, 1 }, { 0 } };
	iso_ctx *ctx = cpu(1);
	iso_real image[12] = { 0 }, x[12] = { 0 };
	struct iso_prior_spec s;
	enum iso_prior_kind kind = ISO_PRIOR_HUBER;
	iso_prior *r = NULL;

	(void)state;
#define WITH(which, change, code, text)                     \
	s = prior_usual(which, &g);                         \
	change;                                             \
	REFUSED(iso_prior_create(&r, ctx, &s), code, text); \
	assert_null(r)
	WITH(ISO_PRIOR_RDP, s.parameter[0] = -1, ISO_EARG, "penalty rdp: gamma is -1, must be at least 0");
	WITH(ISO_PRIOR_RDP, s.parameter[1] = -1, ISO_EARG, "epsilon is -1, must be at least 0");
	WITH(ISO_PRIOR_RDP, s.parameter[1] = NAN, ISO_EARG, "epsilon is nan");
	WITH(ISO_PRIOR_LOGCOSH, s.parameter[0] = 0, ISO_EARG, "penalty logcosh: s is 0, must be above 0");
	WITH(ISO_PRIOR_HUBER, s.parameter[0] = 0, ISO_EARG, "penalty huber: delta is 0, must be above 0");
	WITH(ISO_PRIOR_GGD, s.parameter[0] = .9, ISO_EARG, "penalty ggd: p is 0.9, must be 1 to 2");
	WITH(ISO_PRIOR_TV, s.parameter[0] = INFINITY, ISO_EARG, "penalty tv: eta is inf");
	WITH(ISO_PRIOR_TV, s.anatomy = image, ISO_EARG, "penalty tv: it has no pairs");
	WITH(ISO_PRIOR_RDP, (s.anatomy = image, s.bowsher = 27), ISO_EARG, "27 neighbours");
	WITH(ISO_PRIOR_RDP, (s.anatomy = image, s.bowsher = 0), ISO_EARG, "must be 1 to 26");
	WITH(ISO_PRIOR_RDP, s.size = 0, ISO_EARG, "size is 0");
	WITH(ISO_PRIOR_RDP, s.grid.n[1] = 0, ISO_EARG, "grid: size y is 0");
	WITH((enum iso_prior_kind)77, (void)0, ISO_EARG, "kind is 77, must be 0 to ");
	image[5] = -1;
	WITH(ISO_PRIOR_RDP, s.kappa = image, ISO_EINPUT,
	     "kappa: voxel 5 is -1, must be finite and not negative");
	image[5] = NAN;
	WITH(ISO_PRIOR_RDP, s.kappa = image, ISO_EINPUT, "kappa: voxel 5 is nan");
	WITH(ISO_PRIOR_RDP, s.anatomy = image, ISO_EINPUT,
	     "anatomical image: voxel 5 is nan, must be finite");
#undef WITH
	REFUSED(iso_prior_kind_of(&kind, "rpd"), ISO_EARG, "did you mean 'rdp'?");
	assert_int_equal(kind, ISO_PRIOR_HUBER);
	assert_null(iso_prior_about((enum iso_prior_kind)prior_kinds()));
	assert_null(iso_prior_about((enum iso_prior_kind) - 1));
	s = prior_usual(ISO_PRIOR_RDP, &g);
	OK(iso_prior_create(&r, ctx, &s));
	REFUSED(iso_prior_eval(NULL, x, NULL, NULL, r, x), ISO_EARG, "the same array");
	iso_prior_free(r);
	iso_prior_free(NULL);
	iso_ctx_free(ctx);
}

/* Rows of the table are whole: defaults are in range, and names find their kind and their parameter. */
static void table(void **state)
{
	(void)state;
	for (int k = 0; k < prior_kinds(); k++) {
		enum iso_prior_kind kind = (enum iso_prior_kind)k, again;
		struct iso_prior_spec s = { .size = sizeof s, .kind = kind };
		const struct iso_prior_parameter *q;
		int i = 0;

		OK(iso_prior_kind_of(&again, iso_prior_about(kind)->name));
		assert_int_equal(again, kind);
		assert_non_null(iso_prior_about(kind)->help);
		for (; (q = iso_prior_parameter(kind, i)); i++) {
			double usual = iso_prior_default(kind, i, 5, 2);
			const double rule[] = { q->usual, 5 * q->usual, 2 * q->usual, 1 / (2 * q->usual) };

			NEAR(usual, rule[q->rule], 0);
			OK(iso_prior_set(&s, q->name, usual));
			NEAR(s.parameter[i], usual, 0);
			REFUSED(iso_prior_set(&s, q->name, q->least - 1), ISO_EARG, "must be");
			REFUSED(iso_prior_set(&s, q->name, NAN), ISO_EARG, "is nan, must be");
			if (q->above)
				REFUSED(iso_prior_set(&s, q->name, q->least), ISO_EARG, "must be above");
			NEAR(s.parameter[i], usual, 0);
		}
		assert_true(isnan(iso_prior_default(kind, i, 5, 2)));
		REFUSED(iso_prior_set(&s, "no", 1), ISO_EARG, "has no 'no'; it has");
	}
}

/* The prior keeps its context. */
static void keeps_context(void **state)
{
	static const struct iso_grid g = { { 3, 2, 2 }, { 1, 1, 1 }, { 0 } };
	struct iso_prior_spec s = prior_usual(ISO_PRIOR_QUADRATIC, &g);
	iso_ctx *ctx = cpu(1);
	iso_real x[12] = { 1 };
	iso_prior *r = NULL;
	double value = 0;

	(void)state;
	OK(iso_prior_create(&r, ctx, &s));
	iso_ctx_free(ctx);
	OK(iso_prior_eval(&value, NULL, NULL, NULL, r, x));
	NEAR(value, .5 * (3 + 3 / sqrt(2) + 1 / sqrt(3)), 1e-6); /* a corner: 3, 3 and 1 neighbours */
	iso_prior_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),   cmocka_unit_test(parts),       cmocka_unit_test(cuda_parts),
		cmocka_unit_test(unseen),    cmocka_unit_test(cuda_unseen), cmocka_unit_test(step),
		cmocka_unit_test(cuda_step), cmocka_unit_test(refusals),    cmocka_unit_test(keeps_context),
		cmocka_unit_test(table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
