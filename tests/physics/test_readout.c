/* SPDX-License-Identifier: BSD-3-Clause */
/* Deposits to pulses, pulses to singles and singles to coincidences: reference lists exactly, in slices of any size;
   dead time, randoms and blur against their formulas. */
#include "physics/readout/readout.h"
#include "test.h"

#include <float.h>

#define WHERE TEST_DATA "/readout"

/* Singles of a reference set, and what its pairs are. */
struct set {
	const char *name;
	int n;
	uint32_t units;
	int distance;
	double tau_ns, delay_ns, dead_ns, pileup_ns;
	int64_t singles, piled; /* after pile-up */
	struct pulse *p;
};

static struct set sets[] = {
	{ .name = "sorter",
	  .n = 2000,
	  .units = 20,
	  .distance = 5,
	  .tau_ns = 4.5,
	  .delay_ns = 200,
	  .dead_ns = 40,
	  .pileup_ns = 25,
	  .piled = 1510 },
	{ .name = "edge",
	  .n = 400,
	  .units = 8,
	  .distance = 3,
	  .tau_ns = 3,
	  .delay_ns = 50,
	  .dead_ns = 20,
	  .pileup_ns = 10,
	  .piled = 272 },
};

static int64_t ticks(double ns)
{
	return llrint(ns * PULSE_TICKS_PER_NS);
}

/* The bytes of an array behind the head of a .npy file; *bytes: how many. */
static void *values(const char *set, const char *what, size_t *bytes)
{
	char path[512];
	uint8_t head[10];

	snprintf(path, sizeof path, "%s/%s_%s.npy", WHERE, set, what);
	FILE *f = fopen(path, "rb");

	if (!f) print_error("can't open %s\n", path);
	assert_non_null(f);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	long from = 10 + head[8] + 256 * head[9];

	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	*bytes = (size_t)(ftell(f) - from);
	void *v = malloc(*bytes + 1);

	assert_non_null(v);
	assert_int_equal(fseek(f, from, SEEK_SET), 0);
	assert_int_equal(fread(v, 1, *bytes, f), *bytes);
	fclose(f);
	return v;
}

static int load(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(sets); k++) {
		struct set *s = sets + k;
		size_t bytes, energies;
		int64_t *v = values(s->name, "singles", &bytes);
		float *kev = values(s->name, "energy", &energies);

		assert_int_equal(bytes, (size_t)s->n * 24);
		assert_int_equal(energies, (size_t)s->n * 4);
		s->p = calloc((size_t)s->n, sizeof *s->p);
		assert_non_null(s->p);
		for (int i = 0; i < s->n; i++)
			s->p[i] = (struct pulse){ .time = v[3 * i],
				                  .decay = (uint64_t)i,
				                  .kev = kev[i],
				                  .unit = (uint32_t)v[3 * i + 1],
				                  .crystal = (uint32_t)v[3 * i + 2],
				                  .pulses = 1,
				                  .first = 1 };
		free(v);
		free(kev);
	}
	return 0;
}

static int unload(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(sets); k++) free(sets[k].p);
	return 0;
}

/* Crystals of ten a unit; units at least so far apart round the ring. */
static bool far(const void *scanner, uint32_t a, uint32_t b)
{
	const struct set *s = scanner;
	int d = abs((int)(a / 10) - (int)(b / 10));

	return (d < (int)s->units - d ? d : (int)s->units - d) >= s->distance;
}

static const int blocks[] = { 1, 7, 1000, 1 << 20 };

/* The time before which all pulses are in after `next` of n: that of the next one. */
static int64_t horizon(const struct pulse *p, int64_t n, int64_t next)
{
	return next < n ? p[next].time : INT64_MAX;
}

static void expect_pairs(const struct set *s, const char *what, const struct iso_sorter *rule, bool late)
{
	size_t bytes;
	int32_t *want = values(s->name, what, &bytes);
	int64_t n = (int64_t)bytes / 8;

	for (int k = 0; k < N_OF(blocks); k++) {
		struct iso_sorter_stream q;
		int64_t found = 0;

		iso_sorter_open(&q, rule);
		for (int64_t from = 0; from < s->n; from += blocks[k]) {
			int64_t next = from + blocks[k] < s->n ? from + blocks[k] : s->n;

			assert_int_equal(
				iso_sorter_push(&q, s->p + from, next - from, horizon(s->p, s->n, next)),
				ISO_OK);
			struct iso_sorted_pairs *l = late ? &q.late : &q.prompt;

			for (int64_t i = 0; i < l->n; i++, found++) {
				assert_true(found < n);
				assert_int_equal(q.single.p[l->v[i].one].decay, want[2 * found]);
				assert_int_equal(q.single.p[l->v[i].two].decay, want[2 * found + 1]);
			}
		}
		assert_int_equal(found, n);
		assert_int_equal(late ? q.count.delayeds : q.count.pairs, n);
		iso_sorter_close(&q);
	}
	free(want);
}

static const char *const window_word[] = { "single", "multi" };
static const char *const policy_word[] = { "winner", "all", "winner-if-good", "only-one", "none" };

static void pairs_are_those_of_the_reference(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(sets); k++) {
		struct iso_sorter rule = { .tau = ticks(sets[k].tau_ns),
			                   .delay = ticks(sets[k].delay_ns),
			                   .good = far,
			                   .scanner = sets + k };
		char what[64];

		for (int w = 0; w < 2; w++)
			for (int m = 0; m < N_OF(policy_word); m++) {
				rule.window = (enum iso_sorter_windows)w;
				rule.multiples = (enum iso_multiples)m;
				snprintf(what, sizeof what, "pairs_%s_%s", window_word[w], policy_word[m]);
				expect_pairs(sets + k, what, &rule, false);
			}
		rule.delayed = true;
		expect_pairs(sets + k, "pairs_delayed", &rule, true);
	}
}

/* Singles of the stream of a set, all blocks of which give the same; the caller frees them. */
static struct pulse *singles_of(const struct set *s, const struct iso_readout_rule *rule, int block,
                                int64_t *n)
{
	struct iso_readout_stream q;
	struct pulse *all = calloc((size_t)s->n, sizeof *all);

	assert_non_null(all);
	*n = 0;
	assert_int_equal(iso_readout_open(&q, rule), ISO_OK);
	for (int64_t from = 0; from < s->n; from += block) {
		int64_t next = from + block < s->n ? from + block : s->n;

		assert_int_equal(iso_readout_push(&q, s->p + from, next - from, horizon(s->p, s->n, next)),
		                 ISO_OK);
		for (int64_t i = 0; i < q.single.n; i++) all[(*n)++] = q.single.p[i];
	}
	iso_readout_close(&q);
	return all;
}

static void dead_time_is_that_of_the_reference(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(sets); k++)
		for (int b = 0; b < N_OF(blocks); b++)
			for (int paralysable = 0; paralysable < 2; paralysable++) {
				const struct set *s = sets + k;
				struct iso_readout_rule rule = { .units = s->units,
					                         .dead = ticks(s->dead_ns),
					                         .paralysable = paralysable };
				size_t bytes;
				uint8_t *want = values(s->name, "dead", &bytes);
				int64_t n, at = 0;
				struct pulse *got = singles_of(s, &rule, blocks[b], &n);

				assert_int_equal(bytes, (size_t)s->n * 2);
				for (int i = 0; i < s->n; i++)
					if (want[2 * i + paralysable]) {
						assert_true(at < n);
						assert_int_equal(got[at++].decay, i);
					}
				assert_int_equal(at, n);
				free(got);
				free(want);
			}
}

static void pile_up_is_that_of_the_reference(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(sets); k++)
		for (int b = 0; b < N_OF(blocks); b++) {
			const struct set *s = sets + k;
			struct iso_readout_rule rule = { .units = s->units, .pileup = ticks(s->pileup_ns) };
			size_t bytes, energies;
			int64_t *want = values(s->name, "pileup", &bytes), n;
			double *kev = values(s->name, "pileup_energy", &energies);
			struct pulse *got = singles_of(s, &rule, blocks[b], &n);

			assert_int_equal(n, s->piled);
			assert_int_equal(bytes, n * 32);
			for (int64_t i = 0; i < n; i++) {
				assert_int_equal(got[i].time, want[4 * i]);
				assert_int_equal(got[i].unit, want[4 * i + 1]);
				assert_int_equal(got[i].crystal, want[4 * i + 2]);
				assert_int_equal(got[i].pulses, want[4 * i + 3]);
				assert_true(!(got[i].kev < kev[i]) && !(got[i].kev > kev[i]));
			}
			free(got);
			free(kev);
			free(want);
		}
}

/* All stages at once: pulses that no block puts in order, all blocks the same. */
static void any_slices_give_the_same_singles(void **state)
{
	struct set s = sets[0];
	float efficiency[200];
	struct iso_readout_rule rule = { .units = s.units,
		                         .pileup = ticks(5),
		                         .dead = ticks(20),
		                         .trigger_kev = 100,
		                         .blur = { 7, .115, 64 * 2000. },
		                         .window_kev = { 200, 650 },
		                         .line_kev = { 150, 200 },
		                         .efficiency = efficiency };
	struct pulse *want = NULL;
	int64_t n_want = 0;

	(void)state;
	for (int i = 0; i < 200; i++) efficiency[i] = .5f + .0025f * (float)i;
	for (int b = 0; b < N_OF(blocks); b++) {
		int64_t n;
		struct pulse *got = singles_of(&s, &rule, blocks[b], &n);

		if (b == 0) {
			want = got;
			n_want = n;
			assert_true(n > 300 && n < 1500);
			continue;
		}
		assert_int_equal(n, n_want);
		assert_memory_equal(got, want, (size_t)n * sizeof *got);
		free(got);
	}
	free(want);
}

enum { PER_UNIT = 10 };

/* Deposits of two units of ten crystals: pools by unit and by 1 ns; the crystal of the largest sum, or of the mean. */
static void deposits_become_pulses(void **state)
{
	const struct deposit d[] = {
		{ 5, 3, 100, 640, 0, 1, 0, 0 },         { 5, 4, 60, 700, 0, 1, 0, 1 },
		{ 5, 3, 10, 900, 1, 0, 2, 0 },          { 5, 12, 300, 500, 1, 0, 2, 0 },
		{ 5, 5, 200, 640 + 64000, 0, 1, 0, 2 }, { 5, 6, 511, 640 + 64001, 2, 0, 0, 0 },
	};
	uint32_t unit[20], first[3] = { 0, 10, 20 }, many[20];
	float place[20][3] = { { 0 } };
	struct pulse_map map = { .unit = unit };
	struct pulse p[6];

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		unit[i] = i / PER_UNIT;
		many[i] = i;
		place[i][0] = 4.f * (float)i;
	}
	assert_int_equal(pulses_of_decay(p, d, 6, &map), 3);
	assert_int_equal(p[0].unit, 1);
	assert_int_equal(p[0].crystal, 12);
	assert_int_equal(p[0].object_rayleigh, 2);
	assert_int_equal(p[1].unit, 0);
	assert_int_equal(p[1].crystal, 5); /* 200 keV, exactly 1 ns after the first */
	assert_int_equal(p[1].time, 640);
	NEAR(p[1].kev, 370, 1e-12);
	assert_int_equal(p[1].first, 0);
	assert_int_equal(p[1].crystals, 3);
	assert_int_equal(p[1].photons, 3);
	assert_int_equal(p[1].crystal_compton, 2);
	assert_int_equal(p[1].object_compton, 1);
	assert_int_equal(p[2].crystal, 6); /* one tick later: a pulse of its own */
	assert_int_equal(p[2].photons, 4);
	map.place = (const float(*)[3])place;
	map.first = first;
	map.many = many;
	assert_int_equal(pulses_of_decay(p, d, 6, &map), 3);
	assert_int_equal(p[1].crystal, 4); /* (3 x 110 + 4 x 60 + 5 x 200) / 370 = 4.24 */
	/* a tie: the smaller number */
	const struct deposit tie[] = { { 5, 7, 100, 0, 0, 0, 0, 0 }, { 5, 2, 100, 5, 0, 0, 0, 0 } };

	map.place = NULL;
	assert_int_equal(pulses_of_decay(p, tie, 2, &map), 1);
	assert_int_equal(p[0].crystal, 2);
	assert_int_equal(p[0].first, 0);
}

/* ---- formulas, of streams of random singles ---- */

/* n pulses of a Poisson stream a unit, in order of time; 511 keV. */
static struct pulse *stream(int64_t n, int units, double rate_per_s, uint64_t seed)
{
	struct pulse *p = calloc((size_t)n, sizeof *p);
	double t = 0, tick = PULSE_TICKS_PER_S / (rate_per_s * units);

	assert_non_null(p);
	for (int64_t i = 0; i < n; i++) {
		struct philox w = philox_draw(seed, (uint64_t)i, 0);

		t -= log(philox_unit_double(w.w[0], w.w[1])) * tick;
		p[i] = (struct pulse){ .time = (int64_t)t,
			               .decay = (uint64_t)i,
			               .kev = 510.99895,
			               .unit = w.w[2] % (uint32_t)units,
			               .pulses = 1 };
		p[i].crystal = p[i].unit * PER_UNIT;
	}
	return p;
}

enum { MANY = 1000000 };

static void dead_time_follows_the_formulas(void **state)
{
	const double rate = 1e6, dead_s = 250e-9; /* n d = 0.25 */

	(void)state;
	struct set s = { .n = MANY, .units = 8, .p = stream(MANY, 8, rate, 11) };

	for (int paralysable = 0; paralysable < 2; paralysable++) {
		struct iso_readout_rule rule = { .units = 8,
			                         .dead = ticks(dead_s * 1e9),
			                         .paralysable = paralysable };
		double x = rate * dead_s, want = paralysable ? exp(-x) : 1 / (1 + x);
		/* variance a pulse: each waits for a gap of its own, or 1 + Poisson(x) come for one that is kept */
		double var = paralysable ? want * (1 - want) : x / pow(1 + x, 3);
		int64_t n;
		struct pulse *got = singles_of(&s, &rule, 1 << 16, &n);

		BELOW(fabs((double)n / MANY - want), 3 * sqrt(var / MANY));
		free(got);
	}
	free(s.p);
}

static bool any(const void *scanner, uint32_t a, uint32_t b)
{
	(void)scanner;
	return a != b;
}

/* Between two units of rates S_a and S_b: 2 tau S_a S_b, prompt and delayed; of all of a stream: the formula of one
   window at a time. */
static void randoms_follow_the_formulas(void **state)
{
	const double rate = 1e6, tau_s = 4e-9;
	struct pulse *p = stream(MANY, 4, rate, 12);
	double T = (double)p[MANY - 1].time / PULSE_TICKS_PER_S, S = MANY / T;

	(void)state;
	for (int w = 0; w < 2; w++) {
		struct iso_sorter rule = { .tau = ticks(4),
			                   .delay = ticks(140),
			                   .delayed = true,
			                   .window = (enum iso_sorter_windows)w,
			                   .multiples = ISO_MULTIPLES_ALL,
			                   .good = any };
		struct iso_sorter_stream q;
		double x = S * tau_s, pairs = S * S * tau_s * T * .75, single = (1 + x / 2) / (1 + x);

		iso_sorter_open(&q, &rule);
		assert_int_equal(iso_sorter_push(&q, p, MANY, INT64_MAX), ISO_OK);
		double want = w == ISO_SORTER_SINGLE ? pairs * single : pairs;

		BELOW(fabs((double)q.count.pairs - want), 3 * sqrt(want * (1 + 4 * x)));
		BELOW(fabs((double)q.count.delayeds - pairs), 3 * sqrt(pairs * (1 + 4 * x)));
		iso_sorter_close(&q);
	}
	free(p);
}

static void pile_up_follows_the_formula(void **state)
{
	const double rate = 1e6, window_s = 100e-9;

	(void)state;
	struct set s = { .n = MANY, .units = 8, .p = stream(MANY, 8, rate, 13) };
	struct iso_readout_rule rule = { .units = 8, .pileup = ticks(100) };
	double x = rate * window_s,
	       want = 1 / (1 + x); /* groups a pulse: as a dead time that does not move on */
	int64_t n;
	struct pulse *got = singles_of(&s, &rule, 1 << 16, &n);

	BELOW(fabs((double)n / MANY - want), 3 * sqrt(x / pow(1 + x, 3) / MANY));
	free(got);
	free(s.p);
}

/* FWHM of energy at 511 keV and of a single's time, within 4 sigma of a standard deviation; means unmoved. */
static void blur_has_its_width(void **state)
{
	struct pulse_blur b = { 3, .115, 276 / PULSE_FWHM * DEPOSIT_TICKS };
	double e = 0, ee = 0, t = 0, tt = 0, et = 0;
	const int n = 200000;

	(void)state;
	for (int i = 0; i < n; i++) {
		struct pulse p = { .decay = (uint64_t)i, .kev = 300, .crystal = 17 };

		pulse_blur(&p, &b);
		double de = p.kev - 300, dt = (double)p.time / DEPOSIT_TICKS;

		e += de;
		ee += de * de;
		t += dt;
		tt += dt * dt;
		et += de * dt;
	}
	double se = sqrt(ee / n), st = sqrt(tt / n), bound = 4 / sqrt(2. * n);

	BELOW(fabs(se / (.115 / PULSE_FWHM * sqrt(WATER_E0 * 300)) - 1), bound);
	BELOW(fabs(st / (276 / PULSE_FWHM) - 1), bound);
	BELOW(fabs(e / n) / se, 4 / sqrt(n));
	BELOW(fabs(t / n) / st, 4 / sqrt(n));
	BELOW(fabs(et / n) / (se * st), 4 / sqrt(n));
}

/* A window of the prompt line: its singles make no pairs, and a pair with one of them is a triple. */
static void singles_of_the_line_make_triples(void **state)
{
	const struct pulse p[] = {
		{ .time = 100, .crystal = 40, .line = 1 },
		{ .time = 150, .crystal = 0 },
		{ .time = 180, .crystal = 60 },
		{ .time = 1000, .crystal = 0 },
		{ .time = 1001, .crystal = 55 },
		{ .time = 2000, .crystal = 3, .line = 1 },
		{ .time = 2001, .crystal = 99 },
	};
	struct set s = { .units = 20, .distance = 5 };
	struct iso_sorter rule = { .tau = 60, .triples = true, .good = far, .scanner = &s };

	(void)state;
	for (int block = 1; block <= 7; block++) {
		struct iso_sorter_stream q;

		iso_sorter_open(&q, &rule);
		for (int64_t from = 0; from < 7; from += block) {
			int64_t next = from + block < 7 ? from + block : 7;

			assert_int_equal(iso_sorter_push(&q, p + from, next - from, horizon(p, 7, next)),
			                 ISO_OK);
			for (int64_t i = 0; i < q.triples; i++) {
				assert_int_equal(q.single.p[q.triple[i].at[0]].time, 150);
				assert_int_equal(q.single.p[q.triple[i].at[1]].time, 180);
				assert_int_equal(q.single.p[q.triple[i].at[2]].time, 100);
			}
		}
		assert_int_equal(q.count.pairs, 2);
		assert_int_equal(q.count.triples, 1);
		iso_sorter_close(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_those_of_the_reference),
		cmocka_unit_test(dead_time_is_that_of_the_reference),
		cmocka_unit_test(pile_up_is_that_of_the_reference),
		cmocka_unit_test(any_slices_give_the_same_singles),
		cmocka_unit_test(deposits_become_pulses),
		cmocka_unit_test(dead_time_follows_the_formulas),
		cmocka_unit_test(randoms_follow_the_formulas),
		cmocka_unit_test(pile_up_follows_the_formula),
		cmocka_unit_test(blur_has_its_width),
		cmocka_unit_test(singles_of_the_line_make_triples),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
