/* SPDX-License-Identifier: BSD-3-Clause */
/* What bounds the stages of `bench end-to-end`, on machines of which all rates are given. */
#include "bench/e2e.h"
#include "bench/limits.h"
#include "test.h"

/* A file of 4e9 bytes, read at 4e9 bytes a second, brought at 8e9; an iteration has 3e9 multiply-adds, at 1e9 a
   second. */
static struct bench_row limit(const char *stage, bool cuda, double start_s)
{
	struct e2e_machine m = { .start_s = start_s };
	const struct e2e_inputs in = {
		.kind = E2E_SRM, .cuda = cuda, .bytes = 4000000000, .multiply_adds = 1.5e9
	};
	struct bench_row row = { 0 };
	json_t *record = json_pack("{s:{s:i}}", "parameters", "iterations", 2);

	m.rate[BENCH_FILE] = 4e9;
	m.rate[BENCH_LINK] = 8e9;
	m.rate[BENCH_MEMORY] = 4e9;
	m.rate[BENCH_FMA] = 1e9;
	e2e_limit(&row, &m, &in, record, stage);
	json_decref(record);
	return row;
}

static void is(const char *stage, bool cuda, double start_s, double want_s, const char *want)
{
	struct bench_row row = limit(stage, cuda, start_s);

	NEAR(row.limit_s, want_s, 1e-12);
	assert_string_equal(row.limit ? row.limit : "none", want);
}

/* On CUDA the device is opened while the file is read. */
static void stages(void **state)
{
	(void)state;
	is("read", true, .25, 1, "file read");
	is("read", true, 1.5, 1.5, "start");
	is("read", false, 1.5, 1, "file read");
	is("factors", true, .25, .5, "link");
	is("factors", false, .25, 2, "memory");
	is("sensitivity", true, .25, 0, "none");
	is("reconstruct", true, .25, 6, "kernel");
	for (int cuda = 0; cuda < 2; cuda++) is("outside", cuda, .25, 0, "none");
}

/* Opening, reading and bringing may be one. */
static void wall(void **state)
{
	(void)state;
	is("wall", true, .25, 7, "all");
	is("wall", true, 1.5, 7.5, "all");
	is("wall", false, .25, 8, "all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages),
		cmocka_unit_test(wall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
