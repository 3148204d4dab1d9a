/* SPDX-License-Identifier: BSD-3-Clause */
/* De Pierro's EM: Phi never falls, and the image comes to the maximum that lbfgs finds. */
#include "map_problem.h"

static double solve(iso_real *x, const struct map_problem *p, const struct iso_prior_spec *s, double beta,
                    enum iso_map_method method, int passes, bool as_given)
{
	struct iso_map map = problem_map(p, s, method, beta, passes);
	struct iso_map_result r = { .size = sizeof r };

	map.as_given = map.as_given || as_given;
	map.tolerance = method == ISO_MAP_LBFGS ? 1e-6 : 0;
	OK(iso_map_run(x, &r, &map, NULL));
	double phi = r.look[r.n - 1].objective;

	iso_map_result_free(&r);
	return phi;
}

static double run(iso_real *x, const struct map_problem *p, const struct iso_prior_spec *s, double beta,
                  enum iso_map_method method, int passes)
{
	memcpy(x, p->start, (size_t)p->n * sizeof *x);
	return solve(x, p, s, beta, method, passes, false);
}

static const char *const penalties[] = { "quadratic", "logcosh", "rdp" };

static void never_falls(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p2", 1);
	iso_real *x = copy_of(p.n, p.start);

	(void)state;
	for (int i = 0; i < N_OF(penalties); i++) {
		struct iso_prior_spec s = problem_prior(&p, penalties[i]);
		double beta = solution_number(&p, penalties[i], "beta");
		double before = run(x, &p, &s, beta, ISO_MAP_DEPIERRO, 1);

		for (int pass = 2; pass <= 40; pass++) { /* an update keeps nothing but the image */
			double phi = solve(x, &p, &s, beta, ISO_MAP_DEPIERRO, 1, true);

			assert_true(phi >= before - TOLERANCE(1e-6, 1e-12) * fabs(before));
			before = phi;
		}
	}
	free(x);
	problem_end(&p);
	iso_ctx_free(ctx);
}

static void reaches_the_maximum(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p2", 1);
	iso_real *x = copy_of(p.n, p.start), *best = copy_of(p.n, p.start);

	(void)state;
	for (int i = 0; i < N_OF(penalties); i++) {
		struct iso_prior_spec s = problem_prior(&p, penalties[i]);
		double beta = solution_number(&p, penalties[i], "beta"), apart = 0, top = 0;
		double most = run(best, &p, &s, beta, ISO_MAP_LBFGS, 1000);
		double first = run(x, &p, &s, beta, ISO_MAP_DEPIERRO, 1);
		double phi = run(x, &p, &s, beta, ISO_MAP_DEPIERRO, 600);

		for (int64_t k = 0; k < p.n; k++) {
			double d = fabs((double)x[k] - best[k]);

			if (d > apart) apart = d;
			if (best[k] > top) top = best[k];
		}
		print_message("%s: Phi %.9g of %.9g, image %g of %g\n", penalties[i], phi, most, apart, top);
		assert_true(most - phi < 1e-4 * (most - first));
		assert_true(apart < .01 * top);
	}
	free(best);
	free(x);
	problem_end(&p);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_falls),
		cmocka_unit_test(reaches_the_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
