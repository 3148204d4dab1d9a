/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of response for tests: offsets that shift and widen with the angles, areas that fall and rise, another for each crystal. */
#ifndef ISO_TEST_RESPONSE_TABLE_H
#define ISO_TEST_RESPONSE_TABLE_H

#include "test.h"
#include "physics/response/response.h"

#include <unistd.h>

#define RING_OF_BLOCKS                                                                        \
	"kind: cylinder\nradius_mm: 100\nrings: 6\ncrystals_per_ring: 48\nring_pitch_mm: 9\n" \
	"block: {crystals: 4, rings: 3}\ncrystal_mm: [12, 8, 20]\nmin_crystal_distance: "     \
	"8\ninteraction_depth_mm: 7\n"

static inline iso_scanner *scanner_of_text(const char *text)
{
	char path[] = "/tmp/isotome-response-XXXXXX.yaml";
	int fd = mkstemps(path, 5);
	iso_scanner *s = NULL;

	assert_true(fd >= 0);
	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	OK(iso_scanner_read(&s, path));
	unlink(path);
	return s;
}

/* Counts of a Gaussian over the bins of an offset. */
static inline void fill_gaussian(uint32_t *h, double mean, double sigma, double counts)
{
	for (int b = 0; b < RESPONSE_BINS; b++) {
		double x = ((b - RESPONSE_BINS / 2) + .5) * RESPONSE_BIN_MM - mean;

		h[b] = (uint32_t)lrint(counts * RESPONSE_BIN_MM / sigma / 2.5066 *
		                       exp(-x * x / (2 * sigma * sigma)));
	}
}

static inline iso_response *made_response(const iso_scanner *scanner, double counts)
{
	struct response_crystals c;
	struct response_shape s;
	iso_response *r = NULL;
	char hash[17];

	OK(response_crystals(&c, &s, hash, scanner));
	OK(response_create(&r, &s));
	memcpy(r->info.scanner, hash, sizeof hash);
	int64_t crystals = response_crystals_of(&s), places = response_places_of(&s);

	for (int64_t d = 0; d < RESPONSE_DIRECTIONS; d++) {
		double phi = (double)(d / RESPONSE_THETAS), theta = (double)(d % RESPONSE_THETAS);

		for (int64_t k = 0; k < crystals; k++) {
			r->d[d * crystals + k] = (float)(60 - .4 * phi - .6 * theta + .1 * (double)(k % 7));
			r->count[d * crystals + k] = (uint32_t)(500 + k);
		}
		for (int64_t k = 0; k < places; k++) {
			double at = (double)(k % 5) * .1;

			fill_gaussian(r->hist[0] + (d * places + k) * RESPONSE_BINS, at - .1 * phi,
			              2 + .05 * phi, counts);
			fill_gaussian(r->hist[1] + (d * places + k) * RESPONSE_BINS, .2 * theta - at,
			              1.5 + .1 * theta, counts);
			r->beyond[d * places + k] = (uint32_t)k;
		}
		for (int e = 0; e < RESPONSE_ENERGIES; e++)
			r->d_energy[e * RESPONSE_DIRECTIONS + d] = (float)(e + 1) * r->d[d * crystals];
	}
	r->info.photons = 12345678901;
	r->info.records = 345678901;
	r->info.window_kev[0] = 435;
	r->info.window_kev[1] = 650;
	r->info.depth_mm = 7.4;
	r->info.chi2 = 1.01;
	OK(response_finish(r));
	return r;
}

#endif
