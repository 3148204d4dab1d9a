/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of events piece by piece: blocks from any place, several threads, writers that grow. */
#include "files.h"

#include <pthread.h>

enum { N = 50000 };

static struct iso_event event(int64_t i)
{
	return (struct iso_event){ { (float)i, 1, 2 }, { -3, 4, 5 + (float)(i % 7) }, (float)(i - 100) };
}

static void write_file(const char *path, int64_t block)
{
	iso_event_writer *w = NULL;
	struct iso_events e = { .v = malloc((size_t)block * sizeof *e.v) };

	assert_int_equal(iso_event_writer_open(&w, path, NULL, 0), ISO_OK);
	for (int64_t i = 0; i < N; i += e.n) {
		e.n = N - i < block ? N - i : block;
		for (int64_t k = 0; k < e.n; k++) e.v[k] = event(i + k);
		assert_int_equal(iso_event_writer_append(w, &e), ISO_OK);
		assert_int_equal(access(path, F_OK), -1);
	}
	assert_int_equal(iso_event_writer_close(w, "{}"), ISO_OK);
	iso_events_free(&e);
}

static void assert_block(const iso_event_file *f, struct iso_events *e, int64_t first, int64_t n)
{
	if (iso_event_file_read(e, f, first, n) != ISO_OK) fail_msg("%s", iso_message());
	assert_int_equal(e->n, n);
	for (int64_t k = 0; k < n; k++) {
		struct iso_event want = event(first + k);

		assert_memory_equal(&e->v[k], &want, sizeof want);
	}
}

static void pieces(const char *path)
{
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	write_file(path, 777);
	assert_int_equal(files(false), 2);
	assert_int_equal(iso_event_file_open(&f, path, NULL), ISO_OK);
	assert_int_equal(iso_event_file_info(f)->n, N);
	assert_true(iso_event_file_info(f)->has_dt && !iso_event_file_info(f)->has_time);
	assert_int_equal(iso_event_file_info(f)->bytes, 28 * N);
	assert_null(iso_event_file_scanner(f));
	assert_int_equal(iso_event_file_block(&e, f, N), ISO_OK);
	assert_block(f, &e, 0, N);
	assert_block(f, &e, N - 1, 1);
	assert_block(f, &e, 12345, 20001);
	assert_block(f, &e, N, 0);
	assert_int_equal(iso_event_file_read(&e, f, N - 1, 2), ISO_EARG);
	assert_message("2 events from number 49999 on asked for, it has 50000");
	assert_int_equal(iso_event_file_read(&e, f, -1, 2), ISO_EARG);
	assert_int_equal(iso_event_file_read(&e, f, 1, INT64_MAX), ISO_EARG);
	assert_int_equal(truncate(path, 28 * 1000), 0);
	assert_int_equal(iso_event_file_read(&e, f, 2000, 2), ISO_EINPUT);
	assert_message("it was longer when it was opened");
	iso_event_file_close(f);
	iso_event_file_close(NULL);
	iso_events_free(&e);
	files(true);
}

static void lmdt(void **state)
{
	(void)state;
	pieces("a.lmdT");
}

static void npy(void **state)
{
	(void)state;
	pieces("a.npy");
}

struct job {
	const iso_event_file *f;
	int64_t first;
	bool good;
};

static void *reader(void *arg)
{
	struct job *j = arg;
	struct iso_events e = { 0 };

	j->good = iso_event_file_block(&e, j->f, 1000) == ISO_OK;
	for (int64_t i = j->first; i + 1000 <= N && j->good; i += 3000) {
		j->good = iso_event_file_read(&e, j->f, i, 1000) == ISO_OK;
		for (int64_t k = 0; k < 1000; k++) j->good = j->good && e.v[k].dt_ps == event(i + k).dt_ps;
	}
	/* a failure on this thread leaves the others' message alone */
	j->good = j->good && iso_event_file_read(&e, j->f, N + j->first, 1) == ISO_EARG;
	iso_events_free(&e);
	return NULL;
}

static void threads(void **state)
{
	iso_event_file *f = NULL;
	struct job job[3];
	pthread_t t[3];

	(void)state;
	write_file("a.lmdT", N);
	assert_int_equal(iso_event_file_open(&f, "missing.lmdT", NULL), ISO_EINPUT);
	assert_int_equal(iso_event_file_open(&f, "a.lmdT", NULL), ISO_OK);
	for (int i = 0; i < 3; i++) {
		job[i] = (struct job){ f, 1000 * i, false };
		assert_int_equal(pthread_create(&t[i], NULL, reader, &job[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		assert_true(job[i].good);
	}
	assert_message("missing.lmdT: No such file");
	iso_event_file_close(f);
	files(true);
}

static void writers(void **state)
{
	struct iso_event v = event(1);
	struct iso_events e = { .n = 1, .v = &v };
	iso_event_writer *w = NULL;

	(void)state;
	assert_int_equal(iso_event_writer_open(&w, "a.txt", NULL, 0), ISO_EARG);
	assert_message("a.txt: unknown suffix for events; one of .lmdT .Cdh .petsird .npy");
	assert_int_equal(iso_event_writer_open(&w, "a.Cdh", NULL, 0), ISO_EARG);
	assert_message("a scanner must say");
	assert_int_equal(iso_event_writer_open(&w, "a.lmdT", NULL, INT64_MAX / 28), ISO_EIO);
	assert_message("its disk has");
	assert_int_equal(iso_event_writer_open(&w, "a.lmdT", NULL, INT64_MAX), ISO_EARG);
	assert_null(w);
	assert_int_equal(files(false), 0);

	assert_int_equal(iso_event_writer_open(&w, "a.npy", NULL, 1), ISO_OK);
	assert_int_equal(iso_event_writer_append(w, &e), ISO_OK);
	iso_event_writer_free(w);
	assert_int_equal(files(false), 0);

	assert_int_equal(iso_event_writer_open(&w, "a.npy", NULL, 1), ISO_OK);
	assert_int_equal(iso_event_writer_close(w, NULL), ISO_EARG);
	assert_message("a.npy: 0 events to write");
	assert_int_equal(files(false), 0);
}

/* Blocks of one CASToR file must not differ in what they hold. */
static void blocks_differ(void **state)
{
	static const char ring[] = "kind: cylinder\nradius_mm: 100\nrings: 2\nring_pitch_mm: 10\n"
				   "crystals_per_ring: 8\ntof: {fwhm_ps: 300}\n";
	struct iso_event v = event(1);
	uint32_t time = 3;
	struct iso_events plain = { .n = 1, .v = &v }, timed = { .n = 1, .v = &v, .time_ms = &time };
	iso_event_writer *w = NULL;
	iso_scanner *s = NULL;

	(void)state;
	put_text("ring.yaml", ring);
	assert_int_equal(iso_scanner_read(&s, "ring.yaml"), ISO_OK);
	files(true);
	assert_int_equal(iso_event_writer_open(&w, "a.Cdh", s, 0), ISO_OK);
	assert_int_equal(iso_event_writer_append(w, &plain), ISO_OK);
	assert_int_equal(iso_event_writer_append(w, &timed), ISO_EARG);
	assert_message("other values than the first one");
	iso_event_writer_free(w);
	assert_int_equal(files(false), 0);
	iso_scanner_free(s);
}

static void crystals(void **state)
{
	static const char ring[] = "kind: cylinder\nradius_mm: 100\nrings: 1\nring_pitch_mm: 10\n"
				   "crystals_per_ring: 4\n";
	struct iso_event v[2] = { { { 70, 72, 0 }, { -71, -71, 1 }, 0 }, { { NAN, 0, 0 }, { 0 }, 0 } };
	struct iso_events e = { .n = 2, .v = v };
	iso_scanner *s = NULL;
	double most = -1;

	(void)state;
	put_text("ring.yaml", ring);
	assert_int_equal(iso_scanner_read(&s, "ring.yaml"), ISO_OK);
	assert_int_equal(iso_events_crystals(&e, &most, s), ISO_OK);
	assert_int_equal(e.crystal[0], 0);
	assert_int_equal(e.crystal[1], 2);
	assert_near(most, hypot(72 - 50 * sqrt(2), 50 * sqrt(2) - 70), 1e-6);
	free(e.crystal);
	iso_scanner_free(s);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lmdt),    cmocka_unit_test(npy),           cmocka_unit_test(threads),
		cmocka_unit_test(writers), cmocka_unit_test(blocks_differ), cmocka_unit_test(crystals),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
