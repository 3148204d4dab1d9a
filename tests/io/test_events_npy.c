/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as records of NumPy, and rows with times: fields by name, of any type; damage; also built in double. */
#include "files.h"

/* A .npy of this dict and these bytes. */
static void put_npy(const char *descr, const char *shape, const void *data, size_t bytes)
{
	char file[2048] = "\x93NUMPY\1";
	int n = 10 + snprintf(file + 10, sizeof file - 10,
	                      "{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", descr, shape);

	file[8] = (char)((n - 10) & 255);
	file[9] = (char)((n - 10) >> 8);
	memcpy(file + n, data, bytes);
	put("a.npy", file, (size_t)n + bytes);
}

static void read_events(struct iso_events *e, const iso_scanner *s)
{
	const struct iso_events_options o = { .size = sizeof o, .scanner = s };

	if (iso_events_read(e, "a.npy", &o) != ISO_OK) fail_msg("%s", iso_message());
}

static void refused(const char *message)
{
	struct iso_events e = { .n = -5 };
	int st = iso_events_read(&e, "a.npy", NULL);

	if (st != ISO_EINPUT) fail_msg("status %d, wanted a message with \"%s\"", st, message);
	assert_message(message);
}

/* Fields in another order, of several types, between others and padding. */
static void records(void **state)
{
	struct __attribute__((packed)) {
		uint64_t time;
		char name[5], pad[3];
		float p2[3];
		int16_t p1[3];
		double dt;
	} r[2] = { { 4000000000u, "ab", "", { -100, 1, 2.5f }, { 100, -7, 3 }, -12.5 },
		   { 7, "c", "", { 0, -100, -2 }, { 0, 100, 2 }, 40 } };
	static const float one[3] = { 100, -7, 3 }, two[3] = { -100, 1, 2.5f };
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	put_npy("[('time_ms', '<u8'), ('name', '|S5'), ('', '|V3'), ('p2', '<f4', (3,)), ('p1', '<i2', "
	        "(3,)), "
	        "(('t1 - t2', 'dt_ps'), '<f8')]",
	        "(2,)", r, sizeof r);
	read_events(&e, NULL);
	assert_int_equal(e.n, 2);
	assert_memory_equal(e.v[0].p1, one, sizeof one);
	assert_memory_equal(e.v[0].p2, two, sizeof two);
	assert_true(e.v[0].dt_ps == -12.5f && e.v[1].dt_ps == 40);
	assert_true(e.time_ms[0] == 4000000000u && e.time_ms[1] == 7);
	assert_null(e.crystal);
	iso_events_free(&e);
	assert_int_equal(iso_event_file_open(&f, "a.npy", NULL), ISO_OK);
	assert_string_equal(iso_event_file_info(f)->format, "NumPy records");
	assert_string_equal(iso_event_file_info(f)->ignored, "fields 'name'");
	iso_event_file_close(f);
	files(true);
}

/* Numbers of crystals, big-endian, and times in s. With ends besides, these count. */
static void crystals(void **state)
{
	static const unsigned char plain[] = { 0, 3, 0, 1, 0x3f, 0xc0, 0, 0 }; /* 3, 1, 1.5 s */
	struct __attribute__((packed)) {
		uint8_t c1, c2;
		float x1, y1, z1, x2, y2, z2;
	} both[1] = { { 0, 2, 95, 1, 2, -95, 3, 4 } };
	struct iso_events e = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	put_text("ring.yaml",
	         "kind: cylinder\nradius_mm: 100\nrings: 1\nring_pitch_mm: 4\ncrystals_per_ring: 4\n");
	assert_int_equal(iso_scanner_read(&s, "ring.yaml"), ISO_OK);
	put_npy("[('crystal', '>u2', (2,)), ('time_s', '>f4')]", "(1,)", plain, sizeof plain);
	refused("holds crystal numbers; a scanner must say where the crystals are");
	read_events(&e, s);
	assert_true(e.crystal[0] == 3 && e.crystal[1] == 1 && e.time_ms[0] == 1500);
	assert_near((double)e.v[0].p1[0], iso_scanner_positions(s)[9], 1e-4);
	iso_events_free(&e);
	put_npy("[('crystal1', '|u1'), ('crystal2', '|u1'), ('x1', '<f4'), ('y1', '<f4'), ('z1', '<f4'), "
	        "('x2', '<f4'), ('y2', '<f4'), ('z2', '<f4')]",
	        "(1,)", both, sizeof both);
	read_events(&e, s);
	assert_true(e.crystal[1] == 2 && e.v[0].p1[0] == 95 && e.v[0].p2[2] == 4);
	iso_events_free(&e);
	read_events(&e, NULL);
	assert_true(!e.crystal && e.v[0].p1[0] == 95);
	iso_events_free(&e);
	iso_scanner_free(s);
	files(true);
}

/* A resolution of each event. */
static void resolutions(void **state)
{
	struct __attribute__((packed)) {
		float p1[3], p2[3];
		double fwhm;
		float dt;
	} r[2] = { { { 100, 0, 0 }, { -100, 0, 0 }, 250, 10 }, { { 0, 100, 0 }, { 0, -100, 0 }, 213.7, -5 } };
	static const char descr[] =
		"[('p1', '<f4', (3,)), ('p2', '<f4', (3,)), ('fwhm_ps', '<f8'), ('dt_ps', '<f4')]";
	static const double bad[] = { 0, -1, NAN, INFINITY, 1e-60 };
	struct iso_events e = { 0 };

	(void)state;
	put_npy(descr, "(2,)", r, sizeof r);
	read_events(&e, NULL);
	assert_true(e.fwhm_ps[0] == 250 && e.fwhm_ps[1] == (iso_real)213.7 && e.v[1].dt_ps == -5);
	iso_events_free(&e);
	for (int i = 0; i < (sizeof(iso_real) == sizeof(float) ? 5 : 4); i++) {
		r[1].fwhm = bad[i];
		put_npy(descr, "(2,)", r, sizeof r);
		refused("a.npy: event 1: fwhm_ps is ");
	}
	put_npy("[('p1', '<f4', (3,)), ('p2', '<f4', (3,)), ('fwhm_ps', '<f4')]", "(2,)", r, 56);
	refused("needs dt_ps");
	files(true);
}

/* The last column of eight is a time in ms, cut to whole ones. */
static void rows(void **state)
{
	double v[2][8] = { { 100, 1, 2, -100, 3, 4, 50, 12.75 }, { 0, 100, 0, 0, -100, 0, -50, 0 } };
	struct iso_events e = { 0 };

	(void)state;
	put_npy("'<f8'", "(2, 8)", v, sizeof v);
	read_events(&e, NULL);
	assert_true(e.time_ms[0] == 12 && e.time_ms[1] == 0 && e.v[0].dt_ps == 50 && e.v[1].p1[1] == 100);
	iso_events_free(&e);
	for (int i = 0; i < 3; i++) {
		v[1][7] = (const double[]){ -1, 4294967296., NAN }[i];
		put_npy("'<f8'", "(2, 8)", v, sizeof v);
		refused("a.npy: event 1: time is ");
	}
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *descr, *shape, *message;
	} t[] = {
		{ "[('x1', '<f4')]", "(16,)", "records of events need the fields x1 y1 z1 x2 y2 z2" },
		{ "[('p1', '<f4', (3,)), ('x2', '<f4')]", "(4,)", "records of events need the fields" },
		{ "[('crystal1', '<f4'), ('p1', '<f4', (3,))]", "(4,)", "records of events need the fields" },
		{ "[('p1', '<f4', (3,)), ('p2', '<f4', (3,)), ('crystal1', '<u4'), ('dt_ps', '<f4')]", "(2,)",
		  "records of events need the fields" },
		{ "[('p1', '<f4'), ('p2', '<f4', (3,))]", "(4,)", "field 'p1' must have 3 numbers" },
		{ "[('x1', '|S4'), ('p2', '<f4', (3,))]", "(4,)", "field 'x1' must have 1 number" },
		{ "[('x1', '<f4'), ('p1', '<f4', (3,))]", "(4,)", "field 'p1' says what another field says" },
		{ "[('time_s', '<f4'), ('time_ms', '<f4')]", "(8,)", "field 'time_ms' says what another" },
		{ "[('p1', '<f4', (3,)), ('p2', '<f4', (3,)), ('', '|V8')]", "(2, 1)",
		  "need an array (n), it has 2 axes" },
		{ "[('p1', '<f4', (3,)), ('p2', '<f4', (3,))]", "(3,)", "bytes" },
		{ "[('p1', '<f4', (3,)), ('p2', [('x', '<f4')])]", "(2,)", "expected a field such as" },
		{ "[('p1', '|O')]", "(2,)", "expected a field such as" },
		{ "[('p1', '<f4'", "(2,)", "expected a field such as" },
		{ "[('p1', '<f4') ('p2', '<f4')]", "(2,)", "expected ',' or ']'" },
		{ "[('p1', '<f4', (99999999999,))]", "(2,)", "expected a field such as" },
		{ "[('p1', '<f4', (3, 0))]", "(2,)", "records without fields" },
		{ "[('p1', '|V65536'), ('x', '|u1')]", "(2,)", "records of more than 65536 bytes" },
		{ "[('', '|V64')]", "(1,)", "records without fields" },
		{ "[]", "(1,)", "records without fields" },
		{ "'<f4'", "(1, 16)", "events need an array (n, 7)" },
	};
	static const float zeros[16];

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		put_npy(t[i].descr, t[i].shape, zeros, sizeof zeros);
		refused(t[i].message);
	}
	put_npy("[('x1', '<f4')]", "(16,)", zeros, sizeof zeros);
	assert_refused("a.npy", "holds records, plain numbers were expected");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records), cmocka_unit_test(resolutions), cmocka_unit_test(crystals),
		cmocka_unit_test(rows),    cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
