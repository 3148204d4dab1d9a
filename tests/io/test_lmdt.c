/* SPDX-License-Identifier: BSD-3-Clause */
/* lmdT list-mode files: against the reference file, bad events, damage. */
#include "files.h"

static void reference(void **state)
{
	const char *path = TEST_DATA "/listmode/lors.lmdT";
	static float raw[1500][7];
	struct iso_events e = { 0 };
	static char out[sizeof raw];

	(void)state;
	assert_int_equal(get(path, raw, sizeof raw), sizeof raw);
	assert_int_equal(iso_events_read(&e, path, NULL), ISO_OK);
	assert_int_equal(e.n, 1500);
	for (int i = 0; i < 1500; i++) {
		assert_memory_equal(e.v[i].p1, raw[i], 12);
		assert_memory_equal(e.v[i].p2, raw[i] + 3, 12);
		assert_true(e.v[i].dt_ps == -raw[i][6]);
	}
	assert_int_equal(iso_events_write("a.lmdT", &e, "{}"), ISO_OK);
	assert_int_equal(files(false), 2);
	assert_int_equal(get("a.lmdT", out, sizeof out), sizeof out);
	assert_memory_equal(out, raw, sizeof raw);
	iso_events_free(&e);
	iso_events_free(&e);
	files(true);
}

/* More than one block of the writer. */
static void many(void **state)
{
	struct iso_events e = { .n = 10000 }, f = { 0 };

	(void)state;
	e.v = calloc((size_t)e.n, sizeof *e.v);
	for (int i = 0; i < 10000; i++)
		e.v[i] = (struct iso_event){ { (float)i, 1, 2 }, { -3, 4, 5 }, (float)(i - 5000) };
	assert_int_equal(iso_events_write("a.lmdT", &e, NULL), ISO_OK);
	assert_int_equal(iso_events_read(&f, "a.lmdT", NULL), ISO_OK);
	assert_int_equal(f.n, 10000);
	assert_int_equal(f.n_bad, 0);
	assert_memory_equal(f.v, e.v, 10000 * sizeof *e.v);
	iso_events_free(&e);
	iso_events_free(&f);
	files(true);
}

static void bad(void **state)
{
	static const float raw[6][7] = {
		{ 1, 2, 3, 4, 5, 6, 7 },        { 1, 2, 3, 1, 2, 3, 0 },         { 1, NAN, 3, 4, 5, 6, 0 },
		{ 1, 2, 3, 4, 5, INFINITY, 0 }, { 1, 2, 3, 4, 5, 6, -INFINITY }, { 1, 2, 3, 1, 2, 3.5f, 0 },
	};
	struct iso_events e = { 0 };

	(void)state;
	put("a.lmdT", raw, sizeof raw);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_OK);
	assert_int_equal(e.n, 6);
	assert_int_equal(e.n_bad, 4);
	for (int i = 0; i < 6; i++) assert_int_equal(iso_event_bad(&e.v[i]), i > 0 && i < 5);
	assert_true(e.v[0].dt_ps == -7);
	iso_events_free(&e);
	put("a.lmdT", raw[1], 4 * sizeof raw[1]);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("none of its 4 events is usable");
	files(true);
}

static void damaged(void **state)
{
	unsigned char raw[28 * 100];
	float one[7] = { 1e-9f, 0, 0, 0, 2e-9f, 0, 0 };
	struct iso_events e = { .n = -5 };

	(void)state;
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("No such file");
	put("a.lmdT", "", 0);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("is empty");
	put("a.lmdT", raw, 100);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("100 bytes are not a whole number of 28-byte events: 16 left over");
	assert_int_equal(iso_events_read(&e, "a.xyz", NULL), ISO_EINPUT);
	assert_message("a.xyz: unknown suffix for events; one of .lmdT .Cdh .l.hdr .l .petsird .npy .dat "
	               ".txt .csv .hs .root .hdf5");
	put("a.lmdT", one, sizeof one);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("does not look like lmdT");
	assert_int_equal(get(TEST_DATA "/listmode/events.lmdT", raw, sizeof raw), sizeof raw);
	for (size_t i = 0; i < sizeof raw; i += 4)
		for (size_t k = 0; k < 2; k++) {
			unsigned char t = raw[i + k];

			raw[i + k] = raw[i + 3 - k];
			raw[i + 3 - k] = t;
		}
	put("a.lmdT", raw, sizeof raw);
	assert_int_equal(iso_events_read(&e, "a.lmdT", NULL), ISO_EINPUT);
	assert_message("wrong byte order?");
	assert_int_equal(e.n, -5);
	e.n = 0;
	assert_int_equal(iso_events_write("b.lmdT", &e, NULL), ISO_EARG);
	assert_message("0 events to write");
	assert_int_equal(files(true), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference),
		cmocka_unit_test(many),
		cmocka_unit_test(bad),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
