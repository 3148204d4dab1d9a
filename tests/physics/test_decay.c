/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays: spectra and ranges of positrons against integrals by another program, walks through matter that is not even,
   lines of the nucleus, angles between photons, descriptions of isotopes. */
#include "physics/decay/isotope.h"
#include "test.h"

#include <unistd.h>

enum { QUANTILES = 7 };

static const double at[QUANTILES] = { .05, .1, .25, .5, .75, .9, .95 };

/* keV and mm, by integration of the law (float64). */
static const struct {
	const char *name;
	double mean_kev, kev[QUANTILES], mean_mm, rms_mm, mm[QUANTILES];
} known[] = {
	{ "F-18",
	  250.21,
	  { 55.47, 83.04, 147.28, 240.75, 344.09, 431.87, 477.76 },
	  0.5313,
	  0.7187,
	  { 0.0277, 0.0586, 0.1648, 0.3946, 0.7595, 1.1978, 1.5034 } },
	{ "C-11",
	  385.85,
	  { 82.71, 126.76, 228.6, 373.86, 531.15, 662.74, 730.97 },
	  1.0091,
	  1.3363,
	  { 0.0576, 0.1234, 0.3397, 0.7787, 1.4428, 2.2188, 2.7526 } },
	{ "N-13",
	  492.02,
	  { 109.86, 167.03, 297.09, 479.27, 673.95, 835.54, 919 },
	  1.4166,
	  1.8455,
	  { 0.095, 0.1962, 0.5112, 1.1208, 2.0172, 3.0498, 3.756 } },
	{ "O-15",
	  735.47,
	  { 175.18, 263.18, 457.66, 722.08, 999.01, 1226.31, 1343.09 },
	  2.4193,
	  3.0754,
	  { 0.2087, 0.4053, 0.9666, 1.9806, 3.4156, 5.038, 6.139 } },
	{ "Na-22",
	  216.53,
	  { 50.1, 73.71, 128.45, 208.18, 296.72, 372.26, 411.86 },
	  0.4239,
	  0.5754,
	  { 0.0228, 0.0471, 0.1304, 0.3122, 0.6046, 0.9589, 1.207 } },
	{ "Sc-44",
	  632.57,
	  { 166.91, 239.77, 400.19, 619.87, 852.08, 1043.91, 1142.82 },
	  1.9795,
	  2.5135,
	  { 0.1906, 0.3488, 0.7973, 1.615, 2.7844, 4.1149, 5.0205 } },
	{ "Cu-64",
	  280.09,
	  { 83.33, 113.58, 179.97, 272.63, 373.26, 458.2, 502.54 },
	  0.619,
	  0.8053,
	  { 0.0564, 0.1, 0.2296, 0.4839, 0.8707, 1.3275, 1.6441 } },
	{ "Ga-68",
	  830.53,
	  { 231.6, 326.17, 532.88, 815.95, 1112.9, 1356.45, 1481.64 },
	  2.8192,
	  3.5286,
	  { 0.3218, 0.5582, 1.2008, 2.339, 3.9398, 5.7436, 6.9659 } },
	{ "Rb-82",
	  1479.45,
	  { 428.84, 600.64, 966.23, 1453.4, 1965.01, 2396.84, 2625.44 },
	  5.7289,
	  7.0324,
	  { 0.8055, 1.3237, 2.6406, 4.8571, 7.905, 11.3246, 13.6469 } },
	{ "Zr-89",
	  398.37,
	  { 126, 169.1, 262.1, 389.7, 526.52, 641.12, 700.7 },
	  1.0373,
	  1.3189,
	  { 0.1158, 0.1957, 0.4201, 0.8372, 1.4491, 2.158, 2.645 } },
	{ "I-124",
	  813.7,
	  { 244.97, 330.77, 517.19, 777.98, 1069.36, 1345.61, 1523.55 },
	  2.7454,
	  3.4773,
	  { 0.3464, 0.5672, 1.1591, 2.2227, 3.7776, 5.6268, 6.9432 } },
};

static struct decay_table table_of(const char *name, struct decay_setting s)
{
	struct decay_table t;
	struct isotope i;

	OK(iso_isotope_read(&i, name));
	OK(iso_decay_make(&t, &i, &s));
	return t;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The value below which a share of the sorted values is. */
static double quantile(const float *v, int n, double share)
{
	return v[(int)(share * n)];
}

/* A quantile of n draws: within 0.3 % and 4 sigma, which the slope between its neighbours gives. */
static void near_quantile(const float *v, int n, double share, double want)
{
	double d = .01, slope = (quantile(v, n, share + d) - quantile(v, n, share - d)) / (2 * d);

	BELOW(fabs(quantile(v, n, share) - want), .003 * want + 4 * slope * sqrt(share * (1 - share) / n));
}

static void positrons_follow_the_laws(void **state)
{
	const float origin[3] = { 0 };
	const struct decay_map water = { 0 };
	const int n = sized(200000, 20000);
	float *kev = malloc((size_t)n * sizeof *kev), *mm = malloc((size_t)n * sizeof *mm);

	(void)state;
	assert_non_null(kev);
	assert_non_null(mm);
	for (int k = 0; k < N_OF(known); k++) {
		struct decay_table t = table_of(known[k].name, (struct decay_setting){ .range = true });
		double share = 0, mean = 0, r = 0, rr = 0, sigma, sum[2] = { 0 };
		int got = 0;

		for (int b = 0; b < t.branches; b++) /* of the table itself */
			if (t.positron[b]) {
				double here = t.until[b] - (b > 0 ? t.until[b - 1] : 0);

				share += here;
				mean += here * iso_decay_mean_kev(&t, b);
				for (int j = 0; j < 8 * DECAY_STEPS; j++) {
					float mev = decay_quantile(t.energy[b],
					                           (uint32_t)(((uint64_t)(2 * j + 1) << 32) /
					                                      (16 * DECAY_STEPS)));

					sigma = .5 * DECAY_B1 * mev * mev / (DECAY_B2 + mev);
					sum[0] += here * sigma / (8 * DECAY_STEPS);
					sum[1] += here * sigma * sigma / (8 * DECAY_STEPS);
				}
			}
		BELOW(fabs(mean / share / known[k].mean_kev - 1), 1e-3);
		BELOW(fabs(sqrt(8 / M_PI) * sum[0] / share / known[k].mean_mm - 1), 3e-3);
		BELOW(fabs(sqrt(3 * sum[1] / share) / known[k].rms_mm - 1), 3e-3);
		for (uint64_t j = 0; got < n; j++) {
			struct decay d;

			decay_make(&d, &t, &water, 5, j, origin);
			if (!d.positron) continue;
			kev[got] = d.kev;
			mm[got] = sqrtf(d.end[0] * d.end[0] + d.end[1] * d.end[1] + d.end[2] * d.end[2]);
			r += mm[got];
			rr += mm[got] * mm[got];
			got++;
		}
		double spread = sqrt(rr / n - r / n * r / n);

		BELOW(fabs(r / n - known[k].mean_mm), .003 * known[k].mean_mm + 4 * spread / sqrt(n));
		qsort(kev, (size_t)n, sizeof *kev, by_value);
		qsort(mm, (size_t)n, sizeof *mm, by_value);
		for (int j = 0; j < QUANTILES; j++) {
			near_quantile(kev, n, at[j], known[k].kev[j]);
			near_quantile(mm, n, at[j], known[k].mm[j]);
		}
	}
	free(kev);
	free(mm);
}

/* Two slabs of 40 mm below and above z = 0 in voxels of 5 mm; densities by entry. */
static struct decay_map slabs(uint16_t v[16 * 16 * 16], uint16_t below, uint16_t above)
{
	struct decay_map m = { v, NULL, 1e-3f, { 16, 16, 16 }, { -40, -40, -40 }, { 5, 5, 5 } };

	for (int i = 0; i < 16 * 16 * 16; i++) v[i] = i < 8 * 16 * 16 ? below : above;
	return m;
}

static void ranges_in_matter_that_is_not_even(void **state)
{
	static uint16_t v[16 * 16 * 16];
	const struct decay_map m = slabs(v, 1000, 260);
	const float plane[3] = { .7f, -.3f, 0 };
	struct decay_table t = table_of("F-18", (struct decay_setting){ .range = true });
	double r = 0, rr = 0;
	int n = 0;

	(void)state;
	for (uint64_t j = 0; j < 400000; j++) {
		struct decay d;

		decay_make(&d, &t, &m, 7, j, plane);
		if (!d.positron) continue;
		double way = sqrt(pow(d.end[0] - .7f, 2) + pow(d.end[1] + .3f, 2) + pow(d.end[2], 2));

		assert_false(d.escaped);
		r += way;
		rr += way * way;
		n++;
	}
	BELOW(fabs(r / n - .5313 * (1 + 1 / .26) / 2), 4 * sqrt((rr / n - r / n * r / n) / n));
}

static void positrons_escape_through_a_face(void **state)
{
	static const struct {
		const char *name;
		float depth;
		double share;
	} face[] = { { "F-18", .5f, .08338 }, { "Ga-68", 2, .12330 }, { "Rb-82", 5, .09006 } };
	static uint16_t v[16 * 16 * 16];
	const struct decay_map m = slabs(v, 1000, 1000);

	(void)state;
	for (int k = 0; k < N_OF(face); k++) {
		struct decay_table t = table_of(face[k].name, (struct decay_setting){ .range = true });
		const float from[3] = { 0, 0, 40 - face[k].depth };
		int n = 0, out = 0;

		for (uint64_t j = 0; j < 400000; j++) {
			struct decay d;

			decay_make(&d, &t, &m, 9, j, from);
			n += d.positron;
			out += d.escaped;
			assert_true(d.escaped ? !d.is[0] && !d.is[1] : d.positron == d.is[0]);
		}
		BELOW(fabs((double)out / n - face[k].share),
		      4 * sqrt(face[k].share * (1 - face[k].share) / n));
	}
}

static void lines_come_as_often_as_they_should(void **state)
{
	static const struct {
		const char *name;
		float kev;
		double share;
	} line[] = { { "Ga-68", 1077.3f, .0322 }, { "Sc-44", 1157.f, .9990 }, { "Na-22", 1274.5f, .9994 },
		     { "Rb-82", 776.5f, .1506 },  { "Zr-89", 909.f, .990 },   { "Cu-64", 1345.8f, .0047 },
		     { "I-124", 602.7f, .629 },   { "I-124", 722.8f, .104 },  { "I-124", 1691.f, .112 } };
	const float origin[3] = { 0 };
	const int n = 400000;

	(void)state;
	for (int k = 0; k < N_OF(line); k++) {
		struct decay_table t = table_of(line[k].name, (struct decay_setting){ 0 });
		int64_t found = 0;
		double up = 0;

		for (uint64_t j = 0; j < (uint64_t)n; j++)
			for (int later = 0; later < (t.later_share > 0 ? 2 : 1); later++) {
				struct decay d;

				decay_make(&d, &t, NULL, 3, j | (later ? DECAY_LATER : 0), origin);
				for (int p = 2; p < DECAY_PHOTONS; p++)
					if (d.is[p] && fabsf(d.photon[p].kev - line[k].kev) < .5f) {
						found++;
						up += d.photon[p].dir[2];
					}
			}
		BELOW(fabs((double)found / n - line[k].share),
		      .001 * line[k].share + 4 * sqrt(line[k].share * (1 - line[k].share) / n));
		BELOW(fabs(up / (double)found), 4 / sqrt(3. * (double)found));
	}
}

/* 0.5 degrees FWHM in each of two axes; the first photon even over the sphere. */
static void photons_are_not_quite_back_to_back(void **state)
{
	struct decay_table t = table_of("F-18", (struct decay_setting){ .angle_deg = .5 });
	const float origin[3] = { 0 };
	double square = 0, up = 0, want = 2 * pow(.5 * M_PI / 180 / sqrt(8 * log(2)), 2);
	int n = 0;

	(void)state;
	for (uint64_t j = 0; j < 300000; j++) {
		struct decay d;

		decay_make(&d, &t, NULL, 3, j, origin);
		if (!d.is[0]) continue;
		const float *a = d.photon[0].dir, *b = d.photon[1].dir;
		double sum = 0;

		for (int k = 0; k < 3; k++) sum += pow((double)a[k] + b[k], 2);
		square += sum;
		up += a[2] * a[2];
		n++;
	}
	BELOW(fabs(square / n / want - 1), 4 / sqrt(n) + 1e-3);
	BELOW(fabs(3 * up / n - 1), 4 * sqrt(.8 / n));
}

/* A range table in place of the law: shares within 1 and 4 mm; a description of an isotope like one of the table. */
static void tables_and_isotopes_of_files(void **state)
{
	char table[] = "/tmp/isotome-range-XXXXXX", yaml[] = "/tmp/isotome-isotope-XXXXXX.yaml";
	int fd = mkstemp(table), fe = mkstemps(yaml, 5), n = 0, one = 0;
	struct isotope i;
	const float origin[3] = { 0 };

	(void)state;
	FILE *f = fdopen(fd, "w"), *g = fdopen(fe, "w");

	fputs("r share\n0 0\n1 0.25\n4 1\n", f);
	fclose(f);
	fputs("name: Xx-68\nhalf_life_s: 4062.6\ndaughter: {Z: 30, A: 68}\nbranches:\n"
	      "  - {share: 0.8768, endpoint_kev: 1899.1}\n  - {share: 0.0120, endpoint_kev: 821.7, "
	      "photons_kev: [1077.3]}\n"
	      "  - {share: 0.0202, photons_kev: [1077.3]}\n",
	      g);
	fclose(g);
	struct decay_table t = table_of("F-18", (struct decay_setting){ .range_table = table });

	for (uint64_t j = 0; j < 100000; j++) {
		struct decay d;

		decay_make(&d, &t, &(struct decay_map){ 0 }, 3, j, origin);
		if (!d.positron) continue;
		float r = sqrtf(d.end[0] * d.end[0] + d.end[1] * d.end[1] + d.end[2] * d.end[2]);

		n++;
		one += r < 1;
		assert_true(r < 4.001f);
	}
	BELOW(fabs((double)one / n - .25), 4 * sqrt(.25 * .75 / n));
	OK(iso_isotope_read(&i, yaml));
	NEAR(iso_isotope_branching(&i), .8888, 1e-12);
	NEAR(iso_isotope_line(&i, 1077.3), .0322, 1e-12);
	struct decay_table a = table_of("Ga-68", (struct decay_setting){ 0 }),
			   b = table_of(yaml, (struct decay_setting){ 0 });

	assert_memory_equal(&a, &b, sizeof a);
	REFUSED(iso_isotope_read(&i, "Ga-66"), ISO_EARG, "did you mean Ga-68");
	REFUSED(iso_isotope_read(&i, "/nowhere/x.yaml"), ISO_EINPUT, "x.yaml");
	unlink(table);
	unlink(yaml);
}

/* Descriptions that are refused. */
static void bad_isotopes_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "half_life_s: 1\ndaughter: {Z: 8, A: 18}\nbranches: [{share: 1, endpoint_kev: 600}]\n",
		  "name" },
		{ "name: X\nhalf_life_s: 1\ndaughter: {Z: 8, A: 18}\nbranches: [{share: 0.5}]\n",
		  "no positrons" },
		{ "name: X\nhalf_life_s: 1\ndaughter: {Z: 8, A: 18}\nbranches: [{share: .7, endpoint_kev: "
		  "600}, {share: .6}]\n",
		  "above 1" },
		{ "name: X\nhalf_life_s: 1\ndaughter: {Z: 8, A: 18}\nbranches: [{share: .7, endpoint: "
		  "600}]\n",
		  "endpoint_kev" },
		{ "name: X\nhalf_life_s: 1\ndaughter: {Z: 8, A: 18}\nbranches: [{share: .7, endpoint_kev: "
		  "600, photons_kev: 7}]\n",
		  "list of at most" },
	};
	struct isotope i;

	(void)state;
	for (int k = 0; k < N_OF(bad); k++) {
		char yaml[] = "/tmp/isotome-isotope-XXXXXX.yaml";
		FILE *f = fdopen(mkstemps(yaml, 5), "w");

		fputs(bad[k].text, f);
		fclose(f);
		REFUSED(iso_isotope_read(&i, yaml), ISO_EINPUT, bad[k].says);
		unlink(yaml);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(positrons_follow_the_laws),
		cmocka_unit_test(ranges_in_matter_that_is_not_even),
		cmocka_unit_test(positrons_escape_through_a_face),
		cmocka_unit_test(lines_come_as_often_as_they_should),
		cmocka_unit_test(photons_are_not_quite_back_to_back),
		cmocka_unit_test(tables_and_isotopes_of_files),
		cmocka_unit_test(bad_isotopes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
