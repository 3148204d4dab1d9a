/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules of crystals: numbers and places of every kind of scanner, pairs, and what is refused. */
#include "test.h"
#include "files.h"

#include "scanner/scanner.h"

#define HEAD "kind: modules\nrings: [{modules: 12, radius_mm: 100, first_deg: 15}]\n"
#define BODY                                                                                        \
	"module: {crystals: [3, 4], pitch_mm: [4, 5], crystal_mm: [3.9, 4.8, 20], blocks: [2, 3], " \
	"block_gap_mm: [1, 2]}\n"
#define MATTER "material: {formula: Lu2SiO5, density: 7.4}"
#define ENERGY "energy: {resolution: 0.1, window_kev: [435, 650]}\n"
#define RING HEAD BODY "detector: {" MATTER "}\n" ENERGY

static int read_text(iso_scanner **s, const char *text)
{
	int st;

	put_text("modules.yaml", text);
	st = iso_scanner_read(s, "modules.yaml");
	unlink("modules.yaml");
	return st;
}

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;

	OK(read_text(&s, text));
	assert_non_null(iso_scanner_modules(s));
	return s;
}

static void refused(const char *text, const char *why)
{
	iso_scanner *s = NULL;

	assert_int_equal(read_text(&s, text), ISO_EINPUT);
	if (!strstr(iso_message(), why)) fail_msg("'%s' instead of '%s'", iso_message(), why);
}

/* Numbers go to places and back; places are those of the scanner, up to `apart` mm across. */
static void numbers(const char *text, double apart)
{
	iso_scanner *s = scanner(text);
	const struct iso_modules *m = iso_scanner_modules(s);

	assert_int_equal(modules_crystals(m), iso_scanner_crystals(s));
	for (int32_t i = 0; i < modules_crystals(m); i++) {
		struct modules_place p;
		double at[3];
		const double *want = iso_scanner_positions(s) + 3 * i;

		modules_place(&p, m, i);
		assert_int_equal(modules_id(m, p.module, p.it, p.iz, p.layer), i);
		assert_in_range(p.module, 0, m->count - 1);
		assert_in_range(p.it, 0, modules_along(m, 0) - 1);
		assert_in_range(p.iz, 0, modules_along(m, 1) - 1);
		assert_in_range(modules_unit(m, i), 0, modules_units(m) - 1);
		modules_point(at, m, i);
		for (int k = 0; k < 3; k++) assert_true(fabs(at[k] - want[k]) <= apart);
	}
	iso_scanner_free(s);
}

static void ids(void **state)
{
	(void)state;
	numbers(RING, 1e-4);
	numbers(HEAD "module: {crystals: [3, 4], pitch_mm: [4, 5], crystal_mm: [3.9, 4.8, 20], layers: 2}\n"
	             "detector: {" MATTER ", readout: module}\n" ENERGY,
	        1e-4);
	numbers("kind: panels\ncrystals: [4, 6]\npitch_mm: [3, 2]\ngap_mm: 40\nplanes: 10\nplane_mm: 4\n"
	        "crystal_mm: [2.5, 2, 20]\nlayers: 2\nblock: 2\nreadout: block\n",
	        1e-9);
	/* the sagitta of a block of 30 mm at 300 mm */
	numbers("kind: cylinder\nradius_mm: 300\nrings: 8\nring_pitch_mm: 5\ncrystals_per_ring: 480\n"
	        "crystal_mm: [3.8, 4.9, 20]\nblock: {crystals: 8, rings: 4, ring_gap_mm: 1}\n"
	        "interaction_depth_mm: 7\ndetector: {" MATTER "}\n" ENERGY,
	        .7);
}

/* The rule by places, as sensitivities have it, is the rule by numbers. */
static void pairs(void **state)
{
	iso_scanner *s = scanner(RING "pairs: {min_module_distance: 3, max_ring_difference: 5}\n");
	const struct iso_modules *m = iso_scanner_modules(s);
	const double *p = iso_scanner_positions(s);
	int good = 0;

	(void)state;
	for (int32_t a = 0; a < 600; a += 7)
		for (int32_t b = 0; b < modules_crystals(m); b++) {
			struct modules_place u, v;

			modules_place(&u, m, a);
			modules_place(&v, m, b);
			int turn = abs(u.module - v.module), apart = turn < 6 ? turn : 12 - turn;
			bool want = apart >= 3 && abs(u.iz - v.iz) <= 5;

			assert_int_equal(modules_good(m, a, b), want);
			assert_int_equal(pairs_counted(&s->pairs, p + 3 * a, p + 3 * b), want);
			good += want;
		}
	assert_true(good > 1000);
	iso_scanner_free(s);
}

static void examples(void **state)
{
	static const char *const name[] = { "crystal-ring", "strip-layers", "meng2019" };
	static const int64_t units[] = { 192, 192, 2 };

	(void)state;
	for (int i = 0; i < N_OF(name); i++) {
		char path[512];
		iso_scanner *s = NULL;

		snprintf(path, sizeof path, "%s/scanners/%s.yaml", TEST_EXAMPLES, name[i]);
		OK(iso_scanner_read(&s, path));
		assert_int_equal(modules_units(iso_scanner_modules(s)), units[i]);
		iso_scanner_free(s);
	}
}

static void refusals(void **state)
{
	(void)state;
	refused("kind: modules\nrings: [{modules: 12, radius_mm: 40}]\n" BODY "detector: {" MATTER
	        "}\n" ENERGY,
	        "modules 0 and 1 overlap by");
	refused("kind: modules\nrings: [{modules: 12, radius_mm: 100}, {modules: 12, radius_mm: 119}]\n" BODY
	        "detector: {" MATTER "}\n" ENERGY,
	        "modules 0 and 12 overlap by 1 mm");
	refused(HEAD "module: {crystals: [3, 4], pitch_mm: [4, 5], crystal_mm: [4.1, 5, 20]}\n"
	             "detector: {" MATTER "}\n" ENERGY,
	        "must be at most the pitch");
	refused(HEAD BODY ENERGY, "detector");
	refused(HEAD BODY "detector: {" MATTER "}\nenergy: {resolution: 0.1, window_kev: [650, 435]}\n",
	        "must be below the second");
	refused(HEAD BODY "detector: {" MATTER "}\nenergy: {resolution: 1.1, window_kev: [435, 650]}\n",
	        "resolution");
	refused(RING "pairs: {min_module_distance: 7}\n", "half way round");
	refused(HEAD BODY "detector: {" MATTER ", readout: head}\n" ENERGY, "readout");
	refused(HEAD BODY "detector: {material: {formula: Qq2, density: 1}}\n" ENERGY, "Qq2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids),
		cmocka_unit_test(pairs),
		cmocka_unit_test(examples),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
