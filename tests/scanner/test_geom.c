/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR geometries: one of two layers against the table that CASToR makes of it, each key missing, damage; also
   built in double. */
#include "files.h"
#include "scanner/scanner.h"

enum { CRYSTALS = 1152, LAYER = 576, TEXT = 4096 };

static char text[TEXT], edited[TEXT];

static int load(void **state)
{
	text[get(TEST_DATA "/castor/twolayer.geom", text, TEXT - 1)] = '\0';
	return enter(state);
}

/* The text with every line of this key replaced by `line`; "": taken out. */
static const char *with(const char *key, const char *line)
{
	size_t n = 0, length = strlen(key);

	for (const char *p = text, *end; *p; p = end) {
		end = strchr(p, '\n') + 1;
		if (strncmp(p, key, length) == 0 && p[length] == ':')
			n += (size_t)snprintf(edited + n, TEXT - n, "%s%s", line, line[0] ? "\n" : "");
		else
			n += (size_t)snprintf(edited + n, TEXT - n, "%.*s", (int)(end - p), p);
	}
	return edited;
}

static int read_text(iso_scanner **s, const char *geom)
{
	put_text("a.geom", geom);
	return iso_scanner_read(s, "a.geom");
}

static iso_scanner *good(const char *geom)
{
	iso_scanner *s = NULL;

	if (read_text(&s, geom)) fail_msg("%s", iso_message());
	return s;
}

static void refused(const char *geom, const char *message)
{
	iso_scanner *s = NULL;

	if (read_text(&s, geom) != ISO_EINPUT) fail_msg("read, wanted a message with \"%s\"", message);
	assert_message(message);
	assert_null(s);
}

/* Ends of lines 4 mm deep in the first layer of crystals of 10 mm, in the middle of those of the second. */
static void against_table(void **state)
{
	static float lut[CRYSTALS][6];
	iso_scanner *g = NULL, *h = NULL;

	(void)state;
	assert_int_equal(get(TEST_DATA "/castor/twolayer.lut", lut, sizeof lut), sizeof lut);
	assert_int_equal(iso_scanner_read(&g, TEST_DATA "/castor/twolayer.geom"), ISO_OK);
	assert_int_equal(iso_scanner_read(&h, TEST_DATA "/castor/twolayer.hscan"), ISO_OK);
	assert_int_equal(iso_scanner_kind(g), ISO_DETECTORS);
	assert_string_equal(iso_scanner_name(g), "twolayer");
	assert_string_equal(iso_scanner_note(g), "");
	assert_string_equal(iso_scanner_note(h), "");
	assert_int_equal(iso_scanner_crystals(g), CRYSTALS);
	assert_int_equal(iso_scanner_crystals(h), CRYSTALS);
	for (int i = 0; i < CRYSTALS; i++) {
		const double *p = iso_scanner_positions(g) + 3 * i, *q = iso_scanner_positions(h) + 3 * i;

		for (int a = 0; a < 3; a++) {
			double sign = a == 2 ? -1 : 1, u = (double)lut[i][3 + a] * (i < LAYER ? -1 : 0);

			assert_near(p[a], sign * ((double)lut[i][a] + u), 2e-5);
			assert_near(p[a], q[a], 2e-5);
			assert_near((double)g->face[i].outward[a], sign * (double)lut[i][3 + a], 1e-6);
		}
		assert_near((double)g->face[i].depth, i < LAYER ? 4 : 6, 0);
		assert_near((double)h->face[i].depth, i < LAYER ? 4 : 6, 0);
	}
	assert_near(g->pairs.min_angle, 40 * M_PI / 180, 1e-12);
	assert_near(h->pairs.min_angle, g->pairs.min_angle, 0);
	for (int a = 0; a < 3; a++) { /* the least depth is that of all */
		assert_near(iso_scanner_crystal_mm(g)[a], (const double[]){ 4, 5, 10 }[a], 0);
		assert_near(iso_scanner_crystal_mm(h)[a], (const double[]){ 4, 5, 10 }[a], 0);
	}
	iso_scanner_free(g);
	iso_scanner_free(h);
}

/* Counted the other way round, the ring is its image in a mirror x = 0. */
static void other_way(void **state)
{
	iso_scanner *cw = good(text), *ccw;

	(void)state;
	ccw = good(with("number of layers", "number of layers: 2\nrotation direction: CCW"));
	for (int i = 0; i < CRYSTALS; i++) {
		const double *p = iso_scanner_positions(cw) + 3 * i, *q = iso_scanner_positions(ccw) + 3 * i;

		assert_near(q[0], -p[0], 1e-12);
		assert_near(q[1], p[1], 1e-12);
		assert_near(q[2], p[2], 0);
	}
	iso_scanner_free(cw);
	iso_scanner_free(ccw);
	refused(with("number of layers", "number of layers: 2\nrotation direction: left"),
	        "rotation direction is 'left', must be CW or CCW");
	files(true);
}

/* Without it the scanner is another one, or none: then the message names the key. */
static void each_key_missing(void **state)
{
	static const char *const needed[] = {
		"modality",
		"number of elements",
		"number of layers",
		"scanner radius",
		"number of rsectors",
		"number of crystals transaxial",
		"number of crystals axial",
		"crystals size depth",
		"crystals size transaxial",
		"crystals size axial",
		"rsectors nbZShift",
		"rsectors ZShift",
	};
	static const char *const optional[] = {
		"scanner name",
		"rsectors first angle",
		"number of rsectors axial",
		"number of modules axial",
		"module gap transaxial",
		"submodule gap axial",
		"crystal gap axial",
		"crystal gap transaxial",
		"mean depth of interaction",
		"min angle difference",
		"voxels number axial",
		"field of view transaxial",
	};
	char message[100];

	(void)state;
	for (int i = 0; i < COUNT(needed); i++) {
		snprintf(message, sizeof message, "a.geom: key '%s' is missing", needed[i]);
		refused(with(needed[i], ""), message);
	}
	for (int i = 0; i < COUNT(optional); i++) iso_scanner_free(good(with(optional[i], "")));
	refused(with("number of modules transaxial", ""),
	        "its layers have 576 crystals in all, 'number of elements' says 1152");
	refused(with("number of submodules axial", ""), "its layers have 576 crystals in all");
	files(true);
}

/* "nbZShift: 0": every sector lies where it would with shifts of 0. */
static void no_shifts(void **state)
{
	(void)state;
	iso_scanner *none = good(with("rsectors nbZShift", "rsectors nbZShift: 0"));
	iso_scanner *zero = good(with("rsectors ZShift", "rsectors ZShift: 0,0"));
	const double *a = iso_scanner_positions(none), *b = iso_scanner_positions(zero);

	assert_int_equal(iso_scanner_crystals(none), iso_scanner_crystals(zero));
	for (int64_t i = 0; i < 3 * iso_scanner_crystals(none); i++) assert_true(a[i] == b[i]);
	iso_scanner_free(none);
	iso_scanner_free(zero);
}

static void damaged(void **state)
{
	static const struct {
		const char *key, *line, *message;
	} t[] = {
		{ "modality", "modality: CT", "modality is 'CT', must be PET" },
		{ "number of elements", "number of elements: 1153", "'number of elements' says 1153" },
		{ "number of elements", "number of elements: 99999999999", "must be a number in [2, " },
		{ "number of layers", "number of layers: 0", "number of layers is '0'" },
		{ "number of layers", "number of layers: 17", "number of layers is '17'" },
		{ "number of layers", "number of layers: 3", "scanner radius is '60,71', must be 3 numbers" },
		{ "scanner radius", "scanner radius: 60",
		  "a.geom:10: scanner radius is '60', must be 2 numbers" },
		{ "scanner radius", "scanner radius: 60,", "scanner radius is '60,', must be 2 numbers" },
		{ "scanner radius", "scanner radius: 60,x",
		  "must be 2 numbers in [0.001, 100000], one a layer" },
		{ "scanner radius", "scanner radius: 60,nan", "scanner radius is '60,nan'" },
		{ "scanner radius", "scanner radius: 60,-1", "scanner radius is '60,-1'" },
		{ "number of rsectors", "number of rsectors: 12,12.5", "must be whole numbers" },
		{ "number of rsectors", "number of rsectors: 12,0", "number of rsectors is '12,0'" },
		{ "number of rsectors", "number of rsectors: 1000000,1", "more than " },
		{ "crystals size axial", "crystals size axial: 5,0", "crystals size axial is '5,0'" },
		{ "crystal gap axial", "crystal gap axial: 0.2,inf", "crystal gap axial is '0.2,inf'" },
		{ "submodule gap axial", "submodule gap axial: ,", "submodule gap axial is ','" },
		{ "rsectors nbZShift", "rsectors nbZShift: 3",
		  "rsectors ZShift is '0,2.5', must be as many" },
		{ "rsectors nbZShift", "rsectors nbZShift: 1000", "rsectors nbZShift is '1000'" },
		{ "rsectors ZShift", "rsectors ZShift: 0,1e9", "rsectors ZShift is '0,1e9'" },
		{ "mean depth of interaction", "mean depth of interaction: 4,x", "must be 2 numbers" },
		{ "mean depth of interaction", "mean depth of interaction: x", "must be a number of mm" },
		{ "mean depth of interaction", "mean depth of interaction: 1e5", "must be a number of mm" },
		{ "min angle difference", "min angle difference: 200", "min angle difference is '200'" },
		{ "scanner name", "scanner name: a\nscanner name: b",
		  "key 'scanner name' comes a second time" },
	};

	(void)state;
	for (int i = 0; i < COUNT(t); i++) refused(with(t[i].key, t[i].line), t[i].message);
	refused("", "a.geom is empty");
	put("a.geom", "modality: PET\n\0", 15);
	assert_int_equal(iso_scanner_read(&(iso_scanner *){ NULL }, "a.geom"), ISO_EINPUT);
	assert_message("holds NUL bytes");
	files(true);
}

static void assert_note(const char *geom, const char *note)
{
	iso_scanner *s = good(geom);

	assert_string_equal(iso_scanner_note(s), note);
	iso_scanner_free(s);
}

/* What CASToR's own files have: words cut short, something behind a number, a key found within another. */
static void lenient(void **state)
{
	iso_scanner *a = good(text), *b;

	(void)state;
	b = good(with("scanner radius", "scanner radius: 60.,71.0. # mm"));
	assert_memory_equal(a->pos, b->pos, sizeof *a->pos * 3 * CRYSTALS);
	iso_scanner_free(b);
	b = good(with("crystals size transaxial", "crystals size trans: 4 mm , 4"));
	assert_memory_equal(a->pos, b->pos, sizeof *a->pos * 3 * CRYSTALS);
	iso_scanner_free(b);
	b = good(with("mean depth of interaction", "mean depth of interaction: 2"));
	assert_near((double)b->face[0].depth, 2, 0);
	assert_near((double)b->face[CRYSTALS - 1].depth, 2, 0);
	iso_scanner_free(b);
	iso_scanner_free(a);
	assert_note(with("min angle difference", "minimal angle difference: 3"),
	            "keys that are not used: 'minimal angle difference'");
	assert_note(with("module gap transaxial", "submodule gap transaxial: 3,3"),
	            "key 'module gap transaxial' is taken from 'submodule gap transaxial', as CASToR does");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_table),    cmocka_unit_test(other_way),
		cmocka_unit_test(each_key_missing), cmocka_unit_test(damaged),
		cmocka_unit_test(lenient),          cmocka_unit_test(no_shifts),
	};

	return cmocka_run_group_tests(tests, load, leave);
}
