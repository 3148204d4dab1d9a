/* SPDX-License-Identifier: BSD-3-Clause */
/* Arcs of rings in a box, against a look at every point. */
#include "test.h"

#include "core/philox.h"
#include "model/sradon/sradon.h"

#include <math.h>
#include <string.h>

enum { MOST = 400, RINGS = 20000 };

#define SLACK 2e-3 /* steps, of which one is at most a voxel: the margin and acosf */

/* How far point j lies outside of the box; inside: less than 0. */
static double outside(const struct sradon_hoop *h, double azimuth)
{
	double most = -INFINITY;

	for (int a = 0; a < 3; a++) {
		double x = h->c[a] + h->reach[a] * cos(azimuth - h->phase[a]);

		most = fmax(most, fmax(h->low[a] - x, x - h->high[a]));
	}
	return most;
}

/* Ring i of radius about n/(2 pi) voxels, around a box of 5 x 9 x 20 voxels. */
static struct sradon_hoop random_hoop(uint32_t i, int *n)
{
	struct sradon_hoop h = { .low = { -1, -1, -1 }, .high = { 5, 9, 20 } };
	double u[9];

	for (uint32_t k = 0; k < 9; k++) u[k] = philox_draw(7, i, k).w[0] / 4294967296.;
	*n = 1 + (int)(u[0] * u[0] * (MOST - 1));
	for (int a = 0; a < 3; a++) {
		h.c[a] = -10 + 35 * u[1 + a];
		h.reach[a] = *n / (2 * M_PI) * (i % 7 == (uint32_t)a ? 0 : u[4 + a]);
		h.phase[a] = M_PI * (2 * u[(4 + 2 * a) % 9] - 1);
	}
	return h;
}

static void check_ring(uint32_t i, double shift, int *visited)
{
	struct sradon_arc arc[SRADON_ARCS];
	int n, times[MOST] = { 0 };
	struct sradon_hoop h = random_hoop(i, &n);
	double step = 2 * M_PI / n;
	int arcs = iso_sradon_arcs(arc, &h, step, shift, n);

	assert_in_range(arcs, 0, SRADON_ARCS);
	for (int k = 0; k < arcs; k++) {
		assert_true(arc[k].first >= 0 && arc[k].n > 0 && arc[k].first + arc[k].n <= n);
		for (int j = arc[k].first; j < arc[k].first + arc[k].n; j++) times[j]++;
	}
	for (int j = 0; j < n; j++) {
		double far = outside(&h, (j + shift) * step);

		assert_true(times[j] <= 1);
		if (far < -SLACK) assert_int_equal(times[j], 1);
		if (far > SLACK) assert_int_equal(times[j], 0);
		*visited += times[j];
	}
}

static void every_point(void **state)
{
	int visited = 0;

	(void)state;
	for (uint32_t i = 0; i < RINGS; i++) check_ring(i, i % 2 ? .5 : 0, &visited);
	assert_true(visited > RINGS); /* the rings do meet the box */
}

static void whole_ring(void **state)
{
	struct sradon_hoop h = { .c = { 2, 3, 4 },
		                 .reach = { 1, 1, 0 },
		                 .phase = { 0, M_PI / 2, 0 },
		                 .low = { -1, -1, -1 },
		                 .high = { 5, 9, 20 } };
	struct sradon_arc arc[SRADON_ARCS];

	(void)state;
	assert_int_equal(iso_sradon_arcs(arc, &h, 2 * M_PI / 6, .5, 6), 1);
	assert_int_equal(arc[0].first, 0);
	assert_int_equal(arc[0].n, 6);
	h.c[2] = 25;
	assert_int_equal(iso_sradon_arcs(arc, &h, 2 * M_PI / 6, .5, 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_point),
		cmocka_unit_test(whole_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
