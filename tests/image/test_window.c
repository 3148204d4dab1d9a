/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of pictures and the places that they show, for images of which a person would know both; also built in double. */
#include "test.h"

#include "image/window.h"

enum { N = 40, ALL = N * N * N };

static iso_real v[ALL];
static const struct iso_shown cube = { v, { { N, N, N }, { 2, 2, 2 }, { 0, 0, 0 } }, true };

static iso_real *at(int64_t x, int64_t y, int64_t z)
{
	return &v[(z * N + y) * N + x];
}

static void clear(iso_real value)
{
	for (int64_t i = 0; i < ALL; i++) v[i] = value;
}

/* Adds `value` to voxels within `radius` of a voxel. */
static void ball(int64_t x, int64_t y, int64_t z, double radius, double value)
{
	for (int64_t i = 0; i < ALL; i++) {
		double dx = (double)(i % N - x), dy = (double)(i / N % N - y), dz = (double)(i / N / N - z);

		if (dx * dx + dy * dy + dz * dz <= radius * radius) v[i] += (iso_real)value;
	}
}

/* Between 0 and 1, always the same. */
static double uniform(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return (double)(*seed >> 8) / (1 << 24);
}

struct chosen {
	double window[2];
	int64_t voxel[3];
};

static struct chosen choose(const struct iso_shown *vol, enum iso_window_kind kind)
{
	struct chosen c;

	OK(iso_window_choose(c.window, c.voxel, vol, kind));
	return c;
}

static void assert_window(double low, double high)
{
	struct chosen c = choose(&cube, ISO_WINDOW_PLAIN);

	NEAR(c.window[0], low, 1e-6);
	NEAR(c.window[1] / high, 1, 1e-6);
}

static void assert_voxel(struct chosen c, int64_t x, int64_t y, int64_t z, int64_t within)
{
	const int64_t want[] = { x, y, z };

	for (int a = 0; a < 3; a++)
		if (llabs(c.voxel[a] - want[a]) > within)
			fail_msg("axis %d: voxel %" PRId64 ", not %" PRId64, a, c.voxel[a], want[a]);
}

/* ---- the last colour ---- */

static void plain_images(void **state)
{
	(void)state;
	clear(0);
	assert_window(0, 1); /* all zeros */
	clear(7);
	assert_window(0, 7); /* one value everywhere */
	clear(0);
	ball(12, 20, 25, 8, 1);
	assert_window(0, 1); /* a mask of ones */
	ball(12, 20, 25, 3, 3);
	assert_window(0, 4); /* a hot place in it */
	clear(NAN);
	assert_window(0, 1);
	clear(0);
	ball(20, 20, 20, 8, 2);
	*at(20, 20, 20) = (iso_real)NAN;
	*at(21, 20, 20) = (iso_real)INFINITY;
	assert_window(0, 2);
}

/* One voxel of the last plane, however hot, changes neither window nor place. */
static void lone_voxel_is_passed_over(void **state)
{
	static const double hot[] = { 10, 100, 3000 };

	(void)state;
	for (int i = 0; i < N_OF(hot); i++) {
		clear(0);
		ball(15, 20, 22, 10, 1);
		*at(35, 3, N - 1) = (iso_real)hot[i];
		struct chosen c = choose(&cube, ISO_WINDOW_PLAIN);

		NEAR(c.window[1], 1, 1e-6);
		assert_voxel(c, 15, 20, 22, 0);
	}
}

/* Where points are all there is, they are seen, also above a weak background of noise. */
static void points_are_seen(void **state)
{
	uint32_t seed = 5;

	(void)state;
	clear(0);
	*at(30, 8, 11) = 3;
	assert_window(0, 3);
	assert_voxel(choose(&cube, ISO_WINDOW_PLAIN), 30, 8, 11, 0);
	for (int64_t i = 0; i < ALL; i++) v[i] = (iso_real)(1e-6 * uniform(&seed));
	*at(30, 8, 11) = 3;
	assert_window(0, 3);
	clear(0);
	for (int64_t i = 0; i < ALL; i++) { /* a Gaussian of 3 voxels FWHM */
		double dx = (double)(i % N - 30), dy = (double)(i / N % N - 8), dz = (double)(i / N / N - 11);

		v[i] = (iso_real)exp(-4 * M_LN2 * (dx * dx + dy * dy + dz * dz) / 9);
	}
	struct chosen c = choose(&cube, ISO_WINDOW_PLAIN);

	assert_true(c.window[1] > .4);
	assert_voxel(c, 30, 8, 11, 0);
}

/* A small lesion has another colour than the body around it. */
static void lesion_stands_out(void **state)
{
	(void)state;
	clear(0);
	ball(20, 20, 20, 15, 1);
	ball(14, 20, 20, 1.5, 3);
	assert_true(choose(&cube, ISO_WINDOW_PLAIN).window[1] >= 2);
	ball(14, 20, 20, 1.5, 96); /* one that is far hotter does not make the body black */
	struct chosen c = choose(&cube, ISO_WINDOW_PLAIN);

	assert_true(c.window[1] >= 2 && c.window[1] <= 5);
}

/* Of noise with long tails, the most of what is inside the object is seen; the air, as large as may be, counts nothing. */
static void noise_is_seen(void **state)
{
	uint32_t seed = 1;
	int64_t inside = 0, above = 0;

	(void)state;
	clear(0);
	ball(20, 20, 20, 9, 1);
	for (int64_t i = 0; i < ALL; i++) {
		inside += v[i] > 0;
		v[i] *= (iso_real)pow(-log(1 - uniform(&seed)), 3); /* mean 6, up to some thousand */
	}
	double high = choose(&cube, ISO_WINDOW_PLAIN).window[1];

	for (int64_t i = 0; i < ALL; i++) above += (double)v[i] > high;
	assert_true(above * 200 > inside); /* not one hot voxel's window */
	assert_true(above * 10 < inside);
	for (int64_t i = 0; i < ALL; i++) v[i] = (iso_real)uniform(&seed); /* noise alone, everywhere */
	high = choose(&cube, ISO_WINDOW_PLAIN).window[1];
	assert_true(high > .8 && high <= 1);
}

static void double_sided_windows(void **state)
{
	(void)state;
	clear(0);
	ball(10, 20, 20, 5, 1);
	ball(30, 20, 20, 5, -2);
	struct chosen c = choose(&cube, ISO_WINDOW_SIGNED);

	NEAR(c.window[0], -2, 1e-6);
	NEAR(c.window[1], 2, 1e-6);
	c = choose(&cube, ISO_WINDOW_PLAIN);
	NEAR(c.window[0], 0, 1e-6);
	NEAR(c.window[1], 1, 1e-6);
	assert_voxel(c, 10, 20, 20, 0);
	clear(-1000); /* a CT: air, a body, a bone */
	ball(20, 20, 20, 12, 1000);
	ball(20, 20, 20, 4, 800);
	c = choose(&cube, ISO_WINDOW_LEAST);
	NEAR(c.window[0], -1000, 1e-6);
	NEAR(c.window[1], 800, 1e-6);
	clear(-3); /* nothing to see in either */
	c = choose(&cube, ISO_WINDOW_PLAIN);
	NEAR(c.window[1], 1, 1e-6);
	c = choose(&cube, ISO_WINDOW_LEAST);
	NEAR(c.window[0], -3, 1e-6);
	NEAR(c.window[1], 0, 1e-6);
}

/* ---- the kind ---- */

static void kinds(void **state)
{
	static const struct {
		double min;
		const char *unit, *map;
		enum iso_window_kind want;
	} c[] = {
		{ 0, "", NULL, ISO_WINDOW_PLAIN },
		{ -1, "", NULL, ISO_WINDOW_SIGNED },
		{ -1, "", "grey", ISO_WINDOW_LEAST },
		{ -1, "absorbed energy", NULL, ISO_WINDOW_PLAIN },
		{ -1, "absorbed energy", "grey", ISO_WINDOW_PLAIN },
		{ -1, "absorbed energy", "blue-red", ISO_WINDOW_SIGNED },
		{ -1, "Bq/mL", NULL, ISO_WINDOW_PLAIN },
		{ -1, "HU", NULL, ISO_WINDOW_SIGNED },
		{ 0, "", "blue-red", ISO_WINDOW_SIGNED },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		const struct iso_range r = { .min = c[i].min, .max = 1 };

		assert_int_equal(iso_window_kind(&r, c[i].unit, c[i].map), c[i].want);
	}
	const struct iso_range zero = { 0 }, below = { .min = -2, .max = -1 };

	assert_true(iso_window_empty(&zero, ISO_WINDOW_PLAIN) && iso_window_empty(&zero, ISO_WINDOW_LEAST));
	assert_true(iso_window_empty(&below, ISO_WINDOW_PLAIN));
	assert_false(iso_window_empty(&below, ISO_WINDOW_SIGNED) ||
	             iso_window_empty(&below, ISO_WINDOW_LEAST));
}

/* ---- the place ---- */

static void place_of_the_object(void **state)
{
	(void)state;
	clear(0);
	assert_voxel(choose(&cube, ISO_WINDOW_PLAIN), 19, 19, 19, 0); /* nothing: the middle of the grid */
	ball(8, 30, 12, 5, 1);
	assert_voxel(choose(&cube, ISO_WINDOW_PLAIN), 8, 30, 12, 0);
	for (int64_t x = 0; x < N; x += 2) *at(x, 1, N - 1) = 100; /* hot speckles in the last plane */
	assert_voxel(choose(&cube, ISO_WINDOW_PLAIN), 8, 30, 12, 1);
}

/* A plane of 200 x 3 voxels of three edges: blocks of several voxels along one axis alone. */
static void flat_images(void **state)
{
	static const struct iso_shown strip = { v, { { 200, 3, 1 }, { .5, 4, 9 }, { 0, 0, 0 } }, true };
	static const struct iso_shown one = { v, { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } }, false };

	(void)state;
	clear(0);
	for (int64_t i = 150; i < 161; i++) v[200 + i] = 5;
	struct chosen c = choose(&strip, ISO_WINDOW_PLAIN);

	NEAR(c.window[1], 5, 1e-6);
	assert_voxel(c, 155, 1, 0, 0);
	v[0] = 2;
	c = choose(&one, ISO_WINDOW_PLAIN);
	NEAR(c.window[1], 2, 1e-6);
	assert_voxel(c, 0, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_images),    cmocka_unit_test(lone_voxel_is_passed_over),
		cmocka_unit_test(points_are_seen), cmocka_unit_test(lesion_stands_out),
		cmocka_unit_test(noise_is_seen),   cmocka_unit_test(double_sided_windows),
		cmocka_unit_test(kinds),           cmocka_unit_test(place_of_the_object),
		cmocka_unit_test(flat_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
