/* SPDX-License-Identifier: BSD-3-Clause */
/* Photons of an object inside a ring: numbers of coincidences by scatters against an analog Monte Carlo written apart
   (phantom (i): a cylinder of water, 200 mm wide and long), and what must hold of any history. */
#include "test.h"

#include "physics/photon.h"

enum { SIDE = 50 };

static float water[PHOTON_ENERGIES], compton[PHOTON_ENERGIES], eps[PHOTON_ENERGIES];
static float body[SIDE * SIDE * SIDE];

static double phi(double x)
{
	return .5 * erfc(-x / sqrt(2));
}

static int make_inputs(void **state)
{
	int filled = 0;

	(void)state;
	for (int e = 1; e < PHOTON_ENERGIES; e++) {
		double s = .11 / 2.35482 * sqrt(511. * e);

		compton[e] = (float)water_compton(e);
		water[e] = (float)water_mu(e);
		eps[e] = (float)(phi((650 - e) / s) - phi((435 - e) / s));
	}
	for (int z = 0, i = 0; z < SIDE; z++)
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++, i++) {
				bool in = hypot(4 * (x - 24.5), 4 * (y - 24.5)) <= 100;

				body[i] = in ? 1 : 0;
				filled += in;
			}
	assert_int_equal(filled, 98800);
	return 0;
}

static struct photon_setting phantom(void)
{
	struct photon_volume v = { { SIDE, SIDE, SIDE }, { 4, 4, 4 }, { -100, -100, -100 }, body };

	return (struct photon_setting){ .density = v,
		                        .activity = v,
		                        .rho = 337,
		                        .half = 100,
		                        .least_kev = 321,
		                        .water = water,
		                        .compton = compton,
		                        .seed = 1 };
}

static double eps_at(float kev)
{
	int k = (int)kev < PHOTON_ENERGIES - 2 ? (int)kev : PHOTON_ENERGIES - 2;

	return (double)(eps[k] + (kev - (float)k) * (eps[k + 1] - eps[k]));
}

/* Crystals of the vectors' ring: 480 a ring, of which pairs are at least 80 apart; 40 rings, all in coincidence. */
static bool in_coincidence(const struct photon_end e[2])
{
	int c[2];

	for (int h = 0; h < 2; h++) {
		double azimuth = atan2((double)e[h].at[1], (double)e[h].at[0]) / (2 * M_PI) * 480;

		c[h] = (int)floor(azimuth + 480) % 480;
	}
	int d = abs(c[0] - c[1]);

	return (d < 240 ? d : 480 - d) >= 80;
}

/* Coincidences a decay by number of scatters, against those of the vectors. */
static void by_order(void **state)
{
	static const double counts[4] = { 21328236, 6363832, 839982, 69753 },
			    slack[4] = { .005, .005, .015, .04 };
	struct photon_setting s = phantom();
	iso_ctx *ctx = cpu(1);
	struct iso_room room = { .ctx = ctx, .what = "test" };
	double sum[4] = { 0 }, square[4] = { 0 };
	struct photon_world w;
	int64_t n = sized(4000000, 400000);

	(void)state;
	OK(iso_photon_make(&w, &room, &s));
	for (int64_t i = 0; i < n; i++) {
		struct photon_end e[2];

		if (!photon_pair(e, &w, (uint64_t)i) || !in_coincidence(e)) continue;
		int order = e[0].compton + e[1].compton;
		double weight = eps_at(e[0].kev) * eps_at(e[1].kev);

		order = order < 3 ? order : 3;
		sum[order] += weight;
		square[order] += weight * weight;
	}
	for (int k = 0; k < 4; k++) {
		double want = counts[k] / 7e8, got = sum[k] / (double)n;
		double error = hypot(sqrt(square[k]) / (double)n, sqrt(counts[k]) / 7e8);

		print_message("order %d: %.6f of %.6f, error %.6f\n", k, got / want, want, error / want);
		NEAR(got, want, slack[k] * want + 3 * error);
	}
	iso_room_free(&room);
	iso_ctx_free(ctx);
}

/* Ends lie on the cylinder, between its ends; energy and scatters fit; the way is at least the straight one. */
static void ends(void **state)
{
	struct photon_setting s = phantom();
	iso_ctx *ctx = cpu(1);
	struct iso_room room = { .ctx = ctx, .what = "test" };
	struct photon_world w;
	int scattered = 0;

	(void)state;
	s.rayleigh = true;
	OK(iso_photon_make(&w, &room, &s));
	for (uint64_t i = 0; i < 20000; i++) {
		struct photon_decay d;
		struct photon_end e;

		photon_decay(&d, &w, i);
		for (int h = 0; h < 2; h++) {
			if (!photon_follow(&e, &w, &d, h, 0)) continue;
			double straight = 0;

			for (int a = 0; a < 3; a++) straight += pow((double)(e.at[a] - d.at[a]), 2);
			straight = sqrt(straight);
			NEAR(hypot((double)e.at[0], (double)e.at[1]), 337, 1e-3);
			assert_true(fabsf(e.at[2]) < 100);
			assert_true((e.compton > 0) == (e.kev < PHOTON_KEV));
			assert_true(e.kev >= 321);
			assert_true((double)e.way >= straight - 1e-3);
			if (e.compton + e.rayleigh == 0) NEAR((double)e.way, straight, 1e-3);
			scattered += e.compton > 0;
		}
	}
	assert_true(scattered > 100);
	iso_room_free(&room);
	iso_ctx_free(ctx);
}

/* Without matter every photon flies straight; half the decays of a point in the middle of a ring of its own height. */
static void empty(void **state)
{
	struct photon_setting s = phantom();
	static float point[1] = { 1 };
	iso_ctx *ctx = cpu(1);
	struct iso_room room = { .ctx = ctx, .what = "test" };
	struct photon_world w;
	static float none[8];
	enum { N = 200000 };
	int seen = 0;

	(void)state;
	s.density = (struct photon_volume){ { 2, 2, 2 }, { 4, 4, 4 }, { -4, -4, -4 }, none };
	s.activity = (struct photon_volume){ { 1, 1, 1 }, { 1e-3f, 1e-3f, 1e-3f }, { 0, 0, 0 }, point };
	s.rho = s.half = 100;
	OK(iso_photon_make(&w, &room, &s));
	for (uint64_t i = 0; i < N; i++) {
		struct photon_end e[2];

		if (!photon_pair(e, &w, i)) continue;
		assert_true(e[0].kev == PHOTON_KEV && e[1].kev == PHOTON_KEV);
		seen++;
	}
	NEAR((double)seen / N, sqrt(.5), 5 * sqrt(.5 * sqrt(.5) / N));
	point[0] = 0;
	REFUSED(iso_photon_make(&w, &room, &s), ISO_EINPUT, "no activity");
	iso_room_free(&room);
	iso_ctx_free(ctx);
}

/* -ln u against the library's, over all its range. */
static void exponential(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1u << 20; i++) {
		uint32_t word = i << 12 | i >> 8;
		double want = -log((double)philox_unit(word));

		NEAR((double)photon_exponential(word), want, 2e-7 * fmax(1, want));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_order),
		cmocka_unit_test(ends),
		cmocka_unit_test(empty),
		cmocka_unit_test(exponential),
	};

	return cmocka_run_group_tests(tests, make_inputs, NULL);
}
