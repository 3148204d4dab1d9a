/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE text: columns by hand, numbers of every form, long files, damage. */
#include "base/number.h"
#include "files.h"

#include <inttypes.h>

/* One single of the 46 columns: event, time, x, y, z, Compton and Rayleigh in the phantom. */
#define SINGLE(event, time, x, y, z, compton, rayleigh) \
	"0 " event " 0 1 2 3 " time " 0.511 " x " " y " " z " 0 1 2 3 4 5 " compton " 7 " rayleigh " 8 0 0 "
#define TWO                                                 \
	SINGLE("5", "1.25", "10", "-20.5", "3e1", "0", "0") \
	SINGLE("5", "1.2499999999", "-1e1", "+20.5", "-30.", "0", "0")

static int read_text(struct iso_events *e, const char *text, const struct iso_events_options *o)
{
	put_text("a.dat", text);
	return iso_events_read(e, "a.dat", o);
}

static void columns(void **state)
{
	struct iso_events e = { 0 };

	(void)state;
	assert_int_equal(read_text(&e, TWO "\n\t\r\n" TWO, NULL), ISO_OK);
	assert_int_equal(e.n, 2);
	assert_true(e.v[0].p1[0] == 10 && e.v[0].p1[1] == -20.5f && e.v[0].p1[2] == 30);
	assert_true(e.v[1].p2[0] == -10 && e.v[1].p2[1] == 20.5f && e.v[1].p2[2] == -30);
	assert_near((double)e.v[0].dt_ps, 100, 1e-3); /* first later: nearer to the second */
	assert_int_equal(e.time_ms[0], 1250);
	assert_true(e.n_lines_bad == 0 && !e.crystal && !e.mult);
	iso_events_free(&e);
	assert_int_equal(read_text(&e, TWO,
	                           &(struct iso_events_options){ .size = sizeof(struct iso_events_options),
	                                                         .swap_dt = true }),
	                 ISO_OK);
	assert_near((double)e.v[0].dt_ps, -100, 1e-3);
	iso_events_free(&e);
	files(true);
}

static void trues(void **state)
{
	static const char text[] = TWO "\n" SINGLE("5", "1", "1", "2", "3", "1", "0") SINGLE(
		"5", "1", "4", "5", "6", "0", "0") "\n" SINGLE("5", "1", "1", "2", "3", "0", "0")
		SINGLE("5", "1", "4", "5", "6", "0", "2") "\n" SINGLE("5", "1", "1", "2", "3", "0", "0")
			SINGLE("6", "1", "4", "5", "6", "0", "0") "\n";
	struct iso_events e = { 0 };

	(void)state;
	assert_int_equal(read_text(&e, text, NULL), ISO_OK);
	assert_int_equal(e.n, 4);
	iso_events_free(&e);
	assert_int_equal(read_text(&e, text,
	                           &(struct iso_events_options){ .size = sizeof(struct iso_events_options),
	                                                         .trues_only = true }),
	                 ISO_OK);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.n_left_out, 3);
	iso_events_free(&e);
	assert_int_equal(read_text(&e, strchr(text, '\n'),
	                           &(struct iso_events_options){ .size = sizeof(struct iso_events_options),
	                                                         .trues_only = true }),
	                 ISO_EINPUT);
	assert_message("no coincidences except the ones that trues_only leaves out");
	files(true);
}

/* GATE's 18 switches are for both singles; 36 may differ: here the event number is of the first alone. */
static void masks(void **state)
{
	static const char both[] = "0 1 0 0 0 0 1 0 1 1 1 0 0 0 0 0 0 0", first[] = "010000101110000000"
										    "000000101110000000";
	struct iso_events_options o = { .size = sizeof o, .gate_mask = both };
	struct iso_events e = { 0 };

	(void)state;
	assert_int_equal(read_text(&e, "7 2 1 2 3 7 1 4 5 6\n", &o), ISO_OK);
	assert_true(e.n == 1 && e.v[0].p1[0] == 1 && e.v[0].p2[0] == 4 && e.v[0].p2[2] == 6 &&
	            e.time_ms[0] == 2000);
	iso_events_free(&e);
	o.gate_mask = first;
	assert_int_equal(read_text(&e, "7 2 1 2 3 1 4 5 6\n", &o), ISO_OK);
	assert_true(e.n == 1 && e.v[0].p1[2] == 3 && e.v[0].p2[0] == 4);
	iso_events_free(&e);
	o.gate_mask = "0 1 0 0 0 0 1 0 1 1 1 0 0 0 0 0 0";
	assert_int_equal(read_text(&e, "7 2 1 2 3 7 1 4 5 6\n", &o), ISO_EARG);
	assert_message("gate_mask must be 18 switches 0 or 1, as in GATE's setCoincidenceMask, or 36");
	files(true);
}

/* Lines across the blocks of the reader; every 1000th is damaged. */
static void many(void **state)
{
	enum { LINES = 30000 };
	FILE *f = fopen("a.txt", "w");
	struct iso_events e = { 0 };

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < LINES; i++)
		fprintf(f,
		        "0 1 0 1 2 3 %s 0 %d 2 3 0 1 2 3 4 5 0 0 0 0 0 0 "
		        "0 1 0 1 2 3 1.5 0 4 5 6 0 1 2 3 4 5 0 0 0 0 0 0%*s\n",
		        i % 1000 == 77 ? "1,5" : "1.5", i, i % 50, "");
	fclose(f);
	assert_int_equal(iso_events_read(&e, "a.txt", NULL), ISO_OK);
	assert_int_equal(e.n, LINES - 30);
	assert_int_equal(e.n_lines_bad, 30);
	assert_int_equal(e.first_line_bad, 78);
	for (int64_t i = 0, k = 0; i < LINES; i++)
		if (i % 1000 != 77) assert_true(e.v[k++].p1[0] == (float)i);
	iso_events_free(&e);
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *text, *message;
	} t[] = {
		{ "1 2 3\n", "a.dat:1: 3 columns, expected 46, or 40 for ecat; 1 of 1 lines" },
		{ "\n\n\n", "a.dat: no coincidences" },
		{ TWO "9\n", "a.dat:1: 47 columns" },
		{ SINGLE("5", "x", "1", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "a.dat:1: column 7 is 'x', not a number" },
		{ SINGLE("5", "1", "nan", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "column 9 is 'nan'" },
		{ SINGLE("5", "1", "1e999", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "column 9 is '1e999'" },
		{ SINGLE("5", "1", "0x10", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "column 9 is '0x10'" },
		{ SINGLE("5.5", "1", "1", "2", "3", "0", "0") SINGLE("5.5", "1", "4", "5", "6", "0", "0"),
		  "column 2 is '5.5', not a whole number" },
		{ SINGLE("5", "-1", "1", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "its time is negative" },
		{ SINGLE("5", "1e9", "1", "2", "3", "0", "0") SINGLE("5", "1", "4", "5", "6", "0", "0"),
		  "later than 49 days" },
		{ SINGLE("5", "1", "1", "2", "3", "0", "0") SINGLE("5", "1", "1", "2", "3", "0", "0"),
		  "none of its 1 events is usable" },
	};
	struct iso_events e = { .n = -5 };
	iso_event_file *f = NULL;
	char *line = malloc(1 << 17);

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		assert_int_equal(read_text(&e, t[i].text, NULL), ISO_EINPUT);
		assert_message(t[i].message);
	}
	memset(line, '1', 1 << 17);
	memcpy(line, TWO "\n", sizeof TWO);
	put("a.dat", line, 1 << 17);
	assert_int_equal(iso_events_read(&e, "a.dat", NULL), ISO_EINPUT);
	assert_message("a.dat:2: a line longer than 65536 bytes");
	for (int i = 0; i < 1 << 17; i++) line[i] = (char)(i * 7919 >> 3);
	put("a.dat", line, 1 << 12);
	assert_int_equal(iso_events_read(&e, "a.dat", NULL), ISO_EINPUT);
	assert_message("lines can't be used");
	free(line);
	put_text("a.dat", TWO);
	assert_int_equal(iso_event_file_open(&f, "a.dat", NULL), ISO_EINPUT);
	assert_message("GATE text can't be read piece by piece; convert it first");
	assert_int_equal(e.n, -5);
	files(true);
}

/* Held against strtod: short ones take the other way. */
static void numbers(void **state)
{
	static const char *const good[] = {
		"0",
		"-0",
		"1",
		"+1.",
		".5",
		"-.25e2",
		"0.1",
		"123456789012345678",
		"1e22",
		"1e23",
		"9007199254740993",
		"1.7976931348623157e308",
		"4.9e-324",
		"3.14159265358979323846",
		"1e-400",
		"00000000000000000000000000012.50",
		"1.25E+03",
		"0.000000000000000000001",
		"18446744073709551615",
		"184467440737095516159",
		"59.98312345678901",
	};
	static const char *const bad[] = {
		"",
		"-",
		".",
		"e5",
		"1e",
		"1e+",
		"1 ",
		" 1",
		"1x",
		"inf",
		"nan",
		"0x1",
		"1e309",
		"--1",
		"1.2.3",
		"1,5",
		"1111111111111111111111111111111111111111111111111111111111111111",
	};
	double v;

	(void)state;
	for (int i = 0; i < COUNT(good); i++) {
		assert_true(iso_number(&v, good[i], strlen(good[i])));
		if (v != strtod(good[i], NULL)) fail_msg("%s is %.17g", good[i], v);
	}
	for (int i = 0; i < COUNT(bad); i++) assert_false(iso_number(&v, bad[i], strlen(bad[i])));
}

/* Digits before and behind the point, exponents, and halves between two doubles, which must be told apart by
   their last digit. */
static void many_numbers(void **state)
{
	uint64_t seed = 1;
	char text[80];
	double v;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		int n = 0, digits, point;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		digits = 1 + (int)(seed >> 33) % 26;
		point = (int)(seed >> 43) % (digits + 1);
		for (int k = 0; k < digits; k++) {
			if (k == point) text[n++] = '.';
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[n++] = (char)('0' + (seed >> 40) % (seed >> 60 ? 10 : 1));
		}
		text[n] = 0;
		if (i % 3) n += sprintf(text + n, "e%d", (int)(seed >> 50) % 81 - 40);
		if (i % 5 == 0) { /* half way between 2^53 + 2k and the next */
			uint64_t half = (1ull << 53) + (seed >> 12) % (1ull << 52) * 2 + 1;

			n = sprintf(text, "%" PRIu64 "%s", half, i % 2 ? ".00000" : ".00001");
		}
		text[n] = '\0';
		assert_true(iso_number(&v, text, (size_t)n));
		if (v != strtod(text, NULL)) fail_msg("%s is %.17g", text, v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),      cmocka_unit_test(trues),   cmocka_unit_test(masks),
		cmocka_unit_test(many),         cmocka_unit_test(damaged), cmocka_unit_test(numbers),
		cmocka_unit_test(many_numbers),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
