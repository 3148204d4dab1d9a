/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood beyond the reference vectors: bits that repeat, runs that are stopped and go on, guards, other
   starts, strengths, many small problems, refusals, CUDA; also built in double, for tighter bounds. */
#include "map_problem.h"

#include "algo/map/state.h"

#include <unistd.h>

static const enum iso_map_method methods[] = { ISO_MAP_SVRG, ISO_MAP_SAGA, ISO_MAP_BSREM, ISO_MAP_LBFGS };

/* ---- bits ---- */

/* As a user would: one OSEM pass first, kappa of the data, random order, guards. */
static struct iso_map usual(const struct map_problem *p, const struct iso_prior_spec *s,
                            enum iso_map_method method, int passes)
{
	struct iso_map map = problem_map(p, s, method, 0, passes);

	map.relative = .2;
	map.kappa_auto = true;
	map.in_turn = map.as_given = false;
	map.guard = ISO_MAP_GUARDS;
	map.seed = 3;
	return map;
}

static void same_bits(int64_t n, const iso_real *a, const iso_real *b)
{
	assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void bits(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(methods); k++) {
		iso_real *x[3];
		int64_t n = 0;

		for (int i = 0; i < 3; i++) {
			iso_ctx *ctx = cpu(i == 2 ? 3 : 1);
			struct map_problem p = problem_begin(ctx, "p2", 5);
			struct iso_prior_spec s = problem_prior(&p, "rdp");
			struct iso_map map = usual(&p, &s, methods[k], 8);

			n = p.n;
			x[i] = copy_of(n, p.start);
			OK(iso_map_run(x[i], NULL, &map, NULL));
			problem_end(&p);
			iso_ctx_free(ctx);
		}
		same_bits(n, x[0], x[1]);
		same_bits(n, x[0], x[2]);
		for (int i = 0; i < 3; i++) free(x[i]);
	}
}

/* ---- stopped and resumed ---- */

/* A run that stops after every update, with a checkpoint, and is resumed. */
static int run_in_pieces(iso_real *x, struct iso_map_result *r, const struct iso_map *map, int64_t n)
{
	char path[64];
	int pieces = 1, st;

	snprintf(path, sizeof path, "test_map_%d.ckpt", (int)getpid());
	for (;; pieces++) {
		struct iso_run run = {
			.size = sizeof run, .checkpoint = path, .stop_after_minutes = 1e-9, .resume = true
		};
		iso_real *piece = copy_of(n, x);

		st = iso_map_run(piece, r, map, &run);
		if (st == ISO_OK) memcpy(x, piece, (size_t)n * sizeof *x);
		free(piece);
		if (st == ISO_OK) break;
		assert_int_equal(st, ISO_ECANCEL);
	}
	remove(path);
	return pieces;
}

static void resumed(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int k = 0; k < N_OF(methods); k++) {
		struct map_problem p = problem_begin(ctx, "p1", 4);
		struct iso_prior_spec s = problem_prior(&p, "rdp");
		struct iso_map map = usual(&p, &s, methods[k], 10);
		struct iso_map_result whole = { .size = sizeof whole }, r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start), *again = copy_of(p.n, p.start);

		s.parameter[1] = 0; /* epsilon of the start image: kept by the checkpoint */
		OK(iso_map_run(x, &whole, &map, NULL));
		assert_true(whole.parameter[1] > 0 && whole.beta > 0);
		int pieces = run_in_pieces(again, &r, &map, p.n);

		assert_int_equal(pieces, whole.updates);
		same_bits(p.n, x, again);
		assert_int_equal(r.updates, whole.updates);
		assert_int_equal(r.n, whole.n);
		assert_memory_equal(r.look, whole.look, (size_t)r.n * sizeof *r.look);
		NEAR(r.passes, whole.passes, 0);
		NEAR(r.beta, whole.beta, 0);
		NEAR(r.parameter[1], whole.parameter[1], 0);
		iso_map_result_free(&whole);
		iso_map_result_free(&r);
		free(x);
		free(again);
		problem_end(&p);
	}
	iso_ctx_free(ctx);
}

/* An operator that is stopped in every fifth call. */
struct stopping {
	iso_op *op;
	int calls;
	bool on;
};

static int stop_forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	struct stopping *s = arg;

	if (s->on && ++s->calls % 5 == 3) return ISO_ECANCEL;
	return iso_forward(y, s->op, sub, x);
}

static int stop_adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	struct stopping *s = arg;

	if (s->on && ++s->calls % 5 == 3) return ISO_ECANCEL;
	return iso_adjoint(x, s->op, sub, y);
}

/* All updates of a state, however often they are interrupted; how often that was. */
static int finish(iso_map_state *m)
{
	int stops = 0;

	while (!iso_map_finished(m)) {
		int st = iso_map_step(m);

		if (st == ISO_ECANCEL)
			stops++;
		else
			OK(st);
		assert_true(stops < 10000);
	}
	return stops;
}

/* With two subsets no pass has five calls. */
static void interrupted(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int k = 0; k < N_OF(methods); k++) {
		struct map_problem p = problem_begin(ctx, "p1", 2);
		struct iso_prior_spec s = problem_prior(&p, "rdp");
		struct iso_rows rows[2] = { iso_op_rows(p.op, 0), iso_op_rows(p.op, 1) };
		struct stopping stop = { p.op, 0, false };
		struct iso_custom c = { .size = sizeof c,
			                .n_in = p.n,
			                .n_out = iso_op_n_out(p.op),
			                .n_sub = 2,
			                .rows = rows,
			                .forward = stop_forward,
			                .adjoint = stop_adjoint,
			                .arg = &stop };
		iso_op *op = NULL;
		iso_real *x[2];

		OK(iso_custom_create(&op, ctx, &c));
		struct iso_map map = usual(&p, &s, methods[k], 14);

		map.op = op;
		for (int i = 0; i < 2; i++) {
			iso_map_state *m = NULL;

			x[i] = copy_of(p.n, p.start);
			stop.on = false;
			OK(iso_map_create(&m, &map, x[i]));
			stop.on = i == 1;
			assert_int_equal(finish(m) > 2, i == 1);
			OK(iso_map_image(x[i], m));
			iso_map_free(m);
		}
		same_bits(p.n, x[0], x[1]);
		free(x[0]);
		free(x[1]);
		iso_op_free(op);
		problem_end(&p);
	}
	iso_ctx_free(ctx);
}

/* ---- limits ---- */

/* Without a penalty 10 passes of svrg, the start's included, come as far as 100 of MLEM. */
static void no_penalty(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int k = 0; k < 2; k++) {
		const char *name = k ? "p3" : "p2";
		struct map_problem p = problem_begin(ctx, name, 20), one = problem_begin(ctx, name, 1);
		struct iso_map map = problem_map(&p, NULL, ISO_MAP_SVRG, 0, 10);
		struct iso_em em = { .size = sizeof em,
			             .op = one.op,
			             .data = { one.y, one.add, one.mult },
			             .sens = { 1, 1, one.sens },
			             .iterations = 100 };
		iso_real *x = calloc((size_t)p.n, sizeof *x), *y = calloc((size_t)p.n, sizeof *y);
		double all = 0;

		map.as_given = map.in_turn = false;
		map.guard = ISO_MAP_GUARDS;
		map.seed = 1;
		for (int64_t i = 0; i < p.n; i++) all += p.sens[i];
		for (int64_t i = 0; i < p.n; i++) x[i] = y[i] = (iso_real)(LIST_EVENTS / all);
		OK(iso_map_run(x, NULL, &map, NULL));
		OK(iso_em_run(y, NULL, &em, NULL));
		double ours = objective_of(&one, NULL, 0, x), mlem = objective_of(&one, NULL, 0, y);

		print_message("%s: svrg %.6g, MLEM %.6g\n", name, ours, mlem);
		assert_true(ours >= mlem);
		free(x);
		free(y);
		problem_end(&p);
		problem_end(&one);
	}
	iso_ctx_free(ctx);
}

/* ---- one objective ---- */

/* What each method tells of its last image is Phi of that image, however far from the maximum; on the way Phi is that of one
   image, never above the maximum, or not known. MLEM's is Phi without a penalty of the image before each update. */
static void one_objective(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p3", 8), one = problem_begin(ctx, "p3", 1);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	const double beta = solution_number(&p, "rdp", "beta"),
		     most = solution_number(&p, "rdp", "objective");

	(void)state;
	for (int k = 0; k < N_OF(methods); k++) {
		struct iso_map map = problem_map(&p, &s, methods[k], beta, 7);
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start);

		map.in_turn = false;
		map.relax = .5;
		OK(iso_map_run(x, &r, &map, NULL));
		double phi = objective_of(&p, &s, beta, x);

		NEAR(r.look[r.n - 1].objective, phi, 1e-9 * fabs(phi));
		NEAR(r.look[r.n - 1].loglik - r.look[r.n - 1].penalty, phi, 1e-9 * fabs(phi));
		assert_int_equal(r.look[r.n - 1].updates, r.updates);
		for (int i = 0; i < r.n; i++)
			assert_true(isnan(r.look[i].objective) ||
			            r.look[i].objective <= most + 1e-5 * fabs(most));
		free(x);
		iso_map_result_free(&r);
	}
	struct iso_em em = { .size = sizeof em,
		             .op = one.op,
		             .iterations = 2,
		             .data = { one.y, one.add, one.mult },
		             .sens = { 1, 1, one.sens } };
	struct iso_em_result of = { .size = sizeof of };
	iso_real *x = copy_of(one.n, one.start);

	OK(iso_em_run(x, &of, &em, NULL));
	NEAR(of.loglik[0], objective_of(&one, NULL, 0, one.start), 1e-9 * fabs(of.loglik[0]));
	iso_em_result_free(&of);
	free(x);
	problem_end(&p);
	problem_end(&one);
	iso_ctx_free(ctx);
}

/* Maxima from two starts, by two algorithms, are one. */
static void other_starts(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p2", 20);
	iso_real *x[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct iso_prior_spec s = problem_prior(&p, "quadratic");
		struct iso_map map =
			problem_map(&p, &s, i == 2 ? ISO_MAP_SVRG : ISO_MAP_LBFGS, 20.2, i == 2 ? 100 : 300);
		struct iso_map_result r = { .size = sizeof r };

		map.tolerance = i == 2 ? 1e-5 : TOLERANCE(1e-4, 1e-6);
		map.in_turn = false;
		map.guard = ISO_MAP_GUARDS;
		x[i] = copy_of(p.n, p.start);
		for (int64_t v = 0; i && v < p.n; v++) x[i][v] = (iso_real)(.001 * (double)(1 + 7 * v % 40));
		OK(iso_map_run(x[i], &r, &map, NULL));
		assert_true(r.converged);
		assert_int_equal(r.unseen > 0, true);
		iso_map_result_free(&r);
	}
	double most = 0;

	for (int64_t v = 0; v < p.n; v++) most = larger(most, x[0][v]);
	for (int64_t v = 0; v < p.n; v++) {
		NEAR(x[1][v], x[0][v], TOLERANCE(1e-3, 1e-5) * most);
		NEAR(x[2][v], x[0][v], 1e-3 * most);
	}
	for (int i = 0; i < 3; i++) free(x[i]);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* ---- kappa and strength ---- */

/* kappa of the data at the fifth MLEM image, as in the vectors; 0 where nothing sees the voxel. */
static void check_kappa(iso_ctx *ctx, const char *name)
{
	struct map_problem p = problem_begin(ctx, name, 1);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	struct iso_map map = problem_map(&p, &s, ISO_MAP_SVRG, 1, 4);
	struct iso_em em = { .size = sizeof em,
		             .op = p.op,
		             .data = { p.y, p.add, p.mult },
		             .sens = { 1, 1, p.sens },
		             .iterations = 5 };
	iso_real *x = calloc((size_t)p.n, sizeof *x);
	iso_map_state *m = NULL;
	char file[64];

	snprintf(file, sizeof file, "%s_kappa", name);
	double *ref = priors_array(file, p.n);

	map.kappa_auto = true;
	for (int64_t v = 0; v < p.n; v++) x[v] = 1;
	OK(iso_em_run(x, NULL, &em, NULL));
	OK(iso_map_create(&m, &map, x));
	iso_real *kappa = to_host(ctx, p.n, m->kappa);

	NEAR(priors_worst(p.n, kappa, ref), 0, TOLERANCE(2e-5, 1e-9));
	for (int64_t v = 0; v < p.n; v++) assert_true(p.sens[v] > 0 || !(kappa[v] > 0));
	iso_map_free(m);
	free(kappa);
	free(x);
	free(ref);
	problem_end(&p);
}

static void check_kappas(iso_ctx *ctx)
{
	check_kappa(ctx, "p2");
	check_kappa(ctx, "p3");
}

static void kappa(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_kappa(ctx, "p1");
	check_kappas(ctx);
	iso_ctx_free(ctx);
}

/* RDP without kappa has C ubar = W, the sum of the 26 weights, far from the border: beta = b S / W. */
static void strength(void **state)
{
	static const struct {
		enum iso_prior_kind kind;
		double share;
		bool over;
	} of_mean[] = { { ISO_PRIOR_LOGCOSH, .3, true },
		        { ISO_PRIOR_HUBER, .3, false },
		        { ISO_PRIOR_TV, .05, false } };
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p1", 2);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	double sum = 0, largest = 0, mean = 0, most = 0;
	int seen = 0;

	(void)state;
	for (int64_t v = 0; v < p.n; v++) {
		largest = larger(largest, p.sens[v]);
		most = larger(most, p.start[v]);
	}
	for (int64_t v = 0; v < p.n; v++)
		if (p.sens[v] > .1 * largest) {
			mean += p.start[v];
			seen++;
		}
	mean /= seen;
	/* epsilon of the start: C(u) u = W u (2 u + eps)^2 2 / (2 u + eps)^3 = W 2 u / (2 u + eps) */
	double eps = 1e-3 * most, share = 2 * mean / (2 * mean + eps);

	for (int64_t v = 0; v < p.n; v++) {
		int64_t at[3] = { v % p.grid.n[0], v / p.grid.n[0] % p.grid.n[1],
			          v / p.grid.n[0] / p.grid.n[1] };
		double w = 0;

		if (!(p.sens[v] > .1 * largest)) continue;
		for (int k = 0; k < 27; k++) {
			int d[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
			double far = 0;
			int64_t m = 0;
			bool inside = k != 13;

			for (int a = 2; a >= 0; a--) {
				inside &= at[a] + d[a] >= 0 && at[a] + d[a] < p.grid.n[a];
				far += d[a] * p.grid.voxel[a] * d[a] * p.grid.voxel[a];
				m = m * p.grid.n[a] + at[a] + d[a];
			}
			if (inside && p.sens[m] > 0) w += p.grid.voxel[0] / sqrt(far);
		}
		sum += w * share / p.sens[v];
	}
	s.parameter[1] = 0;
	struct iso_map map = problem_map(&p, &s, ISO_MAP_SVRG, 0, 2);
	struct iso_map_result r = { .size = sizeof r };
	iso_real *x = copy_of(p.n, p.start);

	map.relative = .3;
	OK(iso_map_run(x, &r, &map, NULL));
	NEAR(r.parameter[0], 2, 0);
	NEAR(r.parameter[1], eps, 1e-6 * eps);
	NEAR(r.beta, .3 * seen / sum, 1e-5 * r.beta);
	NEAR(r.relative, .3, 1e-12);
	iso_map_result_free(&r);
	free(x);
	for (int k = 0; k < N_OF(of_mean); k++) {
		s = (struct iso_prior_spec){ .size = sizeof s, .kind = of_mean[k].kind, .grid = p.grid };
		x = copy_of(p.n, p.start);
		OK(iso_map_run(x, &r, &map, NULL));
		double want = of_mean[k].over ? 1 / (of_mean[k].share * mean) : of_mean[k].share * mean;

		NEAR(r.parameter[0], want, 1e-5 * want);
		iso_map_result_free(&r);
		free(x);
	}
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* Pairs with voxels that nothing sees are left out, or kept as in STIR: R at the MAP image of p2, which has two planes of
   them. */
static void unseen(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p2", 1);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	iso_real *x = priors_image("p2_map_rdp", p.n);

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		struct iso_map map = problem_map(&p, &s, ISO_MAP_LBFGS, 1.83, 3);
		iso_map_state *m = NULL;
		int n;

		map.keep_unseen = keep;
		OK(iso_map_create(&m, &map, x));
		NEAR(iso_map_looks(&n, m)[0].penalty / 1.83, keep ? 177.666 : 126.085, 1e-3);
		iso_map_free(m);
	}
	free(x);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* ---- where arrays are ---- */

/* The bits of a run do not depend on the place of its arrays, nor on one sensitivity for all four subsets being said as
   four quarters. */
static void check_places(iso_ctx *ctx)
{
	struct map_problem p = problem_begin(ctx, "p2", 4);
	struct iso_prior_spec s = problem_prior(&p, "rdp_bowsher");
	iso_real *quarters = calloc((size_t)(4 * p.n), sizeof *quarters), *x[3];

	for (int64_t i = 0; i < 4 * p.n; i++) quarters[i] = p.sens[i % p.n] / 4;
	for (int k = 0; k < 3; k++) {
		struct iso_map map = problem_map(&p, &s, ISO_MAP_SVRG, 12.7, 6);
		struct iso_prior_spec there = s;
		iso_real *d[5] = { NULL };

		map.as_given = false;
		x[k] = copy_of(p.n, p.start);
		if (k == 1) map.sens = (struct iso_sens){ 4, 4, quarters };
		if (k == 2) {
			d[0] = to_device(ctx, LIST_EVENTS, p.add);
			d[1] = to_device(ctx, LIST_EVENTS, p.mult);
			d[2] = to_device(ctx, p.n, p.sens);
			d[3] = to_device(ctx, p.n, s.anatomy);
			d[4] = to_device(ctx, p.n, x[k]);
			map.place = ISO_DEVICE;
			map.data = (struct iso_em_data){ NULL, d[0], d[1] };
			map.sens.image = d[2];
			there.anatomy = d[3];
			map.prior = &there;
		}
		OK(iso_map_run(d[4] ? d[4] : x[k], NULL, &map, NULL));
		if (d[4]) {
			free(x[k]);
			x[k] = to_host(ctx, p.n, d[4]);
		}
		for (int i = 0; i < 5; i++)
			if (d[i]) device_free(ctx, d[i]);
	}
	same_bits(p.n, x[0], x[1]);
	same_bits(p.n, x[0], x[2]);
	for (int k = 0; k < 3; k++) free(x[k]);
	free(quarters);
	problem_end(&p);
}

static void places(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_places(ctx);
	iso_ctx_free(ctx);
}

/* ---- guards ---- */

/* Steps fifty times too long: without guards the image explodes, with them the run ends near the maximum. */
static void guards(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p1", 16);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	double objective = solution_number(&p, "rdp", "objective"),
	       start = solution_number(&p, "rdp", "objective_at_start");

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct iso_map map = problem_map(&p, &s, k ? ISO_MAP_SAGA : ISO_MAP_SVRG, .897, 60);
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(p.n, p.start);

		map.step = 50;
		map.guard = ISO_MAP_GUARDS;
		OK(iso_map_run(x, &r, &map, NULL));
		print_message("%d times back, step %g, Phi %g of the rise\n", r.went_back, r.step,
		              (r.look[r.n - 1].objective - start) / (objective - start));
		assert_true(r.went_back > 0 && r.step < 50);
		/* saga goes on with ratios of images far away: it stays finite */
		if (!k) assert_true(objective_of(&p, &s, .897, x) > start + .9 * (objective - start));
		for (int64_t v = 0; v < p.n; v++) assert_true(x[v] >= 0 && isfinite(x[v]));
		iso_map_result_free(&r);
		free(x);
	}
	struct iso_map map = problem_map(&p, &s, ISO_MAP_BSREM, .897, 10);
	struct iso_map_result r = { .size = sizeof r };
	iso_real *x = copy_of(p.n, p.start);
	double most = 0;

	map.step = 1e4;
	map.guard = ISO_MAP_GUARDS;
	for (int64_t v = 0; v < p.n; v++) most = larger(most, p.start[v]);
	OK(iso_map_run(x, &r, &map, NULL));
	assert_true(r.went_back > 0);
	for (int64_t v = 0; v < p.n; v++) assert_true(x[v] <= 100.001 * most);
	iso_map_result_free(&r);
	free(x);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* ---- many small problems ---- */

static double draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 33) / 2147483648.;
}

enum {
	SMALL_X = 6,
	SMALL_Y = 5,
	SMALL_Z = 3,
	SMALL = SMALL_X * SMALL_Y * SMALL_Z,
	SMALL_ROWS = 400,
	CHORDS = 9
};

struct small {
	iso_op *op;
	struct iso_grid grid;
	iso_real y[SMALL_ROWS], add[SMALL_ROWS], mult[SMALL_ROWS], sens[SMALL], start[SMALL];
};

/* A histogram of rows with 9 voxels each, counts about their means, and as many voxels dark as lit. */
static void small_begin(struct small *p, iso_ctx *ctx, uint64_t *seed, int n_sub)
{
	struct matrix *a = calloc(1, sizeof *a);
	double truth[SMALL], level = pow(10, -2 + 3 * draw(seed)), counts = 0, all = 0;

	*p = (struct small){ .grid = {
				     { SMALL_X, SMALL_Y, SMALL_Z }, { 4, 4 + draw(seed), 6 }, { 0, 0, 0 } } };
	*a = (struct matrix){ .ctx = ctx, .rows = SMALL_ROWS, .columns = SMALL, .n_sub = n_sub };
	a->subset = calloc((size_t)n_sub, sizeof *a->subset);
	free(dealt(SMALL_ROWS, n_sub, a->subset)); /* rows are alike: their order is as good as any */
	a->first = calloc(SMALL_ROWS + 1, sizeof *a->first);
	a->column = calloc(SMALL_ROWS * CHORDS, sizeof *a->column);
	a->value = calloc(SMALL_ROWS * CHORDS, sizeof *a->value);
	for (int i = 0; i < SMALL; i++) truth[i] = draw(seed) < .5 ? 0 : level * draw(seed);
	for (int j = 0; j < SMALL_ROWS; j++) {
		double mean = 0;

		for (int k = 0; k < CHORDS; k++) {
			int64_t at = (int64_t)j * CHORDS + k;

			a->column[at] = (int)(draw(seed) * (SMALL - 2)); /* the last two are unseen */
			a->value[at] = 8 * draw(seed);
			mean += a->value[at] * truth[a->column[at]];
		}
		a->first[j + 1] = (int64_t)(j + 1) * CHORDS;
		p->mult[j] = (iso_real)(.1 + draw(seed));
		p->add[j] = (iso_real)(p->mult[j] * (.05 + .2 * draw(seed)) * 9 * level);
		mean = p->mult[j] * mean + p->add[j];
		p->y[j] = (iso_real)floor(mean + sqrt(mean) * (2 * draw(seed) - 1) * 1.7 + draw(seed));
		if (!(p->y[j] > 0)) p->y[j] = 0;
		counts += p->y[j];
		for (int k = 0; k < CHORDS; k++)
			p->sens[a->column[j * CHORDS + k]] +=
				(iso_real)(p->mult[j] * a->value[j * CHORDS + k]);
	}
	for (int i = 0; i < SMALL; i++) all += p->sens[i];
	for (int i = 0; i < SMALL; i++) p->start[i] = (iso_real)((counts + 1) / all);
	p->op = matrix_op(ctx, a);
}

/* lbfgs reaches the maximum; svrg nears it, and its Phi does not fall from anchor to anchor. */
static void small_problem(iso_ctx *ctx, int number)
{
	uint64_t seed = (uint64_t)number * 2654435761u + 12345;
	int n_sub = 2 + number % 7;
	struct small p;
	double phi[2], rise = 0;

	small_begin(&p, ctx, &seed, n_sub);
	struct iso_prior_spec s = { .size = sizeof s,
		                    .kind = (enum iso_prior_kind)(number % prior_kinds()),
		                    .grid = p.grid };
	double gamma = 2 * draw(&seed), relative = (prior_has_pairs(s.kind) ? .5 : 4) * (.1 + draw(&seed));

	if (s.kind == ISO_PRIOR_RDP) OK(iso_prior_set(&s, "gamma", gamma));

	for (int k = 0; k < 2; k++) {
		struct iso_map map = { .size = sizeof map,
			               .op = p.op,
			               .data = { p.y, p.add, p.mult },
			               .sens = { 1, n_sub, p.sens },
			               .method = k ? ISO_MAP_SVRG : ISO_MAP_LBFGS,
			               .prior = &s,
			               .relative = relative,
			               .kappa_auto = number % 3 == 0,
			               .passes = k ? 60 : 400,
			               .tolerance = k ? 0 : TOLERANCE(1e-4, 1e-6),
			               .seed = (uint64_t)number };
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(SMALL, p.start);

		OK(iso_map_run(x, &r, &map, NULL));
		phi[k] = r.look[r.n - 1].objective;
		for (int i = 0; i < SMALL; i++)
			assert_true(x[i] >= 0 && isfinite(x[i]) && (p.sens[i] > 0 || !(x[i] > 0)));
		if (!k && !(r.kkt <= TOLERANCE(1e-2, 1e-5)))
			fail_msg("problem %d: KKT residual %g after %g evaluations", number, r.kkt, r.passes);
		for (int i = 3; k && i < r.n - 1; i++)
			assert_true(r.look[i].objective >=
			            r.look[i - 1].objective -
			                    1e-6 * (r.look[i - 1].objective - r.look[0].objective));
		rise = phi[k] - r.look[0].objective;
		free(x);
		iso_map_result_free(&r);
	}
	if (!(fabs(phi[0] - phi[1]) <= .02 * rise + .3)) /* of a log-likelihood .3 is nothing */
		fail_msg("problem %d: svrg ends at %.9g, lbfgs at %.9g, after a rise of %g", number, phi[1],
		         phi[0], rise);
	iso_op_free(p.op);
}

static void many_problems(void **state)
{
	const char *full = getenv("ISO_TEST_FULL");
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < (full && !strcmp(full, "1") ? 1000 : 20); i++) small_problem(ctx, i);
	iso_ctx_free(ctx);
}

/* Without an additive term a row that has counts must keep some activity: a step that takes all of it is no step. lbfgs comes
   near MLEM, with every row that MLEM uses. */
static void no_background(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int i = 0; i < 12; i++) {
		uint64_t seed = (uint64_t)i * 2654435761u + 77;
		struct small p;

		small_begin(&p, ctx, &seed, 1);
		struct iso_em em = { .size = sizeof em,
			             .op = p.op,
			             .data = { .y = p.y, .mult = p.mult },
			             .sens = { 1, 1, p.sens },
			             .iterations = 200 };
		struct iso_map map = { .size = sizeof map,
			               .op = p.op,
			               .data = em.data,
			               .sens = em.sens,
			               .method = ISO_MAP_LBFGS,
			               .passes = 200 };
		struct iso_em_result of = { .size = sizeof of };
		struct iso_map_result r = { .size = sizeof r };
		iso_real *x = copy_of(SMALL, p.start), *z = copy_of(SMALL, p.start);

		OK(iso_em_run(x, &of, &em, NULL));
		OK(iso_map_run(z, &r, &map, NULL));
		assert_int_equal(r.skipped, of.skipped);
		assert_int_equal(r.used, of.used);
		assert_true(r.look[r.n - 1].loglik >=
		            of.loglik[of.n - 1] - .1 * (of.loglik[of.n - 1] - of.loglik[0]));
		iso_em_result_free(&of);
		iso_map_result_free(&r);
		free(x);
		free(z);
		iso_op_free(p.op);
	}
	iso_ctx_free(ctx);
}

/* Steps of bsrem fall evenly in their logarithm to a fiftieth behind the last update: of two, the second is 1/sqrt(50), as
   with `relax` sqrt(50) - 1, which counts epochs. */
static void bsrem_steps(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p2", 1);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	iso_real *x[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct iso_map map = problem_map(&p, &s, ISO_MAP_BSREM, 1, 2);

		map.relax = k ? sqrt(50) - 1 : 0;
		x[k] = copy_of(p.n, p.start);
		OK(iso_map_run(x[k], NULL, &map, NULL));
	}
	NEAR(relative_difference(p.n, x[0], x[1]), 0, 1e-6);
	for (int k = 0; k < 2; k++) free(x[k]);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* Guards let no update leave more than 1.5 times the counts in the image, however long the steps. */
static void activity(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p1", 4);
	struct iso_prior_spec s = problem_prior(&p, "rdp");
	struct iso_map map = problem_map(&p, &s, ISO_MAP_SVRG, .897, 20);
	iso_real *x = copy_of(p.n, p.start);
	iso_map_state *m = NULL;
	double counts = 0, most = 0;

	(void)state;
	map.step = 50;
	map.guard = ISO_MAP_GUARDS;
	for (int j = 0; j < P1_ROWS; j++) counts += p.y[j];
	OK(iso_map_create(&m, &map, x));
	while (!iso_map_finished(m)) {
		double sum = 0;

		OK(iso_map_step(m));
		OK(iso_map_image(x, m));
		for (int64_t v = 0; v < p.n; v++) sum += (double)p.sens[v] * x[v];
		most = larger(most, sum / counts);
	}
	BELOW(most, 1.5001);
	iso_map_free(m);
	free(x);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct map_problem p = problem_begin(ctx, "p1", 4);
	struct iso_prior_spec s = problem_prior(&p, "rdp"), other = s;
	const struct iso_map good = problem_map(&p, &s, ISO_MAP_SVRG, 1, 3);
	iso_real *x = copy_of(p.n, p.start), *dark = calloc((size_t)p.n, sizeof *dark);
	struct iso_map bad;

	(void)state;
#define BAD(change, status, text)                                        \
	do {                                                             \
		bad = good;                                              \
		change;                                                  \
		REFUSED(iso_map_run(x, NULL, &bad, NULL), status, text); \
	} while (0)
	BAD(bad.op = NULL, ISO_EARG, "there is no operator");
	BAD(bad.sens.image = NULL, ISO_EARG, "there is no sensitivity");
	BAD(bad.sens.n_sub = 3, ISO_EARG, "of 3 subsets for an operator with 4");
	BAD(bad.method = (enum iso_map_method)9, ISO_EARG, "method is 9, must be 0 to");
	BAD(bad.guard = (enum iso_map_guard)2, ISO_EARG, "guard is 2");
	BAD(bad.passes = 0, ISO_EARG, "0 passes");
	BAD((bad.passes = 1, bad.as_given = false), ISO_EARG, "must leave one for an update");
	BAD((bad.passes = 2, bad.method = ISO_MAP_LBFGS), ISO_EARG, "start of lbfgs takes 2");
	BAD(bad.passes = 100000000, ISO_EARG, "more than 10000000 updates");
	BAD(bad.beta = -1, ISO_EARG, "beta is -1");
	BAD(bad.beta = NAN, ISO_EARG, "beta is nan");
	BAD(bad.relative = 1, ISO_EARG, "must be one of them");
	BAD(bad.tolerance = -1, ISO_EARG, "tolerance is -1");
	BAD(bad.step = INFINITY, ISO_EARG, "step is inf");
	BAD(bad.relax = INFINITY, ISO_EARG, "relax is inf");
	BAD(bad.prior = NULL, ISO_EARG, "a strength and no prior");
	BAD(bad.size = 0, ISO_EARG, "iso_map");
	BAD(bad.sens.image = dark, ISO_EINPUT, "0 in every voxel");
	other.grid.n[0]++;
	BAD(bad.prior = &other, ISO_EARG, "the prior's grid has");
	other = s;
	other.kappa = p.kappa;
	BAD((bad.prior = &other, bad.kappa_auto = true), ISO_EARG, "kappa is given");
	REFUSED(iso_map_run(NULL, NULL, &good, NULL), ISO_EARG, "there is no start image");
	REFUSED(iso_map_run(dark, NULL, &good, NULL), ISO_EINPUT, "the start image is 0 at most");
	iso_map_state *m = NULL;

	OK(iso_map_create(&m, &good, x));
	finish(m);
	REFUSED(iso_map_step(m), ISO_EARG, "all 8 updates are done");
	iso_map_free(m);
	free(x);
	free(dark);
	problem_end(&p);
	iso_ctx_free(ctx);
}

/* ---- CUDA ---- */

/* The vectors of 8 updates; and whole runs beside the CPU's. */
static void check_device(iso_ctx *ctx)
{
	static const char *const word[] = { "svrg", "saga", "bsrem" };

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "p3" : "p2";
		iso_ctx *host = cpu(2);
		struct map_problem p = problem_begin(ctx, name, 4), q = problem_begin(host, name, 4);
		struct iso_prior_spec s = problem_prior(&p, "rdp");

		for (int k = 0; k < N_OF(methods); k++) {
			struct iso_map map =
				problem_map(&p, &s, methods[k], 1.83, methods[k] <= ISO_MAP_SAGA ? 3 : 2);
			map.relax = .5; /* of bsrem, as the vectors have it */
			iso_real *x = copy_of(p.n, p.start), *y = copy_of(p.n, p.start), *again;
			char file[64];

			if (k < N_OF(word)) {
				snprintf(file, sizeof file, "%s_%s_8updates", name, word[k]);
				double *ref = priors_array(file, p.n);

				OK(iso_map_run(x, NULL, &map, NULL));
				NEAR(priors_worst(p.n, x, ref), 0, 2e-4);
				free(ref);
			}
			map = usual(&p, &s, methods[k], methods[k] == ISO_MAP_LBFGS ? 200 : 12);
			map.tolerance = methods[k] == ISO_MAP_LBFGS ? 1e-4 : 0;
			memcpy(x, p.start, (size_t)p.n * sizeof *x);
			again = copy_of(p.n, x);
			OK(iso_map_run(x, NULL, &map, NULL));
			OK(iso_map_run(again, NULL, &map, NULL));
			same_bits(p.n, x, again);
			map.op = q.op;
			OK(iso_map_run(y, NULL, &map, NULL));
			double most = 0;

			for (int64_t v = 0; v < p.n; v++) most = larger(most, y[v]);
			for (int64_t v = 0; v < p.n; v++) NEAR(x[v], y[v], 1e-3 * most);
			free(x);
			free(y);
			free(again);
		}
		problem_end(&p);
		problem_end(&q);
		iso_ctx_free(host);
	}
}

CUDA_TEST(cuda_runs, check_device)
CUDA_TEST(cuda_kappa, check_kappas)
CUDA_TEST(cuda_places, check_places)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits),          cmocka_unit_test(resumed),
		cmocka_unit_test(interrupted),   cmocka_unit_test(no_penalty),
		cmocka_unit_test(one_objective), cmocka_unit_test(other_starts),
		cmocka_unit_test(kappa),         cmocka_unit_test(strength),
		cmocka_unit_test(guards),        cmocka_unit_test(many_problems),
		cmocka_unit_test(no_background), cmocka_unit_test(bsrem_steps),
		cmocka_unit_test(activity),      cmocka_unit_test(refusals),
		cmocka_unit_test(cuda_runs),     cmocka_unit_test(cuda_kappa),
		cmocka_unit_test(unseen),        cmocka_unit_test(places),
		cmocka_unit_test(cuda_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
