/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of strip events: round trips, units, damage, pipes, and files that grow. */
#define _GNU_SOURCE
#include "files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static const struct iso_strip_event some[] = {
	{ 30, -20, -50 },
	{ 140.123459f, 20.5f, -60 },
	{ -155, 60, 1e-3f },
	{ 0, 0, 0 },
};

static void assert_same(const struct iso_strip_events *e, const struct iso_strip_event *v, int n)
{
	assert_int_equal(e->n, n);
	for (int i = 0; i < n; i++) {
		assert_true(e->v[i].z_up == v[i].z_up);
		assert_true(e->v[i].z_down == v[i].z_down);
		assert_true(e->v[i].dl == v[i].dl);
	}
}

static void refused(const char *path, const char *message)
{
	struct iso_strip_events e = { .n = -5 };
	int st = iso_strip_events_read(&e, path, NULL);

	if (st != ISO_EINPUT) fail_msg("%s: status %d, wanted a message with \"%s\"", path, st, message);
	assert_message(message);
	assert_int_equal(e.n, -5);
}

static void round_trips(void **state)
{
	static const char *const names[] = { "e.f32", "e.raw", "e.txt", "e.npy", "E.F32" };
	struct iso_strip_events e = { .n = COUNT(some), .v = (struct iso_strip_event *)some };

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		struct iso_strip_events f = { 0 };

		assert_int_equal(iso_strip_events_write_check(names[i], false), ISO_OK);
		assert_int_equal(iso_strip_events_write(names[i], &e, "{}"), ISO_OK);
		assert_int_equal(iso_strip_events_write_check(names[i], false), ISO_EARG);
		assert_int_equal(iso_strip_events_read(&f, names[i], NULL), ISO_OK);
		assert_same(&f, some, COUNT(some));
		assert_int_equal(f.n_bad, 0);
		iso_strip_events_free(&f);
		iso_strip_events_free(&f);
		assert_int_equal(files(true), 2);
	}
}

/* A .npy of one preamble and the bytes of its elements. */
static void put_npy(const char *dict, const char *data, size_t bytes)
{
	char file[128 + 64];

	memset(file, ' ', 128);
	memcpy(file, "\x93NUMPY\1\0v\0", 10); /* v: 118 bytes of header */
	memcpy(file + 10, dict, strlen(dict));
	memcpy(file + 128, data, bytes);
	put("a.npy", file, 128 + bytes);
}

/* In the other byte order, and as integers. */
static void any_numbers_in_npy(void **state)
{
	struct iso_strip_events e = { 0 };

	(void)state;
	put_npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1, 3)}",
	        "\x40\x24\0\0\0\0\0\0\xc0\x24\0\0\0\0\0\0\x40\x59\0\0\0\0\0\0", 24);
	assert_int_equal(iso_strip_events_read(&e, "a.npy", NULL), ISO_OK);
	assert_same(&e, &(struct iso_strip_event){ 10, -10, 100 }, 1);
	iso_strip_events_free(&e);
	put_npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3)}", "\1\2\3\377\376\375", 6);
	assert_int_equal(iso_strip_events_read(&e, "a.npy", NULL), ISO_OK);
	assert_same(&e, (struct iso_strip_event[]){ { 1, 2, 3 }, { -1, -2, -3 } }, 2);
	iso_strip_events_free(&e);
	put_npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}", "\1\2\3\377\376\375", 6);
	refused("a.npy", "Fortran order");
	files(true);
}

/* Metres, and dl = c (t_up - t_down) with c = 0.299792458 mm/ps: the emission is nearer to the
   lower strip if the upper photon comes later. */
static void units(void **state)
{
	struct iso_strip_options o = { .size = sizeof o, .mm = 1000 };
	struct iso_strip_events e = { 0 };

	(void)state;
	put_text("a.txt", "0.1 -0.05 0.02\n");
	assert_int_equal(iso_strip_events_read(&e, "a.txt", &o), ISO_OK);
	assert_same(&e, &(struct iso_strip_event){ 100, -50, 20 }, 1);
	iso_strip_events_free(&e);
	o = (struct iso_strip_options){ .size = sizeof(struct iso_strip_options),
		                        .mm = 10,
		                        .dl_is_time = true };
	put_text("a.txt", "10 -5 1000\n");
	assert_int_equal(iso_strip_events_read(&e, "a.txt", &o), ISO_OK);
	assert_same(&e, &(struct iso_strip_event){ 100, -50, 299.792458f }, 1);
	iso_strip_events_free(&e);
	o.mm = NAN;
	assert_int_equal(iso_strip_events_read(&e, "a.txt", &o), ISO_EARG);
	assert_message("unit of length is nan mm");
	files(true);
}

static void text(void **state)
{
	struct iso_strip_events e = { 0 };

	(void)state;
	put_text("a.txt", "# z_up z_down dl\n\n 30\t-20 -5e1 # one\r\n140.123459 20.5 -60\n"
	                  "nan 1 2\n1 -Inf 2\n-155 60 0.001\n0 0 0");
	assert_int_equal(iso_strip_events_read(&e, "a.txt", NULL), ISO_OK);
	assert_int_equal(e.n, 6);
	assert_int_equal(e.n_bad, 2);
	assert_true(iso_strip_event_bad(&e.v[2]) && iso_strip_event_bad(&e.v[3]));
	memmove(e.v + 2, e.v + 4, 2 * sizeof *e.v);
	e.n = 4;
	assert_same(&e, some, 4);
	iso_strip_events_free(&e);
	files(true);
}

static void damaged_floats(void **state)
{
	float absurd[3] = { 1e6f, 0, 0 }, tiny[3] = { 1e-9f, 0, 0 };
	float bad[2][3] = { { NAN, 0, 0 }, { 1, 2, INFINITY } };
	static unsigned char raw[1200];

	(void)state;
	refused("a.f32", "No such file");
	refused(".", "is a folder");
	put_text("a.csv", "1 2 3\n");
	refused("a.csv", "a.csv: unknown suffix for strip events; one of .npy .raw .f32 .txt");
	put("a.f32", "", 0);
	refused("a.f32", "is empty");
	put("a.f32", raw, 100);
	refused("a.f32", "100 bytes are not a whole number of 12-byte events: 4 left over");
	put("a.f32", absurd, sizeof absurd);
	refused("a.f32", "values up to 1e+06 mm; wrong byte order or unit?");
	put("a.f32", tiny, sizeof tiny);
	refused("a.f32", "values up to 1e-09 mm");
	put("a.f32", bad, sizeof bad);
	refused("a.f32", "none of its 2 events is usable");
	assert_int_equal(get(TEST_DATA "/jpet/events.f32", raw, sizeof raw), sizeof raw);
	for (size_t i = 0; i < sizeof raw; i += 4)
		for (size_t k = 0; k < 2; k++) {
			unsigned char t = raw[i + k];

			raw[i + k] = raw[i + 3 - k];
			raw[i + 3 - k] = t;
		}
	put("a.f32", raw, sizeof raw);
	refused("a.f32", "wrong byte order");
	files(true);
}

static void damaged_text(void **state)
{
	static char longer[5001];
	static const struct {
		const char *text, *message;
	} table[] = {
		{ "", "no events" },
		{ "# none\n\n", "no events" },
		{ "1 2\n", "a.txt:1: 2 numbers, expected 3" },
		{ "1 2 3\n1 2 3 4\n", "a.txt:2: 4 numbers, expected 3" },
		{ "1 2 3\n\n1 x\033 3\n", "a.txt:3: 'x?' is not a number" },
		{ "1 2 0x3\n", "'0x3' is not a number" },
		{ "1,2,3\n", "'1,2,3' is not a number" },
		{ "1 2 1e999\n", "is not a number" },
		{ "1e7 2 3\n", "values up to 1e+07 mm" },
	};

	(void)state;
	for (int i = 0; i < COUNT(table); i++) {
		put_text("a.txt", table[i].text);
		refused("a.txt", table[i].message);
	}
	put("a.txt", "1 2 3\0\n", 7);
	refused("a.txt", "is not a number");
	memset(longer, ' ', 5000);
	put_text("a.txt", longer);
	refused("a.txt", "a.txt:1: a line longer than 4096 bytes");
	files(true);
}

static void damaged_npy(void **state)
{
	struct iso_array a = { 0 };
	struct iso_strip_events none = { 0 };
	iso_strip_file *f = NULL;

	(void)state;
	assert_int_equal(iso_array_create(&a, 2, (int64_t[]){ 5, 4 }), ISO_OK);
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	iso_array_free(&a);
	refused("a.npy", "need an array (n, 3)");
	put_text("a.npy", "no such thing");
	refused("a.npy", "not a .npy file");
	assert_int_equal(iso_strip_file_open(&f, "a.npy", NULL, true), ISO_EINPUT);
	assert_message("counts its rows");
	assert_null(f);
	assert_int_equal(iso_strip_events_write("b.npy", &none, NULL), ISO_EARG);
	assert_message("0 events to write");
	assert_int_equal(iso_strip_events_write("b.csv", &none, NULL), ISO_EARG);
	assert_message("unknown suffix");
	assert_int_equal(files(true), 1);
}

static int next(struct iso_strip_events *b, bool *end, iso_strip_file *f, int64_t most, double wait)
{
	int st = iso_strip_file_next(b, end, f, most, wait);

	if (st) print_error("%s\n", iso_message());
	return st;
}

/* Blocks of seven: the same events, the last block shorter, then the end. */
static void in_pieces(void **state)
{
	static struct iso_strip_event room[7];
	struct iso_strip_events whole = { 0 }, b = { .v = room };
	iso_strip_file *f = NULL;
	int64_t n = 0;
	bool end = false;

	(void)state;
	assert_int_equal(iso_strip_events_read(&whole, TEST_DATA "/jpet/events.f32", NULL), ISO_OK);
	assert_int_equal(whole.n, 100000);
	assert_int_equal(iso_strip_file_open(&f, TEST_DATA "/jpet/events.f32", NULL, false), ISO_OK);
	while (next(&b, &end, f, 7, 0) == ISO_OK && !end) {
		assert_memory_equal(room, whole.v + n, (size_t)b.n * sizeof *room);
		n += b.n;
	}
	assert_int_equal(n, whole.n);
	assert_int_equal(iso_strip_file_next(&b, &end, f, 0, 0), ISO_EARG);
	iso_strip_file_close(f);
	iso_strip_events_free(&whole);
}

static void append(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

/* Half an event is none; its other half makes it one. */
static void growing(void **state)
{
	struct iso_strip_event room[8];
	struct iso_strip_events b = { .v = room };
	const char *raw = (const char *)some;
	iso_strip_file *f = NULL;
	bool end;

	(void)state;
	append("a.f32", raw, 0);
	assert_int_equal(iso_strip_file_open(&f, "a.f32", NULL, true), ISO_OK);
	assert_int_equal(next(&b, &end, f, 8, .03), ISO_OK);
	assert_true(b.n == 0 && !end);
	append("a.f32", raw, 17);
	assert_int_equal(next(&b, &end, f, 8, 0), ISO_OK);
	assert_same(&b, some, 1);
	assert_int_equal(next(&b, &end, f, 8, 0), ISO_OK);
	assert_true(b.n == 0 && !end);
	append("a.f32", raw + 17, sizeof some - 17);
	assert_int_equal(next(&b, &end, f, 2, 0), ISO_OK);
	assert_same(&b, some + 1, 2);
	assert_int_equal(next(&b, &end, f, 2, 0), ISO_OK);
	assert_same(&b, some + 3, 1);
	assert_int_equal(truncate("a.f32", 12), 0);
	assert_int_equal(iso_strip_file_next(&b, &end, f, 8, 0), ISO_EINPUT);
	assert_message("became shorter");
	iso_strip_file_close(f);

	append("a.txt", "1 2 3\n4 5", 9);
	assert_int_equal(iso_strip_file_open(&f, "a.txt", NULL, true), ISO_OK);
	assert_int_equal(next(&b, &end, f, 8, 0), ISO_OK);
	assert_same(&b, &(struct iso_strip_event){ 1, 2, 3 }, 1);
	append("a.txt", "5 6\n", 4);
	assert_int_equal(next(&b, &end, f, 8, 0), ISO_OK);
	assert_same(&b, &(struct iso_strip_event){ 4, 55, 6 }, 1);
	iso_strip_file_close(f);
	files(true);
}

/* Writes `bytes` of the events a few at a time to a named pipe. */
static pid_t feed(const char *path, size_t bytes)
{
	pid_t child = fork();

	if (child != 0) return child;

	int fd = open(path, O_WRONLY);

	for (size_t i = 0; i < bytes; i += 5)
		if (write(fd, (const char *)some + i, bytes - i < 5 ? bytes - i : 5) < 0) _exit(1);
	_exit(0);
}

/* Nothing before there is a writer, all of its events, its end; never a wait without bound. */
static void pipes(void **state)
{
	struct iso_strip_event room[8];
	struct iso_strip_events b = { .v = room }, e = { .v = calloc(8, sizeof *room) };
	iso_strip_file *f = NULL;
	bool end;
	pid_t child;

	(void)state;
	assert_int_equal(mkfifo("events", 0600), 0);
	assert_int_equal(iso_strip_file_open(&f, "events", NULL, true), ISO_OK);
	assert_int_equal(next(&b, &end, f, 8, .02), ISO_OK);
	assert_true(b.n == 0 && !end);
	child = feed("events", sizeof some);
	for (end = false; !end;) {
		assert_int_equal(next(&b, &end, f, 8, 5), ISO_OK);
		assert_true(b.n > 0 || end);
		memcpy(e.v + e.n, room, (size_t)b.n * sizeof *room);
		e.n += b.n;
		assert_true(e.n <= COUNT(some));
	}
	assert_same(&e, some, COUNT(some));
	iso_strip_file_close(f);
	iso_strip_events_free(&e);
	waitpid(child, NULL, 0);

	child = feed("events", sizeof some - 4);
	assert_int_equal(iso_strip_events_read(&e, "events", NULL), ISO_EINPUT);
	assert_message("ends within event 3: 8 of its 12 bytes are there");
	waitpid(child, NULL, 0);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),    cmocka_unit_test(any_numbers_in_npy),
		cmocka_unit_test(units),          cmocka_unit_test(text),
		cmocka_unit_test(damaged_floats), cmocka_unit_test(damaged_text),
		cmocka_unit_test(damaged_npy),    cmocka_unit_test(in_pieces),
		cmocka_unit_test(growing),        cmocka_unit_test(pipes),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
