/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights, parts, steps of several images, replicates and their statistics, against reference vectors;
   also built in double. */
#include "test.h"

#define WHERE TEST_DATA "/dynamic"

enum { EVENTS = 5834, LORS = 500, NX = 13, NY = 11, VOXELS = NX * NY, REPLICATES = 32, REGIONS = 3 };

static const struct iso_grid grid = { { NX, NY, 1 }, { 7, 8, 8 }, { 0, 0, 0 } };
static const double lambda = 0.00010524235227596267;

static iso_ctx *context(int threads)
{
	iso_ctx *ctx = NULL;

	OK(iso_ctx_create(&ctx, "cpu", threads));
	return ctx;
}

/* ---- random numbers of events ---- */

enum { NUMBERS = 37, OF_EACH = 12 };

static void check_weights(const uint64_t *event, const char *name, enum iso_draw_list list)
{
	unsigned char *want = test_data(WHERE, name, NUMBERS * OF_EACH, 1), w[NUMBERS];

	for (int r = 0; r < OF_EACH; r++) {
		OK(iso_replicate_weights(w, NUMBERS, event, 1, r, list));
		for (int i = 0; i < NUMBERS; i++) assert_int_equal(w[i], want[i * OF_EACH + r]);
	}
	free(want);
}

static void check_part(const uint64_t *event, const char *name, struct iso_part p)
{
	unsigned char *want = test_data(WHERE, name, NUMBERS, 1), kept[NUMBERS];

	p.size = sizeof p;
	p.seed = 1;
	if (p.share > 0) {
		OK(iso_part_events(kept, NUMBERS, event, &p));
		assert_memory_equal(kept, want, NUMBERS);
	}
	for (p.part = 1; p.part <= p.parts; p.part++) {
		OK(iso_part_events(kept, NUMBERS, event, &p));
		for (int i = 0; i < NUMBERS; i++) assert_int_equal(kept[i], want[i] == p.part - 1);
	}
	free(want);
}

static void numbers(void **state)
{
	static const int sums[] = { 100038, 100101, 99912, 99766, 100362, 99549, 99326, 99693 };
	uint64_t *event = test_data(WHERE, "w_events.u64", NUMBERS, sizeof *event);
	unsigned char *w = malloc(100000);
	int kept = 0;

	(void)state;
	check_weights(event, "w_weights.u8", ISO_DRAW_EVENTS);
	check_weights(event, "w_delayed.u8", ISO_DRAW_DELAYED);
	check_part(event, "w_kept.u8", (struct iso_part){ .share = .1 });
	check_part(event, "w_kept_delayed.u8", (struct iso_part){ .share = .1, .list = ISO_DRAW_DELAYED });
	check_part(event, "w_part5.u8", (struct iso_part){ .parts = 5 });
	for (int r = 0; r < N_OF(sums); r++) {
		int sum = 0;

		OK(iso_replicate_weights(w, 100000, NULL, 1, r, ISO_DRAW_EVENTS));
		for (int i = 0; i < 100000; i++) sum += w[i];
		assert_int_equal(sum, sums[r]);
	}
	OK(iso_part_events(w, 100000, NULL,
	                   &(struct iso_part){ .size = sizeof(struct iso_part), .share = .1, .seed = 1 }));
	for (int i = 0; i < 100000; i++) kept += w[i];
	assert_int_equal(kept, 10242);
	free(w);
	free(event);
}

static void histograms(void **state)
{
	enum { LINES = 20, R = 8 };
	int64_t *want = test_data(WHERE, "w_hist.i64", LINES * R, sizeof *want),
		*counts = test_data(WHERE, "w_hist_counts.i64", LINES, sizeof *counts);
	uint64_t *line = test_data(WHERE, "w_hist_lines.u64", LINES, sizeof *line);
	iso_real mean[LINES], y[LINES];

	(void)state;
	for (int i = 0; i < LINES; i++) mean[i] = (iso_real)counts[i];
	for (int r = 0; r < R; r++) {
		OK(iso_replicate_counts(y, LINES, mean, line, 1, r));
		for (int i = 0; i < LINES; i++) assert_int_equal((int64_t)y[i], want[i * R + r]);
	}
	mean[3] = (iso_real)1.5;
	assert_int_equal(iso_replicate_counts(y, LINES, mean, line, 1, 0), ISO_EINPUT);
	free(want);
	free(counts);
	free(line);
}

static void refusals(void **state)
{
	struct iso_part p = { .size = sizeof p, .share = .1, .parts = 2, .part = 1 };
	unsigned char kept[1];

	(void)state;
	assert_int_equal(iso_part_events(kept, 1, NULL, &p), ISO_EARG);
	p.parts = 0;
	p.share = 1.5;
	assert_int_equal(iso_part_events(kept, 1, NULL, &p), ISO_EARG);
	p = (struct iso_part){ .size = sizeof p, .parts = 2, .part = 3 };
	assert_int_equal(iso_part_events(kept, 1, NULL, &p), ISO_EARG);
	assert_int_equal(iso_replicate_weights(kept, 1, NULL, 1, ISO_REPLICATES_MOST, ISO_DRAW_EVENTS),
	                 ISO_EARG);
}

/* ---- the scan ---- */

struct scan {
	iso_ctx *ctx;
	struct iso_events e;
	iso_real mult[EVENTS], add[EVENTS], sens[VOXELS], start[VOXELS];
};

/* Of all bins: expected counts m G (A x) + r. */
static struct scan *scan_begin(iso_ctx *ctx)
{
	struct scan *s = calloc(1, sizeof *s);
	float *ends = test_data(WHERE, "s_lor_ends.f32", 6 * LORS, sizeof *ends);
	uint16_t *lor = test_data(WHERE, "s_event_lor.u16", EVENTS, sizeof *lor);
	double *mult = test_data(WHERE, "s_lor_mult.f64", LORS, sizeof *mult),
	       *rate = test_data(WHERE, "s_lor_random_rate.f64", LORS, sizeof *rate),
	       *sens = test_data(WHERE, "s_sens.f64", VOXELS, sizeof *sens),
	       *start = test_data(WHERE, "r_start.f64", VOXELS, sizeof *start),
	       *g = test_data(WHERE, "s_G.f64", 6, sizeof *g),
	       *edge = test_data(WHERE, "s_edges.f64", 7, sizeof *edge), all = 0, randoms = 0;

	assert_non_null(s);
	for (int m = 0; m < 6; m++) {
		all += g[m];
		randoms += (exp(-2 * lambda * edge[m]) - exp(-2 * lambda * edge[m + 1])) / (2 * lambda);
	}
	s->ctx = ctx;
	s->e = (struct iso_events){ .n = EVENTS, .v = calloc(EVENTS, sizeof *s->e.v) };
	for (int j = 0; j < EVENTS; j++) {
		memcpy(s->e.v[j].p1, ends + 6 * lor[j], 3 * sizeof(float));
		memcpy(s->e.v[j].p2, ends + 6 * lor[j] + 3, 3 * sizeof(float));
		s->mult[j] = (iso_real)(mult[lor[j]] * all);
		s->add[j] = (iso_real)(rate[lor[j]] * randoms);
	}
	for (int i = 0; i < VOXELS; i++) {
		s->sens[i] = (iso_real)(sens[i] * all);
		s->start[i] = (iso_real)start[i];
	}
	free(ends);
	free(lor);
	free(mult);
	free(rate);
	free(sens);
	free(start);
	free(g);
	free(edge);
	return s;
}

static void scan_end(struct scan *s)
{
	free(s->e.v);
	iso_ctx_free(s->ctx);
	free(s);
}

static iso_op *operator_of(const struct scan *s, int subsets, double tof_ps)
{
	struct iso_ray p = { .size = sizeof p, .grid = grid, .n_sub = subsets, .tof_fwhm_ps = tof_ps };
	iso_op *op = NULL;

	OK(iso_ray_create(&op, s->ctx, &p, &s->e));
	return op;
}

static struct iso_em em_of(const struct scan *s, iso_op *op, int iterations)
{
	return (struct iso_em){ .size = sizeof(struct iso_em),
		                .op = op,
		                .data = { NULL, s->add, s->mult },
		                .sens = { 1, iso_op_n_sub(op), s->sens },
		                .iterations = iterations,
		                .grid = grid };
}

/* The largest difference, over the largest value of the vector. */
static double apart(const iso_real *x, const char *name, int64_t first, int64_t n, int64_t all)
{
	double *want = test_data(WHERE, name, all, sizeof *want), most = 0, top = 0;

	for (int64_t i = 0; i < n; i++) {
		most = larger(most, fabs(x[i] - want[first + i]));
		top = larger(top, fabs(want[first + i]));
	}
	free(want);
	return most / top;
}

static void replicates(struct scan *s, iso_real *x, struct iso_em *em, int batch, int n)
{
	iso_replicator *r = NULL;

	OK(iso_replicator_create(&r, em, s->start,
	                         &(struct iso_replicates){
					 .size = sizeof(struct iso_replicates), .seed = 1, .batch = batch }));
	assert_int_equal(iso_replicator_batch(r), batch);
	for (int k = 0; k < n; k += batch)
		OK(iso_replicator_run(x + (int64_t)k * VOXELS, r, k, n - k < batch ? n - k : batch));
	assert_int_equal(iso_replicator_empty(r), 0);
	iso_replicator_free(r);
}

static void check_regions(const iso_real *x, const iso_real *image)
{
	double *weight = test_data(WHERE, "s_regions.f64", REGIONS * VOXELS, sizeof *weight),
	       *want = test_data(WHERE, "r_regions.f64", REPLICATES * REGIONS, sizeof *want),
	       *cov = test_data(WHERE, "r_regions_cov.f64", REGIONS * REGIONS, sizeof *cov);
	double table[REPLICATES * REGIONS] = { 0 }, value[REGIONS] = { 0 }, got[REGIONS * REGIONS];
	struct iso_interval v[REGIONS];

	for (int i = 0; i < REGIONS; i++)
		for (int k = 0; k < VOXELS; k++) {
			value[i] += weight[i * VOXELS + k] * image[k];
			for (int r = 0; r < REPLICATES; r++)
				table[r * REGIONS + i] += weight[i * VOXELS + k] * x[r * VOXELS + k];
		}
	for (int k = 0; k < REPLICATES * REGIONS; k++)
		assert_true(fabs(table[k] - want[k]) < TOLERANCE(2e-4, 1e-9) * want[k]);
	OK(iso_intervals(v, got, REPLICATES, REGIONS, table, value));
	for (int i = 0; i < REGIONS; i++) {
		assert_true(fabs(v[i].high - v[i].low - 2 * iso_student_975(REPLICATES - 1) * v[i].sd) <
		            1e-6 * v[i].sd);
		for (int k = 0; k < REGIONS; k++)
			assert_true(fabs(got[i * REGIONS + k] - cov[i * REGIONS + k]) <
			            TOLERANCE(2e-3, 1e-8) *
			                    sqrt(cov[i * REGIONS + i] * cov[k * REGIONS + k]));
	}
	free(weight);
	free(want);
	free(cov);
}

static void check_vectors(iso_ctx *ctx)
{
	struct scan *s = scan_begin(ctx);
	iso_op *op = operator_of(s, 1, 0);
	struct iso_em em = em_of(s, op, 5);
	iso_real *x = calloc(REPLICATES * VOXELS, sizeof *x), image[VOXELS], mean[VOXELS], sd[VOXELS];
	iso_spread *spread = NULL;

	memcpy(image, s->start, sizeof image);
	OK(iso_em_run(image, NULL, &em, NULL));
	assert_true(apart(image, "r_main.f64", 0, VOXELS, VOXELS) < TOLERANCE(2e-4, 1e-9));
	replicates(s, x, &em, 8, REPLICATES);
	for (int r = 0; r < 4; r++)
		assert_true(apart(x + r * VOXELS, "r_replicates4.f64", r * VOXELS, VOXELS, 4 * VOXELS) <
		            TOLERANCE(2e-4, 1e-9));
	OK(iso_spread_create(&spread, VOXELS));
	assert_int_equal(iso_spread_get(mean, sd, spread), ISO_EARG);
	for (int r = 0; r < REPLICATES; r++) OK(iso_spread_add(spread, x + r * VOXELS));
	OK(iso_spread_get(mean, sd, spread));
	assert_int_equal(iso_spread_count(spread), REPLICATES);
	assert_true(apart(mean, "r_mean.f64", 0, VOXELS, VOXELS) < TOLERANCE(2e-4, 1e-9));
	assert_true(apart(sd, "r_sd.f64", 0, VOXELS, VOXELS) < TOLERANCE(1e-3, 1e-9));
	check_regions(x, image);
	iso_spread_free(spread);
	free(x);
	iso_op_free(op);
	scan_end(s);
}

static void vectors(void **state)
{
	(void)state;
	check_vectors(context(2));
}

static void cuda_vectors(void **state)
{
	(void)state;
	check_vectors(cuda_or_skip());
}

/* ---- covariance without replicates ---- */

#define BETA 80123144.21616611

static iso_prior *quadratic(iso_ctx *ctx)
{
	const struct iso_prior_spec spec = { .size = sizeof spec, .kind = ISO_PRIOR_QUADRATIC, .grid = grid };
	iso_prior *r = NULL;

	OK(iso_prior_create(&r, ctx, &spec));
	return r;
}

static void check_fisher(iso_ctx *ctx)
{
	struct scan *s = scan_begin(ctx);
	iso_op *op = operator_of(s, 1, 0);
	const struct iso_em em = em_of(s, op, 1);
	double *weight = test_data(WHERE, "s_regions.f64", REGIONS * VOXELS, sizeof *weight),
	       *map = test_data(WHERE, "c_map.f64", VOXELS, sizeof *map),
	       *want = test_data(WHERE, "c_cov.f64", REGIONS * REGIONS, sizeof *want), cov[REGIONS * REGIONS];
	iso_real x[VOXELS], c[REGIONS * VOXELS], u[REGIONS * VOXELS];
	struct iso_fisher_result of = { .size = sizeof of };
	struct iso_fisher p = { .size = sizeof p,
		                .op = op,
		                .data = em.data,
		                .sens = s->sens,
		                .prior = quadratic(ctx),
		                .beta = BETA,
		                .image = x,
		                .tolerance = TOLERANCE(1e-4, 1e-9),
		                .batch = 2 };

	for (int i = 0; i < VOXELS; i++) x[i] = (iso_real)map[i];
	for (int i = 0; i < REGIONS * VOXELS; i++) c[i] = (iso_real)weight[i];
	OK(iso_fisher_run(cov, u, &of, &p, REGIONS, c));
	print_message("residual %.2g, %d iterations, %d free\n", of.residual, of.iterations, (int)of.free);
	BELOW(of.residual, TOLERANCE(1e-4, 1e-6));
	BELOW(of.iterations, TOLERANCE(10, 60));
	BELOW(apart(u, "c_u.f64", 0, REGIONS * VOXELS, REGIONS * VOXELS), TOLERANCE(2e-3, 1e-6));
	for (int i = 0; i < REGIONS; i++)
		for (int k = 0; k < REGIONS; k++)
			BELOW(fabs(cov[i * REGIONS + k] - want[i * REGIONS + k]) /
			              sqrt(want[i * REGIONS + i] * want[k * REGIONS + k]),
			      TOLERANCE(2e-3, 1e-6));
	/* an image that is far from the maximum */
	for (int i = 0; i < VOXELS; i++) x[i] = s->start[i];
	p.most_residual = .2;
	cov[0] = -1;
	OK(iso_fisher_run(cov, NULL, &of, &p, REGIONS, c));
	assert_true(of.residual > .2);
	assert_true(cov[0] == -1);
	p.beta = 0;
	assert_int_equal(iso_fisher_run(cov, NULL, &of, &p, REGIONS, c), ISO_EARG);
	iso_prior_free(p.prior);
	free(weight);
	free(map);
	free(want);
	iso_op_free(op);
	scan_end(s);
}

static void fisher(void **state)
{
	(void)state;
	check_fisher(context(2));
}

static void cuda_fisher(void **state)
{
	(void)state;
	check_fisher(cuda_or_skip());
}

/* ---- the same bits ---- */

/* A replicate by hand: EM of a histogram with the weights as counts. */
static void by_hand(struct scan *s, iso_real *x, struct iso_em em, int replicate)
{
	unsigned char w[EVENTS];
	iso_real y[EVENTS];

	OK(iso_replicate_weights(w, EVENTS, NULL, 1, replicate, ISO_DRAW_EVENTS));
	for (int j = 0; j < EVENTS; j++) y[j] = w[j];
	em.data.y = y;
	memcpy(x, s->start, VOXELS * sizeof *x);
	OK(iso_em_run(x, NULL, &em, NULL));
}

/* Over every batch and number of threads, by subsets, with TOF, with a PSF and a filter. */
static void same_bits(int threads, int subsets, double tof_ps, bool psf)
{
	enum { R = 6 };
	struct scan *s = scan_begin(context(threads));
	iso_op *op = operator_of(s, subsets, tof_ps), *blur = NULL, *chain = NULL;
	struct iso_filter filter = { .kind = ISO_GAUSSIAN, .fwhm = { 9, 9, 0 } };
	iso_real *want = calloc(R * VOXELS, sizeof *want), *x = calloc(R * VOXELS, sizeof *x);

	if (psf) {
		OK(iso_psf_create(&blur, s->ctx, &grid, (const double[]){ 8, 8, 0 }));
		OK(iso_chain_create(&chain, op, blur));
	}
	struct iso_em em = em_of(s, psf ? chain : op, 2);

	em.filter = psf ? &filter : NULL;
	em.filter_every = 2;
	for (int r = 0; r < R; r++) by_hand(s, want + r * VOXELS, em, r);
	for (int batch = 1; batch <= 8; batch += batch == 1 ? 1 : batch == 2 ? 3 : 3) {
		memset(x, 0, R * VOXELS * sizeof *x);
		replicates(s, x, &em, batch, R);
		assert_memory_equal(x, want, R * VOXELS * sizeof *x);
	}
	free(want);
	free(x);
	iso_op_free(chain);
	iso_op_free(blur);
	iso_op_free(op);
	scan_end(s);
}

static void bits(void **state)
{
	(void)state;
	same_bits(1, 1, 0, false);
	same_bits(3, 4, 0, false);
	same_bits(2, 3, 400, false);
	same_bits(2, 1, 0, true);
}

/* Additive terms with times: a weight is a length times the density of its time, here about 1/64 per mm. With the terms of
   lengths the image would shrink five times an update. At the end its largest voxel would be 24000 units of 2^-25 counts, in
   which CUDA adds, and a term that is rounded the other way would be 4e-5 of it. */
static void take_times(struct scan *s, double tof_ps)
{
	const double sigma_mm = .299792458 / 2 * tof_ps / 2.3548200450309493,
		     per_mm = .3989422804014327 / sigma_mm;

	for (int j = 0; j < EVENTS; j++) s->add[j] = (iso_real)(s->add[j] * per_mm);
}

/* Of the weights that the device draws: every batch, and near to EM of those that the host draws. */
static void cuda_batches(void **state)
{
	enum { R = 9 };
	struct scan *s = scan_begin(cuda_or_skip());
	iso_real *first = calloc(R * VOXELS, sizeof *first), *x = calloc(R * VOXELS, sizeof *x), want[VOXELS];

	(void)state;
	for (int tof = 0; tof < 2; tof++) {
		iso_op *op = operator_of(s, 3, tof ? 400 : 0);
		struct iso_em em = em_of(s, op, 2);

		if (tof) take_times(s, 400);
		replicates(s, first, &em, 1, R);
		for (int batch = 2; batch <= 8; batch += 3) {
			replicates(s, x, &em, batch, R);
			assert_memory_equal(x, first, R * VOXELS * sizeof *x);
		}
		for (int r = 0; r < R; r += 4) {
			double top = 0, most = 0;

			by_hand(s, want, em, r);
			for (int i = 0; i < VOXELS; i++) {
				top = larger(top, want[i]);
				most = larger(most, fabs(want[i] - first[r * VOXELS + i]));
			}
			print_message("%s, replicate %d: %.2g of the largest voxel from one by hand\n",
			              tof ? "TOF" : "lengths", r, most / top);
			BELOW(most / top, 1e-5);
		}
		iso_op_free(op);
	}
	free(first);
	free(x);
	scan_end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),      cmocka_unit_test(histograms), cmocka_unit_test(refusals),
		cmocka_unit_test(vectors),      cmocka_unit_test(bits),       cmocka_unit_test(cuda_vectors),
		cmocka_unit_test(cuda_batches), cmocka_unit_test(fisher),     cmocka_unit_test(cuda_fisher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
