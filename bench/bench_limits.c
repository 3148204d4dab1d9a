/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark limits: what the machine can do, without any model: files, memory, the link to the device,
   arithmetic. */
#include "bench.h"

#include "limits.h"

#include <stdio.h>

#define IMAGE_BYTES (200 * 200 * 80 * 4) /* what random pieces are taken from, on the CPU */

static struct settings {
	const char *folder;
} set = { NULL };

static struct opt opts[] = {
	BENCH_FOLDER(&set.folder, "where a file of 1 GiB lies for a moment"),
	{ 0 },
};

const char *const bench_rate_keys[BENCH_RATES] = {
	"file_bytes_per_s", "memory_bytes_per_s", "link_bytes_per_s",    "load_8_per_s",
	"add_8_per_s",      "operations_per_s",   "multiply_adds_per_s",
};

static const struct {
	const char *what, *unit;
} words[BENCH_RATES] = {
	{ "a file in the page cache, read by all threads", "GB/s" },
	{ "memory of the host, a = b + 3 c", "GB/s" },
	{ "from pinned memory to the device", "GB/s" },
	{ "loads of random pieces of 8 words", "10^9 words/s" },
	{ "adds to random pieces of 8 words", "10^9 words/s" },
	{ "multiplications and additions", "10^9/s" },
	{ "multiply-adds", "10^9/s" },
};

/* On CUDA the host's memory is measured as well. */
static int measure_memory(double rate[BENCH_RATES], struct cmd *c, iso_ctx *host)
{
	struct iso_limits l = { 0 };
	int st = iso_limits_measure(&l, host, IMAGE_BYTES);

	rate[BENCH_MEMORY] = l.triad;
	if (!st && iso_ctx_is_cuda(c->ctx) && !(st = iso_link_rate(&rate[BENCH_LINK], c->ctx)))
		st = iso_limits_measure(&l, c->ctx, IMAGE_BYTES);
	rate[BENCH_LOAD] = l.load_8;
	rate[BENCH_ADD] = l.add_8;
	return st;
}

static int measure(double rate[BENCH_RATES], struct cmd *c)
{
	iso_ctx *host = NULL;
	int st = iso_ctx_create(&host, "cpu", iso_ctx_threads(c->ctx));

	if (!st) st = iso_file_rate(&rate[BENCH_FILE], host, bench_folder(set.folder));
	if (!st) st = measure_memory(rate, c, host);
	if (!st) st = iso_arithmetic_rate(&rate[BENCH_OPERATION], c->ctx);
	if (!st) st = iso_multiply_add_rate(&rate[BENCH_FMA], c->ctx);
	iso_ctx_free(host);
	return st;
}

static int tell(struct cmd *c, const double rate[BENCH_RATES])
{
	int st = record_result(&c->record, "threads", json_integer(iso_ctx_threads(c->ctx)));

	if (!st) st = record_result(&c->record, "device", json_string(iso_ctx_device(c->ctx)));
	if (!st) st = record_result(&c->record, "device_name", json_string(iso_ctx_device_name(c->ctx)));
	for (int i = 0; i < BENCH_RATES && !st; i++) {
		if (rate[i] == 0) continue;
		if (!c->json) printf("%-48s %10.2f %s\n", words[i].what, 1e-9 * rate[i], words[i].unit);
		st = record_result(&c->record, bench_rate_keys[i], record_real(rate[i]));
	}
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct iso_plan lines = { 0 };
	double rate[BENCH_RATES] = { 0 };
	int st;

	(void)sets;
	iso_plan_add(&lines, "arrays beyond the caches", 3 << 26, 1, false);
	if (iso_ctx_is_cuda(c->ctx)) iso_plan_add(&lines, "arrays beyond the caches", 3ll << 29, 1, true);
	if ((st = cmd_plan(c, &lines)) || (st = measure(rate, c))) return st;
	if (bench_says(c)) puts("");
	return tell(c, rate);
}

const struct bench bench_limits = { "limits", "Benchmark limits", opts, run, &set, sizeof set, false };
