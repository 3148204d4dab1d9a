/* SPDX-License-Identifier: BSD-3-Clause */
/* Units of images: branching fractions, clock times, SUV, and regions as texts. */
#include "test.h"

#include <math.h>

static void branching(void **state)
{
	static const struct {
		const char *name;
		double b;
	} known[] = { { "F-18", .9673 },  { "C-11", .9977 },  { "N-13", .9980 },  { "O-15", .9989 },
		      { "Ga-68", .8888 }, { "Rb-82", .9541 }, { "Cu-64", .1749 }, { "zr-89", .2274 },
		      { "I-124", .2270 }, { "Sc-44", .9427 }, { "Na-22", .9033 } };
	double b = 0;

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		assert_int_equal(iso_branching(&b, known[i].name), ISO_OK);
		assert_float_equal(b, known[i].b, 1e-12);
	}
	REFUSED(iso_branching(&b, "F-19"), ISO_EARG, "did you mean F-18");
}

/* The time between, s. */
static double between(const char *from, const char *to)
{
	double s = NAN;

	assert_int_equal(iso_seconds_between(&s, from, to), ISO_OK);
	return s;
}

static void times(void **state)
{
	(void)state;
	assert_float_equal(between("10:00", "11:30:15.5"), 5415.5, 1e-9);
	assert_float_equal(between("11:30", "10:00"), -5400, 1e-9);
	/* midnight: the nearest of that clock time */
	assert_float_equal(between("23:30", "00:10"), 2400, 1e-9);
	assert_float_equal(between("2026-12-31T23:30:00", "00:10"), 2400, 1e-9);
	assert_float_equal(between("00:10", "2027-01-01 23:50"), -1200, 1e-9);
	/* dates, a leap day, whole days */
	assert_float_equal(between("2026-12-31T23:30:00", "2027-01-01T00:10:00"), 2400, 1e-9);
	assert_float_equal(between("2028-02-28T12:00", "2028-03-01T12:00"), 2 * 86400, 1e-9);
	assert_float_equal(between("2100-02-28T12:00", "2100-03-01T12:00"), 86400, 1e-9);
	assert_float_equal(between("1970-01-01T00:00", "2026-11-16T14:30:15"), 1794839415, 1e-9);
	/* zones */
	assert_float_equal(between("2026-11-16T10:00Z", "2026-11-16T12:00+01:00"), 3600, 1e-9);
	assert_float_equal(between("2026-11-16T10:00-05:30", "2026-11-16T15:30Z"), 0, 1e-9);
}

static void times_refused(void **state)
{
	static const char *const bad[] = { "",
		                           "noon",
		                           "1:30",
		                           "24:00",
		                           "12:60",
		                           "12",
		                           "12:3",
		                           "12:30:60",
		                           "12:30:15.",
		                           "12:30 ",
		                           "12:30+",
		                           "12:30+1",
		                           "2026-02-29T12:00",
		                           "2026-13-01T12:00",
		                           "2026-11-16" };
	double s;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		REFUSED(iso_seconds_between(&s, bad[i], "12:00"), ISO_EARG, "must be a time such as");
	REFUSED(iso_seconds_between(&s, "12:00Z", "12:00"), ISO_EARG, "time zone");
}

static void suv(void **state)
{
	struct iso_suv p = { .size = sizeof p,
		             .weight_kg = 70,
		             .dose_mbq = 370,
		             .residual_mbq = 20,
		             .injected_at = "23:30:00",
		             .reference_at = "00:30:00",
		             .half_life_s = 3600 };
	double f;

	(void)state;
	assert_int_equal(iso_suv_factor(&f, &p), ISO_OK);
	/* 70 kg over half of 350 MBq */
	assert_float_equal(f, 70e3 / 175e6, 1e-15);
	p.half_life_s = 0;
	assert_int_equal(iso_suv_factor(&f, &p), ISO_OK);
	assert_float_equal(f, 70e3 / 350e6, 1e-15);
	/* measured at the start of the scan, an hour before the injection: it was more then */
	p.half_life_s = 3600;
	p.reference_at = "22:30:00";
	assert_int_equal(iso_suv_factor(&f, &p), ISO_OK);
	assert_float_equal(f, 70e3 / 700e6, 1e-15);
	p.reference_at = "00:30:00";
	p.half_life_s = -3600;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "half life is -3600 s");
	p.half_life_s = .01;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "nothing is left of the dose");
	p.residual_mbq = 370;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "stay behind");
	p.residual_mbq = -1;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "of which -1 MBq stay behind");
	p.residual_mbq = 0;
	p.weight_kg = INFINITY;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "weight is inf kg");
	p.weight_kg = 0;
	REFUSED(iso_suv_factor(&f, &p), ISO_EARG, "weight is 0 kg");
}

static void regions(void **state)
{
	struct iso_roi r;

	(void)state;
	assert_int_equal(iso_roi_parse(&r, "sphere:1,-2,3.5,4"), ISO_OK);
	assert_int_equal(r.kind, ISO_ROI_SPHERE);
	assert_true(r.centre[0] == 1 && r.centre[1] == -2 && r.centre[2] == 3.5 && r.radius == 4);
	assert_int_equal(iso_roi_parse(&r, "cylinder:1,2,3,4,5"), ISO_OK);
	assert_true(r.kind == ISO_ROI_CYLINDER && r.axis == 2 && r.radius == 4 && r.length == 5);
	assert_int_equal(iso_roi_parse(&r, "cylinder:1,2,3,4,5,x"), ISO_OK);
	assert_int_equal(r.axis, 0);
	assert_int_equal(iso_roi_parse(&r, "box:1,2,3,4,5,6"), ISO_OK);
	assert_true(r.kind == ISO_ROI_BOX && r.low[1] == 3 && r.high[2] == 6);
	REFUSED(iso_roi_parse(&r, "ball:1,2,3,4"), ISO_EARG, "must be sphere:X,Y,Z,R");
	REFUSED(iso_roi_parse(&r, "sphere:1,2,3"), ISO_EARG, "must be sphere:X,Y,Z,R, in mm");
	REFUSED(iso_roi_parse(&r, "sphere:1,2,3,4,5"), ISO_EARG, "must be sphere:X,Y,Z,R, in mm");
	REFUSED(iso_roi_parse(&r, "cylinder:1,2,3,4,5,w"), ISO_EARG, "must be cylinder:X,Y,Z,R,LENGTH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branching), cmocka_unit_test(times),   cmocka_unit_test(times_refused),
		cmocka_unit_test(suv),       cmocka_unit_test(regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
