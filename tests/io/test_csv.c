/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as text of named columns: order, units, marks between values, crystal numbers, damage. */
#include "files.h"

#define RING "kind: cylinder\nradius_mm: 100\nrings: 1\nring_pitch_mm: 4\ncrystals_per_ring: 12\n"

static int read_text(struct iso_events *e, const char *text, const struct iso_events_options *o)
{
	put_text("a.csv", text);
	return iso_events_read(e, "a.csv", o);
}

/* One event, however it is written. */
static void columns(void **state)
{
	static const char *const texts[] = {
		"x1,y1,z1,x2,y2,z2,dt_ps,time_s\n10,-20.5,3e1,-10,+20.5,-30.,125,1.001\n",
		"# exported\r\n\r\n X1_mm ; y1 ; z1 ; x2 ; y2 ; z2 ; dt_ns ; time_ms\r\n"
		"10;-20.5;30;-10;20.5;-30;0.125;1001\r\n",
		"\"time_s\"\tenergy\tz2\ty2\tx2\tz1\ty1\tx1\tdt_ps\n1.001\tlow\t-30\t20.5\t-10\t30\t-20."
		"5\t10\t125",
		"\"x1\",y1,z1,x2,y2,z2,dt_ps,\"time_ms\"\n\"10\",-20.5,30,-10,20.5,-30,125,\"1001\"\n",
		"x1 y1 z1 x2 y2   z2 time_ms dt_ps\n\n  10 -20.5 30 -10 20.5 -30  1001 125  \n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct iso_events e = { 0 };

		assert_int_equal(read_text(&e, texts[i], NULL), ISO_OK);
		assert_int_equal(e.n, 1);
		assert_true(e.v[0].p1[0] == 10 && e.v[0].p1[1] == -20.5f && e.v[0].p1[2] == 30);
		assert_true(e.v[0].p2[0] == -10 && e.v[0].p2[1] == 20.5f && e.v[0].p2[2] == -30);
		assert_true(e.v[0].dt_ps == 125 && e.time_ms[0] == 1001);
		assert_true(e.n_lines_bad == 0 && e.n_bad == 0);
		iso_events_free(&e);
	}
	files(true);
}

/* Files put one behind the other have the names twice; without times there are none. */
static void joined(void **state)
{
	static const char text[] = "x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6\nx1,y1,z1,x2,y2,z2\n7,8,9,1,2,3\n";
	struct iso_events e = { 0 };

	(void)state;
	assert_int_equal(read_text(&e, text, NULL), ISO_OK);
	assert_true(e.n == 2 && !e.time_ms && e.v[1].p1[0] == 7 && e.v[1].dt_ps == 0);
	assert_int_equal(e.n_lines_bad, 0);
	iso_events_free(&e);
	files(true);
}

static void crystals(void **state)
{
	static const char text[] = "crystal2,crystal1,dt_ps\n9,1,-40\n";
	iso_scanner *s = NULL;
	struct iso_events_options o = { .size = sizeof o, .swap_dt = true };
	struct iso_events e = { 0 };

	(void)state;
	put_text("ring.yaml", RING);
	assert_int_equal(iso_scanner_read(&s, "ring.yaml"), ISO_OK);
	o.scanner = s;
	assert_int_equal(read_text(&e, text, NULL), ISO_EINPUT);
	assert_message("a.csv: holds crystal numbers; a scanner must say where the crystals are");
	assert_int_equal(read_text(&e, text, &o), ISO_OK);
	for (int a = 0; a < 3; a++) {
		assert_true(e.v[0].p1[a] == (float)iso_scanner_positions(s)[3 + a]);
		assert_true(e.v[0].p2[a] == (float)iso_scanner_positions(s)[27 + a]);
	}
	assert_true(e.v[0].dt_ps == 40);
	iso_events_free(&e);
	assert_int_equal(read_text(&e, "crystal1,crystal2\n0,1.5\n", &o), ISO_EINPUT);
	assert_message("a.csv:2: crystals 0 and 1.5, expected 0 to ");
	iso_scanner_free(s);
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "a.csv is empty" },
		{ "# nothing\n", "a.csv: the first line must name the columns: x1 y1 z1 x2 y2 z2 in mm" },
		{ "1,2,3,4,5,6\n1,2,3,4,5,6\n", "the first line must name the columns" },
		{ "x1,y1,z1,x2,y2\n1,2,3,4,5\n", "the first line must name the columns" },
		{ "x1,y1,z1,x2,y2,z2,x1_mm\n", "a.csv: column 'x1_mm' says what another column says" },
		{ "x1,y1,z1,x2,y2,z2\n", "a.csv: no coincidences" },
		{ "x1,y1,z1,x2,y2,z2\n1,2,3,4,5\n", "a.csv:2: 5 columns, expected 6; 1 of 1 lines" },
		{ "x1,y1,z1,x2,y2,z2\n1,2,3,4,5,0x1\n", "a.csv:2: column 6 is '0x1', not a number" },
		{ "x1,y1,z1,x2,y2,z2,time_s\n1,2,3,4,5,6,-1\n", "a.csv:2: its time is negative" },
	};
	struct iso_events e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(read_text(&e, bad[i].text, NULL), ISO_EINPUT);
		assert_message(bad[i].message);
	}
	assert_int_equal(read_text(&e, "x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6\n,,,,,\n4,5,6,7,8,9\n", NULL), ISO_OK);
	assert_true(e.n == 2 && e.n_lines_bad == 1 && e.first_line_bad == 3);
	iso_events_free(&e);
	assert_int_equal(read_text(&e, "x1\n",
	                           &(struct iso_events_options){ .size = sizeof(struct iso_events_options),
	                                                         .gate_mask = "1" }),
	                 ISO_EARG);
	assert_message("gate_mask is for GATE text, not for CSV");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),
		cmocka_unit_test(joined),
		cmocka_unit_test(crystals),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
