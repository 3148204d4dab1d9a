/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of events of several blocks, by one thread or many: the same events, hash and messages, a file that was
   cut short, damage in its last event, and a request to stop. */
#include "files.h"
#include "io/events.h"
#include "io/format.h"
#include "io/kinds.h"
#include "file/hash.h"

#include <fcntl.h>

enum { N = 40000, MIDDLE = 25000 }; /* events: more than two blocks in every format */

static const int threads[] = { 1, 2, 5 };

static iso_ctx *context(int n)
{
	iso_ctx *ctx = NULL;

	assert_int_equal(iso_ctx_create(&ctx, "cpu", n), ISO_OK);
	return ctx;
}

/* ---- the files ---- */

static struct iso_event event(int64_t i)
{
	return (struct iso_event){ { (float)(i % 300), 1, 2 },
		                   { -3, 4, 5 + (float)(i % 7) },
		                   (float)(i % 900) };
}

static void make_rows(const char *path)
{
	struct iso_events e = { .n = N, .v = malloc(N * sizeof *e.v) };

	assert_non_null(e.v);
	for (int64_t i = 0; i < N; i++) e.v[i] = event(i);
	assert_int_equal(iso_events_write(path, &e, NULL), ISO_OK);
	iso_events_free(&e);
}

/* Crystals 0 to 3, and a factor of attenuation. */
struct record {
	uint32_t time_ms;
	float attenuation;
	uint32_t crystal[2];
};

static void make_castor(const char *path)
{
	static const float lut[4][6] = {
		{ 100, 0, 0, 1 }, { -100, 0, 0, -1 }, { 0, 100, 30 }, { 0, -100, 30 }
	};
	struct record *r = calloc(N, sizeof *r);

	assert_non_null(r);
	for (int i = 0; i < N; i++)
		r[i] = (struct record){ (uint32_t)i, 1.5f, { (uint32_t)i % 2, 2 + (uint32_t)i / 2 % 2 } };
	put_text("four.hscan",
	         "modality: PET\nscanner name: four\nnumber of elements: 4\nnumber of layers: 1\n");
	put("four.lut", lut, sizeof lut);
	put_text(path, "Data filename: a.Cdf\nData type: PET\nScanner name: four\nNumber of events: 40000\n"
	               "Duration (s): 10\nData mode: list-mode\nAttenuation correction flag: 1\n");
	put("a.Cdf", r, N * sizeof *r);
	free(r);
}

static void make_gate(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (int i = 0; i < N; i++)
		fprintf(f,
		        "0 %d 0 1 2 3 %.19e 0.511 %d.25 2 3 0 1 2 3 4 5 0 0 0 0 0 0 "
		        "0 %d 0 1 2 3 %.19e 0.511 -4 5 6 0 1 2 3 4 5 0 0 0 0 0 0%*s\n",
		        i, 1e-3 * i / 3, i % 300, i, 1e-3 * i / 3 + 1e-10, i % 50, "");
	assert_int_equal(fclose(f), 0);
}

static const struct {
	const char *path, *records; /* records: the file that holds them */
	void (*make)(const char *path);
} formats[] = {
	{ "a.lmdT", "a.lmdT", make_rows },
	{ "a.npy", "a.npy", make_rows },
	{ "a.Cdh", "a.Cdf", make_castor },
	{ "a.dat", "a.dat", make_gate },
};

static void make_strips(const char *path)
{
	struct iso_strip_events e = { .n = N, .v = malloc(N * sizeof *e.v) };

	assert_non_null(e.v);
	for (int i = 0; i < N; i++)
		e.v[i] = (struct iso_strip_event){ (float)(i % 300) + .125f, (float)(-i % 200), 7 };
	assert_int_equal(iso_strip_events_write(path, &e, NULL), ISO_OK);
	iso_strip_events_free(&e);
}

static const char *const strips[] = { "a.f32", "s.npy", "a.txt" };

static int read_file(struct iso_events *e, struct iso_hash *h, int k, const iso_ctx *ctx)
{
	return iso_events_read_hashed(
		e, h, formats[k].path,
		&(struct iso_events_options){ .size = sizeof(struct iso_events_options), .ctx = ctx });
}

static int read_strips(struct iso_strip_events *e, struct iso_hash *h, const char *path, const iso_ctx *ctx)
{
	return iso_strip_events_read_hashed(
		e, h, path,
		&(struct iso_strip_options){ .size = sizeof(struct iso_strip_options), .ctx = ctx });
}

static void same_bytes(const void *a, const void *b, size_t bytes)
{
	assert_int_equal(!a, !b);
	if (a) assert_memory_equal(a, b, bytes);
}

/* Other bytes from `at` on; negative: from the end. */
static void patch(const char *path, long at, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "r+b");

	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void cut(const char *path, long bytes)
{
	struct stat s;

	assert_int_equal(stat(path, &s), 0);
	assert_int_equal(truncate(path, s.st_size - bytes), 0);
}

/* ---- the same for any number of threads ---- */

static void same_events(void **state)
{
	(void)state;
	for (int k = 0; k < COUNT(formats); k++) {
		struct iso_events one = { 0 }, e = { 0 };
		struct iso_hash of_file, h;

		formats[k].make(formats[k].path);
		assert_int_equal(iso_hash_file(&of_file, formats[k].records, NULL), ISO_OK);
		assert_int_equal(iso_events_read(&one, formats[k].path, NULL), ISO_OK);
		assert_int_equal(one.n, N);
		for (int i = 0; i < COUNT(threads); i++) {
			iso_ctx *ctx = context(threads[i]);

			assert_int_equal(read_file(&e, &h, k, ctx), ISO_OK);
			assert_int_equal(e.n, N);
			same_bytes(e.v, one.v, N * sizeof *e.v);
			same_bytes(e.time_ms, one.time_ms, N * sizeof *e.time_ms);
			same_bytes(e.mult, one.mult, N * sizeof *e.mult);
			same_bytes(e.crystal, one.crystal, 2 * N * sizeof *e.crystal);
			assert_string_equal(h.path, formats[k].records);
			assert_true(h.value == of_file.value && h.bytes == of_file.bytes && !h.sampled);
			iso_events_free(&e);
			iso_ctx_free(ctx);
		}
		iso_events_free(&one);
		files(true);
	}
}

static void same_strips(void **state)
{
	(void)state;
	for (int k = 0; k < COUNT(strips); k++) {
		struct iso_strip_events one = { 0 }, e = { 0 };
		struct iso_hash of_file, h;

		make_strips(strips[k]);
		assert_int_equal(iso_hash_file(&of_file, strips[k], NULL), ISO_OK);
		assert_int_equal(iso_strip_events_read(&one, strips[k], NULL), ISO_OK);
		assert_int_equal(one.n, N);
		for (int i = 0; i < COUNT(threads); i++) {
			iso_ctx *ctx = context(threads[i]);

			assert_int_equal(read_strips(&e, &h, strips[k], ctx), ISO_OK);
			assert_int_equal(e.n, N);
			same_bytes(e.v, one.v, N * sizeof *e.v);
			assert_string_equal(h.path, strips[k]);
			assert_true(h.value == of_file.value && h.bytes == of_file.bytes);
			iso_strip_events_free(&e);
			iso_ctx_free(ctx);
		}
		iso_strip_events_free(&one);
		files(true);
	}
}

/* ---- damage: the first that stands in the file, in the same words ---- */

static void refused(int k, const char *message)
{
	for (int i = 0; i < COUNT(threads); i++) {
		struct iso_events e = { .n = -5 };
		struct iso_hash h;
		iso_ctx *ctx = context(threads[i]);

		assert_int_equal(read_file(&e, &h, k, ctx), ISO_EINPUT);
		assert_string_equal(iso_message(), message);
		assert_int_equal(e.n, -5);
		iso_ctx_free(ctx);
	}
}

static void strips_refused(const char *path, const char *message)
{
	for (int i = 0; i < COUNT(threads); i++) {
		struct iso_strip_events e = { .n = -5 };
		struct iso_hash h;
		iso_ctx *ctx = context(threads[i]);

		assert_int_equal(read_strips(&e, &h, path, ctx), ISO_EINPUT);
		assert_string_equal(iso_message(), message);
		assert_int_equal(e.n, -5);
		iso_ctx_free(ctx);
	}
}

static void cut_short(void **state)
{
	(void)state;
	for (int k = 0; k < COUNT(formats); k++) formats[k].make(formats[k].path);
	for (int k = 0; k < COUNT(strips); k++) make_strips(strips[k]);
	for (int k = 0; k < 3; k++) cut(formats[k].records, 3);
	for (int k = 0; k < COUNT(strips); k++) cut(strips[k], 3);
	refused(0, "a.lmdT: 1119997 bytes are not a whole number of 28-byte events: 25 left over");
	refused(1, "a.npy: 1120128 bytes expected, the file has 1120125");
	refused(2, "a.Cdf: 639997 bytes, its header says 40000 events of 16 bytes, 640000; a wrong flag?");
	strips_refused("a.f32", "a.f32: 479997 bytes are not a whole number of 12-byte events: 9 left over");
	strips_refused("s.npy", "s.npy: 480128 bytes expected, the file has 480125");
	strips_refused("a.txt", "a.txt:40000: 2 numbers, expected 3: z_up z_down dl");
	files(true);
}

/* A line of text that is not whole is one that can't be used. */
static void text_cut_short(void **state)
{
	(void)state;
	make_gate("a.dat");
	cut("a.dat", 80);
	for (int i = 0; i < COUNT(threads); i++) {
		struct iso_events e = { 0 };
		iso_ctx *ctx = context(threads[i]);

		assert_int_equal(read_file(&e, NULL, 3, ctx), ISO_OK);
		assert_int_equal(e.n, N - 1);
		assert_int_equal(e.n_lines_bad, 1);
		assert_int_equal(e.first_line_bad, N);
		iso_events_free(&e);
		iso_ctx_free(ctx);
	}
	files(true);
}

/* Where NaN is an event that is left out. */
static void last_is_nan(void **state)
{
	const float nan = NAN;

	(void)state;
	make_rows("a.lmdT");
	make_rows("a.npy");
	make_strips("a.f32");
	patch("a.lmdT", -28, &nan, 4);
	patch("a.npy", -8, &nan, 4);
	patch("a.f32", -4, &nan, 4);
	for (int i = 0; i < COUNT(threads); i++) {
		iso_ctx *ctx = context(threads[i]);
		struct iso_strip_events s = { 0 };
		struct iso_events e = { 0 };

		for (int k = 0; k < 2; k++) {
			assert_int_equal(read_file(&e, NULL, k, ctx), ISO_OK);
			assert_int_equal(e.n_bad, 1);
			assert_true(iso_event_bad(e.v + N - 1) && !iso_event_bad(e.v + N - 2));
			iso_events_free(&e);
		}
		assert_int_equal(read_strips(&s, NULL, "a.f32", ctx), ISO_OK);
		assert_int_equal(s.n_bad, 1);
		iso_strip_events_free(&s);
		iso_ctx_free(ctx);
	}
	files(true);
}

/* Where it is refused. */
static void last_is_wrong(void **state)
{
	const float nan = NAN;
	const uint32_t nine = 9;

	(void)state;
	make_castor("a.Cdh");
	patch("a.Cdf", -12, &nan, 4);
	refused(2, "a.Cdf: event 39999: correction factor is nan, must be finite and not negative; a wrong "
	           "flag?");
	patch("a.Cdf", MIDDLE * 16 + 8, &nine, 4);
	refused(2, "a.Cdf: event 25000: crystal 9, scanner four has crystals 0 to 3");
	make_strips("a.txt");
	patch("a.txt", -3, " x", 2);
	strips_refused("a.txt", "a.txt:40000: 'x' is not a number");
	files(true);
}

/* Of lines that can't be used the first is told. */
static void line_numbers(void **state)
{
	char *text = malloc(1 << 24), *p;
	size_t n;

	(void)state;
	assert_non_null(text);
	make_gate("a.dat");
	n = get("a.dat", text, 1 << 24);
	p = text;
	for (int line = 1; line < MIDDLE; line++) p = memchr(p, '\n', n) + 1;
	*p = 'x'; /* the first column of line MIDDLE */
	for (int line = MIDDLE; line < N; line++) p = memchr(p, '\n', n) + 1;
	*p = 'x';
	put("a.dat", text, n);
	free(text);
	for (int i = 0; i < COUNT(threads); i++) {
		struct iso_events e = { 0 };
		iso_ctx *ctx = context(threads[i]);

		assert_int_equal(read_file(&e, NULL, 3, ctx), ISO_OK);
		assert_int_equal(e.n, N - 2);
		assert_int_equal(e.n_lines_bad, 2);
		assert_int_equal(e.first_line_bad, MIDDLE);
		iso_events_free(&e);
		iso_ctx_free(ctx);
	}
	files(true);
}

/* A line that is too long is told by its number, wherever blocks begin and end. */
static void too_long(void **state)
{
	(void)state;
	for (int at = 10000; at < N; at += 9001) {
		FILE *f = fopen("a.txt", "w");
		char message[100];

		assert_non_null(f);
		for (int i = 1; i < N; i++) fprintf(f, i == at ? "%5000d\n" : "%d 2 3\n", i % 300);
		assert_int_equal(fclose(f), 0);
		snprintf(message, sizeof message, "a.txt:%d: a line longer than 4096 bytes, not strip events",
		         at);
		strips_refused("a.txt", message);
	}
	files(true);
}

/* ---- a request to stop ---- */

static void stops(void **state)
{
	iso_ctx *ctx = context(2);
	struct iso_array a = small_image(), b = { .n = -5 };
	struct iso_strip_events s = { .n = -5 };
	struct iso_events e = { .n = -5 };
	struct iso_hash h;

	(void)state;
	for (int k = 0; k < COUNT(formats); k++) formats[k].make(formats[k].path);
	for (int k = 0; k < COUNT(strips); k++) make_strips(strips[k]);
	assert_int_equal(iso_write("x.nii", &a, NULL), ISO_OK);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	int held = open("pipe", O_RDWR); /* a writer who writes nothing */
	int before = files(false);

	iso_ctx_cancel(ctx);
	for (int k = 0; k < COUNT(formats); k++) {
		assert_int_equal(read_file(&e, &h, k, ctx), ISO_ECANCEL);
		assert_message("interrupted");
		assert_int_equal(e.n, -5);
	}
	for (int k = 0; k < COUNT(strips); k++)
		assert_int_equal(read_strips(&s, &h, strips[k], ctx), ISO_ECANCEL);
	assert_int_equal(read_strips(&s, &h, "pipe", ctx), ISO_ECANCEL);
	assert_int_equal(s.n, -5);
	assert_int_equal(iso_hash_file(&h, "a.lmdT", ctx), ISO_ECANCEL);
	assert_int_equal(iso_read_within(&b, ctx, "x.nii", ISO_FINITE), ISO_ECANCEL);
	assert_int_equal(b.n, -5);
	assert_int_equal(iso_write_on(ctx, "y.nii.gz", &a, "{}"), ISO_ECANCEL);
	assert_int_equal(iso_write_on(ctx, "y.npy", &a, "{}"), ISO_ECANCEL);
	assert_int_equal(files(false), before);
	iso_ctx_clear_cancel(ctx);
	for (int k = 0; k < COUNT(formats); k++) {
		assert_int_equal(read_file(&e, &h, k, ctx), ISO_OK);
		iso_events_free(&e);
	}
	close(held);
	iso_array_free(&a);
	iso_ctx_free(ctx);
	files(true);
}

/* An open file is read on, once the request is taken back. */
static void stops_in_pieces(void **state)
{
	iso_ctx *ctx = context(2);
	const struct iso_events_options o = { .size = sizeof o, .ctx = ctx };
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	make_rows("a.lmdT");
	assert_int_equal(iso_event_file_open(&f, "a.lmdT", &o), ISO_OK);
	assert_int_equal(iso_event_file_block(&e, f, N), ISO_OK);
	iso_ctx_cancel(ctx);
	assert_int_equal(iso_event_file_read(&e, f, 0, N), ISO_ECANCEL);
	iso_ctx_clear_cancel(ctx);
	assert_int_equal(iso_event_file_read(&e, f, 0, N), ISO_OK);
	for (int64_t i = 0; i < N; i++)
		assert_memory_equal(&e.v[i], &(struct iso_event[]){ event(i) }, sizeof *e.v);
	iso_events_free(&e);
	iso_event_file_close(f);
	iso_ctx_free(ctx);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_events),  cmocka_unit_test(same_strips),
		cmocka_unit_test(cut_short),    cmocka_unit_test(text_cut_short),
		cmocka_unit_test(last_is_nan),  cmocka_unit_test(last_is_wrong),
		cmocka_unit_test(line_numbers), cmocka_unit_test(too_long),
		cmocka_unit_test(stops),        cmocka_unit_test(stops_in_pieces),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
