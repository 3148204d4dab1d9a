/* SPDX-License-Identifier: BSD-3-Clause */
/* Total variation without smoothing: problems solved in closed form, the duality gap, the limit of smoothed total
   variation, fista, subsets, runs that stop anywhere and go on; also built in double. */
#include "test.h"

#include "core/op.h"
#include "core/philox.h"

/* ---- list mode: tests/data/listmode, case b ---- */

enum { NX = 16, NY = 12, NZ = 10, VOXELS = NX * NY * NZ, EVENTS = 20181 };

static const struct iso_grid grid = { { NX, NY, NZ }, { 4, 5, 6 }, { 0, 0, 0 } };
#define ADD_PER_LOR 0.30193236470222473

static iso_real *load_f64(const char *name, int64_t n)
{
	double *f = test_data(TEST_DATA "/listmode", name, n, sizeof *f);
	iso_real *v = calloc((size_t)n, sizeof *v);

	for (int64_t i = 0; i < n; i++) v[i] = (iso_real)f[i];
	free(f);
	return v;
}

struct pet {
	iso_op *op;
	iso_real *sens, *mult, *add, *start;
};

static struct pet pet_begin(iso_ctx *ctx, int n_sub)
{
	struct pet t = { 0 };
	struct iso_events e = { 0 };
	struct iso_ray p = { .size = sizeof p, .grid = grid, .n_sub = n_sub };
	char path[512];

	snprintf(path, sizeof path, "%s/listmode/events.lmdT", TEST_DATA);
	OK(iso_events_read(&e, path, NULL));
	assert_int_equal(e.n, EVENTS);
	OK(iso_ray_create(&t.op, ctx, &p, &e));
	iso_events_free(&e);
	t.sens = load_f64("sens_full.f64", VOXELS);
	t.mult = load_f64("events_mult.f64", EVENTS);
	t.start = load_f64("mlem_b_nontof_full_it1.f64", VOXELS);
	t.add = calloc(EVENTS, sizeof *t.add);
	for (int j = 0; j < EVENTS; j++) t.add[j] = (iso_real)ADD_PER_LOR;
	return t;
}

static void pet_end(struct pet *t)
{
	iso_op_free(t->op);
	free(t->sens);
	free(t->mult);
	free(t->add);
	free(t->start);
}

static struct iso_pdhg pet_problem(const struct pet *t, double tv, bool subsets, int iterations)
{
	return (struct iso_pdhg){ .size = sizeof(struct iso_pdhg),
		                  .op = t->op,
		                  .data = { NULL, t->add, t->mult },
		                  .sens = { 1, iso_op_n_sub(t->op), t->sens },
		                  .grid = grid,
		                  .tv = tv,
		                  .subsets = subsets,
		                  .iterations = iterations,
		                  .seed = 3 };
}

static void copy_start(iso_real *x, const struct pet *t)
{
	memcpy(x, t->start, VOXELS * sizeof *x);
}

/* |tv| in means of the sensitivity. */
static double strength(const struct pet *t, double b)
{
	double sum = 0;

	for (int i = 0; i < VOXELS; i++) sum += t->sens[i];
	return b * sum / VOXELS;
}

static double last_cost(const struct iso_pdhg_result *r)
{
	return r->look[r->n_looks - 1].cost;
}

/* Subsets first, to the gap asked for: its cost is then the minimum within that. All data at once reach a gap of 1e-4, in
   more passes, and never fall below the minimum by more than rounding; every gap on the way is a bound. */
static void list_mode(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct pet parts = pet_begin(ctx, 16), whole = pet_begin(ctx, 1);
	double tv = strength(&parts, .03), counts = EVENTS;
	struct iso_pdhg p = pet_problem(&parts, tv, true, 400), q = pet_problem(&whole, tv, false, 400);
	struct iso_pdhg_result r = { .size = sizeof r }, w = { .size = sizeof w };
	iso_real x[VOXELS], z[VOXELS];
	double tolerance = TOLERANCE(1e-5, 1e-8), noise = tolerance * counts, least;

	(void)state;
	copy_start(x, &parts);
	copy_start(z, &whole);
	p.tolerance = tolerance;
	OK(iso_pdhg_run(x, &r, &p, NULL));
	assert_true(r.converged);
	BELOW(r.look[r.n_looks - 1].relative, tolerance);
	least = last_cost(&r);
	q.tolerance = 1e-4;
	OK(iso_pdhg_run(z, &w, &q, NULL));
	assert_true(w.converged && w.n == w.n_looks);
	NEAR(last_cost(&w), least, 2e-5 * counts);
	NEAR(relative_difference(VOXELS, z, x), 0, 5e-3);
	for (int k = 0; k < w.n_looks; k++) {
		assert_true(w.look[k].gap >= 0 && w.look[k].cost >= least - noise);
		assert_true(w.look[k].cost - w.look[k].gap <= least + noise);
	}
	assert_int_equal(w.unseen, 384);
	/* the log-likelihood of the image is that of EM */
	const struct iso_em em = { .size = sizeof em,
		                   .op = whole.op,
		                   .data = { NULL, whole.add, whole.mult },
		                   .sens = { 1, 1, whole.sens },
		                   .iterations = 1 };
	struct iso_em_result of = { .size = sizeof of };

	OK(iso_em_run(z, &of, &em, NULL));
	NEAR(w.look[w.n_looks - 1].penalty - last_cost(&w), of.loglik[0], 1e-6 * fabs(of.loglik[0]));
	iso_em_result_free(&of);
	NEAR(w.lost, 0, 0);
	for (int i = 0; i < VOXELS; i++) assert_true(x[i] >= 0 && (x[i] == 0 || whole.sens[i] > 0));
	for (int k = 0; k < r.n_looks; k++)
		if (r.look[k].relative <= 1e-4) {
			assert_true(r.look[k].passes < .5 * w.look[w.n_looks - 1].passes);
			break;
		}
	iso_pdhg_result_free(&r);
	iso_pdhg_result_free(&w);
	pet_end(&parts);
	pet_end(&whole);
	iso_ctx_free(ctx);
}

static void pet_image(iso_real *x, iso_ctx *ctx, bool subsets)
{
	struct pet t = pet_begin(ctx, 4);
	struct iso_pdhg p = pet_problem(&t, strength(&t, .1), subsets, 10);

	copy_start(x, &t);
	OK(iso_pdhg_run(x, NULL, &p, NULL));
	pet_end(&t);
}

static void same_bits_for_any_threads(void **state)
{
	iso_ctx *one = cpu(1), *three = cpu(3);
	iso_real x[VOXELS], z[VOXELS];

	(void)state;
	for (int subsets = 0; subsets < 2; subsets++) {
		pet_image(x, one, subsets);
		pet_image(z, three, subsets);
		assert_memory_equal(x, z, sizeof x);
	}
	iso_ctx_free(one);
	iso_ctx_free(three);
}

static void check_against_cpu(iso_ctx *ctx)
{
	iso_ctx *host = cpu(0);
	iso_real x[VOXELS], z[VOXELS];

	for (int subsets = 0; subsets < 2; subsets++) {
		pet_image(x, host, subsets);
		pet_image(z, ctx, subsets);
		NEAR(relative_difference(VOXELS, z, x), 0, 1e-3);
	}
	iso_ctx_free(host);
}

CUDA_TEST(cuda_list_mode, check_against_cpu)

/* ---- closed forms ---- */

static void solve(iso_ctx *ctx, struct iso_pdhg p, int n, const iso_real *d, const double *want)
{
	iso_real x[8] = { 0 };
	struct iso_pdhg_result r = { .size = sizeof r };

	for (int i = 0; p.sens.image && i < n; i++) x[i] = 1;
	OK(iso_diag_create(&p.op, ctx, n, d));
	p.iterations = 3000;
	OK(iso_pdhg_run(x, &r, &p, NULL));
	for (int i = 0; i < n; i++) NEAR(x[i], want[i], TOLERANCE(2e-4, 1e-5));
	BELOW(r.look[r.n_looks - 1].relative, TOLERANCE(1e-5, 1e-8));
	iso_pdhg_result_free(&r);
	iso_op_free(p.op);
}

/* |y - d x|^2 with x >= 0: max(y/d, 0); without: y/d. */
static void check_sign(iso_ctx *ctx)
{
	const iso_real d[] = { 1, 2, 3, 1.5f }, y[] = { 1, -2, 6, -.3f };
	const double above[] = { 1, 0, 2, 0 }, any[] = { 1, -1, 2, -.2 };
	struct iso_pdhg p = {
		.size = sizeof p, .y = y, .grid = { { 4, 1, 1 }, { 1, 1, 1 }, { 0 } }, .nonneg = true
	};

	solve(ctx, p, 4, d, above);
	p.nonneg = false;
	solve(ctx, p, 4, d, any);
}

/* |y - x|^2 + tv c |x_1 - x_0|, y = (0, 4), c the voxel size along x over that along the axis: each goes tv c/2 towards
   the other, until they meet. */
static void check_variation(iso_ctx *ctx)
{
	const iso_real d[] = { 1, 1 }, y[] = { 0, 4 };
	const double met[] = { 2, 2 }, voxel[] = { 2, 4, 3 };

	for (int axis = 0; axis < 3; axis++) {
		struct iso_pdhg p = {
			.size = sizeof p, .y = y, .grid = { { 1, 1, 1 }, { 2, 4, 3 }, { 0 } }, .tv = 2
		};
		double apart[] = { 2 / voxel[axis], 4 - 2 / voxel[axis] };

		p.grid.n[axis] = 2;
		solve(ctx, p, 2, d, apart);
		p.tv = 20;
		solve(ctx, p, 2, d, met);
	}
}

/* As in test_fista: on a plane of 2 x 2 TV is sqrt(2) times the step of the first from the three others. */
static void check_isotropic(iso_ctx *ctx)
{
	const iso_real d[] = { 1, 1, 1, 1 }, y[] = { 0, 6, 6, 6 };
	const struct iso_pdhg p = {
		.size = sizeof p, .y = y, .grid = { { 2, 2, 1 }, { 1, 1, 1 }, { 0 } }, .tv = 1
	};
	const double low = sqrt(2) / 2, high = 6 - low / 3;
	const double want[] = { low, high, high, high };

	solve(ctx, p, 4, d, want);
}

/* S x - y log(d x + r/m): x = max(y/S - r/(m d), 0). Voxel 1 has no counts, 2 a row of factor 0, 3 no sensitivity, 4 more
   background than counts. */
static void check_likelihood(iso_ctx *ctx)
{
	const iso_real d[] = { 2, 1, 1, 3, 1 }, y[] = { 6, 0, 5, 4, 1 }, sens[] = { 1, 2, 1, 0, 2 };
	const iso_real add[] = { 2, 1, 1, 1, 4 }, mult[] = { .5f, 1, 0, 1, 1 };
	const struct iso_pdhg p = { .size = sizeof p,
		                    .data = { y, add, mult },
		                    .sens = { 1, 1, sens },
		                    .grid = { { 5, 1, 1 }, { 1, 1, 1 }, { 0 } } };
	const double want[] = { 4, 0, 0, 0, 0 };

	solve(ctx, p, 5, d, want);
}

/* Without its unseen neighbour a voxel is y/S; with it, at 0, tv adds to S. */
static void check_unseen(iso_ctx *ctx)
{
	const iso_real d[] = { 1, 1 }, y[] = { 6, 0 }, sens[] = { 2, 0 };
	struct iso_pdhg p = { .size = sizeof p,
		              .data = { .y = y },
		              .sens = { 1, 1, sens },
		              .grid = { { 2, 1, 1 }, { 1, 1, 1 }, { 0 } },
		              .tv = 1 };
	const double dropped[] = { 3, 0 }, kept[] = { 2, 0 };

	solve(ctx, p, 2, d, dropped);
	p.keep_unseen = true;
	solve(ctx, p, 2, d, kept);
}

static void check_all(iso_ctx *ctx)
{
	check_sign(ctx);
	check_variation(ctx);
	check_isotropic(ctx);
	check_likelihood(ctx);
	check_unseen(ctx);
}

static void solutions(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	check_all(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_solutions, check_all)

/* ---- a dense operator of 4 subsets: signed for least squares, positive for the likelihood ---- */

enum { BX = 5, BY = 4, BZ = 3, BOX = BX * BY * BZ, ROWS = 80, SUBSETS = 4 };

static const struct iso_grid box = { { BX, BY, BZ }, { 2, 2, 2 }, { 0 } };
static const struct iso_grid slab = { { BX, BY, BZ }, { 2, 3, 4 }, { 0 } };

struct dense {
	iso_real a[ROWS][BOX];
	iso_ctx *ctx;
	int left; /* applies until the context is stopped; 0: it is not */
};

static struct iso_rows dense_rows(int sub)
{
	return sub == ISO_ALL ? (struct iso_rows){ 0, ROWS }
	                      : (struct iso_rows){ sub * (ROWS / SUBSETS), ROWS / SUBSETS };
}

static int dense_poll(struct dense *m)
{
	if (m->left && --m->left == 0) iso_ctx_cancel(m->ctx);
	return iso_ctx_cancelled(m->ctx) ? ISO_ECANCEL : ISO_OK;
}

static int dense_forward(void *arg, int sub, iso_real *y, const iso_real *x)
{
	struct dense *m = arg;
	struct iso_rows r = dense_rows(sub);

	if (dense_poll(m)) return ISO_ECANCEL;
	for (int64_t j = r.first; j < r.first + r.n; j++) {
		double sum = 0;

		for (int i = 0; i < BOX; i++) sum += (double)m->a[j][i] * x[i];
		y[j] = (iso_real)sum;
	}
	return ISO_OK;
}

static int dense_adjoint(void *arg, int sub, iso_real *x, const iso_real *y)
{
	struct dense *m = arg;
	struct iso_rows r = dense_rows(sub);

	if (dense_poll(m)) return ISO_ECANCEL;
	for (int i = 0; i < BOX; i++) {
		double sum = 0;

		for (int64_t j = r.first; j < r.first + r.n; j++) sum += (double)m->a[j][i] * y[j];
		x[i] = (iso_real)sum;
	}
	return ISO_OK;
}

static double unit(int i)
{
	struct philox w = philox_draw(7, (uint64_t)i, 0);

	return philox_unit_double(w.w[0], w.w[1]);
}

/* Entries of both signs, or a third of them, positive. */
static iso_op *dense_create(struct dense *m, iso_ctx *ctx, bool sign)
{
	struct iso_rows r[SUBSETS];
	struct iso_custom c = { .size = sizeof c,
		                .n_in = BOX,
		                .n_out = ROWS,
		                .n_sub = SUBSETS,
		                .rows = r,
		                .forward = dense_forward,
		                .adjoint = dense_adjoint,
		                .arg = m };
	iso_op *op = NULL;

	m->ctx = ctx;
	m->left = 0;
	for (int b = 0; b < SUBSETS; b++) r[b] = dense_rows(b);
	for (int j = 0; j < ROWS; j++)
		for (int i = 0; i < BOX; i++) {
			double u = unit(j * BOX + i);

			m->a[j][i] = (iso_real)(sign ? u - .5 : u < .67 ? 0 : u);
		}
	OK(iso_custom_create(&op, ctx, &c));
	return op;
}

/* A warm box with a hot corner. */
static void phantom(iso_real *x)
{
	for (int i = 0; i < BOX; i++) x[i] = i % BX > 2 && i / BX % BY > 1 ? 4 : 1;
}

/* Noise of a tenth of the signal. */
static void measure(iso_real *y, struct dense *m)
{
	iso_real x[BOX];

	phantom(x);
	OK(dense_forward(m, ISO_ALL, y, x));
	for (int j = 0; j < ROWS; j++) y[j] += (iso_real)(.8 * (unit(-j - 1) - .5));
}

/* Least squares with either sign, and cubic voxels: fista has the same minimum and image. */
static void check_fista(iso_ctx *ctx, bool nonneg, bool subsets)
{
	static struct dense m;
	iso_real y[ROWS], x[BOX] = { 0 }, z[BOX] = { 0 };
	iso_op *op = dense_create(&m, ctx, true);
	const struct iso_fista f = { .size = sizeof f,
		                     .op = op,
		                     .y = y,
		                     .grid = box,
		                     .tv = 2,
		                     .nonneg = nonneg,
		                     .iterations = 500,
		                     .tv_steps = 50 };
	const struct iso_pdhg p = { .size = sizeof p,
		                    .op = op,
		                    .y = y,
		                    .grid = box,
		                    .tv = 2,
		                    .nonneg = nonneg,
		                    .subsets = subsets,
		                    .iterations = 40000,
		                    .tolerance = TOLERANCE(1e-5, 1e-8) };
	struct iso_fista_result a = { .size = sizeof a };
	struct iso_pdhg_result r = { .size = sizeof r };

	measure(y, &m);
	OK(iso_fista_run(z, &a, &f, NULL));
	OK(iso_pdhg_run(x, &r, &p, NULL));
	assert_true(r.converged);
	NEAR(last_cost(&r), a.cost[a.n], 1e-4 * a.cost[a.n]);
	NEAR(relative_difference(BOX, x, z), 0, 1e-3);
	iso_pdhg_result_free(&r);
	iso_fista_result_free(&a);
	iso_op_free(op);
}

static void as_fista(void **state)
{
	iso_ctx *ctx = cpu(1);

	(void)state;
	for (int k = 0; k < 4; k++) check_fista(ctx, k & 1, k & 2);
	iso_ctx_free(ctx);
}

/* ---- smoothed total variation as eta goes to 0 ---- */

/* min over x >= 0 of <S, x> - sum y log(A x + a) + tv R(x), R an iso_prior: by projected gradients with momentum in
   double, step and momentum as the cost allows (Beck and Teboulle 2009; restarts: O'Donoghue and Candes 2015). */
struct smooth {
	struct dense *m;
	const iso_real *y, *add, *sens;
	double tv;
	iso_prior *prior;
};

static double smooth_cost(const struct smooth *s, const double *x, double *gradient)
{
	iso_real image[BOX], q[ROWS], back[BOX], slope[BOX];
	double value, cost = 0;

	for (int i = 0; i < BOX; i++) image[i] = (iso_real)x[i];
	OK(dense_forward(s->m, ISO_ALL, q, image));
	OK(iso_prior_eval(&value, slope, NULL, NULL, s->prior, image));
	for (int j = 0; j < ROWS; j++) {
		double r = (double)q[j] + s->add[j];

		cost -= s->y[j] * log(r);
		q[j] = (iso_real)(s->y[j] / r);
	}
	OK(dense_adjoint(s->m, ISO_ALL, back, q));
	for (int i = 0; i < BOX; i++) {
		cost += s->sens[i] * x[i];
		gradient[i] = s->sens[i] - (double)back[i] + s->tv * slope[i];
	}
	return cost + s->tv * value;
}

static double smooth_solve(const struct smooth *s, double *x, int iterations)
{
	double z[BOX], g[BOX], next[BOX], none[BOX], step = 1e-3, theta = 1, best = smooth_cost(s, x, g);

	memcpy(z, x, sizeof z);
	for (int k = 0; k < iterations; k++) {
		double at = smooth_cost(s, z, g), cost, model, t = (1 + sqrt(1 + 4 * theta * theta)) / 2;

		for (step *= 1.1;; step /= 2) {
			model = at;
			for (int i = 0; i < BOX; i++) {
				next[i] = fmax(z[i] - step * g[i], 0);
				model += g[i] * (next[i] - z[i]) + pow(next[i] - z[i], 2) / (2 * step);
			}
			cost = smooth_cost(s, next, none);
			if (cost <= model + TOLERANCE(1e-6, 1e-13) * fabs(model) || step < 1e-9) break;
		}
		if (cost > best) { /* back to x, without momentum */
			memcpy(z, x, sizeof z);
			if (theta == 1) step /= 4;
			theta = 1;
			continue;
		}
		for (int i = 0; i < BOX; i++) {
			z[i] = fmax(next[i] + (theta - 1) / t * (next[i] - x[i]), 0);
			x[i] = next[i];
		}
		best = cost;
		theta = t;
	}
	return best;
}

/* Of x_eta, the minimum with eta: its cost without smoothing falls to PDHG's from above, its cost with smoothing lies
   below, and its image comes closer. */
static void limit_of_smoothed(void **state)
{
	static struct dense m;
	iso_ctx *ctx = cpu(1);
	iso_op *op = dense_create(&m, ctx, false);
	iso_real y[ROWS], add[ROWS], sens[BOX], ones[ROWS], x[BOX], truth[BOX];
	struct iso_pdhg p = { .size = sizeof p,
		              .op = op,
		              .data = { y, add, NULL },
		              .sens = { 1, SUBSETS, sens },
		              .grid = slab,
		              .tv = 3,
		              .subsets = true,
		              .iterations = 4000,
		              .tolerance = TOLERANCE(1e-6, 1e-10) };
	struct iso_pdhg_result r = { .size = sizeof r };
	struct smooth s = { &m, y, add, sens, p.tv, NULL };
	double least, before = INFINITY, apart = INFINITY;

	(void)state;
	phantom(truth);
	OK(dense_forward(&m, ISO_ALL, y, truth));
	for (int j = 0; j < ROWS; j++) {
		ones[j] = 1;
		add[j] = 3;
		y[j] = (iso_real)floor(y[j] + 3 + 2 * sqrt(y[j]) * (unit(-j - 1) - .5) * 1.7);
	}
	OK(dense_adjoint(&m, ISO_ALL, sens, ones));
	for (int i = 0; i < BOX; i++) x[i] = 1;
	OK(iso_pdhg_run(x, &r, &p, NULL));
	assert_true(r.converged);
	least = last_cost(&r);
	for (double eta = .5; eta > .01; eta /= 4) {
		const struct iso_prior_spec spec = {
			.size = sizeof spec, .kind = ISO_PRIOR_TV, .grid = slab, .parameter = { eta }
		};
		const struct iso_prior_spec sharp = {
			.size = sizeof sharp, .kind = ISO_PRIOR_TV, .grid = slab, .parameter = { 1e-7 }
		};
		double z[BOX], g[BOX], smoothed, plain, d = 0;

		for (int i = 0; i < BOX; i++) z[i] = 1;
		OK(iso_prior_create(&s.prior, ctx, &spec));
		smoothed = smooth_solve(&s, z, 2000);
		iso_prior_free(s.prior);
		OK(iso_prior_create(&s.prior, ctx, &sharp));
		plain = smooth_cost(&s, z, g);
		iso_prior_free(s.prior);
		for (int i = 0; i < BOX; i++) d = larger(d, fabs(z[i] - x[i]));
		print_message("eta %g: cost %.8g with, %.8g without smoothing; %.8g; image %g\n", eta,
		              smoothed, plain, least, d);
		assert_true(smoothed < least && plain > least - TOLERANCE(1e-3, 1e-6));
		assert_true(plain - least <=
		            p.tv * eta * BOX); /* R with eta is less by at most eta a voxel */
		assert_true(plain < before && d < apart);
		before = plain;
		apart = d;
	}
	NEAR(apart, 0, .05);
	iso_pdhg_result_free(&r);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* ---- runs that stop and go on ---- */

enum { ITERATIONS = 6 };

static void in_parts(struct dense *m, const struct iso_pdhg *p, int at, const iso_real *whole,
                     const struct iso_pdhg_result *want)
{
	iso_real x[BOX];
	struct iso_pdhg_result r = { .size = sizeof r };
	const struct iso_run run = {
		.size = sizeof run, .checkpoint = "pdhg.ckpt", .checkpoint_minutes = 60, .resume = true
	};
	int st, stops = 0;

	remove(run.checkpoint);
	do {
		for (int i = 0; i < BOX; i++) x[i] = 1;
		iso_ctx_clear_cancel(m->ctx);
		m->left = stops == 0 ? at : 4;
		if ((st = iso_pdhg_run(x, &r, p, &run)) == ISO_ECANCEL)
			assert_non_null(strstr(iso_message(), "resume continues from pdhg.ckpt"));
		else
			OK(st);
	} while (st && ++stops < 100);
	assert_true(stops > 0 && r.resumed_from >= 0);
	assert_int_equal(r.n, ITERATIONS);
	assert_memory_equal(x, whole, sizeof x);
	assert_int_equal(r.n_looks, want->n_looks);
	assert_memory_equal(r.look, want->look, (size_t)r.n_looks * sizeof *r.look);
	NEAR(r.lost, want->lost, 0);
	NEAR(r.counts, want->counts, 0);
	iso_pdhg_result_free(&r);
	remove(run.checkpoint);
}

/* `first` applies come before the steps. Then two for each, and with subsets two for each look. */
static void check_parts(const struct iso_pdhg *p, struct dense *m, int first)
{
	iso_real whole[BOX];
	struct iso_pdhg_result want = { .size = sizeof want };

	for (int i = 0; i < BOX; i++) whole[i] = 1;
	m->left = 1 << 20;
	iso_ctx_clear_cancel(m->ctx);
	OK(iso_pdhg_run(whole, &want, p, NULL));
	int applies = (1 << 20) - m->left;

	for (int at = first + 1; at <= applies; at += 1) in_parts(m, p, at, whole, &want);
	iso_pdhg_result_free(&want);
}

static void parts(void **state)
{
	static struct dense m;
	iso_ctx *ctx = cpu(1);
	iso_op *op = dense_create(&m, ctx, false);
	iso_real y[ROWS], ones[ROWS], sens[BOX], mult[ROWS];
	struct iso_pdhg p = { .size = sizeof p,
		              .op = op,
		              .data = { .y = y, .mult = mult },
		              .grid = slab,
		              .tv = 2,
		              .iterations = ITERATIONS,
		              .look_every = 3,
		              .seed = 9 };

	(void)state;
	for (int j = 0; j < ROWS; j++) {
		ones[j] = 1;
		mult[j] = j == 5 ? 0 : 1; /* whose counts are lost */
	}
	measure(y, &m);
	OK(dense_adjoint(&m, ISO_ALL, sens, ones));
	p.sens = (struct iso_sens){ 1, SUBSETS, sens };
	check_parts(&p, &m, 2);
	p.subsets = true;
	check_parts(&p, &m, 1 + SUBSETS);
	p.sens = (struct iso_sens){ 0 };
	p.y = y;
	p.tv = 0;
	check_parts(&p, &m, 20 * 2 * SUBSETS + 3 + SUBSETS);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* A likelihood with subsets from 1 everywhere: the image, and what it tells. */
static void few_steps(iso_real x[BOX], struct iso_pdhg_result *r, struct iso_pdhg p)
{
	for (int i = 0; i < BOX; i++) x[i] = 1;
	OK(iso_pdhg_run(x, r, &p, NULL));
}

/* Looks after the first, every third and the last iteration. A pass is the start, each iteration, each look. */
static void passes_and_seeds(void **state)
{
	static struct dense m;
	static const double at[] = { 1, 3, 4 }, passes[] = { 3, 6, 8 };
	iso_ctx *ctx = cpu(1);
	iso_op *op = dense_create(&m, ctx, false);
	iso_real y[ROWS], ones[ROWS], sens[SUBSETS * BOX], all[BOX], x[BOX], z[BOX];
	struct iso_pdhg_result r = { .size = sizeof r };
	struct iso_pdhg p = { .size = sizeof p,
		              .op = op,
		              .data = { .y = y },
		              .sens = { 1, SUBSETS, all },
		              .grid = slab,
		              .tv = 2,
		              .subsets = true,
		              .iterations = 4,
		              .look_every = 3,
		              .seed = 1 };

	(void)state;
	for (int j = 0; j < ROWS; j++) ones[j] = 1;
	measure(y, &m);
	OK(dense_adjoint(&m, ISO_ALL, all, ones));
	for (int b = 0; b < SUBSETS; b++) OK(dense_adjoint(&m, b, sens + b * BOX, ones));
	few_steps(x, &r, p);
	assert_int_equal(r.n_looks, N_OF(at));
	for (int k = 0; k < N_OF(at); k++) {
		NEAR(r.look[k].iterations, at[k], 0);
		NEAR(r.look[k].passes, passes[k], 0);
	}
	iso_pdhg_result_free(&r);
	few_steps(z, NULL, p);
	assert_memory_equal(x, z, sizeof x);
	p.sens = (struct iso_sens){ SUBSETS, SUBSETS, sens }; /* their sum */
	few_steps(z, NULL, p);
	NEAR(relative_difference(BOX, x, z), 0, 1e-5);
	p.seed = 2;
	few_steps(z, NULL, p);
	assert_true(relative_difference(BOX, x, z) > 1e-4);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* Step by step: the same bits as in one call, and an error behind the last. */
static void by_steps(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct pet t = pet_begin(ctx, 4);
	const struct iso_pdhg p = pet_problem(&t, 1, true, 2);
	iso_real x[VOXELS], z[VOXELS];
	iso_pdhg_state *s = NULL;
	int n = 0, steps = 0;

	(void)state;
	copy_start(x, &t);
	copy_start(z, &t);
	OK(iso_pdhg_run(x, NULL, &p, NULL));
	OK(iso_pdhg_create(&s, &p, z));
	for (; !iso_pdhg_finished(s); steps++) OK(iso_pdhg_step(s));
	assert_int_equal(steps, 8);
	REFUSED(iso_pdhg_step(s), ISO_EARG, "pdhg: all 8 steps are done");
	OK(iso_pdhg_image(z, s));
	assert_memory_equal(x, z, sizeof x);
	assert_true(iso_pdhg_looks(&n, s)[1].relative > 0);
	assert_int_equal(n, 2);
	iso_pdhg_free(s);
	pet_end(&t);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	const iso_real d[] = { 1, 1 }, good[] = { 1, 2 }, bad[] = { 1, -1 }, none[] = { 0, 0 };
	const iso_real large[] = { 1, (iso_real)TOLERANCE(1e30, 1e300) },
		       tiny[] = { 1, (iso_real)TOLERANCE(1e-30, 1e-300) };
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	iso_real x[2] = { 0 };

	(void)state;
	OK(iso_diag_create(&op, ctx, 2, d));
	const struct iso_pdhg fine = { .size = sizeof fine,
		                       .op = op,
		                       .y = good,
		                       .iterations = 1,
		                       .grid = { { 2, 1, 1 }, { 1, 1, 1 }, { 0 } } };
	struct iso_pdhg p = fine;

	p.size = 0;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "struct iso_pdhg: size is 0");
	p = fine;
	p.y = NULL;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "pdhg: there is no data");
	p.sens = (struct iso_sens){ 1, 1, good };
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EINPUT, "the start image is 0");
	p.data.y = bad;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EINPUT, "counts holds -1 at 1");
	p.sens.image = none;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EINPUT, "counts holds -1 at 1");
	p.data.y = good;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EINPUT, "the sensitivity is 0 in all 2 voxels");
	p.y = good;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "both a sensitivity");
	p = fine;
	p.grid.n[0] = 3;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "the grid has 3 voxels, the image 2");
	p = fine;
	p.iterations = 0;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "0 iterations");
	p = fine;
	p.tv = -1;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "tv is -1");
	p = fine;
	p.tolerance = NAN;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "the tolerance is nan");
	p = fine;
	p.y = NULL;
	p.sens = (struct iso_sens){ 1, 1, good };
	p.data = (struct iso_em_data){ good, large, tiny };
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EINPUT, "of row 1, is too large");
	p = fine;
	p.balance = -1;
	REFUSED(iso_pdhg_run(x, NULL, &p, NULL), ISO_EARG, "the balance is -1");
	iso_op_free(op);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solutions),
		cmocka_unit_test(cuda_solutions),
		cmocka_unit_test(as_fista),
		cmocka_unit_test(limit_of_smoothed),
		cmocka_unit_test(parts),
		cmocka_unit_test(by_steps),
		cmocka_unit_test(passes_and_seeds),
		cmocka_unit_test(list_mode),
		cmocka_unit_test(cuda_list_mode),
		cmocka_unit_test(same_bits_for_any_threads),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
