/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems of model ray over several ranks: from files and arrays to images and messages, those of one process. Run by
   mpirun with one to four ranks; the device is that of ISO_TEST_DEVICE, or the CPU. */
#include "core/comm.h"
#include "core/loop/deal.h"
#include "test.h"

#include <jansson.h>

#include <unistd.h>

#define RING TEST_EXAMPLES "/scanners/small-animal.yaml"

enum { COUNTS = 30000, WORDS = 4096 };

static iso_ctx *all, *alone;
static struct iso_events scan; /* whole, on every rank */
static struct iso_array mu;

static const char *device(void)
{
	const char *d = getenv("ISO_TEST_DEVICE");

	return d ? d : "cpu";
}

/* ---- a scan ---- */

static void simulate_scan(void)
{
	const struct iso_grid g = { .n = { 12, 12, 8 }, .voxel = { 4, 4, 4 } };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_array x = { 0 };
	iso_scanner *ring = NULL;

	OK(iso_scanner_read(&ring, RING));
	OK(iso_array_on_grid(&x, &g));
	OK(iso_array_on_grid(&mu, &g));
	for (int64_t i = 0; i < x.n; i++) {
		x.v[i] = i % 5 == 0;
		mu.v[i] = (iso_real).01;
	}
	struct iso_simulate p = {
		.size = sizeof p, .scanner = ring, .activity = &x, .mu = &mu, .counts = COUNTS, .seed = 3
	};
	OK(iso_simulate(&scan, &info, alone, &p));
	if (!scan.time_ms) scan.time_ms = calloc((size_t)scan.n, sizeof *scan.time_ms);
	assert_non_null(scan.time_ms);
	for (int64_t i = 0; i < scan.n; i++) scan.time_ms[i] = (uint32_t)(i * 10000 / scan.n);
	scan.duration_s = 10;
	/* rank 0 writes, the others wait */
	if (iso_ctx_rank(all) == 0) OK(iso_events_write_with("scan.Cdh", &scan, ring, NULL));
	if (iso_ctx_rank(all) == 0) OK(iso_events_write("scan.lmdT", &scan, NULL));
	OK(iso_comm_agree(all, ISO_OK));
	iso_array_free(&x);
	iso_scanner_free(ring);
}

static int begin(void **state)
{
	(void)state;
	OK(iso_ctx_create_ranks(&all, device(), 1, NULL));
	OK(iso_ctx_create(&alone, device(), 2));
	simulate_scan();
	return 0;
}

static int end(void **state)
{
	(void)state;
	iso_events_free(&scan);
	iso_array_free(&mu);
	iso_ctx_free(alone);
	iso_ctx_free(all);
	return 0;
}

/* Events, their times and how many decays they took; several blocks, and rounds of them. */
static void simulation(void **state)
{
	struct iso_simulated info[2] = { { .size = sizeof *info }, { .size = sizeof *info } };
	struct iso_events e[2] = { { 0 }, { 0 } };
	iso_scanner *ring = NULL;

	(void)state;
	OK(iso_scanner_read(&ring, RING));
	struct iso_simulate p = { .size = sizeof p,
		                  .scanner = ring,
		                  .activity = &mu,
		                  .counts = 6e5,
		                  .randoms = .9,
		                  .duration_s = 60,
		                  .half_life_s = 40,
		                  .seed = 4 };

	OK(iso_simulate(&e[0], &info[0], alone, &p));
	OK(iso_simulate(&e[1], &info[1], all, &p));
	assert_true(e[0].n == e[1].n && e[0].n > 65 * 8192);
	assert_memory_equal(e[0].v, e[1].v, (size_t)e[0].n * sizeof *e->v);
	assert_memory_equal(e[0].crystal, e[1].crystal, (size_t)e[0].n * 2 * sizeof *e->crystal);
	assert_memory_equal(e[0].time_ms, e[1].time_ms, (size_t)e[0].n * sizeof *e->time_ms);
	assert_memory_equal(&info[0], &info[1], sizeof *info);
	iso_events_free(&e[0]);
	iso_events_free(&e[1]);
	iso_scanner_free(ring);
}

/* ---- a problem by both contexts ---- */

struct setting {
	const char *name, *value;
};

static void hear(void *arg, enum iso_message_kind kind, const char *text)
{
	char *words = arg;
	size_t used = strlen(words);

	if (kind == ISO_WARNING) snprintf(words + used, WORDS - used, "%s\n", text);
}

static iso_problem *make(iso_ctx *ctx, const struct setting *set, char *words)
{
	static const struct setting usual[] = { { "scanner", RING },
		                                { "grid", "12,12,8" },
		                                { "voxel", "4" },
		                                { "iterations", "2" },
		                                { "sens-share", "1e-4" } };
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, ctx, "ray"));
	iso_problem_set_message(p, hear, words);
	for (int i = 0; i < N_OF(usual); i++) OK(iso_problem_set(p, usual[i].name, usual[i].value));
	for (; set->name; set++) OK(iso_problem_set(p, set->name, set->value));
	return p;
}

static void same_values(const struct iso_array *a, const struct iso_array *b)
{
	assert_true(a->n == b->n);
	assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

/* What the record has of the counts of a run with 'scatter', as text; NULL: nothing. */
static char *seen_of(iso_problem *p)
{
	char *text = NULL;

	OK(iso_problem_record(&text, p));
	json_t *record = json_loads(text, 0, NULL), *results = json_object_get(record, "results");
	json_t *frame = json_array_get(json_object_get(results, "frames"), 0);
	json_t *seen = json_object_get(json_object_get(frame ? frame : results, "scatter"), "seen");
	char *own = seen ? json_dumps(seen, JSON_COMPACT) : NULL;

	assert_non_null(record);
	free(text);
	json_decref(record);
	return own;
}

/* What `set` says, of a file, or of the events in memory where e is given; values: an event each, or NULL. `warning` is
   among the messages. */
static void compare(const struct setting *set, const struct iso_events *e, const struct iso_array *norm,
                    const struct iso_array *add, const char *warning)
{
	iso_ctx *const of[2] = { alone, all };
	struct iso_array x[2] = { { 0 }, { 0 } };
	char words[2][WORDS] = { "", "" };
	char *seen[2];
	int64_t rows[2];

	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words[k]);

		if (e) OK(iso_problem_set_events(p, "events", e));
		if (norm) OK(iso_problem_set_array(p, "norm", norm, false));
		if (add) OK(iso_problem_set_array(p, "additive", add, false));
		OK(iso_problem_set_array(p, "mu", &mu, false));
		OK(iso_problem_recon(&x[k], NULL, p));
		rows[k] = iso_problem_rows(p);
		seen[k] = seen_of(p);
		iso_problem_free(p);
	}
	same_values(&x[0], &x[1]);
	assert_true(!seen[0] == !seen[1]);
	if (seen[0]) assert_string_equal(seen[0], seen[1]);
	free(seen[0]);
	free(seen[1]);
	assert_true(rows[0] == rows[1]);
	assert_string_equal(words[0], words[1]);
	assert_non_null(strstr(words[0], warning));
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
}

static void from_files(void **state)
{
	const struct setting mlem[] = { { "events", "scan.lmdT" }, { 0 } };
	const struct setting osem[] = { { "events", "scan.Cdh" },
		                        { "method", "osem" },
		                        { "subsets", "5" },
		                        { "subset-rule", "random" },
		                        { 0 } };

	(void)state;
	compare(mlem, NULL, NULL, NULL, "");
	compare(osem, NULL, NULL, NULL, "");
}

static void frames(void **state)
{
	const struct setting in_order[] = { { "events", "scan.Cdh" },
		                            { "frames", "0,1,1.01,4,10" },
		                            { "isotope", "C-11" },
		                            { "method", "osem" },
		                            { "subsets", "3" },
		                            { "subset-rule", "blocks" },
		                            { 0 } };
	const struct setting mixed[] = {
		{ "frames", "0,3,10" }, { "method", "osem" }, { "subsets", "4" }, { 0 }
	};
	struct iso_events e = scan;

	(void)state;
	compare(in_order, NULL, NULL, NULL, "");
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_non_null(e.time_ms);
	for (int64_t i = 0; i < e.n; i++) e.time_ms[i] = (uint32_t)(i * 7919 % 10000);
	compare(mixed, &e, NULL, NULL, "");
	free(e.time_ms);
}

/* Factors and additive term by the number of the event, and events to leave out. */
static void values_of_events(void **state)
{
	const struct setting osem[] = {
		{ "method", "osem" }, { "subsets", "3" }, { "tof-fwhm-ps", "400" }, { 0 }
	};
	struct iso_array norm = { 0 }, add = { 0 };
	struct iso_events e = scan;

	(void)state;
	OK(iso_array_create(&norm, 1, &e.n));
	OK(iso_array_create(&add, 1, &e.n));
	e.v = malloc((size_t)e.n * sizeof *e.v);
	assert_non_null(e.v);
	memcpy(e.v, scan.v, (size_t)e.n * sizeof *e.v);
	for (int64_t i = 0; i < e.n; i++) {
		norm.v[i] = (iso_real)(.5 + .01 * (double)(i % 17));
		add.v[i] = (iso_real)(1e-3 * (double)(i % 13));
		e.v[i].dt_ps = (float)(50 * sin((double)i));
	}
	e.v[5].p1[0] = e.v[e.n - 1].dt_ps = NAN;
	compare(osem, &e, &norm, &add, "2 of ");
	for (int64_t i = 0; i < e.n; i += 31) e.v[i].p1[1] += 100;
	compare(osem, &e, &norm, &add, "mm from every crystal");
	free(e.v);
	iso_array_free(&norm);
	iso_array_free(&add);
}

/* Rounds with an estimate: of events in memory, and on disk. */
static void scatter(void **state)
{
	const struct setting in_memory[] = { { "events", "scan.lmdT" },       { "scatter", "sss" },
		                             { "scatter-rounds", "1" },       { "energy-window", "350,650" },
		                             { "energy-resolution", "0.15" }, { 0 } };
	const struct setting on_disk[] = { { "events", "scan.Cdh" },       { "block", "1000" },
		                           { "scatter", "sss" },           { "scatter-rounds", "1" },
		                           { "energy-window", "350,650" }, { "energy-resolution", "0.15" },
		                           { "frames", "0,10" },           { 0 } };

	(void)state;
	compare(in_memory, NULL, NULL, NULL, "do not agree yet");
	compare(on_disk, NULL, NULL, NULL, "do not agree yet");
}

/* Events that stay on disk, in blocks. */
static void streams(void **state)
{
	const struct setting plain[] = { { "events", "scan.lmdT" }, { "stream", "true" }, { 0 } };
	const struct setting few[] = { { "events", "scan.Cdh" },    { "block", "1000" },
		                       { "method", "osem" },        { "subsets", "3" },
		                       { "subset-rule", "random" }, { 0 } };
	const struct setting blocks[] = { { "events", "scan.Cdh" },
		                          { "block", "900" },
		                          { "method", "osem" },
		                          { "subsets", "7" },
		                          { "subset-rule", "blocks" },
		                          { "frames", "0,2,9" },
		                          { 0 } };
	struct iso_array add = { 0 };

	(void)state;
	OK(iso_array_create(&add, 1, &scan.n));
	for (int64_t i = 0; i < add.n; i++) add.v[i] = (iso_real)(1e-3 * (double)(i % 13));
	compare(plain, NULL, NULL, NULL, "");
	compare(few, NULL, NULL, &add, "");
	compare(blocks, NULL, NULL, NULL, "");
	iso_array_free(&add);
}

/* ---- projections ---- */

static void projections(void **state)
{
	const struct setting set[] = { { "events", "scan.lmdT" }, { 0 } };
	iso_ctx *const of[2] = { alone, all };
	struct iso_array y[2] = { { 0 }, { 0 } }, x[2] = { { 0 }, { 0 } };
	char words[WORDS] = "";

	(void)state;
	for (int k = 0; k < 2; k++) {
		iso_problem *p = make(of[k], set, words);

		OK(iso_problem_set_array(p, "mu", &mu, false));
		OK(iso_problem_project(&y[k], p, &mu));
		OK(iso_problem_backproject(&x[k], p, &y[k]));
		iso_problem_free(p);
	}
	assert_true(y[0].n == scan.n);
	same_values(&y[0], &y[1]);
	same_values(&x[0], &x[1]);
	for (int k = 0; k < 2; k++) {
		iso_array_free(&x[k]);
		iso_array_free(&y[k]);
	}
}

/* ---- failures: of all ranks, with the words of one process ---- */

/* One process is told of a missing file when it sets it, several ranks when they load. */
static int set_and_load(iso_problem *p, const struct setting *set)
{
	int st = ISO_OK;

	for (; set->name && !st; set++) st = iso_problem_set(p, set->name, set->value);
	return st ? st : iso_problem_load(p);
}

static void same_failure(const struct setting *set)
{
	const struct setting usual[] = { { 0 } };
	char words[WORDS] = "", message[1024];
	iso_problem *p = make(alone, usual, words);
	iso_ctx *ctx = NULL;
	int st = set_and_load(p, set);

	assert_true(st < 0);
	snprintf(message, sizeof message, "%s", iso_message());
	iso_problem_free(p);
	OK(iso_ctx_create_ranks(&ctx, device(), 1, NULL));
	p = make(ctx, usual, words);
	assert_int_equal(iso_comm_agree(ctx, set_and_load(p, set)), st);
	assert_string_equal(iso_message(), message);
	iso_problem_free(p);
	iso_ctx_free(ctx);
}

/* Crystal numbers of n events, two of them beyond the scanner's. */
static void write_crystals(const char *path, int64_t bad, int64_t also)
{
	int64_t dim[2] = { COUNTS, 2 };
	struct iso_array a = { 0 };

	OK(iso_array_create(&a, 2, dim));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i % 200);
	a.v[2 * bad] = a.v[2 * also] = 1e6;
	if (iso_ctx_rank(all) == 0) OK(iso_write(path, &a, NULL));
	OK(iso_comm_agree(all, ISO_OK));
	iso_array_free(&a);
}

static void bad_files(void **state)
{
	const struct setting crystals[] = { { "events", "crystals.npy" }, { 0 } };
	const struct setting later[] = { { "events", "later.npy" }, { 0 } };
	const struct setting none[] = { { "events", "none.lmdT" }, { 0 } };
	const struct setting absent[] = { { "events", "absent.lmdT" }, { 0 } };
	struct iso_events e = scan;

	(void)state;
	write_crystals("crystals.npy", COUNTS - 1, 9 * DEAL_LEAST + 7);
	write_crystals("later.npy", 3 * DEAL_LEAST + 5, 4 * DEAL_LEAST + 1);
	e.v = calloc((size_t)e.n, sizeof *e.v);
	assert_non_null(e.v);
	if (iso_ctx_rank(all) == 0) OK(iso_events_write("none.lmdT", &e, NULL));
	OK(iso_comm_agree(all, ISO_OK));
	same_failure(crystals);
	same_failure(later);
	same_failure(none);
	same_failure(absent);
	free(e.v);
}

/* Every item is one rank's, and its number and place are each other's inverse. */
static void deals(void **state)
{
	const int64_t sizes[] = { 0, 1, 1023, 1024, 1025, 5000, 70000, 9000000 };

	(void)state;
	for (int i = 0; i < N_OF(sizes); i++) {
		struct iso_deal d = iso_deal_of(all, sizes[i]);
		int64_t n = iso_deal_count(&d), sum = n;

		for (int64_t j = 0; j < n; j++) {
			int64_t number = iso_deal_number(&d, j);

			assert_true(number >= 0 && number < d.n && iso_deal_place(&d, number) == j);
		}
		OK(iso_comm_sum(all, ISO_OK, &sum, 1));
		assert_true(sum == sizes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simulation),       cmocka_unit_test(deals),
		cmocka_unit_test(from_files),       cmocka_unit_test(frames),
		cmocka_unit_test(values_of_events), cmocka_unit_test(streams),
		cmocka_unit_test(scatter),          cmocka_unit_test(projections),
		cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
