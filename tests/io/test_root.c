/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE's ROOT trees and HDF5 tables: samples by uproot and pandas (tests/data/root) against the numbers they were made
   of, in pieces, by threads; names, trues, the assumed scanner; damage. */
#define _GNU_SOURCE /* memmem */
#include "files.h"
#include "io/root/root_file.h"
#include "scanner/scanner.h"

enum { N = 500, FILE_MOST = 1 << 18 };

#define ROOT TEST_DATA "/root/"
#define OPTIONS(...) (&(struct iso_events_options){ .size = sizeof(struct iso_events_options), __VA_ARGS__ })

/* What this build has not is refused by name. */
static const struct sample {
	const char *name, *library;
	bool there;
} samples[] = {
	{ "coinc-none.root", "", true },          { "coinc-zlib.root", "zlib", true },
#ifdef ISO_LZ4
	{ "coinc-lz4.root", "LZ4", true },
#else
	{ "coinc-lz4.root", "LZ4, which this build does not have; install", false },
#endif
#ifdef ISO_ZSTD
	{ "coinc-zstd.root", "Zstandard", true },
#else
	{ "coinc-zstd.root", "Zstandard, which this build does not have; install", false },
#endif
#ifdef ISO_LZMA
	{ "coinc-lzma.root", "LZMA", true },
#else
	{ "coinc-lzma.root", "LZMA, which this build does not have; install", false },
#endif
	{ "coinc-gate10.root", "", true },
#ifdef ISO_HDF5
	{ "coinc-gate10.hdf5", "", true },
#else
	{ "coinc-gate10.hdf5", "this build has no HDF5", false },
#endif
};

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, ROOT "%s", name);
	return path;
}

/* x1 y1 z1 x2 y2 z2 mm, t1 - t2 ps: the end of a .npy. */
static void expected(double want[N][7])
{
	static char file[1 << 16];
	size_t n = get(path_of("expected.npy"), file, sizeof file), bytes = N * sizeof *want;

	assert_true(n > bytes);
	memcpy(want, file + n - bytes, bytes);
}

static void assert_events(const struct iso_events *e)
{
	static double want[N][7];

	expected(want);
	assert_int_equal(e->n, N);
	assert_int_equal(e->n_bad, 0);
	assert_true(e->time_ms && !e->crystal && !e->count);
	for (int i = 0; i < N; i++) {
		for (int a = 0; a < 3; a++) {
			assert_near((double)e->v[i].p1[a], want[i][a], 1e-4);
			assert_near((double)e->v[i].p2[a], want[i][3 + a], 1e-4);
		}
		assert_near((double)e->v[i].dt_ps, want[i][6], .01); /* s in double, of up to a few */
	}
}

static void all_samples(void **state)
{
	(void)state;
	for (int i = 0; i < COUNT(samples); i++) {
		struct iso_events e = { 0 };
		/* LZ4 does not make reals smaller, so that they are stored plain; numbers of events it does */
		int st = iso_events_read(&e, path_of(samples[i].name),
		                         OPTIONS(.trues_only = !samples[i].there));

		if (!samples[i].there) {
			assert_int_equal(st, ISO_EINPUT);
			assert_message(samples[i].library);
			continue;
		}
		if (st) fail_msg("%s", iso_message());
		assert_events(&e);
		iso_events_free(&e);
	}
}

/* The name does not tell: the content does. */
static void by_content(void **state)
{
	static char file[FILE_MOST];
	struct iso_events e = { 0 };

	(void)state;
	put("x.dat", file, get(path_of("coinc-none.root"), file, sizeof file));
	assert_int_equal(iso_events_read(&e, "x.dat", NULL), ISO_OK);
	assert_events(&e);
	iso_events_free(&e);
	files(true);
}

/* Integers of other columns, as they lie in the baskets. */
static int64_t sum_of(const char *name, const struct root_tree *t, struct root_cache *c)
{
	const struct root_branch *b = root_tree_find(t, name);
	int64_t sum = 0;

	assert_non_null(b);
	assert_int_equal(b->entries, N);
	assert_int_equal(b->baskets, 2);
	assert_true(b->type == 'i' && b->size == 4);
	for (int64_t i = 0; i < N; i++) {
		struct root_basket *basket = NULL;
		struct root_bytes bytes;

		assert_int_equal(root_basket_get(&basket, c, b, i, true, NULL, 0), ISO_OK);
		bytes = (struct root_bytes){ .p = basket->data,
			                     .n = basket->bytes,
			                     .at = 4 * (i - b->first[basket->number]) };
		sum += root_int32(&bytes);
		assert_false(bytes.bad);
		root_basket_put(c, basket);
	}
	return sum;
}

static void integers(void **state)
{
	struct root_file f = { .path = path_of("coinc-none.root") };
	struct root_tree t = { 0 };
	struct root_cache c;
	struct root_key *keys = NULL;
	FILE *file = fopen(f.path, "rb");
	struct stat s;
	int64_t n = 0;

	(void)state;
	assert_non_null(file);
	f.fd = fileno(file);
	assert_int_equal(fstat(f.fd, &s), 0);
	f.size = s.st_size;
	assert_int_equal(root_keys(&keys, &n, &f), ISO_OK);
	assert_int_equal(n, 1);
	assert_string_equal(keys[0].class, "TTree");
	assert_int_equal(root_tree_read(&t, &f, &keys[0]), ISO_OK);
	assert_int_equal(root_cache_begin(&c, &f, 0), ISO_OK); /* keeps nothing */
	assert_int_equal(sum_of("rsectorID1", &t, &c), 4290);
	assert_int_equal(sum_of("crystalID2", &t, &c), 8996);
	root_cache_end(&c);
	assert_null(root_tree_find(&t, "none"));
	root_tree_free(&t);
	free(keys);
	fclose(file);
}

/* Blocks from any place are parts of the whole, also by threads and with little kept of the baskets. */
static void assert_pieces(const char *path, const struct iso_events_options *o)
{
	static const int64_t part[][2] = { { 0, 1 },   { 3, 90 },   { 17, 333 },
		                           { 249, 2 }, { 300, 80 }, { 400, 0 } };
	struct iso_events all = { 0 }, e = { 0 };
	iso_event_file *f = NULL;

	assert_int_equal(iso_events_read(&all, path, o), ISO_OK);
	assert_int_equal(iso_event_file_open(&f, path, o), ISO_OK);
	assert_int_equal(iso_event_file_info(f)->n, all.n);
	assert_int_equal(iso_event_file_block(&e, f, all.n), ISO_OK);
	assert_int_equal(e.n_left_out, all.n_left_out);
	for (int i = 0; i < COUNT(part); i++) {
		int64_t first = part[i][0], n = part[i][1];

		assert_int_equal(iso_event_file_read(&e, f, first, n), ISO_OK);
		assert_memory_equal(e.v, all.v + first, (size_t)n * sizeof *e.v);
		assert_memory_equal(e.time_ms, all.time_ms + first, (size_t)n * sizeof *e.time_ms);
	}
	iso_events_free(&e);
	iso_events_free(&all);
	iso_event_file_close(f);
}

static void pieces(void **state)
{
	iso_ctx *ctx = NULL;

	(void)state;
	assert_int_equal(iso_ctx_create(&ctx, "cpu", 4), ISO_OK);
	for (int i = 0; i < COUNT(samples); i++)
		if (samples[i].there) assert_pieces(path_of(samples[i].name), OPTIONS(.ctx = ctx));
	assert_pieces(path_of("two-trees.root"), OPTIONS(.tree = "MergedCoincidences"));
	assert_pieces(path_of("two-trees.root"),
	              OPTIONS(.tree = "MergedCoincidences", .trues_only = true, .ctx = ctx));
	iso_ctx_free(ctx);
}

/* 40 baskets of 1 to 40 entries, columns of other types; sums by NumPy. */
static void trues(void **state)
{
	static const double want[6] = { 207.23992947,  -1779.92098606, -123.20056644,
		                        -207.23992947, 1779.92098606,  551.65467554 };
	struct iso_events e = { 0 };
	double sum[6] = { 0 }, ms = 0;

	(void)state;
	assert_int_equal(
		iso_events_read(&e, path_of("two-trees.root"), OPTIONS(.tree = "MergedCoincidences")),
		ISO_OK);
	assert_true(e.n == 820 && e.n_left_out == 0);
	assert_near((double)e.v[819].dt_ps, -100, .1);
	iso_events_free(&e);
	assert_int_equal(iso_events_read(&e, path_of("two-trees.root"),
	                                 OPTIONS(.tree = "MergedCoincidences", .trues_only = true)),
	                 ISO_OK);
	assert_true(e.n == 449 && e.n_left_out == 820 - 449);
	for (int64_t i = 0; i < e.n; i++) {
		for (int a = 0; a < 3; a++) {
			sum[a] += (double)e.v[i].p1[a];
			sum[3 + a] += (double)e.v[i].p2[a];
		}
		ms += e.time_ms[i];
	}
	for (int a = 0; a < 6; a++) assert_near(sum[a], want[a], 1e-6);
	assert_near(ms, 184750, 449); /* whole ms, rounded down */
	iso_events_free(&e);
	for (int i = 0; i < COUNT(samples) - 2; i++) { /* of GATE 9 */
		if (!samples[i].there) continue;
		assert_int_equal(iso_events_read(&e, path_of(samples[i].name), OPTIONS(.trues_only = true)),
		                 ISO_OK);
		assert_true(e.n == 401 && e.n_left_out == 99);
		iso_events_free(&e);
	}
	assert_int_equal(iso_events_read(&e, path_of("coinc-gate10.root"), OPTIONS(.trues_only = true)),
	                 ISO_EINPUT);
	assert_message("tree Coincidences has no comptonPhantom1, which trues_only needs");
}

static void refuse(const char *name, const struct iso_events_options *o, int want, const char *message)
{
	struct iso_events e = { 0 };
	int st = iso_events_read(&e, name, o);

	if (st != want)
		fail_msg("%s: status %d (%s), wanted %d with \"%s\"", name, st, st ? iso_message() : "", want,
		         message);
	assert_message(message);
	assert_null(e.v);
}

/* A copy of coinc-none.root; what follows the name of a leaf is the length of its array, bytes of a number, offset, range,
   whether it has no sign. */
static uint8_t copied[FILE_MOST];
enum { LEAF_LENGTH = 3, LEAF_UNSIGNED = 13 };

static void change_leaf(size_t n, const char *name, int at, int value)
{
	uint8_t *p = copied;

	/* in its branch name and title, in its leaf both */
	for (int i = 0; i < 4; i++)
		assert_non_null(p = memmem(p + 1, n - (size_t)(p + 1 - copied), name, strlen(name)));
	p[(int)strlen(name) + at] = (uint8_t)value;
	put("x.root", copied, n);
}

/* The first basket's numbers of a column, all -1, or 2^32 - 1. */
static void fill_basket(size_t n, const char *name)
{
	enum { ENTRIES = 300, TO_DATA = 66 };
	char key[64];
	int length = snprintf(key, sizeof key, "\7TBasket\10%s", name);
	uint8_t *p = memmem(copied, n, key, (size_t)length);

	assert_non_null(p);
	memset(p + TO_DATA, 0xff, (size_t)ENTRIES * 4);
}

static int64_t count_trues(void)
{
	struct iso_events e = { 0 };

	assert_int_equal(iso_events_read(&e, "x.root", OPTIONS(.trues_only = true)), ISO_OK);
	int64_t n = e.n;

	iso_events_free(&e);
	return n;
}

/* Photons of one decay have the same number of event: -1 and 2^32 - 1 are two. */
static void unsigned_leaves(void **state)
{
	size_t n = get(path_of("coinc-none.root"), copied, sizeof copied);
	int64_t same;

	(void)state;
	fill_basket(n, "eventID1");
	fill_basket(n, "eventID2");
	put("x.root", copied, n);
	same = count_trues();
	change_leaf(n, "eventID1", LEAF_UNSIGNED, 1);
	assert_true(count_trues() < same - 10);
	change_leaf(n, "eventID2", LEAF_UNSIGNED, 1);
	assert_int_equal(count_trues(), same);
	change_leaf(n, "eventID2", LEAF_LENGTH, 2);
	assert_int_equal(iso_events_read(&(struct iso_events){ 0 }, "x.root", OPTIONS(.trues_only = true)),
	                 ISO_EINPUT);
	assert_message("branch eventID2 is no column of integers");
	files(true);
}

static void names(void **state)
{
	(void)state;
	refuse(path_of("two-trees.root"), NULL, ISO_EINPUT,
	       "has no tree Coincidences; its trees: Hits, MergedCoincidences ('tree' names another)");
	refuse(path_of("two-trees.root"), OPTIONS(.tree = "Hits"), ISO_EINPUT,
	       "tree Hits has neither globalPosX1 ... of GATE 9 nor PostPosition_X1 ... of GATE 10");
	refuse(path_of("coinc-none.root"), OPTIONS(.delayeds = true), ISO_EINPUT,
	       "has no tree delay; its trees: Coincidences");
	refuse(path_of("ntuple.root"), NULL, ISO_EINPUT, "Coincidences is an RNTuple");
	refuse(path_of("coinc-none.root"), OPTIONS(.gate_mask = "1"), ISO_EARG, "gate_mask is for GATE text");
#ifdef ISO_HDF5
	refuse(path_of("coinc-gate10.hdf5"), OPTIONS(.tree = "Singles"), ISO_EINPUT,
	       "has no table /Singles/table");
	refuse(path_of("coinc-gate10.hdf5"), OPTIONS(.trues_only = true), ISO_EINPUT,
	       "has no comptonPhantom1");
#endif
	put_text("a.npy", "x");
	refuse("a.npy", OPTIONS(.tree = "a"), ISO_EARG, "'tree' is for GATE's ROOT and HDF5 files");
	refuse("a.npy", OPTIONS(.trues_only = true), ISO_EARG, "trues_only is for files of GATE");
	files(true);
}

/* ---- the scanner ---- */

static void around(void **state)
{
	struct iso_events e = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	assert_int_equal(iso_events_read(&e, path_of("coinc-none.root"), NULL), ISO_OK);
	assert_int_equal(iso_scanner_around(&s, &e), ISO_OK);
	assert_true(s->assumed);
	assert_int_equal(iso_scanner_kind(s), ISO_CYLINDER);
	assert_near(s->radius, 60, 1e-4);
	assert_near(s->ring_pitch, 2, 1e-5);
	assert_int_equal(s->pairs.rings, 417); /* ends up to z = 416.94 */
	assert_int_equal(iso_scanner_pairs(s), s->n * (s->n - 1) / 2 - 417 * 416 / 2 * s->pairs.per_ring);
	assert_string_equal(iso_scanner_name(s), "cylinder of radius 60 mm, length 834 mm, crystals 2 mm");
	for (int64_t i = 0; i < iso_scanner_crystals(s); i += 97)
		assert_near(hypot(iso_scanner_positions(s)[3 * i], iso_scanner_positions(s)[3 * i + 1]), 60,
		            1e-4);
	iso_scanner_free(s);
	iso_events_free(&e);
}

static int around_ends(const struct iso_event *v, int64_t n)
{
	struct iso_events e = { .n = n, .v = (struct iso_event *)v };
	iso_scanner *s = NULL;
	int st = iso_scanner_around(&s, &e);

	iso_scanner_free(s);
	return st;
}

static void not_around(void **state)
{
	enum { EVENTS = 64 };
	struct iso_event ring[EVENTS], e[EVENTS];

	(void)state;
	for (int i = 0; i < EVENTS; i++) {
		float c = (float)(100 * cos(.1 * i)), s = (float)(100 * sin(.1 * i));

		ring[i] = (struct iso_event){ { c, s, (float)(i - 32) }, { -c, -s, (float)(31 - i) }, 0 };
	}
	assert_int_equal(around_ends(ring, EVENTS), ISO_OK);
	assert_int_equal(around_ends(ring, 0), ISO_EINPUT);
	assert_message("no events");
	memcpy(e, ring, sizeof e);
	for (int i = 0; i < EVENTS; i++) e[i].p1[2] = e[i].p2[2] = (float)(i + 200);
	assert_int_equal(around_ends(e, EVENTS), ISO_EINPUT);
	assert_message("not around 0");
	memcpy(e, ring, sizeof e);
	for (int i = 0; i < EVENTS; i++) e[i].p1[0] += 150, e[i].p2[0] += 150;
	assert_int_equal(around_ends(e, EVENTS), ISO_EINPUT);
	assert_message("on no cylinder");
	for (int i = 0; i < EVENTS; i++)
		e[i] = (struct iso_event){ { 100, (float)i - 32, 0 }, { -100, (float)i - 32, 0 }, 0 };
	assert_int_equal(around_ends(e, EVENTS), ISO_EINPUT);
	assert_message("not all round");
}

/* ---- damage ---- */

static uint8_t *find_bytes(uint8_t *file, size_t n, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= n; i++)
		if (memcmp(file + i, word, length) == 0) return file + i;
	return NULL;
}

/* Each column that is missing is named. */
static void missing_columns(void **state)
{
	static const char *const column[] = {
		"globalPosX1",      "globalPosY1",     "globalPosZ1",     "globalPosX2",
		"globalPosY2",      "globalPosZ2",     "time1",           "time2",
		"eventID1",         "eventID2",        "comptonPhantom1", "comptonPhantom2",
		"RayleighPhantom1", "RayleighPhantom2"
	};
	static uint8_t file[FILE_MOST];
	char message[64];

	(void)state;
	for (int i = 0; i < COUNT(column); i++) {
		size_t n = get(path_of("coinc-none.root"), file, sizeof file);

		for (uint8_t *p; (p = find_bytes(file, n, column[i]));) *p = '_';
		put("x.root", file, n);
		snprintf(message, sizeof message, "tree Coincidences has no %s", column[i]);
		refuse("x.root", OPTIONS(.trues_only = true), ISO_EINPUT, message);
	}
	files(true);
}

/* A number somewhere that is another; of a file that is not packed. */
static void change(const char *word, int from_word, const char *bytes, int n, const char *message)
{
	static uint8_t file[FILE_MOST];
	size_t size = get(path_of("coinc-none.root"), file, sizeof file);
	uint8_t *p = *word ? find_bytes(file, size, word) : file;

	assert_non_null(p);
	memcpy(p + from_word, bytes, (size_t)n);
	put("x.root", file, size);
	refuse("x.root", NULL, ISO_EINPUT, message);
}

static void damaged(void **state)
{
	static uint8_t file[FILE_MOST];
	size_t n = get(path_of("coinc-zlib.root"), file, sizeof file);

	(void)state;
	for (uint8_t *p; (p = find_bytes(file, n, "ZL\x08"));) memcpy(p, "CS", 2);
	put("x.root", file, n);
	refuse("x.root", NULL, ISO_EINPUT, "packed by ROOT's old method (CS)");
	put("x.root", "root", 4);
	refuse("x.root", NULL, ISO_EINPUT, "x.root: ends in its head");
	change("", 8, "\x7f\0\0\0", 4, "its directory is not in the file");
	change("TBasket\5time1\14Coincidences", 26 + 10, "\0\0\0\1", 4,
	       "branch time1: basket 0 has 1 numbers in");
	files(true);
}

/* Cut anywhere, or with any bit turned, it is read or refused, never more. */
static void fuzzed(void **state)
{
	static uint8_t file[FILE_MOST], copy[FILE_MOST];
	static const char *const from[] = { "coinc-none.root", "coinc-zlib.root" };

	(void)state;
	for (int k = 0; k < 2; k++) {
		size_t n = get(path_of(from[k]), file, sizeof file);

		for (size_t i = 0; i < n; i += n / 200) {
			struct iso_events e = { 0 };
			int st;

			memcpy(copy, file, n);
			copy[i] ^= (uint8_t)(1 << i % 8);
			put("x.root", copy, n);
			st = iso_events_read(&e, "x.root", NULL);
			assert_true(st == ISO_OK || st == ISO_EINPUT);
			iso_events_free(&e);
			put("x.root", file, i);
			st = iso_events_read(&e, "x.root", NULL);
			assert_true(st == ISO_EINPUT ||
			            (st == ISO_OK && i > n / 2)); /* some lies behind all that is read */
			iso_events_free(&e);
		}
	}
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_samples),     cmocka_unit_test(by_content), cmocka_unit_test(integers),
		cmocka_unit_test(pieces),          cmocka_unit_test(trues),      cmocka_unit_test(names),
		cmocka_unit_test(unsigned_leaves), cmocka_unit_test(around),     cmocka_unit_test(not_around),
		cmocka_unit_test(missing_columns), cmocka_unit_test(damaged),    cmocka_unit_test(fuzzed),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
