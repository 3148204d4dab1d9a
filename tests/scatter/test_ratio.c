/* SPDX-License-Identifier: BSD-3-Clause */
/* The smooth ratio of the Monte Carlo to a single scatter that is the same everywhere: its error against that of two seeds,
   how it is read between patches, which end is which. */
#include "test.h"

#include "scatter/ratio.h"

#include <stdlib.h>
#include <unistd.h>

enum { SIDE = 20, N_U = 61 };

static iso_scanner *ring;
static struct iso_array body, mu; /* of 10 mm: a cylinder, off the axis, with activity in its upper half */

static int make_phantom(void **state)
{
	const struct iso_grid g = { { SIDE, SIDE, SIDE }, { 10, 10, 10 }, { 20, -10, 0 } };

	(void)state;
	OK(iso_scanner_read(&ring, TEST_DATA "/scatter/ring.yaml"));
	OK(iso_array_on_grid(&body, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < body.n; i++) {
		double x = 10 * ((double)(i % SIDE) - 9.5), y = 10 * ((double)(i / SIDE % SIDE) - 9.5);

		if (hypot(x, y) > 90) continue;
		body.v[i] = y > 0 ? 1 : 0;
		mu.v[i] = (iso_real)0.00957992;
	}
	return 0;
}

static int free_phantom(void **state)
{
	(void)state;
	iso_scanner_free(ring);
	iso_array_free(&body);
	iso_array_free(&mu);
	return 0;
}

#define SINGLE 1e-4f /* of the formula, everywhere: next to nothing, so that all cells have errors alike */

static int flat(double *s, iso_ctx *ctx, const void *table, const struct patches *p, const int32_t *pair)
{
	(void)ctx;
	(void)table;
	assert_true(pair[0] == -1);
	for (int64_t i = 0; i < (int64_t)p->pairs * p->cells; i++) s[i] = (double)SINGLE;
	return ISO_OK;
}

/* A single scatter for the scene. */
static struct ratio_single single_of(const struct scene *s, struct ratio_single *own)
{
	*own = (struct ratio_single){ NULL, NULL, s->sigma > 0 ? N_U : 1, s->sigma / 3, flat };
	return *own;
}

static void open_scene(struct scene *s, double tof_ps)
{
	const struct iso_scatter p = {
		.size = sizeof p, .scanner = ring, .image = &body, .mu = &mu, .tof_fwhm_ps = tof_ps
	};

	*s = (struct scene){ 0 };
	OK(scene_create(s, &p));
}

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

/* h over a formula and a guide that are equal. */
static double times(const struct ratio *r, int64_t i)
{
	return (double)r->once[i] + (double)r->more[i];
}

/* The median difference of two seeds, as the width of Gaussian errors, in cells above a tenth of the greatest. */
static double difference(const struct ratio *a, const struct ratio *b)
{
	int64_t cells = (int64_t)a->patches.pairs * a->patches.cells, n = 0;
	double *off = calloc((size_t)cells, sizeof *off), most = 0;

	assert_non_null(off);
	for (int64_t i = 0; i < cells; i++)
		if (times(a, i) > most) most = times(a, i);
	for (int64_t i = 0; i < cells; i++) {
		double x = times(a, i), y = times(b, i);

		if (x + y >= .2 * most) off[n++] = fabs(x - y) / (.5 * (x + y)) / sqrt(2) / .67449;
	}
	assert_true(n > 300);
	qsort(off, (size_t)n, sizeof *off, compare);
	double median = off[n / 2];

	free(off);
	return median;
}

/* Two seeds differ as the stated error says. */
static void stated_error(void **state)
{
	static const double tof_ps[2] = { 0, 390 };
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int k = 0; k < 4; k++) {
		struct ratio_setting set = { .all = k & 1, .histories = sized(3000000, 500000), .seed = 1 };
		struct ratio_single own;
		struct ratio r[2];
		struct scene s;

		open_scene(&s, tof_ps[k >> 1]);
		single_of(&s, &own);
		for (int i = 0; i < 2; i++) {
			set.seed = 20 + (uint64_t)i;
			OK(iso_ratio_create(r + i, ctx, &s, &own, &set));
			assert_int_equal(r[i].histories, set.histories);
		}
		double found = difference(r, r + 1);

		print_message("%s, tof %g ps: two seeds %.5f, stated %.5f, worst %.5f\n",
		              set.all ? "mc" : "sss+mc", tof_ps[k >> 1], found, r[0].error, r[0].worst_error);
		assert_true(found > .8 * r[0].error && found < 1.25 * r[0].error);
		assert_true(r[0].worst_error >= r[0].error);
		iso_ratio_free(r);
		iso_ratio_free(r + 1);
		scene_free(&s);
	}
	iso_ctx_free(ctx);
}

/* The run ends when the error asked for is reached, and not long after. */
static void until(void **state)
{
	const struct ratio_setting set = { .all = true, .error = .06, .seed = 1 };
	iso_ctx *ctx = cpu(2);
	struct ratio_single own;
	struct ratio r;
	struct scene s;

	(void)state;
	open_scene(&s, 390);
	single_of(&s, &own);
	OK(iso_ratio_create(&r, ctx, &s, &own, &set));
	print_message("error %.4f after %g histories\n", r.error, (double)r.histories);
	assert_true(r.error <= .06 && (r.error > .05 || r.histories == 4000000));
	iso_ratio_free(&r);
	scene_free(&s);
	iso_ctx_free(ctx);
}

/* Middle of a patch, rad and mm. */
static void centre(double *azimuth, double *z, int patch)
{
	*azimuth = 2 * M_PI / PATCH_SECTORS * (patch % PATCH_SECTORS + .5);
	*z = 40 * (patch / PATCH_SECTORS + .5) - 100;
}

/* In the middle of patches and cells the values are those of the cell; half way between patches their mean; beyond the
   last slabs theirs; with the ends exchanged the row is turned round. */
static void between_patches(void **state)
{
	const struct ratio_setting set = { .all = true, .histories = 500000, .seed = 1 };
	iso_ctx *ctx = cpu(2);
	struct ratio_single own;
	struct ratio r;
	struct scene s;
	float h[N_U], turned[N_U], half[N_U], next[N_U], guide[N_U];

	(void)state;
	open_scene(&s, 390);
	single_of(&s, &own);
	OK(iso_ratio_create(&r, ctx, &s, &own, &set));
	for (int i = 0; i < N_U; i++) guide[i] = 1;
	for (int a = 3, b = 42; a < 120; a += 17, b = (b + 29) % 120) {
		int d = abs(a - b) % 24, cells = r.patches.cells;
		double azimuth[2], z[2], back[2], down[2], save;

		if (d < 5 || d > 19) continue;
		centre(azimuth, z, a);
		centre(azimuth + 1, z + 1, b);
		for (int i = 0; i < N_U; i++) h[i] = turned[i] = half[i] = next[i] = 1;
		iso_ratio_apply(h, guide, &r, &own, azimuth, z);
		int place = r.place[a * 120 + b];

		for (int c = -8; c <= 8; c++) {
			int cell = cells / 2 + (place % 2 ? -c : c);
			int64_t at = (int64_t)(place / 2) * cells + cell;

			NEAR((double)h[N_U / 2 + 3 * c], times(&r, at), 1e-5 * times(&r, at) + 1e-5);
		}
		for (int k = 0; k < 2; k++) {
			back[k] = azimuth[1 - k];
			down[k] = z[1 - k];
		}
		iso_ratio_apply(turned, guide, &r, &own, back, down);
		for (int i = 0; i < N_U; i++)
			NEAR((double)turned[i], (double)h[N_U - 1 - i], 1e-5 * (double)h[N_U - 1 - i] + 1e-6);
		save = azimuth[0];
		azimuth[0] += 2 * M_PI / PATCH_SECTORS;
		iso_ratio_apply(next, guide, &r, &own, azimuth, z);
		azimuth[0] = save + M_PI / PATCH_SECTORS;
		iso_ratio_apply(half, guide, &r, &own, azimuth, z);
		for (int i = 0; i < N_U; i++)
			NEAR((double)half[i], .5 * (double)(h[i] + next[i]),
			     1e-5 * (double)(h[i] + next[i]) + 1e-5);
	}
	double azimuth[2] = { 0, M_PI }, z[2] = { 80, 0 };

	for (int i = 0; i < N_U; i++) h[i] = next[i] = 1;
	iso_ratio_apply(h, guide, &r, &own, azimuth, z);
	z[0] = 99;
	iso_ratio_apply(next, guide, &r, &own, azimuth, z);
	for (int i = 0; i < N_U; i++) NEAR((double)next[i], (double)h[i], 1e-5 * (double)h[i] + 1e-5);
	iso_ratio_free(&r);
	scene_free(&s);
	iso_ctx_free(ctx);
}

/* Activity in the upper half of the object: scattered pairs of a line along y have their decays nearer the upper end. */
static void upper(void **state)
{
	const struct ratio_setting set = { .all = true, .histories = 1000000, .seed = 1 };
	const double azimuth[2] = { -M_PI / 2, M_PI / 2 }, z[2] = { 0, 0 };
	iso_ctx *ctx = cpu(2);
	struct ratio_single own;
	float h[N_U], guide[N_U];
	double u = 0, sum = 0;
	struct ratio r;
	struct scene s;

	(void)state;
	open_scene(&s, 390);
	single_of(&s, &own);
	OK(iso_ratio_create(&r, ctx, &s, &own, &set));
	for (int i = 0; i < N_U; i++) h[i] = guide[i] = SINGLE;
	iso_ratio_apply(h, guide, &r, &own, azimuth, z);
	for (int i = 0; i < N_U; i++) {
		u += (double)h[i] * (i - N_U / 2) * own.u_step;
		sum += (double)h[i];
	}
	assert_true(u / sum > 15 && u / sum < 60); /* the activity's middle lies at y = 28 mm */
	iso_ratio_free(&r);
	scene_free(&s);
	iso_ctx_free(ctx);
}

/* Lines too short for a pair of patches have the ratio of the pair that lies nearest: there is one for every two patches,
   the same both ways round. */
static void short_lines(void **state)
{
	const struct ratio_setting set = { .all = false, .histories = 100000, .seed = 1 };
	iso_ctx *ctx = cpu(2);
	struct ratio_single own;
	struct ratio r;
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	single_of(&s, &own);
	OK(iso_ratio_create(&r, ctx, &s, &own, &set));
	int n = patch_count(&r.patches);

	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++) {
			int place = r.place[a * n + b];

			assert_in_range(place / 2, 0, r.patches.pairs - 1);
			assert_true(place >= 0);
		}
	/* single scatter is that of the formula alone */
	for (int64_t i = 0; i < (int64_t)r.patches.pairs * r.patches.cells; i++) assert_true(r.once[i] == 1);
	iso_ratio_free(&r);
	scene_free(&s);
	iso_ctx_free(ctx);
}

/* ---- which rings ---- */

static double most_z(const char *rings)
{
	struct iso_scatter p = { .size = sizeof p, .image = &body, .mu = &mu };
	iso_scanner *few = NULL;
	struct scene s;
	char path[64];

	snprintf(path, sizeof path, "test_ratio_%d.yaml", (int)getpid());
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f,
	        "kind: cylinder\nradius_mm: 400\nrings: 10\nring_pitch_mm: 20\ncrystals_per_ring: 200\n"
	        "energy: {window_kev: [435, 650], resolution: 0.11}\n%s",
	        rings);
	assert_int_equal(fclose(f), 0);
	OK(iso_scanner_read(&few, path));
	remove(path);
	p.scanner = few;
	OK(scene_create(&s, &p));
	double z = s.most_z;

	scene_free(&s);
	iso_scanner_free(few);
	return z;
}

/* Rings up to 3 apart are in coincidence: from one end of the first to the other of the last are 4 pitches. */
static void ring_difference(void **state)
{
	(void)state;
	NEAR(most_z(""), 0, 0);
	NEAR(most_z("max_ring_difference: 9\n"), 0, 0);
	NEAR(most_z("max_ring_difference: 3\n"), 80, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stated_error),    cmocka_unit_test(until),
		cmocka_unit_test(between_patches), cmocka_unit_test(upper),
		cmocka_unit_test(short_lines),     cmocka_unit_test(ring_difference),
	};

	return cmocka_run_group_tests(tests, make_phantom, free_phantom);
}
