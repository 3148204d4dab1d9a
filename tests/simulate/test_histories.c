/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a simulated history: voxels and directions in their shares, photons that pass as
   exp(-integral of mu) says, times of a decaying scan. */
#include "test.h"

#include "simulate/ring/history_scan.h"
#include "simulate/ring/photon_history.h"
#include "scanner/scanner.h"

static const struct iso_grid grid = { { 5, 4, 3 }, { 30, 40, 20 }, { 10, -20, 5 } };

static struct iso_array activity(void)
{
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &grid));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i % 7);
	return a;
}

static int64_t voxel_of(const double p[3])
{
	int64_t at[3];

	for (int a = 0; a < 3; a++)
		at[a] = (int64_t)floor((p[a] - grid.centre[a]) / grid.voxel[a] + .5 * (double)grid.n[a]);
	return (at[2] * grid.n[1] + at[1]) * grid.n[0] + at[0];
}

/* Voxels come by activity x bound, places fill them evenly, sin(tilt) is even up to the bound. */
static void decays_come_in_their_shares(void **state)
{
	enum { N = 600000 };
	struct iso_array x = activity();
	struct iso_emission e;
	double count[60] = { 0 }, tilt[60] = { 0 }, sum = 0, mean[3] = { 0 };

	(void)state;
	OK(iso_emission_create(&e, &x, 150, 40, ISO_BOTH_PHOTONS));
	for (uint64_t h = 0; h < N; h++) {
		double p[3], d[3];

		history_decay(p, d, &e, philox_draw(1, h, 0), philox_draw(1, h, 1));
		int64_t i = voxel_of(p);

		assert_in_range(i, 0, 59);
		assert_true(fabs(d[2]) <= (double)e.slot[i].most[0]);
		NEAR(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], 1, 1e-6);
		count[i]++;
		tilt[i] += fabs(d[2]);
		for (int a = 0; a < 3; a++) {
			double t = (p[a] - grid.centre[a]) / grid.voxel[a] + .5 * (double)grid.n[a];

			mean[a] += (t - floor(t)) / N;
		}
	}
	for (int i = 0; i < 60; i++) sum += (double)x.v[i] * (double)e.slot[i].most[0];
	for (int i = 0; i < 60; i++) {
		double want = N * (double)x.v[i] * (double)e.slot[i].most[0] / sum;

		NEAR(count[i], want, 5 * sqrt(want));
		if (want > 0) NEAR(tilt[i] / count[i] / (double)e.slot[i].most[0], .5, 5 * .29 / sqrt(want));
	}
	for (int a = 0; a < 3; a++) NEAR(mean[a], .5, 5 * .29 / sqrt(N));
	iso_emission_free(&e);
	iso_array_free(&x);
}

/* Whether a photon leaves through the ring. */
static bool reaches(const double p[3], const double d[3], double radius, double half)
{
	double a = d[0] * d[0] + d[1] * d[1], b = p[0] * d[0] + p[1] * d[1];
	double c = p[0] * p[0] + p[1] * p[1] - radius * radius;

	return c < 0 && fabs(p[2] + d[2] * (sqrt(b * b - a * c) - b) / a) < half;
}

/* No isotropic decay that the ring sees is beyond its voxel's bound, and bounds are not idle. */
static void bounds_lose_nothing(void **state)
{
	struct iso_array x = activity();
	unsigned short seed[3] = { 3, 2, 1 };
	double radius = 115, half = 45; /* some voxels stand out of it */

	(void)state;
	for (int rule = ISO_BOTH_PHOTONS; rule <= ISO_FIRST_PHOTON; rule++) {
		struct iso_emission e;
		int seen = 0, close = 0;

		OK(iso_emission_create(&e, &x, radius, half, (enum iso_emission_rule)rule));
		for (int h = 0; h < 1000000; h++) {
			double p[3], w = 2 * erand48(seed) - 1, phi = 2 * M_PI * erand48(seed);
			double d[3] = { sqrt(1 - w * w) * cos(phi), sqrt(1 - w * w) * sin(phi), w };
			double back[3] = { -d[0], -d[1], -d[2] };

			for (int a = 0; a < 3; a++)
				p[a] = grid.centre[a] +
				       (erand48(seed) - .5) * (double)grid.n[a] * grid.voxel[a];
			int64_t i = voxel_of(p);

			if (x.v[i] == 0 || !reaches(p, d, radius, half) ||
			    (rule == ISO_BOTH_PHOTONS && !reaches(p, back, radius, half)))
				continue;
			assert_true(fabs(w) <= (double)e.slot[i].most[0]);
			seen++;
			close += e.slot[i].most[0] < 1 && fabs(w) > .6 * (double)e.slot[i].most[0];
		}
		assert_true(seen > 10000 && close > 100);
		assert_true(e.share > 0 && e.share < 1);
		iso_emission_free(&e);
	}
	iso_array_free(&x);
}

static void activity_out_of_sight_is_refused(void **state)
{
	struct iso_array x = activity();
	struct iso_emission e;

	(void)state;
	for (int64_t i = 0; i < x.n; i++) x.v[i] = i == 0; /* x -65 to -35, y -100 to -60, z -25 to -5 */
	REFUSED(iso_emission_create(&e, &x, 69, 100, ISO_BOTH_PHOTONS), ISO_EINPUT,
	        "no activity lies inside the ring");
	REFUSED(iso_emission_create(&e, &x, 200, 4, ISO_BOTH_PHOTONS), ISO_EINPUT,
	        "no activity lies inside the ring");
	OK(iso_emission_create(&e, &x, 200, 4, ISO_FIRST_PHOTON)); /* one photon may */
	iso_emission_free(&e);
	iso_array_free(&x);
}

static double passed(const struct iso_woodcock *w, const double p[3], const double d[3], int n)
{
	double begin, end;
	int pass = 0;

	if (!w->mu) return 1;
	woodcock_clip(w, p, d, &begin, &end);
	for (int h = 0; h < n; h++)
		pass += woodcock_passes(w, p, d, fmax(begin, 0), end, 7, (uint64_t)h, 0,
		                        philox_draw(7, (uint64_t)h, 0));
	return (double)pass / n;
}

/* Water with a denser and an empty voxel, seen along, askew, from within and past the box. */
static void photons_pass_as_the_integral_says(void **state)
{
	enum { N = 200000 };
	static const struct {
		double p[3], d[3];
	} ray[] = {
		{ { -200, 0, 0 }, { 1, 0, 0 } },  { { 200, -70, 30 }, { -.8, .48, -.36 } },
		{ { 3, -11, 2 }, { 0, .6, .8 } }, { { 3, 60, -10 }, { 0, 0, 1 } },
		{ { 0, 0, 300 }, { 1, 0, 0 } },
	};
	struct iso_array mu = { 0 };
	struct iso_woodcock w;
	iso_ctx *ctx = cpu(1);

	(void)state;
	OK(iso_array_on_grid(&mu, &grid));
	for (int64_t i = 0; i < mu.n; i++)
		mu.v[i] = i % 5 == 0 ? 0 : i % 5 == 2 ? (iso_real).013 : (iso_real).006;
	OK(iso_woodcock_create(&w, &mu));
	for (int i = 0; i < N_OF(ray); i++) {
		struct iso_event v = { 0 };
		struct iso_events e = { .n = 1, .v = &v };
		iso_real alpha;

		for (int a = 0; a < 3; a++) {
			v.p1[a] = (float)ray[i].p[a];
			v.p2[a] = (float)(ray[i].p[a] + 600 * ray[i].d[a]);
		}
		OK(iso_ray_attenuation(&alpha, ctx, &mu, &e));
		NEAR(passed(&w, ray[i].p, ray[i].d, N), (double)alpha, 5 * .5 / sqrt(N));
	}
	mu.v[11] = -1;
	REFUSED(iso_woodcock_create(&w, &mu), ISO_EINPUT, "mu of voxel 11 is -1");
	memset(mu.v, 0, (size_t)mu.n * sizeof *mu.v);
	OK(iso_woodcock_create(&w, &mu));
	assert_true(passed(&w, ray[0].p, ray[0].d, 100) == 1);
	iso_array_free(&mu);
	iso_ctx_free(ctx);
}

static void times_of_a_decaying_scan(void **state)
{
	enum { N = 100000 };
	struct scan_rate r = { .lambda = log(2) / 100, .duration = 300 }, flat = { .duration = 300 };
	double *t = calloc(N, sizeof *t), sum = 0;

	(void)state;
	NEAR(iso_scan_share(&r, 100), (1 - .5) / (1 - .125), 1e-12);
	NEAR(iso_scan_when(&r, (1 - .25) / (1 - .125)), 200, 1e-9);
	NEAR(iso_scan_share(&flat, 100), 1. / 3, 1e-12);
	/* mean of squares over square of the mean: 3 half lives */
	NEAR(iso_scan_pile_up(&r), 300 * ((1 - 1. / 64) / (2 * r.lambda)) / pow((1 - .125) / r.lambda, 2),
	     1e-9);
	NEAR(iso_scan_pile_up(&flat), 1, 0);

	iso_scan_times(t, N, &r, 100, 200, 5, 0, 0);
	for (int i = 0; i < N; i++) {
		assert_true(t[i] >= (i ? t[i - 1] : 100) && t[i] <= 200);
		sum += t[i];
	}
	/* a half life of an exponential of mean 1 / lambda: its mean from the start is
	   1 / lambda - 100; the standard deviation is near that of a flat one, 29 */
	NEAR(sum / N, 100 + 1 / r.lambda - 100, 5 * 29 / sqrt(N));
	free(t);
}

/* ---- the histories of a ring, one by one and by blocks as a device has them ---- */

enum { SIDE = 20, CRYSTALS = 20 * 160 };

struct ring {
	iso_scanner *s;
	struct iso_array x, mu;
	iso_real eff[CRYSTALS];
	struct iso_histories h;
};

static void open_ring(struct ring *r)
{
	static const struct iso_grid g = { { SIDE, SIDE, 10 }, { 4, 4, 4 }, { 0, 0, 0 } };
	FILE *f = fopen("test_histories.yaml", "w");

	assert_non_null(f);
	fputs("kind: cylinder\nradius_mm: 100\nrings: 20\nring_pitch_mm: 4\n"
	      "crystals_per_ring: 160\nmin_crystal_distance: 20\nblock: {crystals: 16, gap_mm: 4}\n",
	      f);
	fclose(f);
	OK(iso_scanner_read(&r->s, "test_histories.yaml"));
	remove("test_histories.yaml");
	OK(iso_array_on_grid(&r->x, &g));
	OK(iso_array_on_grid(&r->mu, &g));
	for (int64_t i = 0; i < r->x.n; i++) {
		r->x.v[i] = (iso_real)(i % 3);
		r->mu.v[i] = (iso_real)(i % 5 ? .008 : 0);
	}
	for (int i = 0; i < CRYSTALS; i++) r->eff[i] = (iso_real)(.5 + .5 * (i % 2));
	r->h = (struct iso_histories){
		.ring = iso_cylinder_of(r->s),
		.pairs = r->s->pairs,
		.pos = r->s->pos,
		.eff = r->eff,
		.most_eff = 1,
		.radius = r->s->radius,
		.half = .5 * iso_cylinder_length(r->s),
		.sigma_ps = 150,
		.window_ps = 2000,
		.seed = 11,
	};
	for (int k = 0; k < 2; k++)
		OK(iso_emission_create(&r->h.emission[k], &r->x, r->h.radius, r->h.half,
		                       k ? ISO_FIRST_PHOTON : ISO_BOTH_PHOTONS));
	OK(iso_woodcock_create(&r->h.mu, &r->mu));
}

static void close_ring(struct ring *r)
{
	for (int k = 0; k < 2; k++) iso_emission_free(&r->h.emission[k]);
	iso_array_free(&r->x);
	iso_array_free(&r->mu);
	iso_scanner_free(r->s);
}

static bool same_hit(const struct iso_hit *a, const struct iso_hit *b)
{
	return a->crystal[0] == b->crystal[0] && a->crystal[1] == b->crystal[1] && a->dt_ps == b->dt_ps &&
	       a->order == b->order;
}

/* A history alone, as CUDA runs it, is that of the CPU's batch. */
static void histories_alone_are_those_of_a_batch(void **state)
{
	struct ring r = { 0 };

	(void)state;
	open_ring(&r);
	for (int k = 0; k < HISTORY_KINDS; k++) {
		int64_t events = 0, run = 0;

		for (int64_t i = 0; i < 20000; i += run) {
			struct iso_hit batch[HISTORY_BATCH], alone;
			int64_t have = iso_history_batch(batch, HISTORY_BATCH, &r.h, (enum iso_history_kind)k,
			                                 history_number(3, i), &run),
				next = 0;

			assert_int_equal(run, HISTORY_BATCH);
			for (int64_t j = i; j < i + run; j++)
				if (history_run(&alone, &r.h, (enum iso_history_kind)k, history_number(3, j)))
					assert_true(next < have && same_hit(&alone, batch + next++));
			assert_int_equal(next, have);
			events += have;
		}
		assert_true(events > 200);
	}
	close_ring(&r);
}

/* What a device gives of a piece: number i is history first + i % n of block + i / n. */
static int pretended(struct photon_event *e, int64_t *found, const void *scan, int kind, int64_t block,
                     int64_t blocks, int64_t first, int64_t n)
{
	*found = 0;
	assert_true(blocks * n <= PHOTON_PIECE);
	for (int64_t i = 0; i < blocks * n; i++) {
		struct iso_hit hit;

		if (history_run(&hit, scan, (enum iso_history_kind)kind,
		                history_number(block + i / n, first + i % n)))
			e[(*found)++] = (struct photon_event){
				{ hit.crystal[0], hit.crystal[1] }, hit.dt_ps, hit.order, (uint32_t)i
			};
	}
	return ISO_OK;
}

/* Blocks by way of pieces of a device have the hits, and take the histories, of the CPU's loop. */
static void blocks_of_a_device_are_those_of_the_cpu(void **state)
{
	enum { BLOCKS = 5 };
	static const int64_t want[BLOCKS] = { 300, 0, 1, 777, 40 };
	struct ring r = { 0 };

	(void)state;
	open_ring(&r);
	for (int k = 0; k < HISTORY_KINDS; k++) {
		struct photon_hits h[BLOCKS];
		struct photon_yield y = { 0 };

		for (int i = 0; i < BLOCKS; i++)
			h[i] = (struct photon_hits){ .block = 7 + i, .want = want[i], .limit = UINT32_MAX };
		OK(iso_photon_hits_device(h, BLOCKS, pretended, &r.h, k, &y, 1 << 25));
		for (int i = 0; i < BLOCKS; i++) {
			struct iso_hit hit[HISTORY_BATCH];
			int64_t have = 0, ran = 0, run;

			while (have < want[i]) {
				int64_t n =
					iso_history_batch(hit, want[i] - have, &r.h, (enum iso_history_kind)k,
				                          history_number(7 + i, ran), &run);

				for (int64_t j = 0; j < n; j++)
					assert_true(have + j < h[i].n &&
					            same_hit(hit + j, h[i].v + have + j));
				have += n;
				ran += run;
			}
			assert_int_equal(h[i].n, want[i]);
			assert_int_equal(h[i].histories, ran);
			free(h[i].v);
		}
	}
	close_ring(&r);
}

static void cosines(void **state)
{
	(void)state;
	for (int i = 0; i <= 100; i++) NEAR(history_cosine(M_PI * i / 100), cos(M_PI * i / 100), 1e-13);
}

static void half_lives(void **state)
{
	static const struct {
		const char *name;
		double s;
	} known[] = { { "o-15", 2.037 * 60 },    { "N-13", 9.965 * 60 },    { "C-11", 20.364 * 60 },
		      { "f-18", 109.77 * 60 },   { "Rb-82", 1.2575 * 60 },  { "Ga-68", 67.71 * 60 },
		      { "Cu-64", 12.70 * 3600 }, { "Zr-89", 78.41 * 3600 }, { "I-124", 4.176 * 86400 } };
	double s = 0;

	(void)state;
	for (int i = 0; i < N_OF(known); i++) {
		OK(iso_half_life(&s, known[i].name));
		NEAR(s / known[i].s, 1, 2e-4);
	}
	REFUSED(iso_half_life(&s, "F-17"), ISO_EARG, "did you mean F-18");
	REFUSED(iso_half_life(&s, "unobtainium"), ISO_EARG, "known are O-15");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decays_come_in_their_shares),
		cmocka_unit_test(bounds_lose_nothing),
		cmocka_unit_test(activity_out_of_sight_is_refused),
		cmocka_unit_test(photons_pass_as_the_integral_says),
		cmocka_unit_test(times_of_a_decaying_scan),
		cmocka_unit_test(histories_alone_are_those_of_a_batch),
		cmocka_unit_test(blocks_of_a_device_are_those_of_the_cpu),
		cmocka_unit_test(cosines),
		cmocka_unit_test(half_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
