/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events: the same for every number of threads, on the right side, in the right number,
   thinned by attenuation and efficiencies as the model says, in the order of time. */
#include "test.h"

static const char ring[] = "kind: cylinder\nradius_mm: 100\nrings: 20\nring_pitch_mm: 4\n"
			   "crystals_per_ring: 160\nmin_crystal_distance: 20\n";

static iso_scanner *small_ring(void)
{
	iso_scanner *s = NULL;
	FILE *f = fopen("test_simulate.yaml", "w");

	assert_non_null(f);
	fputs(ring, f);
	fclose(f);
	OK(iso_scanner_read(&s, "test_simulate.yaml"));
	remove("test_simulate.yaml");
	return s;
}

static const struct iso_grid grid = { { 20, 20, 10 }, { 4, 4, 4 }, { 0, 0, 0 } };

static struct iso_array uniform_image(double value)
{
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &grid));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)value;
	return a;
}

static struct iso_events simulate(const struct iso_simulate *p, int threads, struct iso_simulated *info)
{
	iso_ctx *ctx = cpu(threads);
	struct iso_events e = { 0 };

	OK(iso_simulate(&e, info, ctx, p));
	iso_ctx_free(ctx);
	return e;
}

static void same_events_for_every_number_of_threads(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1), mu = uniform_image(.005);
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = s,
		                  .activity = &x,
		                  .mu = &mu,
		                  .counts = 20000,
		                  .randoms = .2,
		                  .bent = .1,
		                  .tof_fwhm_ps = 300,
		                  .seed = 9 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events a = simulate(&p, 1, &info);

	(void)state;
	assert_int_equal(a.n, info.trues + info.scatters + info.randoms);
	for (int threads = 2; threads < 8; threads += 5) {
		struct iso_events b = simulate(&p, threads, &info);

		assert_int_equal(a.n, b.n);
		assert_memory_equal(a.v, b.v, (size_t)a.n * sizeof *a.v);
		iso_events_free(&b);
	}
	p.seed = 10;
	struct iso_events c = simulate(&p, 2, &info);

	assert_true(c.n != a.n || memcmp(a.v, c.v, (size_t)a.n * sizeof *a.v) != 0);
	NEAR((double)c.n, 20000, 6 * sqrt(20000));
	NEAR((double)info.randoms, 4000, 6 * sqrt(4000));
	NEAR((double)info.scatters, 2000, 6 * sqrt(2000));
	iso_events_free(&a);
	iso_events_free(&c);
	iso_array_free(&x);
	iso_array_free(&mu);
	iso_scanner_free(s);
}

/* Trues, bent ones, randoms and delayeds, with efficiencies, attenuation and times; none of each. */
static void check_same(iso_ctx *ctx)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1), mu = uniform_image(.005);
	int64_t n = iso_scanner_crystals(s);
	iso_real *eff = calloc((size_t)n, sizeof *eff);
	iso_ctx *host = cpu(0);

	assert_non_null(eff);
	for (int64_t i = 0; i < n; i++) eff[i] = (iso_real)(1 + i % 3);
	for (int64_t i = 0; i < mu.n; i++) mu.v[i] *= (iso_real)(i % 4);
	for (int i = 0; i < 5; i++) {
		struct iso_simulate p = { .size = sizeof p,
			                  .scanner = s,
			                  .activity = &x,
			                  .mu = i == 1 ? NULL : &mu,
			                  .eff = i == 2 ? NULL : eff,
			                  .counts = sized(600000, 20000),
			                  .exact_counts = i == 3,
			                  .randoms = i == 1 ? 0 : .3,
			                  .bent = i == 2 ? 0 : .2,
			                  .delayed = i == 4,
			                  .tof_fwhm_ps = i == 3 ? 0 : 300,
			                  .duration_s = i == 0 ? 60 : 0,
			                  .half_life_s = 20,
			                  .seed = 9 };
		struct iso_simulated info = { .size = sizeof info }, again = { .size = sizeof again };
		struct iso_events a = { 0 }, b = { 0 };

		OK(iso_simulate(&a, &info, host, &p));
		OK(iso_simulate(&b, &again, ctx, &p));
		assert_int_equal(a.n, b.n);
		assert_memory_equal(a.v, b.v, (size_t)a.n * sizeof *a.v);
		assert_memory_equal(a.crystal, b.crystal, 2 * (size_t)a.n * sizeof *a.crystal);
		if (i == 0) assert_memory_equal(a.time_ms, b.time_ms, (size_t)a.n * sizeof *a.time_ms);
		assert_memory_equal(&info, &again, sizeof info);
		iso_events_free(&a);
		iso_events_free(&b);
	}
	free(eff);
	iso_array_free(&x);
	iso_array_free(&mu);
	iso_scanner_free(s);
	iso_ctx_free(host);
}

CUDA_TEST(cuda_has_the_same_events, check_same)

static void exact_counts(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = s,
		                  .activity = &x,
		                  .counts = 5000,
		                  .randoms = .25,
		                  .exact_counts = true,
		                  .seed = 1 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = simulate(&p, 2, &info);

	(void)state;
	assert_int_equal(e.n, 5000);
	assert_int_equal(info.randoms, 1250);
	NEAR(info.randoms_per_pair * (double)iso_scanner_pairs(s), 1250, 1e-6);
	for (int64_t i = 0; i < e.n; i++) assert_true(e.v[i].dt_ps == 0); /* no resolution given: no times */
	iso_events_free(&e);
	iso_array_free(&x);
	iso_scanner_free(s);
}

/* Ends lie on crystals in coincidence; the time difference points to the source: it sits
   c (t1 - t2) / 2 from the middle towards p2. */
static void times_point_to_the_source(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(0);
	int at[3] = { 15, 6, 7 }; /* voxel centre 22, -14, 10 mm */
	double source[3] = { 22, -14, 10 }, mean[3] = { 0 };
	struct iso_simulate p = {
		.size = sizeof p, .scanner = s, .activity = &x, .counts = 20000, .tof_fwhm_ps = 100, .seed = 4
	};
	struct iso_simulated info = { .size = sizeof info };

	(void)state;
	x.v[(at[2] * 20 + at[1]) * 20 + at[0]] = 1;
	struct iso_events e = simulate(&p, 2, &info);

	for (int64_t i = 0; i < e.n; i++) {
		double d[3], length = 0, off, p1[3], distance;

		for (int a = 0; a < 3; a++) {
			p1[a] = e.v[i].p1[a];
			d[a] = (double)e.v[i].p2[a] - p1[a];
			length += d[a] * d[a];
		}
		length = sqrt(length);
		off = .5 + .5 * .299792458 * e.v[i].dt_ps / length;
		for (int a = 0; a < 3; a++) mean[a] += (p1[a] + off * d[a]) / (double)e.n;
		iso_scanner_nearest(&distance, s, p1);
		NEAR(distance, 0, 1e-4);
	}
	for (int a = 0; a < 3; a++) /* sigma of one event: 6.4 mm along the LOR, and the binning */
		NEAR(mean[a], source[a], .5);
	iso_events_free(&e);
	iso_array_free(&x);
	iso_scanner_free(s);
}

/* With a mu map, events per decay fall by the mean attenuation factor of the events without. */
static void attenuation_thins(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1), mu = uniform_image(.01);
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = s,
		                  .activity = &x,
		                  .counts = 200000,
		                  .exact_counts = true,
		                  .seed = 2 };
	struct iso_simulated without = { .size = sizeof without }, with = { .size = sizeof with };
	struct iso_events e = simulate(&p, 2, &without);
	iso_real *alpha = calloc((size_t)e.n, sizeof *alpha);
	iso_ctx *ctx = cpu(2);
	double mean = 0;

	(void)state;
	OK(iso_ray_attenuation(alpha, ctx, &mu, &e));
	for (int64_t i = 0; i < e.n; i++) mean += alpha[i] / (double)e.n;
	iso_events_free(&e);
	p.mu = &mu;
	e = simulate(&p, 2, &with);
	NEAR(without.decays / with.decays, mean, .02 * mean);
	iso_events_free(&e);
	iso_array_free(&x);
	iso_array_free(&mu);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
	free(alpha);
}

/* Isotropic decays fill pairs by their solid angle: the share of events per ring difference is
   that of weight x chord summed over the pairs. */
static void isotropic_events_follow_the_pair_weight(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	struct iso_simulate p = {
		.size = sizeof p, .scanner = s, .activity = &x, .counts = 300000, .seed = 3
	};
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = simulate(&p, 2, &info);
	const double *pos = iso_scanner_positions(s);
	double want[20] = { 0 }, got[20] = { 0 }, total = 0;
	int64_t pairs = iso_scanner_pairs(s), n = 200000;
	struct iso_events sample = { .n = n, .v = calloc((size_t)n, sizeof *sample.v) };
	struct iso_ray ray = { .size = sizeof ray, .grid = grid, .n_sub = 1 };
	iso_ctx *ctx = cpu(2);
	iso_op *op = NULL;
	iso_real *chord = calloc((size_t)n, sizeof *chord);

	(void)state;
	for (int64_t i = 0; i < n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i * pairs / n);
		for (int c = 0; c < 3; c++) {
			sample.v[i].p1[c] = (float)pos[3 * a + c];
			sample.v[i].p2[c] = (float)pos[3 * b + c];
		}
	}
	OK(iso_ray_create(&op, ctx, &ray, &sample));
	OK(iso_forward(chord, op, ISO_ALL, x.v));
	for (int64_t i = 0; i < n; i++) {
		const struct iso_event *v = sample.v + i;
		double d[3] = { (double)v->p2[0] - v->p1[0], (double)v->p2[1] - v->p1[1],
			        (double)v->p2[2] - v->p1[2] };
		double xy2 = d[0] * d[0] + d[1] * d[1], l2 = xy2 + d[2] * d[2];

		/* cos^4 of the polar angle: the solid angle of two faces on a cylinder */
		want[lround(fabs(d[2]) / 4)] += chord[i] * (xy2 / l2) * (xy2 / l2);
	}
	for (int64_t i = 0; i < e.n; i++) got[lround(fabs((double)e.v[i].p2[2] - e.v[i].p1[2]) / 4)]++;
	for (int d = 0; d < 20; d++) total += want[d];
	for (int d = 0; d < 20; d++) {
		double expected = want[d] / total * (double)e.n;

		NEAR(got[d], expected, 6 * sqrt(expected) + .03 * expected);
	}
	iso_op_free(op);
	iso_events_free(&e);
	iso_events_free(&sample);
	iso_array_free(&x);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
	free(chord);
}

struct pieces {
	const struct iso_events *whole;
	int64_t at;
	int calls, fail_at;
};

static int compare_piece(void *arg, const struct iso_events *e)
{
	struct pieces *p = arg;

	if (++p->calls == p->fail_at) return ISO_EIO;
	assert_true(p->at + e->n <= p->whole->n);
	assert_memory_equal(e->v, p->whole->v + p->at, (size_t)e->n * sizeof *e->v);
	assert_memory_equal(e->time_ms, p->whole->time_ms + p->at, (size_t)e->n * 4);
	assert_memory_equal(e->crystal, p->whole->crystal + 2 * p->at, (size_t)e->n * 8);
	p->at += e->n;
	return ISO_OK;
}

/* Pieces make the list, in bounded memory; a failure of their taker ends the simulation. */
static void pieces_make_the_list(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = s,
		                  .activity = &x,
		                  .counts = 1.2e6,
		                  .randoms = .5,
		                  .bent = .2,
		                  .duration_s = 60,
		                  .half_life_s = 20,
		                  .seed = 6 };
	struct iso_simulated info = { .size = sizeof info }, again = { .size = sizeof again };
	struct iso_events e = simulate(&p, 2, &info);
	struct pieces q = { .whole = &e };
	iso_ctx *ctx = cpu(3);

	(void)state;
	OK(iso_simulate_blocks(&again, ctx, &p, compare_piece, &q));
	assert_int_equal(q.at, e.n);
	assert_true(q.calls > 1);
	NEAR(again.decays, info.decays, 0);
	q = (struct pieces){ .whole = &e, .fail_at = 2 };
	assert_int_equal(iso_simulate_blocks(&again, ctx, &p, compare_piece, &q), ISO_EIO);
	assert_int_equal(q.calls, 2);
	iso_events_free(&e);
	iso_array_free(&x);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

/* Share of the events in the first half of the scan; times must be in order. */
static double early(const struct iso_events *e, uint32_t half_ms)
{
	int64_t n = 0;

	for (int64_t i = 0; i < e->n; i++) {
		assert_true(e->time_ms[i] <= 2 * half_ms);
		assert_true(i == 0 || e->time_ms[i] >= e->time_ms[i - 1]);
		n += e->time_ms[i] < half_ms;
	}
	return (double)n / (double)e->n;
}

/* A scan of two half lives: 2/3 of the trues come in its first half, and 4/5 of the randoms, which
   fall with the square of the activity. */
static void activity_decays_over_the_scan(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = s,
		                  .activity = &x,
		                  .counts = 200000,
		                  .duration_s = 100,
		                  .half_life_s = 50,
		                  .seed = 5 };
	struct iso_simulated info = { .size = sizeof info };

	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		p.exact_counts = exact;
		p.randoms = 0;
		struct iso_events e = simulate(&p, 2, &info);

		NEAR(early(&e, 50000), 2. / 3, 5 * .5 / sqrt(2e5));
		NEAR(e.duration_s, 100, 0);
		iso_events_free(&e);
		p.randoms = 1;
		e = simulate(&p, 2, &info);
		NEAR(early(&e, 50000), .8, 5 * .5 / sqrt(2e5));
		iso_events_free(&e);
	}
	p.half_life_s = 0;
	p.randoms = .5;
	struct iso_events e = simulate(&p, 2, &info);

	NEAR(early(&e, 50000), .5, 5 * .5 / sqrt(2e5));
	iso_events_free(&e);
	iso_array_free(&x);
	iso_scanner_free(s);
}

/* Odd crystals see half as much as even ones, one sees nothing: of pairs there are 4 : 4 : 1, to
   the odds of geometry alike for all kinds. */
static void efficiencies_thin_all_kinds(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	int64_t n = iso_scanner_crystals(s);
	iso_real *eff = calloc((size_t)n, sizeof *eff);
	struct iso_simulate p = {
		.size = sizeof p, .scanner = s, .activity = &x, .eff = eff, .counts = 200000, .seed = 12
	};
	struct iso_simulated info = { .size = sizeof info };

	(void)state;
	for (int64_t a = 0; a < n; a++) eff[a] = a == 77 ? 0 : a % 2 ? (iso_real).9 : (iso_real)1.8;
	for (int kind = 0; kind < 3; kind++) {
		p.bent = kind == 1;
		p.randoms = kind == 2;
		struct iso_events e = simulate(&p, 2, &info);
		double pairs[3] = { 0 };

		for (int64_t i = 0; i < e.n; i++) {
			const uint32_t *c = e.crystal + 2 * i;

			assert_true(c[0] != 77 && c[1] != 77);
			pairs[c[0] % 2 + c[1] % 2]++;
		}
		for (int odd = 0; odd < 3; odd++) {
			double want = (double)e.n * (odd < 2 ? 4 : 1) / 9.;

			NEAR(pairs[odd], want, 5 * sqrt(want) + .01 * want);
		}
		iso_events_free(&e);
	}
	/* expected randoms of all pairs are those asked for */
	double sum = 0;

	for (int64_t i = 0; i < iso_scanner_pairs(s); i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i);
		sum += info.randoms_per_pair * (double)eff[a] * (double)eff[b];
	}
	NEAR(sum, 200000, 1);
	free(eff);
	iso_array_free(&x);
	iso_scanner_free(s);
}

/* Events carry the numbers of the crystals that their ends lie on. */
static void crystals_are_named(void **state)
{
	iso_scanner *s = small_ring();
	struct iso_array x = uniform_image(1);
	struct iso_simulate p = {
		.size = sizeof p, .scanner = s, .activity = &x, .counts = 2000, .randoms = .3, .seed = 1
	};
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = simulate(&p, 1, &info);

	(void)state;
	for (int64_t i = 0; i < e.n; i++) {
		double p1[3] = { e.v[i].p1[0], e.v[i].p1[1], e.v[i].p1[2] }, d;
		double p2[3] = { e.v[i].p2[0], e.v[i].p2[1], e.v[i].p2[2] };

		assert_int_equal(iso_scanner_nearest(&d, s, p1), e.crystal[2 * i]);
		assert_int_equal(iso_scanner_nearest(&d, s, p2), e.crystal[2 * i + 1]);
	}
	assert_null(e.time_ms);
	iso_events_free(&e);
	iso_array_free(&x);
	iso_scanner_free(s);
}

static void bad_input_is_refused(void **state)
{
	iso_scanner *s = small_ring();
	iso_ctx *ctx = cpu(2);
	struct iso_array x = uniform_image(0);
	struct iso_simulate p = { .size = sizeof p, .scanner = s, .activity = &x, .counts = 100, .seed = 1 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = { 0 };

	(void)state;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EINPUT, "holds no activity");
	x.v[7] = -1;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EINPUT, "activity of voxel 7 is -1");
	x.v[7] = 1;
	p.counts = 0;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "0 counts");
	p.counts = 100;
	p.randoms = .7;
	p.bent = .4;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "shares of randoms");
	p.randoms = p.bent = 0;
	p.tof_fwhm_ps = NAN;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "TOF resolution is nan");
	p.tof_fwhm_ps = 0;
	p.duration_s = -1;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "duration is -1 s");
	p.duration_s = 10;
	p.half_life_s = INFINITY;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "half life is inf");
	p.half_life_s = 0;
	p.delayed = true; /* but no randoms */
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EARG, "came out as 0");
	p.delayed = false;
	REFUSED(iso_simulate_singles(&(iso_real){ 0 }, &p), ISO_EARG, "singles need randoms");

	iso_real *eff = calloc((size_t)iso_scanner_crystals(s), sizeof *eff);

	p.eff = eff;
	p.randoms = .5;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EINPUT, "no crystal pair");
	eff[5] = -1;
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_EINPUT, "efficiency of crystal 5 is -1");
	p.eff = NULL;
	p.randoms = 0;
	free(eff);
	iso_ctx_cancel(ctx);
	REFUSED(iso_simulate(&e, &info, ctx, &p), ISO_ECANCEL, "stopped");
	iso_array_free(&x);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_events_for_every_number_of_threads),
		cmocka_unit_test(cuda_has_the_same_events),
		cmocka_unit_test(exact_counts),
		cmocka_unit_test(times_point_to_the_source),
		cmocka_unit_test(attenuation_thins),
		cmocka_unit_test(isotropic_events_follow_the_pair_weight),
		cmocka_unit_test(pieces_make_the_list),
		cmocka_unit_test(activity_decays_over_the_scan),
		cmocka_unit_test(efficiencies_thin_all_kinds),
		cmocka_unit_test(crystals_are_named),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
