/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves, blood, bases, fits of frames and nested EM against reference vectors; also built in double. */
#include "isotome/kinetics.h"
#include "test.h"

#define WHERE TEST_DATA "/dynamic"

enum { EVENTS = 5834, LORS = 500, NX = 13, NY = 11, VOXELS = NX * NY, BINS = 6, REGIONS = 3 };

static const double lambda = 0.00010524235227596267;

static double half_life(void)
{
	return log(2) / lambda;
}

/* ---- curves and bases ---- */

static struct iso_input blood(double zero_s, double delay_s)
{
	const struct iso_blood by = { .size = sizeof by,
		                      .file = WHERE "/blood.tsv",
		                      .zero_s = zero_s,
		                      .delay_s = delay_s,
		                      .half_life_s = half_life() };
	struct iso_input in = { .size = sizeof in };

	OK(iso_input_read(&in, &by));
	assert_int_equal(in.negative, 0);
	assert_string_equal(in.warning, "");
	assert_non_null(in.whole);
	return in;
}

static iso_curve *reference(void)
{
	iso_curve **list = NULL, *c = NULL;
	const double *t, *y;
	int n = 0;

	OK(iso_curves_read(&list, &n, WHERE "/reference.tsv"));
	assert_int_equal(n, 1);
	assert_string_equal(iso_curve_name(list[0]), "activity");
	int64_t samples = iso_curve_samples(list[0], &t, &y);

	OK(iso_curve_create(&c, samples, t, y));
	iso_curves_free(list, n);
	return c;
}

static void close_to(const double *v, const char *name, int64_t n)
{
	double *want = test_data(WHERE, name, n, sizeof *want);

	for (int64_t i = 0; i < n; i++)
		if (want[i] == 0)
			assert_true(v[i] == 0);
		else
			NEAR(v[i] / want[i], 1, 1e-9);
	free(want);
}

/* Values at times and means of bins. */
static void check_basis(const char *text, const char *name, const iso_curve *input, const iso_curve *whole)
{
	double value[8 * 10], mean[8 * 8], weight[8],
		*edge = test_data(WHERE, "b_edges.f64", 9, sizeof *edge),
		*time = test_data(WHERE, "b_times.f64", 10, sizeof *time);
	struct iso_basis_spec s = { .size = sizeof s };
	const struct iso_bins bins = { sizeof bins, 8, edge, NULL, half_life() };
	iso_basis *b = NULL;
	char file[64];

	OK(iso_basis_parse(&s, text));
	s.input = input;
	s.whole = whole;
	OK(iso_basis_create(&b, &s));
	int k = iso_basis_count(b);

	OK(iso_basis_at(value, b, 10, time));
	snprintf(file, sizeof file, "b_%s.f64", name);
	close_to(value, file, 10L * k);
	OK(iso_basis_bins(mean, weight, b, &bins));
	snprintf(file, sizeof file, "b_%s_bins.f64", name);
	close_to(mean, file, 8L * k);
	close_to(weight, "b_G.f64", 8);
	iso_basis_free(b);
	free(edge);
	free(time);
}

static void bases(void **state)
{
	struct iso_input in = blood(0, 0);
	iso_curve *tissue = reference();
	double *time = test_data(WHERE, "b_late_times.f64", 7, sizeof *time), late[14];
	struct iso_basis_spec s = { .size = sizeof s, .input = in.plasma };
	iso_basis *b = NULL;

	(void)state;
	NEAR(iso_curve_integral(in.plasma, 3600) / 50212312.77708333, 1, 1e-12);
	check_basis("patlak", "patlak", in.plasma, NULL);
	check_basis("spectral:beta=1e-4/1e-2/3,zero,blood", "spectral", in.plasma, in.whole);
	check_basis("bspline:0/60/180/600/1800/3600", "bspline", NULL, NULL);
	/* the rates of the vector are in no equal ratios: one by one, from pairs */
	static const double rate[] = { .0004, .001, .0032 };
	double *want = test_data(WHERE, "b_srtm2.f64", 30, sizeof *want),
	       *at = test_data(WHERE, "b_times.f64", 10, sizeof *at), value[20];

	for (int k = 0; k < 2; k++) {
		s = (struct iso_basis_spec){ .size = sizeof s,
			                     .model = ISO_KINETIC_SRTM2,
			                     .input = tissue,
			                     .from = rate[k],
			                     .to = rate[k + 1],
			                     .rates = 2,
			                     .k2p = .0025 };
		OK(iso_basis_create(&b, &s));
		OK(iso_basis_at(value, b, 10, at));
		for (int i = 0; i < 20; i++)
			if (want[k * 10 + i] != 0) NEAR(value[i] / want[k * 10 + i], 1, 1e-9);
		iso_basis_free(b);
	}
	struct iso_input moved = blood(-2400, 7);

	s = (struct iso_basis_spec){ .size = sizeof s, .input = moved.plasma };
	OK(iso_basis_create(&b, &s));
	OK(iso_basis_at(late, b, 7, time));
	close_to(late, "b_late.f64", 14);
	iso_basis_free(b);
	iso_input_free(&moved);
	iso_input_free(&in);
	iso_curve_free(tissue);
	free(time);
	free(want);
	free(at);
}

/* ---- files ---- */

static void says(int status, int wanted, const char *words)
{
	assert_int_equal(status, wanted);
	if (!strstr(iso_message(), words)) print_error("%s\n", iso_message());
	assert_non_null(strstr(iso_message(), words));
}

static const char *file_of(const char *name, const char *text)
{
	static char path[512];

	snprintf(path, sizeof path, "%s", name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static int read_text(struct iso_input *in, const char *text, struct iso_blood by)
{
	by.size = sizeof by;
	by.file = file_of("test_kinetics.tsv", text);
	*in = (struct iso_input){ .size = sizeof *in };
	return iso_input_read(in, &by);
}

static void files(void **state)
{
	const struct iso_blood kilo = { .unit = "kbq/ml" };
	struct iso_input in;

	(void)state;
	OK(read_text(&in, "activity;time\r\n-1;0\r\nn/a;5\r\n3;10", kilo));
	NEAR(iso_curve_at(in.plasma, 5), 1000, 1e-9);
	assert_int_equal(in.negative, 1);
	iso_input_free(&in);
	OK(read_text(&in, "time,a\n10,2\n",
	             (struct iso_blood){ .unit = "Bq/mL", .raw = true, .half_life_s = 10 }));
	NEAR(iso_curve_at(in.plasma, 10), 4, 1e-12);
	NEAR(iso_curve_at(in.plasma, 5), 2, 1e-12);
	iso_input_free(&in);
	OK(read_text(&in, "time\twhole_blood_radioactivity\n1\t3\n",
	             (struct iso_blood){ .unit = "Bq/mL", .plasma_ratio = 1.5 }));
	NEAR(iso_curve_at(in.plasma, 1), 4.5, 1e-12);
	iso_input_free(&in);
	says(read_text(&in, "time,a\n0,1\n5,2\n5,3\n", kilo), ISO_EINPUT, "line 4: time 5 follows 5");
	says(read_text(&in, "time,a\n0,1\n5,x\n", kilo), ISO_EINPUT, "line 3, column 2 is 'x'");
	says(read_text(&in, "time,a\n0,1\n5\n", kilo), ISO_EINPUT, "line 3 has 1 columns, the head 2");
	says(read_text(&in, "t,a\n0,1\n", kilo), ISO_EINPUT, "line 1 must be a head");
	says(read_text(&in, "time,a,b\n0,1,2\n", kilo), ISO_EINPUT, "has no column 'plasma_radioactivity'");
	says(read_text(&in, "time,a\n0,1\n", (struct iso_blood){ 0 }), ISO_EINPUT, "'input-unit' says it");
	says(read_text(&in, "time,a\n0,0\n9,0\n", kilo), ISO_EINPUT, "0 at all times");
	says(read_text(&in, "time,whole_blood_radioactivity\n0,1\n", kilo), ISO_EINPUT, "'plasma-ratio'");
	remove("test_kinetics.tsv");
}

/* An autosampler and manual samples: plasma is whole blood times the ratio, then the later manual samples. */
static void two_recordings(void **state)
{
	struct iso_blood by = {
		.size = sizeof by, .unit = "Bq/mL", .file = "test_auto.tsv", .second = "test_manual.tsv"
	};
	struct iso_input in = { .size = sizeof in };

	(void)state;
	file_of("test_auto.tsv", "time\twhole_blood_radioactivity\n0\t0\n10\t10\n20\t4\n");
	file_of("test_manual.tsv",
	        "time\tplasma_radioactivity\twhole_blood_radioactivity\tmetabolite_parent_fraction\n"
	        "10\t15\t12\t1\n20\t8\t5\t.5\n40\t6\t5\t.5\n");
	OK(iso_input_read(&in, &by));
	NEAR(iso_curve_at(in.plasma, 10), 10 * 1.25, 1e-12);
	NEAR(iso_curve_at(in.plasma, 20), 4 * 1.6 * .5, 1e-12);
	NEAR(iso_curve_at(in.plasma, 40), 3, 1e-12);
	assert_non_null(strstr(in.warning, "1.25 times"));
	iso_input_free(&in);
	by.second = by.file;
	says(iso_input_read(&in, &by), ISO_EINPUT, "of two recordings");
	remove("test_auto.tsv");
	remove("test_manual.tsv");
}

static void words(void **state)
{
	static const char *const bad[] = { "patlac",      "patlak:1",  "spectral", "spectral:beta=1/2",
		                           "srtm2:k2p=1", "bspline:1", "bspline:", "" };
	struct iso_basis_spec s = { .size = sizeof s };
	struct iso_basis_map m = { .size = sizeof m };
	iso_curve *c = NULL;
	iso_basis *b = NULL;

	(void)state;
	for (int i = 0; i < N_OF(bad); i++) assert_int_equal(iso_basis_parse(&s, bad[i]), ISO_EARG);
	says(iso_basis_parse(&s, "patlac"), ISO_EARG, "did you mean patlak");
	OK(iso_basis_parse(&s, "spectral:beta=1e-4/1e-2/3,blood,zero"));
	OK(iso_curve_create(&c, 2, (const double[]){ 0, 100 }, (const double[]){ 1, 1 }));
	s.input = s.whole = c;
	OK(iso_basis_create(&b, &s));
	assert_int_equal(iso_basis_count(b), 5);
	assert_int_equal(iso_basis_maps(b), 4);
	OK(iso_basis_map(&m, b, 1));
	assert_string_equal(m.name, "VT");
	NEAR(m.factor[3], 1e3, 1e-9);
	assert_true(m.factor[0] == 0 && m.factor[1] == 0);
	assert_int_equal(iso_basis_map(&m, b, 4), ISO_EARG);
	double mean[5], edge[] = { 0, 161 };

	says(iso_basis_bins(mean, NULL, b, &(struct iso_bins){ sizeof(struct iso_bins), 1, edge, NULL, 0 }),
	     ISO_EINPUT, "61 s before the last bin");
	iso_basis_free(b);
	/* a tissue that leaves faster than the reference: below 0 */
	s = (struct iso_basis_spec){ .size = sizeof s,
		                     .model = ISO_KINETIC_SRTM2,
		                     .input = c,
		                     .from = .1,
		                     .to = 10,
		                     .rates = 2,
		                     .k2p = .001 };
	OK(iso_basis_create(&b, &s));
	edge[1] = 100;
	assert_int_equal(iso_basis_bins(mean, NULL, b,
	                                &(struct iso_bins){ sizeof(struct iso_bins), 1, edge, NULL, 0 }),
	                 ISO_OK); /* k2p - beta >= -beta: never below 0 with a constant input */
	iso_basis_free(b);
	iso_curve_free(c);
}

/* ---- frames ---- */

static void compare_map(const iso_real *x, const char *name, int64_t first, int64_t n, int64_t all,
                        double tolerance)
{
	double *want = test_data(WHERE, name, all, sizeof *want), top = 0, most = 0;

	for (int64_t i = first; i < first + n; i++) {
		top = larger(top, fabs(want[i]));
		most = larger(most, fabs(x[i] - want[i]));
	}
	BELOW(most / top, tolerance);
	free(want);
}

static iso_real *values(const char *name, int64_t n)
{
	double *v = test_data(WHERE, name, n, sizeof *v);
	iso_real *x = calloc((size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)v[i];
	free(v);
	return x;
}

static void frames(void **state)
{
	double *mean = test_data(WHERE, "s_bbar.f64", 2 * BINS, sizeof *mean),
	       *weight = test_data(WHERE, "f_weights.f64", BINS, sizeof *weight);
	iso_real *y = values("f_frames.f64", BINS * VOXELS), theta[2 * VOXELS], se[2 * VOXELS], s2[VOXELS],
		 plus[2 * VOXELS];
	struct iso_frame_fit p = {
		.size = sizeof p, .frames = BINS, .coefficients = 2, .mean = mean, .weight = weight
	};
	int64_t skipped = 0;

	(void)state;
	OK(iso_frame_fit(theta, se, s2, VOXELS, y, &p));
	for (int k = 0; k < 2; k++) {
		compare_map(theta, "f_patlak.f64", k * VOXELS, VOXELS, 2 * VOXELS, TOLERANCE(1e-4, 1e-9));
		compare_map(se, "f_patlak_se.f64", k * VOXELS, VOXELS, 2 * VOXELS, TOLERANCE(1e-4, 1e-9));
	}
	compare_map(s2, "f_patlak_s2.f64", 0, VOXELS, VOXELS, TOLERANCE(1e-4, 1e-9));
	p.nonneg = true;
	OK(iso_frame_fit(plus, NULL, NULL, VOXELS, y, &p));
	for (int i = 0; i < VOXELS; i++) {
		assert_true(plus[i] >= 0 && plus[VOXELS + i] >= 0);
		if (theta[i] > 0 && theta[VOXELS + i] > 0) NEAR(plus[i] / theta[i], 1, TOLERANCE(1e-5, 1e-9));
		if (theta[i] > 0 && theta[VOXELS + i] < 0) {
			double wxy = 0, wxx = 0;

			for (int m = 0; m < BINS; m++) {
				wxy += weight[m] * mean[m] * y[m * VOXELS + i];
				wxx += weight[m] * mean[m] * mean[m];
			}
			assert_true(plus[VOXELS + i] == 0);
			NEAR(plus[i] / (wxy / wxx), 1, TOLERANCE(1e-5, 1e-9));
		}
	}
	p.frames = 2;
	says(iso_frame_fit(theta, NULL, NULL, VOXELS, y, &p), ISO_EARG, "must be at least 3");
	struct iso_input in = blood(0, 0);
	double *edge = test_data(WHERE, "f_logan_edges.f64", 11, sizeof *edge);
	iso_real *of = values("f_logan_y.f64", 120), vt[24];
	struct iso_logan logan = { sizeof logan, 10, 6, edge, in.plasma };

	OK(iso_logan_fit(vt, vt + 12, &skipped, 12, of, &logan));
	assert_int_equal(skipped, 0);
	compare_map(vt, "f_logan_vt.f64", 0, 12, 24, TOLERANCE(1e-4, 1e-9));
	compare_map(vt, "f_logan_vt.f64", 12, 12, 24, TOLERANCE(1e-4, 1e-9));
	iso_input_free(&in);
	free(edge);
	free(of);
	free(y);
	free(mean);
	free(weight);
}

/* ---- from events ---- */

static const struct iso_grid grid = { { NX, NY, 1 }, { 7, 8, 8 }, { 0, 0, 0 } };

struct scan {
	iso_ctx *ctx;
	struct iso_events e;
	iso_real mult[EVENTS], add[EVENTS];
	int32_t bin[EVENTS];
	double *mean, *weight;
	iso_real *sens;
	double logs; /* sum of log m G: Phi of the vectors leaves it out */
};

static struct scan *scan_begin(iso_ctx *ctx)
{
	struct scan *s = calloc(1, sizeof *s);
	float *ends = test_data(WHERE, "s_lor_ends.f32", 6 * LORS, sizeof *ends);
	uint16_t *lor = test_data(WHERE, "s_event_lor.u16", EVENTS, sizeof *lor);
	uint32_t *ms = test_data(WHERE, "s_event_ms.u32", EVENTS, sizeof *ms);
	double *mult = test_data(WHERE, "s_lor_mult.f64", LORS, sizeof *mult),
	       *rate = test_data(WHERE, "s_lor_random_rate.f64", LORS, sizeof *rate),
	       *edge = test_data(WHERE, "s_edges.f64", BINS + 1, sizeof *edge);

	assert_non_null(s);
	s->mean = test_data(WHERE, "s_bbar.f64", 2 * BINS, sizeof(double));
	s->weight = test_data(WHERE, "s_G.f64", BINS, sizeof(double));
	s->sens = values("s_sens.f64", VOXELS);
	s->ctx = ctx;
	s->e = (struct iso_events){ .n = EVENTS, .v = calloc(EVENTS, sizeof *s->e.v) };
	for (int j = 0; j < EVENTS; j++) {
		int m = 0;

		while (1e-3 * ms[j] >= edge[m + 1]) m++;
		memcpy(s->e.v[j].p1, ends + 6 * lor[j], 3 * sizeof(float));
		memcpy(s->e.v[j].p2, ends + 6 * lor[j] + 3, 3 * sizeof(float));
		s->bin[j] = m;
		s->mult[j] = (iso_real)(mult[lor[j]] * s->weight[m]);
		s->add[j] = (iso_real)(rate[lor[j]] *
		                       (exp(-2 * lambda * edge[m]) - exp(-2 * lambda * edge[m + 1])) /
		                       (2 * lambda));
		s->logs += log((double)s->mult[j]);
	}
	free(ends);
	free(lor);
	free(ms);
	free(mult);
	free(rate);
	free(edge);
	return s;
}

static void scan_end(struct scan *s)
{
	free(s->e.v);
	free(s->mean);
	free(s->weight);
	free(s->sens);
	free(s);
}

static struct iso_kinetic kinetic_of(const struct scan *s, int subsets, int iterations, int inner)
{
	struct iso_ray p = {
		.size = sizeof p, .grid = grid, .n_sub = subsets, .parts = BINS, .part = s->bin
	};
	iso_op *op = NULL;

	OK(iso_ray_create(&op, s->ctx, &p, &s->e));
	return (struct iso_kinetic){ .size = sizeof(struct iso_kinetic),
		                     .op = op,
		                     .bins = BINS,
		                     .coefficients = 2,
		                     .iterations = iterations,
		                     .inner = inner,
		                     .mean = s->mean,
		                     .weight = s->weight,
		                     .data = { NULL, s->add, s->mult },
		                     .sens = s->sens };
}

static void compare_both(const iso_real *theta, const char *name, double tolerance)
{
	for (int k = 0; k < 2; k++) compare_map(theta, name, k * VOXELS, VOXELS, 2 * VOXELS, tolerance);
}

static void run(struct scan *s, struct iso_kinetic p, const char *name, const double *phi)
{
	struct iso_kinetic_result r = { .size = sizeof r };
	iso_real *theta = values("s_start.f64", 2 * VOXELS);

	OK(iso_kinetic_run(theta, &r, &p, NULL));
	compare_both(theta, name, TOLERANCE(2e-4, 1e-9));
	for (int i = 0; phi && i < 2; i++)
		NEAR((r.phi[i ? 9 : 0] - s->logs) / phi[i], 1, TOLERANCE(1e-6, 1e-12));
	iso_kinetic_result_free(&r);
	iso_op_free(p.op);
	free(theta);
}

static void check_nested_em(iso_ctx *ctx)
{
	static const double inner1[] = { -31805.499010685766, -30404.44607002657 },
			    inner4[] = { -31805.499010685766, -30397.71933545144 },
			    map[] = { -31805.499010685766, -30434.02138869088 },
			    beta[] = { 3.980986016056207e+22, 4160873066574548.0 };
	struct scan *s = scan_begin(ctx);
	const struct iso_prior_spec spec = { .size = sizeof spec, .kind = ISO_PRIOR_QUADRATIC, .grid = grid };
	iso_prior *prior = NULL;

	run(s, kinetic_of(s, 1, 10, 1), "p_nested10_inner1.f64", inner1);
	run(s, kinetic_of(s, 1, 10, 4), "p_nested10_inner4.f64", inner4);
	run(s, kinetic_of(s, 3, 2, 4), "p_osem3_inner4_2passes.f64", NULL);
	OK(iso_prior_create(&prior, s->ctx, &spec));
	struct iso_kinetic p = kinetic_of(s, 1, 10, 4);

	p.prior = (iso_prior *const[]){ prior, prior };
	p.beta = beta;
	run(s, p, "p_nestedmap10_inner4.f64", map);
	iso_prior_free(prior);
	scan_end(s);
}

static void check_scores(iso_ctx *ctx)
{
	struct scan *s = scan_begin(ctx);
	iso_real *theta = values("p_nested10_inner4.f64", 2 * VOXELS), misfit[VOXELS];
	double *weight = test_data(WHERE, "s_regions.f64", REGIONS * VOXELS, sizeof *weight),
	       *want = test_data(WHERE, "p_scores.f64", REGIONS * BINS, sizeof *want), got[REGIONS * BINS];
	unsigned char inside[REGIONS * VOXELS];

	for (int i = 0; i < REGIONS * VOXELS; i++) inside[i] = weight[i] > 0;
	for (int subsets = 1; subsets <= 2; subsets++) {
		struct iso_kinetic p = kinetic_of(s, subsets, 1, 1);

		OK(iso_kinetic_scores(got, misfit, &p, theta, REGIONS, inside));
		for (int i = 0; i < REGIONS * BINS; i++) NEAR(got[i], want[i], TOLERANCE(1e-2, 1e-7));
		iso_op_free(p.op);
	}
	free(theta);
	free(weight);
	free(want);
	scan_end(s);
}

/* The start expects the counts; events used are expected after any update. A basis of one constant curve is MLEM. */
static void check_sums(iso_ctx *ctx)
{
	struct scan *s = scan_begin(ctx);
	struct iso_kinetic p = kinetic_of(s, 1, 3, 3);
	iso_real theta[2 * VOXELS];
	double expected = 0;

	p.data.add = NULL;
	OK(iso_kinetic_start(theta, &p, 1000));
	for (int it = 0; it < 2; it++) {
		struct iso_kinetic_result r = { .size = sizeof r };

		expected = 0;
		for (int i = 0; i < 2 * VOXELS; i++)
			for (int m = 0; m < BINS; m++)
				expected += s->weight[m] * s->mean[i / VOXELS * BINS + m] * (double)theta[i] *
				            s->sens[i % VOXELS];
		if (it == 0) OK(iso_kinetic_run(theta, &r, &p, NULL));
		if (it == 0) NEAR(expected / 1000, 1, 1e-5);
		if (it == 0) assert_true(r.used > 0 && r.used + r.skipped == EVENTS);
		if (it == 0) p.iterations = (int)r.used; /* for the next turn */
		iso_kinetic_result_free(&r);
	}
	NEAR(expected / p.iterations, 1, 1e-5);
	iso_op_free(p.op);
	scan_end(s);
}

static void on_cpu(void (*check)(iso_ctx *))
{
	iso_ctx *ctx = NULL;

	OK(iso_ctx_create(&ctx, "cpu", 2));
	check(ctx);
	iso_ctx_free(ctx);
}

static void nested_em(void **state)
{
	(void)state;
	on_cpu(check_nested_em);
}

static void scores(void **state)
{
	(void)state;
	on_cpu(check_scores);
}

static void sums(void **state)
{
	(void)state;
	on_cpu(check_sums);
}

CUDA_TEST(cuda_nested_em, check_nested_em)
CUDA_TEST(cuda_scores, check_scores)
CUDA_TEST(cuda_sums, check_sums)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bases),       cmocka_unit_test(files),     cmocka_unit_test(two_recordings),
		cmocka_unit_test(words),       cmocka_unit_test(frames),    cmocka_unit_test(nested_em),
		cmocka_unit_test(scores),      cmocka_unit_test(sums),      cmocka_unit_test(cuda_nested_em),
		cmocka_unit_test(cuda_scores), cmocka_unit_test(cuda_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
