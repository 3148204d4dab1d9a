/* SPDX-License-Identifier: BSD-3-Clause */
/* Randoms per crystal: exact from delayeds without noise, right within statistics from simulated
   ones, from singles by their formula; also built in double. */
#include "test.h"

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;
	FILE *f = fopen("test_randoms.yaml", "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	OK(iso_scanner_read(&s, "test_randoms.yaml"));
	remove("test_randoms.yaml");
	return s;
}

static const char ring[] = "kind: cylinder\nradius_mm: 100\nrings: 5\nring_pitch_mm: 8\n"
			   "crystals_per_ring: 24\nmin_crystal_distance: 7\nmax_ring_difference: 2\n";

/* Twelve detectors on a helix, every two of them in coincidence. */
static iso_scanner *table(void)
{
	int64_t dim[2] = { 12, 3 };
	struct iso_array a = { 0 };
	iso_scanner *s;

	OK(iso_array_create(&a, 2, dim));
	for (int i = 0; i < 12; i++) {
		a.v[3 * i] = (iso_real)(100 * cos(i));
		a.v[3 * i + 1] = (iso_real)(100 * sin(i));
		a.v[3 * i + 2] = (iso_real)(10 * i);
	}
	OK(iso_write("test_randoms.npy", &a, NULL));
	s = scanner("kind: detectors\npositions: test_randoms.npy\n");
	remove("test_randoms.npy");
	iso_array_free(&a);
	return s;
}

/* A rate for each crystal, from 0 to 3; crystal 4 saw nothing. */
static double true_rate(int64_t a)
{
	return a == 4 ? 0 : .1 + 2.9 * fabs(sin(1 + 1.7 * (double)a));
}

/* Every pair once, with the expected count; ends by position alone, or by number too. */
static struct iso_events expected(const iso_scanner *s, bool numbers)
{
	int64_t n = iso_scanner_pairs(s);
	const double *pos = iso_scanner_positions(s);
	struct iso_events e = { .n = n,
		                .v = calloc((size_t)n, sizeof *e.v),
		                .count = calloc((size_t)n, sizeof *e.count),
		                .crystal = numbers ? calloc((size_t)(2 * n), 4) : NULL };

	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i);
		for (int c = 0; c < 3; c++) {
			e.v[i].p1[c] = (float)pos[3 * a + c];
			e.v[i].p2[c] = (float)pos[3 * b + c];
		}
		e.count[i] = (iso_real)(true_rate(a) * true_rate(b));
		if (numbers) {
			e.crystal[2 * i] = (uint32_t)a;
			e.crystal[2 * i + 1] = (uint32_t)b;
		}
	}
	return e;
}

static void check_exact(iso_scanner *s, bool numbers)
{
	int64_t n = iso_scanner_crystals(s), bad = -1;
	struct iso_events e = expected(s, numbers);
	double *rate = calloc((size_t)n, sizeof *rate);
	iso_ctx *ctx = cpu(2);

	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	assert_int_equal(bad, 0);
	for (int64_t a = 0; a < n; a++) NEAR(rate[a], true_rate(a), TOLERANCE(1e-6, 1e-8));
	assert_true(rate[4] == 0);
	iso_events_free(&e);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
	free(rate);
}

static void exact_without_noise(void **state)
{
	(void)state;
	check_exact(scanner(ring), false);
	check_exact(scanner(ring), true);
	check_exact(table(), false);
}

/* A table whose detectors must be 75 degrees apart: 40 of them, at uneven azimuths. */
static void least_angle_of_a_table(void **state)
{
	enum { N = 40 };
	float row[N][6];
	double angle[N], rate[N];
	int64_t bad, near = 0;
	FILE *f = fopen("test_randoms.hscan", "w");
	iso_scanner *s = NULL;
	iso_ctx *ctx = cpu(2);

	(void)state;
	fprintf(f,
	        "modality: PET\nscanner name: table\nnumber of elements: %d\n"
	        "min angle difference: 75\n",
	        N);
	fclose(f);
	for (int i = 0; i < N; i++) {
		angle[i] = 2.4 * i + .1 * sin(i);
		row[i][0] = (float)(100 * cos(angle[i]));
		row[i][1] = (float)(100 * sin(angle[i]));
		row[i][2] = (float)(40 * sin(5 * i));
		row[i][3] = row[i][4] = row[i][5] = 0;
	}
	f = fopen("test_randoms.lut", "wb");
	fwrite(row, sizeof row, 1, f);
	fclose(f);
	OK(iso_scanner_read(&s, "test_randoms.hscan"));
	remove("test_randoms.hscan");
	remove("test_randoms.lut");

	struct iso_events e = expected(s, true);

	for (int64_t i = 0; i < e.n; i++) {
		double apart = angle[e.crystal[2 * i]] - angle[e.crystal[2 * i + 1]];

		near += fabs(remainder(apart, 2 * M_PI)) < 75 * M_PI / 180;
	}
	assert_true(near > 100);
	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	assert_int_equal(bad, near);
	for (int64_t a = 0; a < N; a++) NEAR(rate[a], true_rate(a), TOLERANCE(1e-6, 1e-8));
	iso_events_free(&e);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

/* One ring of an even number whose crystals meet only the opposite one and its neighbours: rates
   of neighbours are all but free, the products are not. */
static void narrow_fans(void **state)
{
	iso_scanner *s = scanner("kind: cylinder\nradius_mm: 100\nrings: 1\nring_pitch_mm: 8\n"
	                         "crystals_per_ring: 8\nmin_crystal_distance: 3\n");
	struct iso_events e = expected(s, true);
	double rate[8];
	int64_t bad;
	iso_ctx *ctx = cpu(1);

	(void)state;
	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	for (int64_t a = 0; a < 8; a++) {
		double fan = 0, want = 0;

		for (int64_t i = 0; i < e.n; i++) {
			uint32_t *c = e.crystal + 2 * i;

			if (c[0] != a && c[1] != a) continue;
			fan += rate[c[0]] * rate[c[1]];
			want += true_rate(c[0]) * true_rate(c[1]);
		}
		NEAR(fan, want, 1e-6);
	}
	iso_events_free(&e);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

static void events_on_no_pair_are_counted(void **state)
{
	iso_scanner *s = scanner(ring);
	struct iso_events e = expected(s, false);
	double rate[120], again[120];
	iso_ctx *ctx = cpu(2);
	int64_t bad;

	(void)state;
	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	e.n += 4;
	e.v = realloc(e.v, (size_t)e.n * sizeof *e.v);
	e.count = realloc(e.count, (size_t)e.n * sizeof *e.count);
	struct iso_event *v = e.v + e.n - 4, *first = e.v;

	for (int i = 0; i < 4; i++) {
		v[i] = *first;
		e.count[e.n - 4 + i] = 1;
	}
	v[0].p2[0] = NAN;
	memcpy(v[1].p2, v[1].p1, sizeof v[1].p1);
	v[2].p2[0] = v[2].p1[0]; /* a neighbour, well under min_crystal_distance */
	v[2].p2[1] = v[2].p1[1] + 30;
	v[3].p2[2] += 100; /* far off every crystal */
	OK(iso_randoms_from_delayed(again, &bad, ctx, s, &e));
	assert_int_equal(bad, 4);
	assert_memory_equal(rate, again, sizeof rate);

	struct iso_events none = { .n = 4, .v = v };

	REFUSED(iso_randoms_from_delayed(rate, &bad, ctx, s, &none), ISO_EINPUT,
	        "none of 4 delayed coincidences");
	e.count[3] = -1;
	REFUSED(iso_randoms_from_delayed(rate, &bad, ctx, s, &e), ISO_EINPUT, "line 3 is -1");
	iso_events_free(&e);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

/* Crystals a, b, c of which a-b and b-c have one event each and c-a none: the likelihood grows for
   ever as b's rate does. */
static void too_few_events(void **state)
{
	iso_scanner *s = table();
	struct iso_events e = expected(s, true);
	double rate[12];
	iso_ctx *ctx = cpu(1);
	int64_t bad;

	(void)state;
	e.n = 2;
	e.count[0] = e.count[1] = 1;
	e.crystal[0] = 0;
	e.crystal[1] = e.crystal[2] = 1;
	e.crystal[3] = 2;
	REFUSED(iso_randoms_from_delayed(rate, &bad, ctx, s, &e), ISO_EINPUT, "too few events");
	iso_events_free(&e);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

/* 2 tau s_a s_b T: 5000 and 8000 counts in 10 s are 500 and 800 a second; tau = 3 ns. */
static void from_singles(void **state)
{
	iso_scanner *s = scanner(ring);
	iso_real singles[120] = { 5000, 8000 };
	double rate[120];

	(void)state;
	OK(iso_randoms_from_singles(rate, s, singles, 10, 3));
	NEAR(rate[0] * rate[1], 2 * 3e-9 * 500 * 800 * 10, 1e-12);
	assert_true(rate[2] == 0);
	REFUSED(iso_randoms_from_singles(rate, s, singles, 0, 3), ISO_EARG, "duration is 0 s");
	REFUSED(iso_randoms_from_singles(rate, s, singles, 10, -1), ISO_EARG, "window is -1 ns");
	singles[7] = -2;
	REFUSED(iso_randoms_from_singles(rate, s, singles, 10, 3), ISO_EINPUT, "singles of crystal 7 is -2");
	iso_scanner_free(s);
}

/* Delayeds and singles of a simulated scan with uneven crystals. */
struct scan {
	iso_scanner *s;
	struct iso_array image;
	iso_real *eff;
	struct iso_simulate p;
	struct iso_simulated info;
	iso_ctx *ctx;
};

static void begin_scan(struct scan *t)
{
	struct iso_grid g = { { 4, 4, 4 }, { 10, 10, 5 }, { 0, 0, 0 } };

	*t = (struct scan){ .s = scanner(ring), .info.size = sizeof t->info, .ctx = cpu(2) };
	t->eff = calloc((size_t)iso_scanner_crystals(t->s), sizeof *t->eff);
	OK(iso_array_on_grid(&t->image, &g));
	t->image.v[21] = 1;
	for (int64_t a = 0; a < iso_scanner_crystals(t->s); a++)
		t->eff[a] = (iso_real)(.2 + .8 * fabs(sin(3 * (double)a)));
	t->p = (struct iso_simulate){ .size = sizeof(struct iso_simulate),
		                      .scanner = t->s,
		                      .activity = &t->image,
		                      .eff = t->eff,
		                      .counts = 1e6,
		                      .randoms = .4,
		                      .duration_s = 300,
		                      .half_life_s = 150,
		                      .tof_fwhm_ps = 300,
		                      .seed = 31 };
}

static void end_scan(struct scan *t)
{
	iso_scanner_free(t->s);
	iso_array_free(&t->image);
	iso_ctx_free(t->ctx);
	free(t->eff);
}

/* Rates are those of the prompts' randoms: in the mean, and each within its own error, 1 / D of
   the square of the rate. */
static void simulated_delayeds_give_the_rates(void **state)
{
	struct scan t;
	struct iso_events d = { 0 };
	double rate[120], bias = 0, chi2 = 0, n_d[120] = { 0 };
	int64_t bad;

	(void)state;
	begin_scan(&t);
	t.p.delayed = true;
	OK(iso_simulate(&d, &t.info, t.ctx, &t.p));
	NEAR((double)d.n, 4e5, 5 * sqrt(4e5));
	assert_int_equal(t.info.randoms, d.n);
	for (int64_t i = 0; i < 2 * d.n; i++) n_d[d.crystal[i]]++;
	free(d.crystal); /* by position, as from a file without numbers */
	d.crystal = NULL;
	OK(iso_randoms_from_delayed(rate, &bad, t.ctx, t.s, &d));
	assert_int_equal(bad, 0);
	for (int a = 0; a < 120; a++) {
		double off = rate[a] / (sqrt(t.info.randoms_per_pair) * (double)t.eff[a]) - 1;

		bias += off / 120;
		chi2 += off * off * n_d[a];
	}
	NEAR(bias, 0, 7e-3); /* errors are 1 to 3 %, that of the mean a tenth of it */
	NEAR(chi2, 120, 5 * sqrt(2 * 120));
	iso_events_free(&d);
	end_scan(&t);
}

/* Products of rates sum to the randoms, less what decay over two half lives piles up:
   mean of squares over square of the mean, (x/2) (1 + q) / (1 - q), q = exp(-x) = 1/4. */
static void simulated_singles_give_the_randoms(void **state)
{
	struct scan t;
	iso_real singles[120];
	double rate[120], sum = 0, pile_up = log(4) / 2 * 1.25 / .75;

	(void)state;
	begin_scan(&t);
	OK(iso_simulate_singles(singles, &t.p));
	OK(iso_randoms_from_singles(rate, t.s, singles, 300, sqrt(200. * 200 + 40. * 40) / .299792458e3));
	for (int64_t i = 0; i < iso_scanner_pairs(t.s); i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, t.s, i);
		sum += rate[a] * rate[b];
	}
	NEAR(sum * pile_up, 4e5, .002 * 4e5);
	for (int a = 1; a < 120; a++) {
		double want = (double)singles[0] / (double)t.eff[0] * (double)t.eff[a];

		NEAR((double)singles[a], want, 6 * sqrt(want) + 6 * want / sqrt((double)singles[0]));
	}
	end_scan(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_without_noise),
		cmocka_unit_test(least_angle_of_a_table),
		cmocka_unit_test(narrow_fans),
		cmocka_unit_test(events_on_no_pair_are_counted),
		cmocka_unit_test(too_few_events),
		cmocka_unit_test(from_singles),
		cmocka_unit_test(simulated_delayeds_give_the_rates),
		cmocka_unit_test(simulated_singles_give_the_randoms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
