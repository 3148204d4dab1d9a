/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifetimes against reference vectors of a barrel's triples: times, likelihood, gradient, information, moments, the most
   likely image; one voxel against the bound; threads; every refusal; on CUDA too; also built in double. */
#include "../barrel_vectors.h"

#include "isotome/lifetime.h"

enum { POINTS = 300, TABLE = 6 };

/* ---- the triples of the vectors ---- */

struct setup {
	struct iso_barrel_strip *strip;
	struct iso_barrel b;
	struct iso_barrel_event v[BARREL_EVENTS];
	struct iso_lifetime_model model;
	double *time;
	iso_ctx *host; /* of the operator, and of penalties */
	iso_op *op;
	iso_triples *t;
};

static double *values(const char *name, int64_t n)
{
	char file[64];

	snprintf(file, sizeof file, "../lifetime/%s", name);
	return barrel_values(file, n);
}

/* Methods run where ctx is. */
static void begin(struct setup *s, iso_ctx *ctx)
{
	double *v = barrel_values("events", BARREL_EVENTS * 5);

	*s = (struct setup){ .strip = barrel_strips(),
		             .time = values("lifetime_ns", BARREL_EVENTS),
		             .host = cpu(iso_ctx_is_cuda(ctx) ? 2 : iso_ctx_threads(ctx)) };
	s->b = (struct iso_barrel){ .n = BARREL_STRIPS,
		                    .strip = s->strip,
		                    .mu = .0096,
		                    .least_distance = 100,
		                    .end_sigma_ps = 60,
		                    .light_speed = .126,
		                    .light_attenuation = 300 };
	for (int j = 0; j < BARREL_EVENTS; j++) {
		const double *p = v + 5 * j;

		s->v[j] = (struct iso_barrel_event){ (int32_t)p[0], (int32_t)p[1], (iso_real)p[2],
			                             (iso_real)p[3], (iso_real)p[4] };
	}
	const struct iso_barrel_events e = { .n = BARREL_EVENTS, .v = s->v };
	const struct iso_barrel_model m = {
		.size = sizeof m,
		.barrel = &s->b,
		.grid = { { BARREL_NX, BARREL_NY, BARREL_NZ }, { 6, 6, 5 }, { 0 } },
		.no_edge = true,
		.n_sub = 1
	};

	iso_lifetime_usual(&s->model);
	OK(iso_barrel_create(&s->op, s->host, &m, &e));
	OK(iso_triples_of_op(&s->t, s->op, &s->model, s->time, NULL));
	if (iso_ctx_is_cuda(ctx)) OK(iso_triples_move(s->t, ctx));
	assert_int_equal(iso_triples_count(s->t), BARREL_EVENTS);
	assert_int_equal(iso_triples_given(s->t), BARREL_EVENTS);
	free(v);
}

static void end(struct setup *s)
{
	iso_triples_free(s->t);
	iso_op_free(s->op);
	iso_ctx_free(s->host);
	free(s->strip);
	free(s->time);
}

static double *image(void)
{
	return calloc(BARREL_VOXELS, sizeof(double));
}

static iso_real *sensitivity(void)
{
	double *v = barrel_values("sens", BARREL_VOXELS);
	iso_real *s = malloc(BARREL_VOXELS * sizeof *s);

	for (int i = 0; i < BARREL_VOXELS; i++) s[i] = (iso_real)v[i];
	free(v);
	return s;
}

/* The largest difference over the largest value. */
static double apart(const double *got, const double *want, int64_t n)
{
	double most = 0, off = 0;

	for (int64_t i = 0; i < n; i++) {
		most = fmax(most, fabs(want[i]));
		off = fmax(off, fabs(got[i] - want[i]));
	}
	return off / most;
}

static void check(const double *got, const char *name, int64_t n, double tolerance)
{
	double *want = values(name, n), far = apart(got, want, n);

	print_message("%s: %.3g\n", name, far);
	BELOW(far, tolerance);
	free(want);
}

/* ---- the model of times ---- */

static void exponentials(void **state)
{
	double *p = values("emg_points", POINTS * 3), *want = values("emg_values", POINTS * 5),
	       most[5] = { 0 };

	(void)state;
	for (int i = 0; i < POINTS; i++) {
		const double t = p[3 * i], rate = p[3 * i + 1], s = p[3 * i + 2], *w = want + 5 * i;
		/* the integral is what two nearly equal values leave: 1e-12 of those */
		const double scale[5] = { w[0], erfc(-t / (s * sqrt(2))) / 2,
			                  w[0] * (1 / rate + fabs(t) + rate * s * s),
			                  w[0] * (1 / s + rate * rate * s + t * t / (s * s * s)),
			                  w[0] * (rate + fabs(t) / (s * s)) };
		struct iso_emg e;

		OK(iso_emg_at(&e, t, rate, s));
		const double got[5] = { e.value, e.integral, e.by_rate, e.by_sigma, e.by_time };

		for (int k = 0; k < 5; k++)
			if (scale[k] > 0) most[k] = fmax(most[k], fabs(got[k] - w[k]) / scale[k]);
	}
	for (int k = 0; k < 5; k++) {
		print_message("emg %d: %.3g\n", k, most[k]);
		BELOW(most[k], 1e-12);
	}
	free(p);
	free(want);
}

static void information(void **state)
{
	double *table = values("mixture_table", TABLE * 10);
	struct iso_lifetime_model m;

	(void)state;
	iso_lifetime_usual(&m);
	for (int i = 0; i < TABLE; i++) {
		const double *w = table + 10 * i;
		double mean[2], info[3];

		OK(iso_lifetime_mean(mean, &m, 1 / w[0], w[1]));
		for (int k = 0; k < 2; k++) NEAR(mean[k], w[2 + k], 1e-6 * w[2 + k]);
		for (int random = 0; random < 2; random++) {
			OK(iso_lifetime_information(info, &m, 1 / w[0], w[1], .3 * random));
			for (int k = 0; k < 3; k++) {
				const double want = w[4 + 3 * random + k];

				NEAR(info[k], want, 1e-6 * fabs(want));
			}
		}
	}
	free(table);
}

/* ---- images ---- */

static void check_likelihood(iso_ctx *ctx)
{
	struct setup s;
	double *got[7], *rate = values("pli_lam", BARREL_VOXELS), *w = values("pli_w", BARREL_VOXELS);
	double *f = barrel_values("mlem_it5", BARREL_VOXELS), *b = values("pli_b", BARREL_EVENTS);
	static const char *const names[] = { "pli_q",   "pli_resp", "pli_gl", "pli_gw",
		                             "pli_Fll", "pli_Flw",  "pli_Fww" };
	const double close = TOLERANCE(1e-4, 1e-8);

	begin(&s, ctx);
	for (int i = 0; i < 7; i++) got[i] = image();
	struct iso_lifetime_likelihood l = { .size = sizeof l,
		                             .q = got[0],
		                             .counts = got[1],
		                             .by_rate = got[2],
		                             .by_w = got[3],
		                             .info_rate = got[4],
		                             .info_rate_w = got[5],
		                             .info_w = got[6] };

	OK(iso_lifetime_likelihood_at(&l, s.t, f, rate, w, b));
	for (int i = 0; i < 7; i++) check(got[i], names[i], i ? BARREL_VOXELS : BARREL_EVENTS, close);
	NEAR(l.loglik, -5591.960565942015, TOLERANCE(1e-3, 1e-7));
	for (int i = 0; i < 7; i++) free(got[i]);
	free(rate);
	free(w);
	free(f);
	free(b);
	end(&s);
}

static double relative(const double *got, const double *want)
{
	double a = 0, b = 0;

	for (int i = 0; i < BARREL_VOXELS; i++) {
		a += (got[i] - want[i]) * (got[i] - want[i]);
		b += want[i] * want[i];
	}
	return sqrt(a / b);
}

static void check_moment_images(iso_ctx *ctx)
{
	struct setup s;
	iso_real *sens = sensitivity();
	double *sums = calloc(3 * BARREL_VOXELS, sizeof *sums), *tau = image(), *error = image(),
	       *counts = image();
	static const char *const names[] = { "../barrel/mlem_it5", "simple_w1_it5", "simple_w2_it5" };
	const struct iso_lifetime p = { .size = sizeof p, .sens = sens, .iterations = 5 };
	struct iso_lifetime_maps to = { .size = sizeof to, .tau = tau, .error = error, .counts = counts };
	double all = 0;

	begin(&s, ctx);
	OK(iso_lifetime_moments(&to, sums, s.t, &p));
	for (int k = 0; k < 3; k++) {
		double *want = values(names[k], BARREL_VOXELS),
		       far = relative(sums + k * BARREL_VOXELS, want);

		print_message("%s: %.3g\n", names[k], far);
		BELOW(far, TOLERANCE(1e-3, 1e-7));
		free(want);
	}
	for (int v = 0; v < BARREL_VOXELS; v++) {
		all += counts[v];
		assert_true(isfinite(tau[v]) ? error[v] > 0 : isinf(error[v]));
	}
	NEAR(all, BARREL_EVENTS, 1e-3);
	free(sens);
	free(sums);
	free(tau);
	free(error);
	free(counts);
	end(&s);
}

static iso_prior *smooth(iso_ctx *ctx)
{
	const struct iso_prior_spec p = { .size = sizeof p,
		                          .kind = ISO_PRIOR_QUADRATIC,
		                          .grid = {
						  { BARREL_NX, BARREL_NY, BARREL_NZ }, { 6, 6, 5 }, { 0 } } };
	iso_prior *r = NULL;

	OK(iso_prior_create(&r, ctx, &p));
	return r;
}

static double *filled(double value)
{
	double *v = image();

	for (int i = 0; i < BARREL_VOXELS; i++) v[i] = value;
	return v;
}

/* From log 0.5 to the image of the vectors; the whole error map holds what each voxel tells by itself, and more. */
static void check_most_likely(iso_ctx *ctx)
{
	struct setup s;
	iso_real *sens = sensitivity();
	double *f = barrel_values("mlem_it5", BARREL_VOXELS), *b = values("pli_b", BARREL_EVENTS);
	double *u = values("pli_map_loglambda", BARREL_VOXELS), *tau = image(), *error = image();
	struct iso_lifetime p = { .size = sizeof p,
		                  .sens = sens,
		                  .activity = f,
		                  .w_all = .3,
		                  .beta = 2,
		                  .randoms = { .density = b } };
	struct iso_lifetime_maps to = { .size = sizeof to, .tau = tau, .error = error };
	const double rise = 5593.053622049316 - 5585.2860072169915;
	double off = 0, mean = 0;
	int known = 0;

	begin(&s, ctx);
	p.prior = smooth(s.host);
	OK(iso_lifetime_emg(&to, s.t, &p));
	for (int v = 0; v < BARREL_VOXELS; v++) off = fmax(off, fabs(-log(tau[v]) - u[v]));
	print_message("%d iterations, residual %.3g, objective %.9g, image %.3g\n", to.iterations,
	              to.residual, to.objective[1], off);
	assert_true(to.converged);
	NEAR(to.objective[0], -5593.053622049316, TOLERANCE(1e-3, 1e-4));
	NEAR(to.objective[1], -5585.2860072169915, rise * TOLERANCE(1e-4, 2e-5));
	BELOW(off, TOLERANCE(1e-2, 1e-3));
	p.error = ISO_LIFETIME_FULL;
	p.repeats = 8;
	OK(iso_lifetime_emg(&to, s.t, &p));
	for (int v = 0; v < BARREL_VOXELS; v++) {
		known += isfinite(error[v]);
		mean += isfinite(error[v]) ? error[v] : 0;
	}
	print_message("error known of %d voxels, mean %.3g ns\n", known, mean / known);
	assert_true(known > BARREL_VOXELS / 2 && mean > .01 * known && mean < known);
	iso_prior_free(p.prior);
	free(sens);
	free(f);
	free(b);
	free(u);
	free(tau);
	free(error);
	end(&s);
}

static void images(iso_ctx *ctx)
{
	check_likelihood(ctx);
	check_moment_images(ctx);
	check_most_likely(ctx);
}

static void cpu_images(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	images(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_images, images)

/* ---- one voxel ---- */

enum { VOXEL_TRIPLES = 4000 };

/* Numbers of a sequence of our own: uniform in (0, 1), and normal. */
static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 11) + .5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	const double r = sqrt(-2 * log(uniform(state)));

	return r * cos(2 * M_PI * uniform(state));
}

/* A time of the mixture, inside of the window. */
static double draw_time(uint64_t *state, double tau, double w)
{
	double t;

	do {
		const double which = uniform(state);
		const double life = which < w ? tau : which < w * 4 / 3 ? .125 : .388;

		t = -life * log(uniform(state)) + .15 * normal(state);
	} while (!(t >= -1 && t < 15));
	return t;
}

/* Spread of both methods over repeats against the bound, tau 2, w 0.3, both free. */
static void one_voxel(void **state)
{
	const char *asked = getenv("ISO_TEST_REPEATS"); /* 200 in the study */
	const int repeats = asked ? atoi(asked) : sized(30, 4);
	int64_t start[VOXEL_TRIPLES + 1];
	int32_t voxel[VOXEL_TRIPLES] = { 0 };
	iso_real weight[VOXEL_TRIPLES], one = 1;
	double time[VOXEL_TRIPLES], sum[2] = { 0 }, squares[2] = { 0 }, told = 0, info[3];
	const struct iso_triple_rows rows = { sizeof rows, VOXEL_TRIPLES, 1, start, voxel, weight };
	iso_ctx *ctx = cpu(1);
	struct iso_lifetime_model m;
	uint64_t seed = 44;

	(void)state;
	iso_lifetime_usual(&m);
	for (int j = 0; j <= VOXEL_TRIPLES; j++) start[j] = j;
	for (int j = 0; j < VOXEL_TRIPLES; j++) weight[j] = 1;
	for (int r = 0; r < repeats; r++) {
		const struct iso_lifetime p = { .size = sizeof p, .sens = &one };
		iso_triples *t = NULL;

		for (int j = 0; j < VOXEL_TRIPLES; j++) time[j] = draw_time(&seed, 2, .3);
		OK(iso_triples_of_rows(&t, ctx, &rows, &m, time, NULL));
		for (int method = 0; method < 2; method++) {
			double tau, error, w, w_error;
			struct iso_lifetime_maps to = {
				.size = sizeof to, .tau = &tau, .error = &error, .w = &w, .w_error = &w_error
			};

			if (method == 0)
				OK(iso_lifetime_emg(&to, t, &p));
			else
				OK(iso_lifetime_moments(&to, NULL, t, &p));
			sum[method] += tau;
			squares[method] += tau * tau;
			if (method == 0) told += error / repeats;
			assert_true(fabs(w - .3) < .2);
		}
		iso_triples_free(t);
	}
	OK(iso_lifetime_information(info, &m, 2, .3, 0));
	const double bound = 4 * sqrt(info[2] / (info[0] * info[2] - info[1] * info[1]) / VOXEL_TRIPLES);

	for (int method = 0; method < 2; method++) {
		const double mean = sum[method] / repeats;
		const double sd = sqrt((squares[method] - repeats * mean * mean) / (repeats - 1));

		print_message("%s: mean %.4f, sd %.4f, bound %.4f, ratio %.3f, told %.4f\n",
		              method ? "moments" : "emg", mean, sd, bound, sd / bound, told);
		NEAR(mean, 2, 4 * (method ? .0985 : bound) / sqrt(repeats) + .005);
		if (repeats >= 30) NEAR(sd / (method ? .0984 : bound), 1, 4 / sqrt(2 * (repeats - 1)));
	}
	NEAR(bound, .0864, 2e-4);
	NEAR(told, bound, .25 * bound);
	iso_ctx_free(ctx);
}

/* ---- a line of voxels ---- */

enum { LINE = 8, LINE_MOST = 150000 };

struct line {
	int64_t n, start[LINE_MOST + 1];
	int32_t voxel[LINE_MOST * LINE];
	iso_real weight[LINE_MOST * LINE];
	double time[LINE_MOST];
};

static const double line_activity[LINE] = { 1, 1, 1, 1, 1.5, 1.5, 1, 1 };
static const double line_tau[LINE] = { 2, 2, 2, 1.6, 1.6, 1.6, 2, 2 };

/* A place along the line, by its activity, measured with an error of 0.6; its row. */
static int draw_place(struct line *l, int64_t j, uint64_t *seed)
{
	double u = 9 * uniform(seed), x;
	int v = 0, n = 0;

	while (u > line_activity[v]) u -= line_activity[v++];
	x = v + uniform(seed) + .6 * normal(seed);
	for (int k = 0; k < LINE; k++) {
		const double part = (erf((k + 1 - x) / (.6 * sqrt(2))) - erf((k - x) / (.6 * sqrt(2)))) / 2;

		if (part < 1e-9) continue;
		l->voxel[l->start[j] + n] = k;
		l->weight[l->start[j] + n++] = (iso_real)part;
	}
	l->start[j + 1] = l->start[j] + n;
	return v;
}

/* A fifth of the triples is random. */
static void draw_line(struct line *l, int64_t n, uint64_t *seed)
{
	l->n = n;
	l->start[0] = 0;
	for (int64_t j = 0; j < n; j++) {
		const int v = draw_place(l, j, seed);

		l->time[j] = j % 5 == 4 ? -1 + 16 * uniform(seed) : draw_time(seed, line_tau[v], .3);
	}
}

/* Spread over repeats against the bound, voxel by voxel: sqrt(diag F^-1), as the errors of regions of one voxel. */
static void blurred_line(void **state)
{
	const char *asked = getenv("ISO_TEST_REPEATS"); /* 200 in the study */
	const int repeats = asked ? atoi(asked) : 3;
	const int64_t n = asked ? LINE_MOST : sized(30000, 5000);
	double sum[LINE] = { 0 }, squares[LINE] = { 0 }, bound[LINE] = { 0 }, ratio = 0;
	struct line *l = malloc(sizeof *l);
	iso_ctx *ctx = cpu(2);
	struct iso_lifetime_model m;
	iso_real sens[LINE];
	int32_t label[LINE];
	uint64_t seed = 8;

	(void)state;
	iso_lifetime_usual(&m);
	for (int k = 0; k < LINE; k++) sens[k] = 1, label[k] = k + 1;
	for (int r = 0; r < repeats; r++) {
		const struct iso_triple_rows rows = { sizeof rows, n, LINE, l->start, l->voxel, l->weight };
		const struct iso_lifetime p = { .size = sizeof p,
			                        .sens = sens,
			                        .activity = line_activity,
			                        .w_all = .3,
			                        .randoms = { .number = (double)n / 5 },
			                        .region = label,
			                        .regions = LINE };
		double tau[LINE], error[LINE], region[LINE], region_error[LINE];
		struct iso_lifetime_maps to = { .size = sizeof to,
			                        .tau = tau,
			                        .error = error,
			                        .region_tau = region,
			                        .region_error = region_error };
		iso_triples *t = NULL;

		draw_line(l, n, &seed);
		OK(iso_triples_of_rows(&t, ctx, &rows, &m, l->time, NULL));
		OK(iso_lifetime_emg(&to, t, &p));
		assert_true(to.converged);
		for (int k = 0; k < LINE; k++) {
			NEAR(region[k], tau[k], 1e-9);
			assert_true(error[k] <= region_error[k] * (1 + 1e-6)); /* by itself: too small */
			BELOW(fabs(tau[k] - line_tau[k]), 6 * region_error[k]);
			sum[k] += tau[k];
			squares[k] += tau[k] * tau[k];
			bound[k] += region_error[k] / repeats;
		}
		iso_triples_free(t);
	}
	for (int k = 0; k < LINE && asked; k++) {
		const double mean = sum[k] / repeats,
			     sd = sqrt((squares[k] - repeats * mean * mean) / (repeats - 1));

		print_message("voxel %d: %.3f, sd %.4f, bound %.4f, ratio %.3f\n", k, mean, sd, bound[k],
		              sd / bound[k]);
		ratio += sd / bound[k] / LINE;
	}
	if (asked) print_message("mean ratio %.3f\n", ratio);
	if (repeats >= 200) assert_true(ratio > .95 && ratio < 1.05);
	iso_ctx_free(ctx);
	free(l);
}

/* ---- threads, times moved, refusals ---- */

enum { METHODS = 3, ALL = 2 * METHODS * BARREL_VOXELS };

/* Lives and errors by each method. With `own`, each time has an error of its own, and w is free. */
static void all_methods(double *to, iso_ctx *ctx, double moved, bool own)
{
	struct setup s;
	iso_real *sens = sensitivity();
	struct iso_lifetime p = { .size = sizeof p,
		                  .sens = sens,
		                  .w_all = own ? 0 : .3,
		                  .rel = .2,
		                  .randoms = { .number = 40 },
		                  .subsets = 2,
		                  .iterations = 3,
		                  .repeats = 4 };
	iso_triples *t = NULL;
	double sigma[BARREL_EVENTS];

	begin(&s, ctx);
	p.prior = smooth(s.host);
	for (int j = 0; j < BARREL_EVENTS; j++) {
		s.time[j] += moved;
		sigma[j] = .1 + .1 * (j % 3);
	}
	s.model.offset += moved;
	s.model.lo += moved;
	s.model.hi += moved;
	OK(iso_triples_of_op(&t, s.op, &s.model, s.time, own ? sigma : NULL));
	if (iso_ctx_is_cuda(ctx)) OK(iso_triples_move(t, ctx));
	for (int method = 0; method < METHODS; method++) {
		struct iso_lifetime_maps maps = { .size = sizeof maps,
			                          .tau = to,
			                          .error = to + BARREL_VOXELS };

		p.error = (enum iso_lifetime_error[]){ ISO_LIFETIME_BOOTSTRAP, ISO_LIFETIME_FULL,
			                               ISO_LIFETIME_DIAGONAL }[method];
		OK((method == 0   ? iso_lifetime_moments(&maps, NULL, t, &p)
		    : method == 1 ? iso_lifetime_emg(&maps, t, &p)
		                  : iso_lifetime_posterior(&maps, t, &p)));
		to += 2 * BARREL_VOXELS;
	}
	iso_triples_free(t);
	iso_prior_free(p.prior);
	free(sens);
	end(&s);
}

static void by_threads(double *to, int threads, double moved)
{
	iso_ctx *ctx = cpu(threads);

	all_methods(to, ctx, moved, false);
	iso_ctx_free(ctx);
}

/* The device tells what the CPU does: lives by moments and shares, their errors, and the most likely lives, whose climb ends
   where it is close enough; errors of these by float products. The same bits again. */
static void as_on_cpu(iso_ctx *ctx)
{
	static const double most[2 * METHODS] = { 1e-9, 1e-9, 1e-3, 1e-2, 1e-9, 1e-9 };

	for (int own = 0; own < 2; own++) {
		double *want = calloc(ALL, sizeof *want), *got = calloc(ALL, sizeof *got), off[2 * METHODS];
		double *again = calloc(ALL, sizeof *again);
		iso_ctx *host = cpu(2);

		all_methods(want, host, 0, own);
		all_methods(got, ctx, 0, own);
		all_methods(again, ctx, 0, own);
		assert_memory_equal(got, again, ALL * sizeof *got);
		memset(off, 0, sizeof off);
		for (int i = 0; i < ALL; i++) {
			double *far = off + i / BARREL_VOXELS;

			assert_true(isfinite(got[i]) == isfinite(want[i]));
			if (isfinite(got[i])) *far = fmax(*far, fabs(got[i] - want[i]) / (1 + fabs(want[i])));
		}
		for (int k = 0; k < 2 * METHODS; k++) {
			print_message("%s %d: %.3g\n", k % 2 ? "error" : "life", k / 2, off[k]);
			BELOW(off[k], most[k]);
		}
		iso_ctx_free(host);
		free(want);
		free(got);
		free(again);
	}
}

CUDA_TEST(cuda_as_on_cpu, as_on_cpu)

static void same_bits(void **state)
{
	double *first = calloc(ALL, sizeof *first), *again = calloc(ALL, sizeof *again);
	double off[2] = { 0 };

	(void)state;
	by_threads(first, 1, 0);
	by_threads(again, 3, 0);
	assert_memory_equal(first, again, ALL * sizeof *first);
	by_threads(again, 2, 1);
	for (int i = 0; i < ALL; i++)
		if (isfinite(first[i]) && isfinite(again[i]) && i / BARREL_VOXELS != 3) {
			double *most = off + (i / BARREL_VOXELS ==
			                      2); /* maximum likelihood ends where it is close enough */

			*most = fmax(*most, fabs(first[i] - again[i]) / (1 + fabs(first[i])));
		}
	BELOW(off[0], 1e-6);
	BELOW(off[1], 1e-3);
	free(first);
	free(again);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct setup s;
	iso_triples *t = NULL;
	iso_real *sens = sensitivity();
	double *w = filled(.8);
	struct iso_lifetime p = { .size = sizeof p, .sens = sens };
	struct iso_lifetime_maps to = { .size = sizeof to };
	struct iso_emg e;

	(void)state;
	begin(&s, ctx);
	REFUSED(iso_triples_move(s.t, ctx), ISO_EARG, "of the CPU");
	REFUSED(iso_emg_at(&e, 0, -1, 1), ISO_EARG, "rate -1");
	s.model.sigma = 0;
	REFUSED(iso_triples_of_op(&t, s.op, &s.model, s.time, NULL), ISO_EARG, "sigma is 0");
	s.model.sigma = .15;
	s.model.lo = 20;
	REFUSED(iso_triples_of_op(&t, s.op, &s.model, s.time, NULL), ISO_EARG, "window from 20 to 15");
	s.model.hi = 30;
	REFUSED(iso_triples_of_op(&t, s.op, &s.model, s.time, NULL), ISO_EINPUT, "none of 400 triples");
	s.time[7] = NAN;
	REFUSED(iso_triples_of_op(&t, s.op, &s.model, s.time, NULL), ISO_EINPUT, "triple 7");
	p.w = w;
	REFUSED(iso_lifetime_emg(&to, s.t, &p), ISO_EINPUT, "w of voxel 0 is 0.8");
	p.w = NULL;
	p.randoms.number = 500;
	REFUSED(iso_lifetime_moments(&to, NULL, s.t, &p), ISO_EINPUT, "500 random triples of the 400");
	p.randoms.number = 0;
	p.error = ISO_LIFETIME_FULL;
	REFUSED(iso_lifetime_moments(&to, NULL, s.t, &p), ISO_EARG, "diag or bootstrap");
	REFUSED(iso_lifetime_posterior(&to, s.t, &p), ISO_EARG, "must be diag");
	p.error = ISO_LIFETIME_BOOTSTRAP;
	REFUSED(iso_lifetime_emg(&to, s.t, &p), ISO_EARG, "diag or full");
	p.sens = NULL;
	REFUSED(iso_lifetime_emg(&to, s.t, &p), ISO_EARG, "no sensitivity");
	free(w);
	free(sens);
	end(&s);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponentials), cmocka_unit_test(information),
		cmocka_unit_test(cpu_images),   cmocka_unit_test(cuda_images),
		cmocka_unit_test(one_voxel),    cmocka_unit_test(blurred_line),
		cmocka_unit_test(same_bits),    cmocka_unit_test(cuda_as_on_cpu),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
