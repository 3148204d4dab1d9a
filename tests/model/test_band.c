/* SPDX-License-Identifier: BSD-3-Clause */
/* The band that traces tell: sources round the middle of a ring whose pulses have a known spectrum, with noise
   and drift of known power. */
#include "test.h"

#include "core/philox.h"
#include "model/ubp/band.h"

enum { N = 96, K = 1024, SOURCES = 12 };

#define RADIUS 20.
#define SPEED 1.5
#define SIGMA .12 /* us, of a pulse */

static double pos[3 * N];
static iso_real y[N * K];
static const struct iso_transducers ring = {
	.n = N, .pos = pos, .speed = SPEED, .samples = K, .first_us = 4, .dt_us = .025
};

/* t exp(-t^2 / 2 sigma^2): its spectrum rises as f, and has its peak at 1/(2 pi sigma) = 1.3 MHz. */
static double pulse(double t)
{
	return t / SIGMA * exp(-t * t / (2 * SIGMA * SIGMA));
}

/* Traces of sources within `reach` mm of the middle. */
static void make_traces(double reach)
{
	memset(y, 0, sizeof y);
	for (int q = 0; q < N; q++) {
		pos[3 * q] = RADIUS * cos(2 * M_PI * q / N);
		pos[3 * q + 1] = RADIUS * sin(2 * M_PI * q / N);
		for (int s = 0; s < SOURCES; s++) {
			double r = reach * sqrt((s + .5) / SOURCES), a = 2.4 * s;
			double d = hypot(pos[3 * q] - r * cos(a), pos[3 * q + 1] - r * sin(a));

			for (int k = 0; k < K; k++)
				y[q * K + k] += (iso_real)pulse(ring.first_us + k * ring.dt_us - d / SPEED);
		}
	}
}

/* Slow waves below 0.05 MHz that all transducers share. */
static void add_drift(double size)
{
	for (int i = 0; i < N * K; i++) {
		double t = (i % K) * ring.dt_us;

		y[i] += (iso_real)(size * (sin(2 * M_PI * .03 * t + 1) + cos(2 * M_PI * .05 * t)));
	}
}

static struct iso_band band(void)
{
	struct iso_band b;

	OK(iso_band_of(&b, y, &ring, 0, K));
	return b;
}

/* Lowest frequency above the peak at which the pulses' power is a ninth of the noise's: there neighbours agree by
   a tenth. Hann windows take the same share of both, as the pulses lie in their middle, about. */
static double crossing(double noise)
{
	double f = 1 / (2 * M_PI * SIGMA), s;

	do {
		f += .01;
		s = SIGMA * SIGMA * sqrt(2 * M_PI) * 2 * M_PI * f * exp(-.5 * pow(2 * M_PI * f * SIGMA, 2));
	} while (SOURCES * s * s > noise * noise * K * ring.dt_us * ring.dt_us / 9);
	return f;
}

static void clean_traces_stay(void **state)
{
	(void)state;
	make_traces(4);
	struct iso_band b = band();

	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
}

static void noise_sets_the_high_edge(void **state)
{
	const double noise[] = { .05, .2 };

	(void)state;
	for (int i = 0; i < N_OF(noise); i++) {
		make_traces(1);
		iso_traces_noise(y, N * K, noise[i], 7);
		struct iso_band b = band();

		assert_true(b.low_mhz == 0);
		NEAR(b.high_mhz / crossing(noise[i]), 1, .25);
		assert_true(b.beyond > .5 && b.beyond < 1);
	}
}

/* Half a wave against the ways to two neighbours: with sources at up to `reach`, c / (2 reach 2 pi / N). */
static void spacing_sets_the_high_edge(void **state)
{
	(void)state;
	make_traces(10);
	for (int i = 0; i < N * K; i++) y[i] *= 1e-3f;
	struct iso_band b = band();
	double limit = SPEED / (2 * 10 * 2 * M_PI / N);

	assert_true(b.low_mhz == 0);
	assert_true(b.high_mhz > .5 * limit && b.high_mhz < 1.5 * limit);
}

static void drift_sets_the_low_edge(void **state)
{
	(void)state;
	make_traces(4);
	add_drift(.5);
	struct iso_band b = band();

	assert_true(b.high_mhz == 0);
	assert_true(b.low_mhz > .05 && b.low_mhz < .3);
	iso_traces_noise(y, N * K, .1, 7);
	b = band();
	assert_true(b.low_mhz > .05 && b.low_mhz < .3);
	assert_true(b.high_mhz > 1.5 && b.high_mhz < 4);
}

/* Sources in the middle sound alike everywhere: that is no drift, and nothing tells the band. */
static void the_middle_is_no_drift(void **state)
{
	(void)state;
	make_traces(1e-4);
	struct iso_band b = band();

	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
	make_traces(.5);
	b = band();
	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
}

static void nothing_is_told(void **state)
{
	struct iso_transducers few = ring;
	struct iso_band b;

	(void)state;
	memset(y, 0, sizeof y);
	b = band();
	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
	iso_traces_noise(y, N * K, 1, 3); /* noise alone */
	b = band();
	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
	make_traces(1);
	iso_traces_noise(y, N * K, .2, 7);
	few.n = 15;
	OK(iso_band_of(&b, y, &few, 0, K));
	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
	OK(iso_band_of(&b, y, &ring, 100, 63));
	assert_true(b.low_mhz == 0 && b.high_mhz == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_traces_stay),          cmocka_unit_test(noise_sets_the_high_edge),
		cmocka_unit_test(spacing_sets_the_high_edge), cmocka_unit_test(drift_sets_the_low_edge),
		cmocka_unit_test(the_middle_is_no_drift),     cmocka_unit_test(nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
