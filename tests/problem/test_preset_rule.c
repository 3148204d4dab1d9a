/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of presets: what is chosen for few and many counts, wide and narrow scanners. */
#include "test.h"

#include "problem/ray/preset_rule.h"

static const struct preset_scan clinical = { .crystal = 4, .across = 588, .finest = 2 };

static struct preset_values of(enum preset_kind kind, struct preset_scan scan, double counts)
{
	scan.counts = counts;
	return preset_rule(kind, &scan);
}

static void quick_by_counts(void **state)
{
	static const struct {
		double counts;
		int iterations, subsets;
		double voxel, filter;
	} rows[] = {
		{ 2e5, 2, 8, 4, 8 },  { 999999, 2, 8, 4, 8 }, { 1e6, 2, 12, 3, 6 }, { 9.9e6, 2, 12, 3, 6 },
		{ 1e7, 3, 16, 2, 5 }, { 9.9e7, 3, 16, 2, 5 }, { 1e8, 3, 24, 2, 4 }, { 1e11, 3, 24, 2, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct preset_values v = of(PRESET_QUICK, clinical, rows[i].counts);

		assert_string_equal(v.method, "osem");
		assert_int_equal(v.iterations, rows[i].iterations);
		assert_int_equal(v.subsets, rows[i].subsets);
		assert_true(v.voxel == rows[i].voxel);
		assert_true(v.filter == rows[i].filter);
		assert_true(v.psf == 0 && v.strength == 0);
	}
}

/* Fewer counts never give smaller voxels or a narrower filter. */
static void finer_with_counts(void **state)
{
	(void)state;
	for (int kind = PRESET_QUICK; kind <= PRESET_CONVERGED; kind++)
		for (double n = 1; n < 1e12; n *= 3) {
			struct preset_values few = of((enum preset_kind)kind, clinical, n);
			struct preset_values many = of((enum preset_kind)kind, clinical, 3 * n);

			assert_true(few.voxel >= many.voxel && few.filter >= many.filter);
			assert_true(few.strength >= many.strength && few.subsets <= many.subsets);
		}
}

/* Planes of lines lie inside voxels: an odd number of planes makes a voxel's height. */
static void voxels_of_planes(void **state)
{
	static const double plane[] = { 2.03125, 3, 6, 1.2, .9, 4, 4.4, 9, 0 };
	static const double height[] = { 2.03125, 3, 6, 3.6, 2.7, 4, 4.4, 9, 4 };

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct preset_scan scan = clinical;

		scan.plane = plane[i];
		struct preset_values v = of(PRESET_QUICK, scan, 2e5);

		assert_true(v.voxel == 4);
		assert_true(fabs(v.height - height[i]) < 1e-9);
	}
}

/* A subset has 1000 counts or more, and there is one. */
static void few_counts(void **state)
{
	(void)state;
	assert_int_equal(of(PRESET_QUICK, clinical, 3999).subsets, 3);
	assert_int_equal(of(PRESET_QUICK, clinical, 1).subsets, 1);
	assert_int_equal(of(PRESET_CLINICAL, clinical, 0).subsets, 1);
}

/* Clinical scanners stay at 2 mm, preclinical ones follow their crystals, none is finer than the field of view. */
static void voxels_by_crystal(void **state)
{
	const struct preset_scan fine = { .crystal = 3.2, .across = 700, .finest = 1.75 };
	const struct preset_scan mouse = { .crystal = 1.5, .across = 112, .finest = .8 };
	const struct preset_scan long_one = { .crystal = 4, .across = 708, .finest = 3 };

	(void)state;
	assert_true(of(PRESET_QUICK, fine, 1e9).voxel == 2);
	assert_true(of(PRESET_QUICK, long_one, 1e9).voxel == 3);
	assert_true(of(PRESET_QUICK, mouse, 1e5).voxel == 1.5);
	assert_true(of(PRESET_QUICK, mouse, 1e5).filter == 3);
	assert_true(of(PRESET_QUICK, mouse, 1e8).voxel == .8);
	assert_true(of(PRESET_QUICK, mouse, 1e8).filter == 1.5);
}

/* Two panels have a grid of their own: no voxels, and no point spread function of a ring. */
static void panels(void **state)
{
	const struct preset_scan heads = { .crystal = 2, .across = 50 };
	struct preset_values v = of(PRESET_CLINICAL, heads, 1e6);

	(void)state;
	assert_true(v.voxel == 0 && v.psf == 0 && v.filter == 2.5);
}

static void clinical_and_converged(void **state)
{
	struct preset_values few = of(PRESET_CLINICAL, clinical, 1e6),
			     many = of(PRESET_CLINICAL, clinical, 1e8);
	struct preset_values map = of(PRESET_CONVERGED, clinical, 5e6);

	(void)state;
	assert_true(few.filter == 5 && many.filter == 4);
	/* 1.25 sqrt(2^2 + (0.0022 588 / 0.9)^2 + 0.54^2) = 3.162 mm */
	assert_true(few.psf == 3.2 && many.psf == few.psf);
	assert_string_equal(map.method, "svrg");
	assert_true(map.strength == .4 && map.filter == 0 && map.psf == 0 && map.voxel == 3);
	assert_int_equal(map.subsets, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quick_by_counts),        cmocka_unit_test(finer_with_counts),
		cmocka_unit_test(voxels_of_planes),       cmocka_unit_test(few_counts),
		cmocka_unit_test(voxels_by_crystal),      cmocka_unit_test(panels),
		cmocka_unit_test(clinical_and_converged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
