/* SPDX-License-Identifier: BSD-3-Clause */
/* Hounsfield units as attenuation: the table of Carney et al. 2006 worked by hand, and another program's curve.
   This test is also built in double. */
#include "test.h"

static double mu_of(double hu, double kvp)
{
	iso_real x = (iso_real)hu;

	OK(iso_mu_of_hu(&x, 1, &x, kvp));
	return (double)x;
}

static void by_hand(void **state)
{
	(void)state;
	NEAR(mu_of(0, 120), .0096, 1e-9);
	NEAR(mu_of(-1000, 120), 0, 0);
	NEAR(mu_of(-3024, 120), 0, 0); /* padding */
	NEAR(mu_of(-700, 90), .00288, 1e-9);
	NEAR(mu_of(46.9, 120), 9.6e-6 * 1046.9, 1e-9);
	NEAR(mu_of(47, 120), 5.10e-6 * 1047 + 4.71e-3, 1e-9);
	NEAR(mu_of(1000, 80), (3.64e-5 * 2000 + 6.26e-2) / 10, 1e-8);
	NEAR(mu_of(1000, 100), (4.43e-5 * 2000 + 5.44e-2) / 10, 1e-8);
	NEAR(mu_of(1000, 110), (4.92e-5 * 2000 + 4.88e-2) / 10, 1e-8);
	NEAR(mu_of(1000, 120), .01491, 1e-8);
	NEAR(mu_of(1000, 130), (5.51e-5 * 2000 + 4.24e-2) / 10, 1e-8);
	NEAR(mu_of(1000, 140), (5.64e-5 * 2000 + 4.08e-2) / 10, 1e-8);
	/* a quarter of the way from 120 to 130 */
	NEAR(mu_of(800, 122.5), ((5.10e-5 + .25 * .41e-5) * 1800 + 4.71e-2 - .25 * .47e-2) / 10, 1e-8);
	/* the two lines meet at the bend, but for the rounding of the paper's numbers */
	for (double kvp = 80; kvp <= 140; kvp += 2.5)
		for (double hu = 25; hu < 60; hu += 1) NEAR(mu_of(hu + 1, kvp), mu_of(hu, kvp), 6e-5);
}

static void refused(void **state)
{
	iso_real x = 0;

	(void)state;
	REFUSED(iso_mu_of_hu(&x, 1, &x, 79.9), ISO_EARG, "79.9 kVp, known are 80 to 140");
	REFUSED(iso_mu_of_hu(&x, 1, &x, 141), ISO_EARG, "known are 80 to 140");
	REFUSED(iso_mu_of_hu(&x, 1, &x, NAN), ISO_EARG, "known are 80 to 140");
	REFUSED(iso_mu_of_hu(&x, -1, &x, 120), ISO_EARG, "-1 values");
	OK(iso_mu_of_hu(&x, 0, &x, 120));
}

/* STIR's generic curve: 0.0096 and 9.6e-6 a unit below 0, 5.73e-6 above. The two may differ by 3 %. */
static void generic_curve(void **state)
{
	struct iso_array hu = { 0 }, generic = { 0 };

	(void)state;
	OK(iso_read(&hu, TEST_DATA "/dicom/hu_ras.npy", ISO_FINITE));
	OK(iso_read(&generic, TEST_DATA "/dicom/mu_generic_per_mm_ras.npy", ISO_FINITE));
	assert_int_equal(hu.n, generic.n);
	for (int64_t i = 0; i < hu.n; i++)
		NEAR(mu_of((double)hu.v[i], 120), (double)generic.v[i],
		     hu.v[i] <= 0 ? 1e-8 : .03 * (double)generic.v[i]);
	iso_array_free(&hu);
	iso_array_free(&generic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(refused),
		cmocka_unit_test(generic_curve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
