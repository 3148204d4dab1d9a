/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of crystals at a given activity: the same lists in any slices and for any threads, on both devices; prompts with
   a photon of the nucleus against reference counts, randoms against delayeds, times against flights. */
#include "test.h"

#include "scanner/modules.h"
#include "simulate/crystals/activity_events.h"

/* The reference ring of 48 modules of 13 x 52 crystals. */
static struct iso_modules ring(void)
{
	struct iso_modules m;

	memset(&m, 0, sizeof m);
	m.ring[0] = (struct modules_ring){ .radius = 421, .first_rad = 3.75 * M_PI / 180, .count = 48 };
	m.rings = 1;
	m.count = 48;
	m.crystals[0] = m.crystals[1] = 13;
	m.blocks[0] = 1;
	m.blocks[1] = 4;
	m.pitch[0] = m.pitch[1] = 4;
	m.crystal[0] = m.crystal[1] = 3.94;
	m.crystal[2] = 20;
	m.block_gap[1] = 2;
	m.layers = 1;
	m.depth = 7;
	m.stride_layer = m.stride_t = 1;
	m.stride_z = 13;
	m.stride_module = 13 * 52;
	m.mirrored = -1;
	m.readout = MODULES_READ_BLOCK;
	m.min_distance = 10;
	snprintf(m.material.formula, sizeof m.material.formula, "Lu2SiO5");
	m.material.density = 7.4;
	return m;
}

/* Activity in one voxel. */
static struct iso_array source(double x, double size)
{
	struct iso_grid g = { .n = { 1, 1, 1 }, .voxel = { size, size, size }, .centre = { x, 0, 0 } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	a.v[0] = 1;
	return a;
}

static struct rates_setting setting(const struct iso_modules *m, const struct iso_array *activity, double bq,
                                    double seconds)
{
	return (struct rates_setting){
		.crystals = { .modules = m, .activity = activity, .seed = 3 },
		.activity_bq = bq,
		.duration_s = seconds,
		.readout = { .window_kev = { 435, 650 }, .blur = { .resolution = .115 } },
		.sorter = { .tau = llrint(4.1 * PULSE_TICKS_PER_NS), .delay = 141 * PULSE_TICKS_PER_NS },
	};
}

/* ---- lists ---- */

struct list {
	int64_t n, late;
	uint64_t hash, truth; /* of times, crystals and energies of pairs, in their order; of their truth */
	const struct rates *r;
};

static void mix(uint64_t *hash, const struct pulse *p)
{
	const uint64_t of[] = { (uint64_t)p->time, p->crystal, p->decay, (uint64_t)(p->kev * 1e6) };

	for (int k = 0; k < N_OF(of); k++) *hash = (*hash ^ of[k]) * 0x100000001b3ull;
}

static void mix_truth(struct list *l, const struct pulse *one, const struct pulse *two)
{
	struct rates_truth t;

	iso_rates_truth(&t, l->r, one, two);
	for (size_t k = 0; k < sizeof t; k++)
		l->truth = (l->truth ^ ((const unsigned char *)&t)[k]) * 0x100000001b3ull;
}

static int keep(void *arg, const struct iso_readout_stream *q, const struct iso_sorter_stream *s)
{
	struct list *l = arg;
	const struct iso_sorted_pairs *both[] = { &s->prompt, &s->late };

	(void)q;
	for (int64_t i = 0; i < both[0]->n; i++, l->n++) {
		mix(&l->hash, s->single.p + both[0]->v[i].one);
		mix(&l->hash, s->single.p + both[0]->v[i].two);
		mix_truth(l, s->single.p + both[0]->v[i].one, s->single.p + both[0]->v[i].two);
	}
	l->late += both[1]->n;
	return ISO_OK;
}

static struct list list_of(iso_ctx *ctx, struct rates_setting s, struct rates_result *result)
{
	struct rates r;
	struct list l = { .r = &r };

	s.truth = true;
	OK(iso_rates_open(&r, ctx, &s));
	OK(iso_rates_run(result, &r, keep, &l));
	iso_rates_close(&r);
	return l;
}

/* All that electronics do, at 5e7 decays a second: of an isotope with prompt photons, in a scan in which it decays. */
static struct rates_setting busy(const struct iso_modules *m, const struct iso_array *a,
                                 const struct isotope *i, double seconds)
{
	struct rates_setting s = setting(m, a, 5e7, seconds);

	s.isotope = i;
	s.half_life_s = .005;
	s.decay = (struct decay_setting){ .range = true, .angle_deg = .5 };
	s.readout.dead = 60 * PULSE_TICKS_PER_NS;
	s.readout.pileup = 100 * PULSE_TICKS_PER_NS;
	s.readout.trigger_kev = 50;
	s.readout.blur.sigma_ticks = 64 * 276 / PULSE_FWHM;
	s.sorter.delayed = true;
	return s;
}

static void any_slices_and_threads_give_the_same_events(void **state)
{
	const struct iso_modules m = ring();
	struct iso_array a = source(0, 20);
	struct list want = { 0 };
	struct isotope i;

	(void)state;
	OK(iso_isotope_read(&i, "I-124"));
	struct rates_setting s = busy(&m, &a, &i, sized(6, 2) * 1e-3);

	for (int k = 0; k < 3; k++) {
		static const int64_t slice[] = { 1 << 23, 40000, 70000 };
		iso_ctx *ctx = cpu(1 + k);
		struct rates_result r;

		s.slice = slice[k];
		struct list l = list_of(ctx, s, &r);

		assert_int_equal(r.photons.decays > 1000, 1);
		if (k == 0) want = l;
		assert_true(l.n > 100 && l.late > 10);
		assert_int_equal(l.n, want.n);
		assert_int_equal(l.late, want.late);
		assert_true(l.hash == want.hash);
		assert_true(l.truth == want.truth);
		assert_true(k == 0 || r.slices > 1);
		iso_ctx_free(ctx);
	}
	iso_array_free(&a);
}

static void cuda_events_are_those_of_the_cpu(void **state)
{
	const struct iso_modules m = ring();
	iso_ctx *cuda = cuda_or_skip(), *ctx = cpu(0);
	struct iso_array a = source(0, 20);
	struct rates_result r[2];
	struct isotope i;

	(void)state;
	OK(iso_isotope_read(&i, "I-124"));
	struct rates_setting s = busy(&m, &a, &i, .02);
	struct list l = list_of(cuda, s, r), want = list_of(ctx, s, r + 1);

	assert_int_equal(l.n, want.n);
	assert_int_equal(l.late, want.late);
	assert_true(l.hash == want.hash);
	assert_true(l.truth == want.truth);
	assert_memory_equal(r, r + 1, offsetof(struct rates_result, slices));
	iso_ctx_free(cuda);
	iso_ctx_free(ctx);
	iso_array_free(&a);
}

/* ---- counts ---- */

/* 602.7 keV with every pair: shares of 3e6 decays by a program that shares no code with this one. */
static void prompts_with_a_photon_of_the_nucleus(void **state)
{
	const struct iso_modules m = ring();
	const struct isotope i = { .name = "pair", .z = 8, .a = 18, .branch = { { 1, 600, { 602.7 } } } };
	iso_ctx *ctx = cpu(0);
	struct iso_array a = source(0, 1e-3);
	struct rates_setting s = setting(&m, &a, 1e3, sized(300, 60));
	struct rates_result r;
	const double n = 3e6;

	(void)state;
	s.isotope = &i;
	s.sorter.multiples = ISO_MULTIPLES_NONE;
	list_of(ctx, s, &r);
	const double share[] = { .0784, .00713, .01025 };
	const int64_t found[] = { r.kind[RATES_TRUE], r.kind[RATES_PROMPT],
		                  r.sorter.groups[2] + r.sorter.groups[3] };

	for (int k = 0; k < 3; k++) {
		double q = share[k], root = sqrt(q * (1 - q) * (1 / n + 1 / (double)r.photons.decays));

		BELOW(fabs((double)found[k] / (double)r.photons.decays - q), 4 * root + .002 * q);
	}
	assert_int_equal(r.kind[RATES_PILED], 0);
	iso_ctx_free(ctx);
	iso_array_free(&a);
}

/* The 909 keV of Zr-89 come 15.7 s later: never in a coincidence of their own decay. */
static void photons_of_an_isomer_are_no_prompts(void **state)
{
	const struct iso_modules m = ring();
	iso_ctx *ctx = cpu(0);
	struct iso_array a = source(0, 1e-3);
	struct rates_setting s = setting(&m, &a, 1e3, 100);
	struct rates_result r;
	struct isotope i;

	(void)state;
	OK(iso_isotope_read(&i, "Zr-89"));
	s.isotope = &i;
	list_of(ctx, s, &r);
	double n = (double)r.photons.decays, photons = 2 * .2274 + .99;

	BELOW(fabs((double)r.photons.photons / n - photons), 4 * sqrt(4 * .2274 / n));
	assert_int_equal(r.kind[RATES_PROMPT], 0);
	assert_true(r.kind[RATES_TRUE] > 1000);
	iso_ctx_free(ctx);
	iso_array_free(&a);
}

/* Prompts of two decays are as many as delayeds. */
static void randoms_are_as_many_as_delayeds(void **state)
{
	const struct iso_modules m = ring();
	iso_ctx *ctx = cpu(0);
	struct iso_array a = source(0, 100);
	struct rates_setting s = setting(&m, &a, 1e8, sized(6, 2) * 1e-3);
	struct rates_result r;

	(void)state;
	s.sorter.window = ISO_SORTER_MULTI;
	s.sorter.multiples = ISO_MULTIPLES_ALL;
	s.sorter.delayed = true;
	list_of(ctx, s, &r);
	assert_true(r.kind[RATES_RANDOM] > 500);
	BELOW(fabs((double)(r.kind[RATES_RANDOM] - r.sorter.delayeds)),
	      4 * sqrt(1.3 * (double)(r.kind[RATES_RANDOM] + r.sorter.delayeds)));
	assert_int_equal(r.delayed_of_one, 0);
	iso_ctx_free(ctx);
	iso_array_free(&a);
}

/* ---- times ---- */

struct times {
	float (*place)[3];
	double at, most, sum, square; /* x of the source; differences beyond are left out */
	int64_t n;
};

static int take_times(void *arg, const struct iso_readout_stream *q, const struct iso_sorter_stream *s)
{
	struct times *t = arg;
	struct iso_events e;

	(void)q;
	OK(iso_rates_events(&e, &s->prompt, s->single.p, (const float(*)[3])t->place, 0));
	for (int64_t i = 0; i < e.n; i++) {
		const float *p = e.v[i].p1, *r = e.v[i].p2;
		double way1 = sqrt(pow(p[0] - t->at, 2) + p[1] * p[1] + p[2] * p[2]);
		double way2 = sqrt(pow(r[0] - t->at, 2) + r[1] * r[1] + r[2] * r[2]);
		double d = e.v[i].dt_ps - (way1 - way2) / .299792458;

		assert_true(e.crystal[2 * i] < e.crystal[2 * i + 1]);
		if (!(fabs(d) < t->most)) continue;
		t->sum += d;
		t->square += d * d;
		t->n++;
	}
	iso_events_free(&e);
	return ISO_OK;
}

/* t1 - t2 less what the nominal ends and the true place give: 24.3 and 24.4 ps wide by another program. */
static void times_are_those_of_flights(void **state)
{
	static const double at[] = { 0, 150 }, want[] = { 24.3, 24.4 };
	const struct iso_modules m = ring();
	iso_ctx *ctx = cpu(0);

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct iso_array a = source(at[k % 2], 1e-3);
		struct rates_setting s = setting(&m, &a, 1e3, sized(200, 50));
		struct times t = { .place = iso_rates_places(&m),
			           .at = at[k % 2],
			           .most = k == 2 ? 1500 : 300 };
		struct rates_result result;
		struct rates r;
		double sigma = k == 2 ? 394.5 / PULSE_FWHM : want[k];

		if (k == 2) s.readout.blur.sigma_ticks = 64 * 276 / PULSE_FWHM;
		OK(iso_rates_open(&r, ctx, &s));
		OK(iso_rates_run(&result, &r, take_times, &t));
		double n = (double)t.n, mean = t.sum / n, width = sqrt(t.square / n - mean * mean);

		BELOW(fabs(mean), (k == 2 ? 1 : .3) + 4 * sigma / sqrt(n));
		if (k < 2)
			BELOW(fabs(width - sigma),
			      .2 + 4 * sigma / sqrt(n)); /* the tails are wider than Gaussian */
		if (k == 2) BELOW(fabs(width / sigma - 1), .01 + 4 / sqrt(2 * n));
		iso_rates_close(&r);
		free(t.place);
		iso_array_free(&a);
	}
	iso_ctx_free(ctx);
}

static void bad_settings_are_refused(void **state)
{
	const struct iso_modules m = ring();
	iso_ctx *ctx = cpu(1);
	struct iso_array a = source(0, 1);
	struct rates_setting s = setting(&m, &a, 1e3, 1);
	struct rates r;

	(void)state;
	s.duration_s = 2e5;
	REFUSED(iso_rates_open(&r, ctx, &s), ISO_EARG, "duration_s");
	s = setting(&m, &a, -1, 1);
	REFUSED(iso_rates_open(&r, ctx, &s), ISO_EARG, "activity_bq");
	s = setting(&m, &a, 1e3, 1);
	s.sorter.tau = 0;
	REFUSED(iso_rates_open(&r, ctx, &s), ISO_EARG, "coincidence_ns");
	s = setting(&m, &a, 1e3, 1);
	s.sorter.delayed = true;
	s.sorter.delay = s.sorter.tau;
	REFUSED(iso_rates_open(&r, ctx, &s), ISO_EARG, "delay");
	s = setting(&m, &a, 1e3, 1);
	s.readout.window_kev[0] = 700;
	REFUSED(iso_rates_open(&r, ctx, &s), ISO_EARG, "window");
	iso_ctx_free(ctx);
	iso_array_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_slices_and_threads_give_the_same_events),
		cmocka_unit_test(cuda_events_are_those_of_the_cpu),
		cmocka_unit_test(prompts_with_a_photon_of_the_nucleus),
		cmocka_unit_test(photons_of_an_isomer_are_no_prompts),
		cmocka_unit_test(randoms_are_as_many_as_delayeds),
		cmocka_unit_test(times_are_those_of_flights),
		cmocka_unit_test(bad_settings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
