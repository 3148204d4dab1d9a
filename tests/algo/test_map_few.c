/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood of scans with few counts a voxel: how far an update may go, and that runs end where they should. */
#include "map_problem.h"

#include "algo/map/state.h"

enum { EVERY = 8 }; /* of the events of p3: 1.3 are left for a voxel */

#define BETA .5

static iso_real *thinned(int64_t n, iso_real *v)
{
	for (int64_t j = 0; j < n; j++) v[j] = v[j * EVERY];
	return v;
}

static struct map_problem few_begin(iso_ctx *ctx, int n_sub)
{
	struct map_problem p = problem_begin(ctx, "p3", 4);
	struct iso_ray ray = { .size = sizeof ray, .grid = p.grid, .n_sub = n_sub, .tof_fwhm_ps = 390 };
	struct iso_events e = { 0 };

	iso_op_free(p.op);
	OK(iso_events_read(&e, TEST_DATA "/listmode/events.lmdT", NULL));
	e.n /= EVERY;
	for (int64_t j = 0; j < e.n; j++) e.v[j] = e.v[j * EVERY];
	OK(iso_ray_create(&p.op, ctx, &ray, &e));
	p.mult = thinned(e.n, p.mult);
	for (int64_t j = 0; j < e.n; j++) p.add[j] /= EVERY;
	for (int64_t i = 0; i < p.n; i++) p.sens[i] /= EVERY;
	for (int64_t i = 0; i < p.n; i++) p.start[i] = 1;
	iso_events_free(&e);
	return p;
}

static struct iso_prior_spec few_prior(const struct map_problem *p)
{
	return (struct iso_prior_spec){ .size = sizeof(struct iso_prior_spec),
		                        .kind = ISO_PRIOR_RDP,
		                        .grid = p->grid,
		                        .parameter = { 2, 1e-3 } };
}

static struct iso_map few_map(const struct map_problem *p, const struct iso_prior_spec *s,
                              enum iso_map_method method, int passes)
{
	struct iso_map map = problem_map(p, s, method, BETA, passes);

	map.in_turn = map.as_given = false;
	map.guard = ISO_MAP_GUARDS;
	return map;
}

/* ---- guards ---- */

/* The most that a voxel grew by in one of the updates, over its u = x + off before. */
static double growth(const struct iso_map *map, const iso_real *start)
{
	iso_map_state *m = NULL;
	double most = 0;

	OK(iso_map_create(&m, map, start));
	while (!iso_map_finished(m)) {
		iso_real *before = copy_of(m->l.n, m->l.x);

		OK(iso_map_step(m));
		for (int64_t i = 0; i < m->l.n; i++)
			most = larger(most, m->l.x[i] / (before[i] + m->num.off));
		free(before);
	}
	iso_map_free(m);
	return most;
}

/* A voxel doubles at most in an update; with 40 counts a voxel it grows by what it would without guards. */
static void grows(void **state)
{
	static const enum iso_map_method methods[] = { ISO_MAP_SVRG, ISO_MAP_SAGA, ISO_MAP_BSREM };
	iso_ctx *ctx = cpu(1);
	struct map_problem p = few_begin(ctx, 16), q = problem_begin(ctx, "p3", 16);
	struct iso_prior_spec s = few_prior(&p);

	(void)state;
	q.y = calloc(LIST_EVENTS, sizeof *q.y);
	assert_non_null(q.y);
	for (int j = 0; j < LIST_EVENTS; j++) q.y[j] = 4;
	for (int k = 0; k < N_OF(methods); k++) {
		struct iso_map map = few_map(&p, &s, methods[k], 6), many = few_map(&q, &s, methods[k], 6);

		BELOW(fabs(growth(&map, p.start) / 2 - 1), 1e-6);
		map.guard = ISO_MAP_NO_GUARDS;
		const double unbound = growth(&map, p.start);

		print_message("method %d: a voxel grows %g-fold without a bound\n", methods[k], unbound);
		assert_true(unbound > 5);
		const double free_to_grow = growth(&many, p.start);

		many.guard = ISO_MAP_NO_GUARDS;
		/* P of bsrem has M as a guard */
		if (methods[k] == ISO_MAP_BSREM)
			assert_true(free_to_grow > 3);
		else
			assert_true(free_to_grow == growth(&many, p.start));
	}
	problem_end(&p);
	problem_end(&q);
	iso_ctx_free(ctx);
}

/* ---- where runs end ---- */

/* Phi of the image that 40 passes end at; of lbfgs 600. */
static double end_of(const struct map_problem *p, const struct iso_prior_spec *s, enum iso_map_method method,
                     double step)
{
	struct iso_map map = few_map(p, s, method, method == ISO_MAP_LBFGS ? 600 : 40);
	iso_real *x = copy_of(p->n, p->start);

	map.step = step;
	OK(iso_map_run(x, NULL, &map, NULL));
	double phi = objective_of(p, s, BETA, x);

	free(x);
	return phi;
}

/* svrg and saga at the maximum, whatever the subsets. */
static void ends(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int n_sub = 4; n_sub <= 16; n_sub *= 2) {
		struct map_problem p = few_begin(ctx, n_sub);
		struct iso_prior_spec s = few_prior(&p);
		const double start = objective_of(&p, &s, BETA, p.start),
			     best = end_of(&p, &s, ISO_MAP_LBFGS, 0), rise = best - start;

		BELOW((best - end_of(&p, &s, ISO_MAP_SVRG, 0)) / rise, 1e-4);
		BELOW((best - end_of(&p, &s, ISO_MAP_SAGA, 0)) / rise, 3e-4);
		problem_end(&p);
	}
	iso_ctx_free(ctx);
}

/* ---- terms that are cut ---- */

/* G of saga is A* rho - S after every update that cut no term, also after ones that did. */
static void gradient_of_ratios(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = few_begin(ctx, 16);
	struct iso_map map = few_map(&p, NULL, ISO_MAP_SAGA, 60);
	iso_real *back = calloc((size_t)p.n, sizeof *back);
	iso_map_state *m = NULL;
	int checked = 0;

	(void)state;
	map.guard = ISO_MAP_NO_GUARDS;
	map.beta = 0; /* without a penalty P is of the image as it is, and terms are cut */
	OK(iso_map_create(&m, &map, p.start));
	while (!iso_map_finished(m)) {
		OK(iso_map_step(m));
		if (m->tally.stale || !m->tally.cut) continue;
		double off = 0, most = 0;

		OK(iso_adjoint(back, p.op, ISO_ALL, m->rho));
		for (int64_t i = 0; i < p.n; i++) {
			off = larger(off, fabs(back[i] - p.sens[i] - m->gradient[i]));
			most = larger(most, back[i]);
		}
		BELOW(off / most, 1e-6);
		checked++;
	}
	print_message("%d updates, %d terms cut\n", checked, (int)m->tally.cut);
	assert_true(checked > 10);
	iso_map_free(m);
	free(back);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* A run that stops after every update and goes on counts the same terms as one that never stops. */
static void cut_of_resumed(void **state)
{
	static const enum iso_map_method methods[] = { ISO_MAP_SVRG, ISO_MAP_SAGA };
	const struct iso_run run = { .size = sizeof run,
		                     .checkpoint = "test_map_few.ckpt",
		                     .stop_after_minutes = 1e-9,
		                     .resume = true };
	iso_ctx *ctx = cpu(1);
	struct map_problem p = few_begin(ctx, 16);

	(void)state;
	for (int64_t j = 0; j < iso_op_n_out(p.op); j++) p.add[j] = 1e-9f; /* lines that lose all activity */
	for (int k = 0; k < N_OF(methods); k++) {
		struct iso_map map = few_map(&p, NULL, methods[k], 40);
		struct iso_map_result whole = { .size = sizeof whole }, r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start), *z = NULL;
		int st = ISO_ECANCEL;

		map.guard = ISO_MAP_NO_GUARDS;
		map.beta = 0;
		OK(iso_map_run(x, &whole, &map, NULL));
		print_message("%d terms cut\n", (int)whole.cut);
		assert_true(whole.cut > 0);
		while (st == ISO_ECANCEL) {
			free(z);
			z = copy_of(p.n, p.start);
			st = iso_map_run(z, &r, &map, &run);
		}
		OK(st);
		remove(run.checkpoint);
		assert_int_equal(r.cut, whole.cut);
		assert_int_equal(r.used, whole.used);
		assert_int_equal(r.skipped, whole.skipped);
		assert_memory_equal(x, z, (size_t)p.n * sizeof *x);
		iso_map_result_free(&whole);
		iso_map_result_free(&r);
		free(x);
		free(z);
	}
	problem_end(&p);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(grows), cmocka_unit_test(ends),
		                            cmocka_unit_test(gradient_of_ratios),
		                            cmocka_unit_test(cut_of_resumed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
