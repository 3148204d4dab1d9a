/* SPDX-License-Identifier: BSD-3-Clause */
/* Unmixing against vectors of a dense program, and what is refused; also built in double. */
#include "test.h"

#include "unmix/nnls.h"

enum { ROWS = 7, N = 3, VOXELS = 200, ROW_WITHOUT = 42 };

static const double nm[ROWS] = { 700, 730, 760, 800, 850, 900, 930 };
static const double weights[ROWS] = { 1.0866299402004889, 1.084317450405553,  1.1834260023744172,
	                              1.8062884949576938, 0.8709502592250744, 1.4877969456597353,
	                              1.1719954768035175 };

static double *vectors(const char *name, int64_t n)
{
	char file[64];

	snprintf(file, sizeof file, "unmix/%s.f64", name);
	return test_data(TEST_DATA, file, n, sizeof(double));
}

struct bench {
	iso_ctx *ctx;
	struct iso_chromophores c;
	iso_real *images; /* (ROWS, VOXELS) */
	iso_real concentration[N * VOXELS], so2[VOXELS], so2_sd[VOXELS], thb[VOXELS], residual[VOXELS];
	struct iso_unmixed to;
};

/* With the matrix of the vectors, whose water has more digits than the table. */
static void begin(struct bench *b, int threads)
{
	double *e = vectors("e", ROWS * N), *y = vectors("y", VOXELS * ROWS);

	b->c.size = sizeof b->c;
	OK(iso_ctx_create(&b->ctx, "cpu", threads));
	OK(iso_chromophores_create(&b->c, "HbO2,Hb,water", ROWS, nm));
	for (int i = 0; i < ROWS * N; i++) {
		assert_true(fabs(b->c.e[i] / (e[i] * (i % N == 2 ? .1 : 1)) - 1) < 3e-5);
		b->c.e[i] = e[i];
	}
	b->images = calloc(ROWS * VOXELS, sizeof *b->images);
	for (int v = 0; v < VOXELS; v++)
		for (int i = 0; i < ROWS; i++) b->images[i * VOXELS + v] = (iso_real)y[v * ROWS + i];
	b->to = (struct iso_unmixed){ .size = sizeof b->to,
		                      .concentration = b->concentration,
		                      .so2 = b->so2,
		                      .so2_sd = b->so2_sd,
		                      .thb = b->thb,
		                      .residual = b->residual };
	free(e);
	free(y);
}

static void end(struct bench *b)
{
	iso_chromophores_free(&b->c);
	iso_ctx_free(b->ctx);
	free(b->images);
}

/* Concentrations over their largest, and what the fit leaves. */
static void near_vectors(const struct bench *b, const char *name)
{
	char chi2[32];

	snprintf(chi2, sizeof chi2, "chi2_%s", name);
	double *want = vectors(name, VOXELS * N), *left = vectors(chi2, VOXELS), most[N] = { 0 }, worst = 0,
	       sum = 0, apart = 0;

	for (int i = 0; i < ROWS; i++) sum += weights[i];
	for (int k = 0; k < VOXELS * N; k++) most[k % N] = larger(most[k % N], fabs(want[k]));
	for (int v = 0; v < VOXELS; v++) {
		for (int j = 0; j < N; j++)
			worst = larger(worst,
			               fabs((double)b->concentration[j * VOXELS + v] - want[v * N + j]) /
			                       most[j]);
		apart = larger(apart, fabs((double)b->residual[v] - sqrt(left[v] / sum)));
	}
	if (!(worst < TOLERANCE(1e-4, 1e-12)) || !(apart < TOLERANCE(1e-5, 1e-12)))
		fail_msg("%s: concentrations off by %.3g, residuals by %.3g", name, worst, apart);
	free(want);
	free(left);
}

static void plain(void **state)
{
	struct bench b = { 0 };

	(void)state;
	begin(&b, 1);
	const struct iso_unmix p = { .size = sizeof p, .of = &b.c, .weight = weights };

	OK(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images));
	near_vectors(&b, "ls");
	end(&b);
}

static void near_or_both_nan(const iso_real *got, const double *want, double tolerance)
{
	for (int v = 0; v < VOXELS; v++) {
		if (isnan(want[v]) && isnan((double)got[v])) continue;
		if (!(fabs((double)got[v] - want[v]) <= tolerance))
			fail_msg("voxel %d: %.9g, expected %.9g", v, (double)got[v], want[v]);
	}
}

static void nonneg(void **state)
{
	struct bench b = { 0 };
	double *so2 = vectors("so2", VOXELS), *sd = vectors("so2_sd", VOXELS);

	(void)state;
	begin(&b, 1);
	const struct iso_unmix p = { .size = sizeof p, .of = &b.c, .weight = weights, .nonneg = true };

	OK(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images));
	near_vectors(&b, "nnls");
	near_or_both_nan(b.so2, so2, TOLERANCE(1e-4, 1e-9));
	near_or_both_nan(b.so2_sd, sd, TOLERANCE(1e-4, 1e-9));
	for (int v = 0; v < VOXELS; v++)
		assert_true(fabs((double)(b.thb[v] - b.concentration[v] - b.concentration[VOXELS + v])) <
		            1e-6);
	assert_true(isnan((double)b.so2[ROW_WITHOUT]));
	end(&b);
	free(so2);
	free(sd);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static double uniform(uint64_t *seed)
{
	return (double)next(seed) / 1073741824. - 1;
}

/* The least rest over all sets of columns whose own least squares are not below 0. */
static double by_all_sets(double *best, int rows, int n, const double *a, const double *y)
{
	double least = HUGE_VAL, x[NNLS_MOST], rest[16], part[16 * NNLS_MOST];

	for (int set = 0; set < 1 << n; set++) {
		int m = 0, of[NNLS_MOST];
		bool fits = true;
		struct nnls s;
		double sum = 0;

		for (int j = 0; j < n; j++)
			if (set >> j & 1) of[m++] = j;
		for (int i = 0; i < rows; i++)
			for (int k = 0; k < m; k++) part[i * m + k] = a[i * n + of[k]];
		for (int i = 0; i < rows; i++) sum += y[i] * y[i];
		if (m > 0) {
			assert_true(nnls_begin(&s, rows, m, part));
			sum = nnls_plain(x, rest, &s, y);
		}
		for (int k = 0; k < m; k++) fits = fits && x[k] >= 0;
		if (!fits || sum >= least) continue;
		least = sum;
		for (int j = 0; j < n; j++) best[j] = 0;
		for (int k = 0; k < m; k++) best[of[k]] = x[k];
	}
	return least;
}

/* Random matrices of one to eight columns of length 1. */
static void all_sets(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int trial = 0; trial < 600; trial++) {
		const int n = 1 + trial % NNLS_MOST, rows = n + trial % 5;
		double a[16 * NNLS_MOST], y[16], x[NNLS_MOST], want[NNLS_MOST], rest[16], size = 0;
		struct nnls s;

		for (int k = 0; k < rows * n; k++) a[k] = uniform(&seed);
		for (int j = 0; j < n; j++) {
			double sum = 0;

			for (int i = 0; i < rows; i++) sum += a[i * n + j] * a[i * n + j];
			for (int i = 0; i < rows; i++) a[i * n + j] /= sqrt(sum);
		}
		for (int i = 0; i < rows; i++) size += fabs(y[i] = uniform(&seed));
		if (!nnls_begin(&s, rows, n, a)) continue;
		const double least = by_all_sets(want, rows, n, a, y), got = nnls_nonneg(x, rest, &s, y);

		if (!(fabs(got - least) <= 1e-10 * size * size))
			fail_msg("trial %d: %.15g, all sets %.15g", trial, got, least);
		for (int j = 0; j < n; j++) assert_true(x[j] >= 0);
	}
}

static void threads(void **state)
{
	struct bench a = { 0 }, b = { 0 };

	(void)state;
	begin(&a, 1);
	begin(&b, 3);
	const struct iso_unmix p = { .size = sizeof p, .of = &a.c, .nonneg = true, .floor = .05 };

	OK(iso_unmix_images(&a.to, a.ctx, &p, VOXELS, a.images));
	OK(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images));
	assert_memory_equal(a.concentration, b.concentration, sizeof a.concentration);
	assert_memory_equal(a.so2, b.so2, sizeof a.so2);
	assert_int_equal(a.to.pale, b.to.pale);
	assert_true(a.to.pale > 0);
	end(&a);
	end(&b);
}

/* Light that differs by wavelength and place is divided out; without light there is no value; a mask leaves out. */
static void light(void **state)
{
	struct bench b = { 0 };
	iso_real *map = calloc(ROWS * VOXELS, sizeof *map), mask[VOXELS], before[N * VOXELS];

	(void)state;
	begin(&b, 2);
	struct iso_unmix p = { .size = sizeof p, .of = &b.c, .weight = weights };

	OK(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images));
	memcpy(before, b.concentration, sizeof before);
	for (int k = 0; k < ROWS * VOXELS; k++) {
		map[k] = (iso_real)(1 << (k / VOXELS % 3));
		b.images[k] *= map[k];
	}
	map[3 * VOXELS + 5] = 0;
	for (int v = 0; v < VOXELS; v++) mask[v] = v != 9;
	p.fluence_map = map;
	p.mask = mask;
	OK(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images));
	assert_int_equal(b.to.dark, 1);
	assert_true(isnan((double)b.concentration[5]) && isnan((double)b.so2[5]));
	assert_true(b.concentration[9] == 0 && b.residual[9] == 0 && isnan((double)b.so2[9]));
	for (int k = 0; k < N * VOXELS; k++)
		if (k % VOXELS != 5 && k % VOXELS != 9) assert_true(b.concentration[k] == before[k]);
	end(&b);
	free(map);
}

static void known(void **state)
{
	struct iso_chromophores c = { .size = sizeof c };

	(void)state;
	OK(iso_chromophores_create(&c, "hb,melanin,lipid", 3, (const double[]){ 701, 800, 998 }));
	assert_int_equal(c.oxygenated, -1);
	assert_int_equal(c.deoxygenated, 0);
	assert_string_equal(c.name[0], "Hb");
	/* 1794.28 and 1789.08 /(cm M) at 700 and 702 nm */
	assert_true(fabs(c.e[1] / (.1 * 1.7e12 * pow(701, -3.48)) - 1) < 1e-12);
	assert_true(fabs(c.e[8] - .002464) < 1e-12);
	assert_true(c.condition > 1);
	iso_chromophores_free(&c);
}

static void refused(const char *text, int n, const char *why)
{
	struct iso_chromophores c = { .size = sizeof c };

	assert_int_not_equal(iso_chromophores_create(&c, text, n, nm), ISO_OK);
	if (!strstr(iso_message(), why)) fail_msg("'%s', expected '%s'", iso_message(), why);
}

static void bad(void **state)
{
	struct bench b = { 0 };
	struct iso_chromophores c = { .size = sizeof c };
	const double none[ROWS] = { 0 };

	(void)state;
	refused("HbO2,Hb,ink", 7, "chromophore 'ink' is not known");
	refused("HbO2,,Hb", 7, "expected names with commas");
	refused("HbO2,Hb,hbo2", 7, "stands there twice");
	refused("HbO2,Hb,water", 2, "2 wavelengths can't tell 3 chromophores apart");
	assert_int_equal(iso_chromophores_create(&c, "Hb", 1, (const double[]){ 1100 }), ISO_EARG);
	begin(&b, 1);
	struct iso_unmix p = { .size = sizeof p, .of = &b.c, .weight = none };

	assert_int_equal(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images), ISO_EINPUT);
	p.weight = NULL;
	p.floor = 2;
	assert_int_equal(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images), ISO_EARG);
	p.floor = 0;
	b.c.oxygenated = -1;
	assert_int_equal(iso_unmix_images(&b.to, b.ctx, &p, VOXELS, b.images), ISO_EARG);
	end(&b);
}

/* A slab whose surface lies between voxels 2 and 3, and a disc by all pairs. */
static void depth(void **state)
{
	const struct iso_grid slab = { { 10, 1, 1 }, { .5, .5, .5 }, { 0 } };
	const double two[] = { 700, 850 };
	double m[2];
	struct iso_fluence p = { .size = sizeof p, .blood = 2, .so2 = 1, .result = m };
	iso_real mask[10] = { 0, 0, 0, 1, 1, 1, 1, 1, 1, 1 }, map[20];

	(void)state;
	OK(iso_fluence_depth(map, &p, &slab, mask, 2, two));
	const double a = 2 * 2.302585092994046e-4 * 290, s = 1.89 * pow(1.4, -1.286);

	BELOW(fabs(m[0] / sqrt(3 * a * (a + s)) - 1), 1e-12);
	for (int i = 0; i < 20; i++)
		BELOW(fabs((double)map[i] - exp(-m[i / 10] * fmax(0, (i % 10 - 2) * .5 - .25))), 1e-6);
	mask[0] = mask[1] = mask[2] = 1;
	assert_int_equal(iso_fluence_depth(map, &p, &slab, mask, 2, two), ISO_EINPUT);
	p.so2 = 2;
	assert_int_equal(iso_fluence_depth(map, &p, &slab, mask, 2, two), ISO_EARG);
}

static void regions(void **state)
{
	const iso_real labels[] = { 5, 0, 5, 2, 2, 5, 9 },
		       values[] = { 1, 100, 2, 7, (iso_real)NAN, 6, (iso_real)NAN };
	struct iso_region r[ISO_REGIONS];
	const iso_real half = (iso_real).5;
	int n;

	(void)state;
	OK(iso_regions(r, &n, 7, values, labels));
	assert_int_equal(n, 3);
	assert_true(r[0].label == 2 && r[0].n == 1 && r[0].without == 1 && isnan(r[0].sd));
	assert_true(r[1].label == 5 && r[1].n == 3);
	BELOW(fabs(r[1].mean - 3) + fabs(r[1].median - 2) + fabs(r[1].sd - sqrt(7)), 1e-6);
	assert_true(r[2].label == 9 && r[2].n == 0 && isnan(r[2].mean));
	assert_int_equal(iso_regions(r, &n, 1, values, &half), ISO_EINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),   cmocka_unit_test(nonneg), cmocka_unit_test(all_sets),
		cmocka_unit_test(threads), cmocka_unit_test(light),  cmocka_unit_test(known),
		cmocka_unit_test(bad),     cmocka_unit_test(depth),  cmocka_unit_test(regions),
	};

	return cmocka_run_group_tests_name("unmix", tests, NULL, NULL);
}
