/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of the kind barrel: where strips lie, what is a pair, and every refusal. */
#include "test.h"
#include "files.h"

#include "scanner/barrel.h"

#define TIME "time: {end_sigma_ps: 60, light_speed_mm_per_ps: 0.126}\n"
#define BOX "width_mm: 6, depth_mm: 20, length_mm: 200"
#define RING "kind: barrel\nstrips:\n  - {modules: 8, strips: 6, pitch_mm: 7, radius_mm: 120, " BOX "}\n"
#define LISTED "kind: barrel\nstrips:\n  - {file: s.txt, " BOX "}\n"

static int read_text(iso_scanner **s, const char *text, const char *strips)
{
	int st;

	put_text("barrel.yaml", text);
	if (strips) put_text("s.txt", strips);
	st = iso_scanner_read(s, "barrel.yaml");
	unlink("barrel.yaml");
	unlink("s.txt");
	return st;
}

static iso_scanner *scanner(const char *text, const char *strips)
{
	iso_scanner *s = NULL;

	OK(read_text(&s, text, strips));
	return s;
}

static void near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

static void modules(void **state)
{
	iso_scanner *s = scanner(RING TIME, NULL);
	const struct iso_barrel *b = iso_scanner_barrel(s);
	const struct iso_barrel_strip *p =
		b->strip + 2 * 6 + 1; /* module 2 points along y, its strip 1 lies at x > 0 */
	double z, dl;

	(void)state;
	assert_int_equal(iso_scanner_kind(s), ISO_BARREL);
	assert_null(iso_scanner_strips(s));
	assert_int_equal(b->n, 48);
	assert_int_equal(b->first, 0);
	near(p->x, 1.5 * 7);
	near(p->y, 120);
	near(p->angle, M_PI / 2);
	near(p->width, 6);
	near(p->depth, 20);
	near(p->length, 200);
	near(b->mu, .0096);
	near(iso_barrel_inner(b), hypot(110, .5));
	assert_true(b->shadow);
	near(b->least_distance, hypot(240, 5 * 7) / 2);
	assert_false(iso_barrel_pair(b, 0, 0));
	assert_false(iso_barrel_pair(b, 0, 5));
	assert_true(iso_barrel_pair(b, 0, 24));
	assert_false(iso_barrel_pair(b, 0, 48));
	iso_barrel_sigma(&z, &dl, b);
	near(z, .126 * 60 / sqrt(2));
	near(dl, .299792458 * 60);
	iso_scanner_free(s);
}

static void every_key(void **state)
{
	iso_scanner *s = scanner("kind: barrel\nname: two rings\nstrips:\n"
	                         "  - {modules: 4, radius_mm: 50, angle_deg: 30, z_mm: 7, " BOX "}\n"
	                         "  - {modules: 2, radius_mm: 90, width_mm: 5, depth_mm: 8, length_mm: 90}\n"
	                         "mu_per_mm: 0.01\nleast_pair_distance_mm: 30\nshadow: none\n"
	                         "time: {sigma_z_mm: 5, crt_fwhm_ps: 400, coincidence_ns: 3}\n",
	                         NULL);
	const struct iso_barrel *b = iso_scanner_barrel(s);
	double z, dl;

	(void)state;
	assert_int_equal(b->n, 6);
	near(b->strip[0].angle, M_PI / 6);
	near(b->strip[0].z, 7);
	near(b->strip[5].x, -90);
	near(b->strip[5].length, 90);
	near(b->mu, .01);
	near(b->least_distance, 30);
	assert_false(b->shadow);
	assert_true(iso_scanner_coincidence_ns(s) == 3);
	iso_barrel_sigma(&z, &dl, b);
	near(z, 5);
	assert_true(fabs(dl - 50.9243) < 1e-3);
	iso_scanner_free(s);
}

/* Numbers from 1 on, in any order; the angle is that of the place where none is given. */
static void of_a_file(void **state)
{
	iso_scanner *s = scanner(LISTED TIME, "# number x y\n2 0 100\n1 100 0 15 4\n\n3,-100,0\n");
	const struct iso_barrel *b = iso_scanner_barrel(s);

	(void)state;
	assert_int_equal(b->n, 3);
	assert_int_equal(b->first, 1);
	near(b->strip[0].angle, M_PI / 12);
	near(b->strip[0].z, 4);
	near(b->strip[1].y, 100);
	near(b->strip[1].angle, M_PI / 2);
	near(b->strip[2].x, -100);
	iso_scanner_free(s);
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *strips, *message;
	} bad[] = {
		{ RING, NULL, "key time is missing" },
		{ RING "time: {coincidence_ns: 3}\n", NULL, "time needs end_sigma_ps, or both" },
		{ RING "time: {end_sigma_ps: 60}\n", NULL, "end_sigma_ps needs light_speed" },
		{ RING "time: {end_sigma_ps: 60, light_speed_mm_per_ps: 0.1, crt_fwhm_ps: 400}\n", NULL,
		  "time needs end_sigma_ps, or both" },
		{ RING "time: {end_sigma_ps: -1, light_speed_mm_per_ps: 0.1}\n", NULL, "end_sigma_ps" },
		{ RING "time: {sigma_z_mm: 5}\n", NULL, "time needs end_sigma_ps, or both" },
		{ RING "time: {sigma_z_mm: 5, crt_fwhm_ps: 400, light_attenuation_mm: 300}\n", NULL,
		  "go with end_sigma_ps" },
		{ RING "time: {end_sigma_ps: 60, light_speed_mm_per_ps: 0.1, light_attenuation_mm: 9}\n",
		  NULL, "light_attenuation_mm is 9, must be a twentieth" },
		{ RING TIME "least_pair_distance_mm: 300\n", NULL, "no two strips are 300 mm apart" },
		{ RING TIME "shadow: all\n", NULL, "shadow" },
		{ "kind: barrel\nstrips: 4\n" TIME, NULL, "strips is a list of groups" },
		{ "kind: barrel\nstrips: [4]\n" TIME, NULL, "a group of strips is a map" },
		{ "kind: barrel\nstrips: [{" BOX "}]\n" TIME, NULL, "needs modules and radius_mm" },
		{ "kind: barrel\nstrips: [{modules: 1, radius_mm: 90, " BOX "}]\n" TIME, NULL,
		  "no two strips" },
		{ "kind: barrel\nstrips: [{modules: 8, strips: 9, pitch_mm: 5, radius_mm: 120, " BOX
		  "}]\n" TIME,
		  NULL, "strips 0 and 1 overlap by 1 mm" },
		{ "kind: barrel\nstrips: [{modules: 20000, strips: 2, pitch_mm: 5, radius_mm: 1, " BOX
		  "}]\n" TIME,
		  NULL, "strips, at most" },
		{ "kind: barrel\nstrips: [{file: s.txt, modules: 3, " BOX "}]\n" TIME, "0 1 2\n",
		  "modules does not go with file" },
		{ LISTED TIME, "# none\n", "lists no strips" },
		{ LISTED TIME, "0 100\n", "s.txt:1: '0 100', expected number x y" },
		{ LISTED TIME, "0 100 0\n1.5 0 0\n", "s.txt:2" },
		{ LISTED TIME, "0 100 0\n0 -100 0\n", "strip 0 is described twice" },
		{ LISTED TIME, "2 100 0\n3 -100 0\n", "have numbers from 2 to 3" },
		{ LISTED TIME, "0 100 0\n2 -100 0\n", "have numbers from 0 to 2" },
		{ LISTED TIME, "-1 100 0\n", "strip number -1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		iso_scanner *s = NULL;

		assert_int_equal(read_text(&s, bad[i].text, bad[i].strips), ISO_EINPUT);
		if (!strstr(iso_message(), bad[i].message))
			fail_msg("%s: not '%s'", iso_message(), bad[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules),
		cmocka_unit_test(every_key),
		cmocka_unit_test(of_a_file),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
