/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood against reference vectors (tests/data/priors) of independent float64 programs: updates, MAP
   images, objectives, conditions of Karush, Kuhn and Tucker, kappa; also built in double, for the float64 tolerances. */
#include "map_problem.h"

static const char *const problems[] = { "p1", "p2", "p3" };

/* ---- 8 updates ---- */

static void check_updates(iso_ctx *ctx, const char *name)
{
	static const struct {
		const char *name;
		enum iso_map_method method;
		int passes;
	} runs[] = { { "bsrem", ISO_MAP_BSREM, 2 },
		     { "svrg", ISO_MAP_SVRG, 3 },
		     { "saga", ISO_MAP_SAGA, 3 } };
	struct map_problem p = problem_begin(ctx, name, 4);
	struct iso_prior_spec s = problem_prior(&p, "rdp");

	for (int i = 0; i < N_OF(runs); i++) {
		struct iso_map map = problem_map(&p, &s, runs[i].method, solution_number(&p, "rdp", "beta"),
		                                 runs[i].passes);
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start);
		char file[64];

		map.relax = .5; /* of bsrem, as the vectors have it */

		snprintf(file, sizeof file, "%s_%s_8updates", name, runs[i].name);
		double *ref = priors_array(file, p.n);

		OK(iso_map_run(x, &r, &map, NULL));
		double w = priors_worst(p.n, x, ref);

		print_message("%s: %g\n", file, w);
		assert_int_equal(r.updates, 8);
		assert_int_equal(r.went_back, 0);
		BELOW(w, TOLERANCE(2e-4, 1e-9));
		free(ref);
		free(x);
		iso_map_result_free(&r);
	}
	problem_end(&p);
}

static void updates(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < N_OF(problems); i++) check_updates(ctx, problems[i]);
	iso_ctx_free(ctx);
}

/* ---- MAP images ---- */

static const char *const penalties[] = { "rdp", "quadratic", "logcosh", "rdp_kappa", "rdp_bowsher" };

static int penalties_of(const char *problem)
{
	return strcmp(problem, "p3") ? N_OF(penalties) : 1;
}

static double *solution_of(const struct map_problem *p, const char *penalty)
{
	char file[64];

	snprintf(file, sizeof file, "%s_map_%s", p->name, penalty);
	return priors_array(file, p->n);
}

static void check_reference(iso_ctx *ctx, const char *name)
{
	struct map_problem p = problem_begin(ctx, name, 4);

	for (int i = 0; i < penalties_of(name); i++) {
		const char *penalty = penalties[i];
		struct iso_prior_spec s = problem_prior(&p, penalty);
		double objective = solution_number(&p, penalty, "objective"),
		       rise = objective - solution_number(&p, penalty, "objective_at_start");
		struct iso_map map =
			problem_map(&p, &s, ISO_MAP_LBFGS, solution_number(&p, penalty, "beta"), 400);
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start);
		double *ref = solution_of(&p, penalty);

		map.tolerance = TOLERANCE(1e-4, 1e-6);
		OK(iso_map_run(x, &r, &map, NULL));
		double w = priors_worst(p.n, x, ref);

		print_message("%s %s: %g evaluations, %d steps, KKT %.2g, image %.2g, objective %.2g of the "
		              "rise%s\n",
		              name, penalty, r.passes, (int)r.updates, r.kkt, w,
		              (r.look[r.n - 1].objective - objective) / rise,
		              r.converged ? ", converged" : "");
		NEAR(r.look[0].objective, solution_number(&p, penalty, "objective_at_start"),
		     TOLERANCE(1e-5, 1e-9) * rise);
		NEAR(r.look[r.n - 1].objective, objective, TOLERANCE(1e-5, 1e-9) * rise);
		assert_true(r.passes <= 400);
		BELOW(r.kkt, TOLERANCE(1e-2, 1e-5));
		BELOW(w, TOLERANCE(5e-3, 1e-5));
		free(ref);
		free(x);
		iso_map_result_free(&r);
	}
	problem_end(&p);
}

static void reference(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < N_OF(problems); i++) check_reference(ctx, problems[i]);
	iso_ctx_free(ctx);
}

/* Defaults: B = min(32, counts/1000), one OSEM pass from a uniform image, random order, guards; RMSE over the voxels
   seen, over the mean of the reference. */
static void check_defaults(iso_ctx *ctx, const char *name, enum iso_map_method method, int n_sub, double most)
{
	struct map_problem p = problem_begin(ctx, name, n_sub);

	for (int i = 0; i < penalties_of(name); i++) {
		const char *penalty = penalties[i];
		struct iso_prior_spec s = problem_prior(&p, penalty);
		struct iso_map map = problem_map(&p, &s, method, solution_number(&p, penalty, "beta"), 30);
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = calloc((size_t)p.n, sizeof *x);
		double *ref = solution_of(&p, penalty), counts = 0, all = 0, d = 0, mean = 0;
		int seen = 0;

		map.in_turn = map.as_given = false;
		map.guard = ISO_MAP_GUARDS;
		for (int64_t j = 0; j < iso_op_n_out(p.op); j++) counts += p.y ? p.y[j] : 1;
		for (int64_t v = 0; v < p.n; v++) all += p.sens[v];
		for (int64_t v = 0; v < p.n; v++) x[v] = (iso_real)(counts / all);
		OK(iso_map_run(x, &r, &map, NULL));
		for (int64_t v = 0; v < p.n; v++)
			if (p.sens[v] > 0) {
				d += (x[v] - ref[v]) * (x[v] - ref[v]);
				mean += ref[v];
				seen++;
			}
		d = sqrt(d / seen) / (mean / seen);
		print_message("%s %s: %s, %d subsets, %g passes: RMSE %.3g, change %.2g\n", name, penalty,
		              method == ISO_MAP_SVRG ? "svrg" : "saga", n_sub, r.passes, d,
		              r.look[r.n - 1].change);
		assert_int_equal(r.went_back, 0);
		assert_true(r.passes <= 30 && r.passes > 29);
		BELOW(d, most);
		/* Phi at anchors, and of the last image */
		for (int k = 3; k < r.n; k++)
			assert_true(r.look[k].objective >=
			            r.look[k - 1].objective -
			                    1e-6 * (r.look[k - 1].objective - r.look[0].objective));
		free(ref);
		free(x);
		iso_map_result_free(&r);
	}
	problem_end(&p);
}

static void defaults(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_defaults(ctx, "p1", ISO_MAP_SVRG, 16, .03);
	check_defaults(ctx, "p2", ISO_MAP_SVRG, 20, .01);
	check_defaults(ctx, "p3", ISO_MAP_SVRG, 20, .01);
	check_defaults(ctx, "p2", ISO_MAP_SAGA, 20, .01);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(updates),
		cmocka_unit_test(reference),
		cmocka_unit_test(defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
