/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings simulated by photons: events by scatters, place and time against an analog Monte Carlo written apart
   (tests/data/scatter), the same events for any number of threads and on CUDA, randoms by rate, what is refused. */
#include "test.h"

#include <stdlib.h>

/* ---- the phantom of the vectors: water, radius 100 mm, length 200 mm, on the clinical ring without gaps ---- */

#define DECAYS 7e8 /* of the vectors */
#define WATER .00957992

static const double vector_counts[4] = { 21328236, 6363832, 839982, 69753 };

static const struct iso_grid grid = { { 50, 50, 50 }, { 4, 4, 4 }, { 0, 0, 0 } };

static struct iso_array cylinder(double value)
{
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &grid));
	for (int64_t i = 0; i < a.n; i++) {
		double x = 4 * ((double)(i % 50) - 24.5), y = 4 * ((double)(i / 50 % 50) - 24.5);

		a.v[i] = (iso_real)(hypot(x, y) < 100 ? value : 0);
	}
	return a;
}

struct scene {
	iso_scanner *s;
	struct iso_array x, mu;
	struct iso_simulate p;
};

static void open_scene(struct scene *c)
{
	OK(iso_scanner_read(&c->s, TEST_DATA "/scatter/ring.yaml"));
	c->x = cylinder(1);
	c->mu = cylinder(WATER);
	c->p = (struct iso_simulate){ .size = sizeof c->p,
		                      .scanner = c->s,
		                      .activity = &c->x,
		                      .mu = &c->mu,
		                      .physics = true,
		                      .tof_fwhm_ps = 390,
		                      .seed = 3 };
}

static void close_scene(struct scene *c)
{
	iso_array_free(&c->x);
	iso_array_free(&c->mu);
	iso_scanner_free(c->s);
}

/* ---- what events are ---- */

struct truth {
	uint8_t *order;
	int64_t n;
};

static int add_truth(void *arg, const uint8_t *order, int64_t n)
{
	struct truth *t = arg;

	t->order = realloc(t->order, (size_t)(t->n + n));
	assert_non_null(t->order);
	memcpy(t->order + t->n, order, (size_t)n);
	t->n += n;
	return ISO_OK;
}

static struct iso_events simulate(struct scene *c, iso_ctx *ctx, struct truth *t, struct iso_simulated *info)
{
	struct iso_events e = { 0 };

	c->p.truth = t ? add_truth : NULL;
	c->p.truth_arg = t;
	OK(iso_simulate(&e, info, ctx, &c->p));
	if (t) assert_int_equal(t->n, e.n);
	return e;
}

/* Bins of the vectors' histogram: s, ring difference, time. */
enum { S_BINS = 30, RING_BINS = 10, TIME_BINS = 41, ORDERS = 4 };

static void bins(int bin[3], const struct iso_scanner *s, const uint32_t crystal[2], double dt_ps)
{
	const double *pos = iso_scanner_positions(s), *a = pos + 3 * (size_t)crystal[0],
		     *b = pos + 3 * (size_t)crystal[1];
	bool swap = a[1] > b[1] || (a[1] == b[1] && a[0] > b[0]); /* end 2 has the larger y */
	uint32_t c1 = crystal[swap], c2 = crystal[!swap];
	double u = .5 * .299792458 * (swap ? -dt_ps : dt_ps), k = (double)((c2 % 480 + 480 - c1 % 480) % 480);

	bin[0] = (int)floor((-337 * cos(M_PI * k / 480) + 300) / 20);
	bin[1] = ((int)(c2 / 480) - (int)(c1 / 480) + 40) / 8;
	bin[2] = (int)floor(u / (.5 * .299792458 * 83) + .5) + 20;
}

/* Chi square over the bins that expect 20 or more, less their number, in units of its deviation. */
static double pull(const double *got, const double *want, int n)
{
	double chi2 = 0;
	int used = 0;

	for (int i = 0; i < n; i++)
		if (want[i] >= 20) {
			chi2 += (got[i] - want[i]) * (got[i] - want[i]) / want[i];
			used++;
		}
	return (chi2 - used) / sqrt(2 * used);
}

static void check_vectors(iso_ctx *ctx)
{
	static const int size[3] = { S_BINS, RING_BINS, TIME_BINS };
	double got[ORDERS][3][TIME_BINS] = { 0 }, want[ORDERS][3][TIME_BINS] = { 0 }, count[ORDERS] = { 0 };
	struct iso_simulated_photons found = { .size = sizeof found };
	struct scene c;
	struct truth t = { 0 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_array h = { 0 };

	open_scene(&c);
	OK(iso_read(&h, TEST_DATA "/scatter/i_hist.npy", ISO_FINITE));
	c.p.decays = sized(4000000, 400000);
	c.p.exact_counts = true;
	c.p.photons = &found;
	struct iso_events e = simulate(&c, ctx, &t, &info);
	double part = c.p.decays / DECAYS;

	assert_true(info.decays == c.p.decays);
	for (int64_t i = 0; i < e.n; i++) {
		int order = t.order[i] < ORDERS ? t.order[i] : ORDERS - 1, bin[3];

		bins(bin, c.s, e.crystal + 2 * i, (double)e.v[i].dt_ps);
		count[order]++;
		for (int a = 0; a < 3; a++)
			if (bin[a] >= 0 && bin[a] < size[a]) got[order][a][bin[a]]++;
	}
	for (int64_t i = 0; i < h.n; i++) {
		int64_t bin[3] = { i / (RING_BINS * TIME_BINS) % S_BINS, i / TIME_BINS % RING_BINS,
			           i % TIME_BINS };
		int64_t order = i / ((int64_t)S_BINS * RING_BINS * TIME_BINS);

		for (int a = 0; a < 3; a++) want[order][a][bin[a]] += part * (double)h.v[i];
	}
	for (int k = 0; k < ORDERS; k++) {
		double mean = vector_counts[k] * part;

		print_message("%d scatters: %.0f of %.0f, pulls %.1f; s %.1f, rings %.1f, times %.1f\n", k,
		              count[k], mean, (count[k] - mean) / sqrt(mean),
		              pull(got[k][0], want[k][0], S_BINS), pull(got[k][1], want[k][1], RING_BINS),
		              pull(got[k][2], want[k][2], TIME_BINS));
		NEAR(count[k], mean, 4 * sqrt(mean) + .002 * mean);
		for (int a = 0; a < 3; a++) assert_true(pull(got[k][a], want[k][a], size[a]) < 4);
	}
	assert_int_equal(found.by_order[0], info.trues);
	NEAR((double)(info.trues + info.scatters), (double)e.n, 0);
	for (int k = 1, left = (int)info.scatters; k <= ISO_ORDERS; k++) {
		if (k == ISO_ORDERS) assert_int_equal(left, 0);
		if (k < ISO_ORDERS) left -= (int)found.by_order[k];
	}
	free(t.order);
	iso_events_free(&e);
	iso_array_free(&h);
	close_scene(&c);
}

static void events_fit_the_vectors(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_vectors(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_events_fit_the_vectors, check_vectors)

/* ---- the same events ---- */

static void same(const struct iso_events *a, const struct iso_events *b, const struct truth *s,
                 const struct truth *t)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
	assert_memory_equal(a->crystal, b->crystal, 2 * (size_t)a->n * sizeof *a->crystal);
	assert_memory_equal(s->order, t->order, (size_t)a->n);
}

/* Counts, decays, randoms of a share and by rate, delayeds: as one thread of the CPU makes them. */
static void check_same(iso_ctx *ctx)
{
	iso_ctx *one = cpu(1);

	for (int i = 0; i < 5; i++) {
		struct scene c;
		struct truth s = { 0 }, t = { 0 };
		struct iso_simulated info = { .size = sizeof info }, again = { .size = sizeof again };

		open_scene(&c);
		c.p.counts = sized(40000, 5000);
		c.p.decays = i == 1 || i == 3 ? sized(1200000, 100000) : 0;
		c.p.randoms = i == 2 ? .3 : 0;
		c.p.by_rate = i >= 3;
		c.p.delayed = i == 4;
		c.p.duration_s = i >= 3 ? .01 : 0;
		c.p.rayleigh = i == 1;
		struct iso_events a = simulate(&c, one, &s, &info), b = simulate(&c, ctx, &t, &again);

		same(&a, &b, &s, &t);
		assert_memory_equal(&info, &again, sizeof info);
		free(s.order);
		free(t.order);
		iso_events_free(&a);
		iso_events_free(&b);
		close_scene(&c);
	}
	iso_ctx_free(one);
}

static void same_events_for_every_number_of_threads(void **state)
{
	iso_ctx *ctx = cpu(3);

	(void)state;
	check_same(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_has_the_same_events, check_same)

/* ---- numbers ---- */

static void counts_are_exact(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct scene c;
	struct truth t = { 0 };
	struct iso_simulated info = { .size = sizeof info };

	(void)state;
	open_scene(&c);
	c.p.counts = 20000;
	c.p.randoms = .25;
	c.p.exact_counts = true;
	struct iso_events e = simulate(&c, ctx, &t, &info);
	double events = (vector_counts[0] + vector_counts[1] + vector_counts[2] + vector_counts[3]) / DECAYS;

	assert_int_equal(e.n, 20000);
	assert_int_equal(info.randoms, 5000);
	NEAR(15000 / info.decays, events, 5 * events / sqrt(15000));
	NEAR((double)info.scatters / 15000, 1 - vector_counts[0] / DECAYS / events, .02);
	NEAR(info.randoms_per_pair * (double)iso_scanner_pairs(c.s), 5000, 1e-6);
	free(t.order);
	iso_events_free(&e);
	close_scene(&c);
	iso_ctx_free(ctx);
}

/* Singles S a second of all crystals give 2 tau S_a S_b of a pair; where all pairs but those of a ring's own crystals
   count, tau S^2 in all. */
static void randoms_follow_the_rate(void **state)
{
	struct iso_simulated_photons found = { .size = sizeof found };
	iso_ctx *ctx = cpu(2);
	struct scene c;
	struct truth t = { 0 };
	struct iso_simulated info = { .size = sizeof info };
	FILE *f = fopen("test_rate.yaml", "w");

	(void)state;
	assert_non_null(f);
	fputs("kind: cylinder\nradius_mm: 337\nrings: 40\nring_pitch_mm: 5\ncrystals_per_ring: 480\n"
	      "time: {coincidence_ns: 4.5}\nenergy: {window_kev: [435, 650], resolution: 0.11}\n",
	      f);
	fclose(f);
	open_scene(&c);
	iso_scanner_free(c.s);
	OK(iso_scanner_read(&c.s, "test_rate.yaml"));
	remove("test_rate.yaml");
	c.p.scanner = c.s;
	c.p.decays = 1e6;
	c.p.by_rate = true;
	c.p.duration_s = .01;
	c.p.photons = &found;
	struct iso_events e = simulate(&c, ctx, &t, &info);
	double tau = 4.5e-9, want = tau * found.singles_per_s * found.singles_per_s * c.p.duration_s;
	int64_t late = 0;

	NEAR(found.decays_per_s, 1e8, 1e-3);
	NEAR(found.randoms_expected / want, 1, .02);
	NEAR((double)info.randoms, found.randoms_expected, 5 * sqrt(found.randoms_expected));
	for (int64_t i = 0; i < e.n; i++)
		if (t.order[i] == ISO_ORDER_RANDOM) {
			assert_true(fabsf(e.v[i].dt_ps) <= 4500);
			late += fabsf(e.v[i].dt_ps) > 2250;
		}
	NEAR((double)late / (double)info.randoms, .5, 3 / sqrt((double)info.randoms));
	for (int64_t i = 1; i < e.n; i++) assert_true(e.time_ms[i] >= e.time_ms[i - 1]);
	free(t.order);
	iso_events_free(&e);
	close_scene(&c);
	iso_ctx_free(ctx);
}

/* Efficiencies of 1 and 1/2, half of the crystals each, keep 9/16 of the pairs. */
static void efficiencies_thin(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct scene c;
	struct iso_simulated info = { .size = sizeof info };
	iso_real *eff;

	(void)state;
	open_scene(&c);
	int64_t n = iso_scanner_crystals(c.s);

	eff = calloc((size_t)n, sizeof *eff);
	assert_non_null(eff);
	for (int64_t i = 0; i < n; i++) eff[i] = i % 2 ? 4 : 2;
	c.p.decays = 400000;
	struct iso_events a = simulate(&c, ctx, NULL, &info);

	c.p.eff = eff;
	struct iso_events b = simulate(&c, ctx, NULL, &info);

	NEAR((double)b.n / (double)a.n, 9. / 16, .02);
	iso_events_free(&a);
	iso_events_free(&b);
	free(eff);
	close_scene(&c);
	iso_ctx_free(ctx);
}

/* A higher threshold lets fewer scattered photons pass; the scanner's own window need not be said. */
static void windows_decide(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct scene c;
	struct iso_simulated own = { .size = sizeof own }, high = { .size = sizeof high };

	(void)state;
	open_scene(&c);
	c.p.decays = 400000;
	struct iso_events a = simulate(&c, ctx, NULL, &own);

	c.p.window_kev[0] = 470;
	c.p.window_kev[1] = 650;
	c.p.resolution = .05;
	struct iso_events b = simulate(&c, ctx, NULL, &high);

	assert_true((double)high.scatters < .7 * (double)own.scatters);
	NEAR((double)high.trues / (double)own.trues, 1, .02);
	iso_events_free(&a);
	iso_events_free(&b);
	close_scene(&c);
	iso_ctx_free(ctx);
}

static void bad_input_is_refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_simulated info = { .size = sizeof info };
	struct iso_events e = { 0 };
	struct scene c;
	struct iso_simulate p;

	(void)state;
	open_scene(&c);
	c.p.counts = 100;
#define TRY(change, status, text)                                        \
	do {                                                             \
		p = c.p;                                                 \
		change;                                                  \
		REFUSED(iso_simulate(&e, &info, ctx, &p), status, text); \
	} while (0)
	TRY(p.mu = NULL, ISO_EARG, "'mu' must name its map");
	TRY(p.bent = .1, ISO_EARG, "bent ones stand in for scatter");
	TRY(p.physics = false; p.decays = 1e6, ISO_EARG, "need physics");
	TRY(p.decays = -1, ISO_EARG, "-1 decays");
	TRY(p.by_rate = true, ISO_EARG, "need a duration (0 s)");
	TRY(p.by_rate = true; p.randoms = .1; p.duration_s = 1, ISO_EARG, "not both");
	TRY(p.window_kev[0] = 500; p.window_kev[1] = 400, ISO_EARG, "500 to 400 keV");
	TRY(p.resolution = 1.5, ISO_EARG, "resolution is 1.5");
	TRY(p.window_kev[1] = 300, ISO_EARG, "is its energy window right?");
	TRY(p.randoms = 1, ISO_EARG, "randoms alone");
	c.mu.v[0] = (iso_real).096;
	TRY(, ISO_EINPUT, "is it 1/cm?");
	c.mu.v[0] = -1;
	TRY(, ISO_EINPUT, "mu of voxel 0 is -1");
	c.mu.v[0] = 0;
	c.mu.grid.centre[0] = 250;
	TRY(, ISO_EINPUT, "the object reaches the ring of radius 337 mm");
	c.mu.grid.centre[0] = 0;
	iso_scanner_free(c.s);
	FILE *f = fopen("test_energy.yaml", "w");

	assert_non_null(f);
	fputs("kind: cylinder\nname: old\nradius_mm: 337\nrings: 4\nring_pitch_mm: 5\ncrystals_per_ring: "
	      "480\n",
	      f);
	fclose(f);
	OK(iso_scanner_read(&c.s, "test_energy.yaml"));
	remove("test_energy.yaml");
	TRY(p.scanner = c.s, ISO_EARG, "scanner old does not say which energies it counts");
	close_scene(&c);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_fit_the_vectors),
		cmocka_unit_test(cuda_events_fit_the_vectors),
		cmocka_unit_test(same_events_for_every_number_of_threads),
		cmocka_unit_test(cuda_has_the_same_events),
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(randoms_follow_the_rate),
		cmocka_unit_test(efficiencies_thin),
		cmocka_unit_test(windows_decide),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
