/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the events of a benchmark, to time files of any size. */
#include "bench.h"

#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define BLOCK (1 << 20) /* events made and written at a time: 28 MiB */
#define HASHES 10

struct writing {
	struct cmd *c;
	const struct iso_ring *ring;
	int64_t n, blocks;
	struct iso_event *e;
	struct iso_out out;
	json_t *hashes;
};

/* Of ten blocks spread evenly from the first to the last; of all if there are fewer. */
static bool is_hashed(const struct writing *w, int64_t block)
{
	if (w->blocks <= HASHES) return true;
	for (int64_t k = 0; k < HASHES; k++)
		if (block == k * (w->blocks - 1) / (HASHES - 1)) return true;

	return false;
}

static int tell_hash(struct writing *w, int64_t first, int64_t n)
{
	unsigned long long hash = XXH64(w->e, (size_t)n * sizeof *w->e, 0);
	json_t *one = json_pack("{s:I, s:I, s:o}", "first", (json_int_t)first, "events", (json_int_t)n,
	                        "xxh64", json_sprintf("%016llx", hash));

	term_clear(&w->c->term);
	if (!w->c->json)
		printf("events %12" PRId64 " to %12" PRId64 "  xxh64 %016llx\n", first, first + n - 1, hash);
	return json_array_append_new(w->hashes, one) ? iso_fail_memory("bench", 0) : ISO_OK;
}

/* lmdT stores t2 - t1. */
static int write_block(struct writing *w, int64_t block)
{
	int64_t first = block * BLOCK, n = w->n - first < BLOCK ? w->n - first : BLOCK;
	int st = iso_ring_events(w->e, w->c->ctx, w->ring, first, n);

	if (st) return st;
	for (int64_t j = 0; j < n; j++) w->e[j].dt_ps = -w->e[j].dt_ps;
	if ((st = iso_out_write(&w->out, w->e, n * (int64_t)sizeof *w->e))) return st;
	return is_hashed(w, block) ? tell_hash(w, first, n) : ISO_OK;
}

static int write_all(struct writing *w, const char *path)
{
	struct iso_clock clock = iso_clock_start(w->c->ctx, "write", 0, w->n);
	char *text = NULL;
	int st = iso_out_open(&w->out, path, w->n * (int64_t)sizeof *w->e, false);

	for (int64_t b = 0; b < w->blocks && !st; b++) {
		if (!(st = write_block(w, b))) st = iso_ctx_poll(w->c->ctx);
		iso_clock_step(&clock, b + 1 < w->blocks ? (b + 1) * BLOCK : w->n, NULL);
	}
	if (!st) st = record_text(&w->c->record, &text);
	if (!st) st = iso_target_finish(&w->out, text);
	iso_out_free(&w->out);
	free(text);
	return st;
}

int bench_write_events(struct cmd *c, const char *path, const struct iso_ring *ring, int64_t n)
{
	struct writing w = { .c = c, .ring = ring, .n = n, .blocks = (n + BLOCK - 1) / BLOCK };
	double start_s = iso_now_s(), bytes = (double)n * sizeof *w.e;
	struct iso_plan plan = { 0 };
	int st;

	iso_plan_add(&plan, "one block of events", BLOCK, sizeof *w.e, false);
	if ((st = cmd_plan(c, &plan))) return st;
	if ((st = record_result(&c->record, "blocks", w.hashes = json_array()))) return st;
	if (!(w.e = size_alloc(BLOCK, sizeof *w.e)))
		return iso_fail_memory("bench", BLOCK * (int64_t)sizeof *w.e);
	st = write_all(&w, path);
	free(w.e);
	if (st) return st;
	if (!c->json)
		printf("%s: %" PRId64 " events, %s, %.2f GB/s\n", path, n, iso_bytes((int64_t)bytes),
		       1e-9 * bytes / (iso_now_s() - start_s));
	return ISO_OK;
}
