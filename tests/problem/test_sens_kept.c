/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivities that are kept: the key changes with every input; and voxels that hardly any line crosses. */
#include "test.h"

#include "core/ctx.h"
#include "problem/ray/model_ray.h"
#include "scanner/scanner.h"

/* ---- the key ---- */

static iso_ctx *ctx;
static double pos[] = { 10, 0, 0, -10, 0, 0, 0, 10, 0, 0, -10, 0 };
static iso_real eff[] = { 1, 1, 1, 1 }, mu_values[8];
static float bin[] = { 1, 2 }, value[] = { 3, 4 };
static int32_t group[] = { 0, 1 };
static struct iso_efficiencies efficiencies;
static struct iso_array mu;
static iso_scanner scanner;
static struct iso_ray_sens p;

static void begin(void)
{
	efficiencies = (struct iso_efficiencies){ .kinds = 1,
		                                  .bins = 2,
		                                  .groups = 2,
		                                  .values = 2,
		                                  .bin = bin,
		                                  .group = group,
		                                  .value = value,
		                                  .scale = 1,
		                                  .most = 1 };
	mu = (struct iso_array){ .n_dim = 3,
		                 .n = 8,
		                 .v = mu_values,
		                 .has_grid = true,
		                 .grid = { { 2, 2, 2 }, { 1, 1, 1 }, { 0 } } };
	scanner = (iso_scanner){
		.n = 4, .pos = pos, .pairs = { .n = 6, .detectors = 4 }, .efficiencies = &efficiencies
	};
	p = (struct iso_ray_sens){ .size = sizeof p,
		                   .grid = { { 4, 4, 4 }, { 2, 2, 2 }, { 0 } },
		                   .scanner = &scanner,
		                   .rays = 1,
		                   .seed = 1,
		                   .share = 1,
		                   .eff = eff,
		                   .mu = &mu };
}

static void key_now(char key[ISO_CACHE_KEY])
{
	assert_int_equal(ray_sens_key(key, ctx, &p), ISO_OK);
}

/* All that decides the image, changed one at a time. */
#define CHANGES(X)                           \
	X(p.grid.n[2] = 5)                   \
	X(p.grid.voxel[1] = 2.0000001)       \
	X(p.grid.centre[0] = 1e-9)           \
	X(p.projector = ISO_JOSEPH)          \
	X(p.rays = 2)                        \
	X(p.spread_mm[1] = 3)                \
	X(p.share = .5)                      \
	X(p.seed = 2)                        \
	X(p.eff = NULL)                      \
	X(p.mu = NULL)                       \
	X(p.coincidence_alone = true)        \
	X(mu.grid.centre[2] = 1)             \
	X(scanner.solid_angle = true)        \
	X(scanner.pairs.min_distance = 1)    \
	X(scanner.pairs.max_axial = 5)       \
	X(scanner.efficiencies = NULL)       \
	X(efficiencies.scale = 2)            \
	X(efficiencies.kind[0].modules = 2)  \
	X(efficiencies.pair[1][0].value = 2) \
	X(efficiencies.bin = NULL)

static void key_of_parameters(void **state)
{
	char first[ISO_CACHE_KEY], key[ISO_CACHE_KEY];

	(void)state;
	begin();
	key_now(first);
	key_now(key);
	assert_string_equal(first, key);
	scanner.name[0] = 'x'; /* decides nothing */
	key_now(key);
	assert_string_equal(first, key);
#define CHANGE(what)  \
	begin();      \
	what;         \
	key_now(key); \
	if (strcmp(first, key) == 0) fail_msg("the key is the same after " #what);
	CHANGES(CHANGE)
#undef CHANGE
}

/* One bit of each array. */
static void key_of_arrays(void **state)
{
	char *const at[] = { (char *)&pos[7], (char *)&eff[3],   (char *)&mu_values[7],
		             (char *)&bin[1], (char *)&value[1], (char *)&group[1] };
	char first[ISO_CACHE_KEY], key[ISO_CACHE_KEY];

	(void)state;
	begin();
	key_now(first);
	for (int i = 0; i < N_OF(at); i++) {
		*at[i] ^= 1;
		key_now(key);
		*at[i] ^= 1;
		if (strcmp(first, key) == 0) fail_msg("array %d: the key is the same", i);
	}
	key_now(key);
	assert_string_equal(first, key);
}

/* The two devices round differently. */
static void key_of_device(void **state)
{
	static const struct iso_cuda_fn none;
	char first[ISO_CACHE_KEY], key[ISO_CACHE_KEY];
	iso_ctx other = { .cuda = &none, .device_name = "A" };

	(void)state;
	begin();
	key_now(first);
	assert_int_equal(ray_sens_key(key, &other, &p), ISO_OK);
	assert_string_not_equal(first, key);
	strcpy(other.device_name, "B");
	assert_int_equal(ray_sens_key(first, &other, &p), ISO_OK);
	assert_string_not_equal(first, key);
}

/* ---- the floor ---- */

enum { X = 6, Y = 5, Z = 3, PLANE = X * Y };

static iso_real s[PLANE * Z];

/* A ring: its end planes see 1/64 and 1/30 of what the middle sees. */
static void ring(void)
{
	const double of_plane[Z] = { 1. / 64, 1, 1. / 30 };

	for (int i = 0; i < PLANE * Z; i++) s[i] = (iso_real)(1000 * of_plane[i / PLANE]);
}

static struct sens_floor floor_of(double share)
{
	const struct iso_grid g = { { X, Y, Z }, { 1, 1, 1 }, { 0 } };
	struct sens_floor f = { .share = share };

	assert_int_equal(sens_floor_find(&f, s, &g), ISO_OK);
	return f;
}

static void assert_cut(double share, int64_t cut, int64_t seen)
{
	struct sens_floor f = floor_of(share);

	assert_int_equal(f.cut, cut);
	assert_int_equal(f.seen, seen);
	sens_floor_free(&f);
}

static void end_planes_stay(void **state)
{
	(void)state;
	ring();
	assert_cut(.2, 0, PLANE * Z);
	assert_cut(1, 0, PLANE * Z);
}

/* A voxel with few lines beside others with many, in the middle and in an end plane. */
static void speckles_go(void **state)
{
	struct sens_floor f;
	iso_real image[PLANE * Z];

	(void)state;
	ring();
	s[0] *= (iso_real).19;
	s[1] *= (iso_real).21;
	s[PLANE + 8] *= (iso_real).01;
	s[PLANE + 20] = 0; /* no line at all: not of those that are counted */
	f = floor_of(.2);
	assert_int_equal(f.cut, 2);
	assert_int_equal(f.seen, PLANE * Z - 1);
	assert_true(f.unseen[0] && f.unseen[PLANE + 8]);
	for (int i = 0; i < PLANE * Z; i++) image[i] = 1;
	sens_floor_clear(&f, image, 1, PLANE * Z);
	for (int i = 0; i < PLANE * Z; i++) assert_int_equal(image[i] == 0, i == 0 || i == PLANE + 8);
	sens_floor_free(&f);
	assert_cut(.005, 0, PLANE * Z - 1);
}

/* A thick object takes S down slowly, however far. */
static void attenuation_stays(void **state)
{
	(void)state;
	for (int i = 0; i < PLANE * Z; i++) s[i] = (iso_real)(1000 * exp(-1.2 * (i % X)));
	assert_cut(.2, 0, PLANE * Z);
}

/* A plane that a few lines touch: below 1/100 of the floor of the best plane. */
static void slivers_go(void **state)
{
	(void)state;
	ring();
	for (int i = 0; i < PLANE; i++) s[i] = (iso_real)1.9;
	assert_cut(.2, PLANE, PLANE * Z);
	for (int i = 0; i < PLANE; i++) s[i] = (iso_real)2.1;
	assert_cut(.2, 0, PLANE * Z);
	memset(s, 0, sizeof s);
	assert_cut(.2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_of_parameters), cmocka_unit_test(key_of_arrays),
		cmocka_unit_test(key_of_device),     cmocka_unit_test(end_planes_stay),
		cmocka_unit_test(speckles_go),       cmocka_unit_test(attenuation_stays),
		cmocka_unit_test(slivers_go),
	};

	if (iso_ctx_create(&ctx, "cpu", 1)) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	iso_ctx_free(ctx);
	return failed;
}
