/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the events of a benchmark, to time files of any size. */
#include "bench.h"

#include "core/progress.h"

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
	struct iso_events e; /* one block */
	iso_event_writer *out;
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
	unsigned long long hash = XXH64(w->e.v, (size_t)n * sizeof *w->e.v, 0);
	json_t *one = json_pack("{s:I, s:I, s:o}", "first", (json_int_t)first, "events", (json_int_t)n,
	                        "xxh64", json_sprintf("%016llx", hash));

	term_clear(&w->c->term);
	if (!w->c->json)
		printf("events %12" PRId64 " to %12" PRId64 "  xxh64 %016llx\n", first, first + n - 1, hash);
	return json_array_append_new(w->hashes, one) ? iso_fail_memory("bench", 0) : ISO_OK;
}

/* The hash is of the file's bytes: lmdT stores t2 - t1. */
static int write_block(struct writing *w, int64_t block)
{
	int64_t first = block * BLOCK, n = w->n - first < BLOCK ? w->n - first : BLOCK;
	int st = iso_ring_events(w->e.v, w->c->ctx, w->ring, first, n);

	w->e.n = n;
	if (st || (st = iso_event_writer_append(w->out, &w->e)) || !is_hashed(w, block)) return st;
	for (int64_t j = 0; j < n; j++) w->e.v[j].dt_ps = 0 - w->e.v[j].dt_ps;
	return tell_hash(w, first, n);
}

static int write_all(struct writing *w, const char *path)
{
	struct iso_clock clock = iso_clock_start(w->c->ctx, "write", 0, w->n);
	char *text = NULL;
	int st = iso_event_writer_open(&w->out, path, NULL, w->n);

	for (int64_t b = 0; b < w->blocks && !st; b++) {
		st = write_block(w, b);
		if (!st && iso_ctx_cancelled(w->c->ctx)) st = iso_fail(ISO_ECANCEL, "stopped on request");
		iso_clock_step(&clock, b + 1 < w->blocks ? (b + 1) * BLOCK : w->n, NULL);
	}
	if (!st) st = record_text(&w->c->record, &text);
	if (st)
		iso_event_writer_free(w->out);
	else
		st = iso_event_writer_close(w->out, text);
	free(text);
	return st;
}

int bench_write_events(struct cmd *c, const char *path, const struct iso_ring *ring, int64_t n)
{
	struct writing w = { .c = c, .ring = ring, .n = n, .blocks = (n + BLOCK - 1) / BLOCK };
	double start_s = iso_now_s(), bytes = (double)n * sizeof *w.e.v;
	struct iso_plan plan = { 0 };
	int st;

	iso_plan_add(&plan, "one block of events", BLOCK, sizeof *w.e.v, false);
	if ((st = cmd_plan(c, &plan))) return st;
	if ((st = record_result(&c->record, "blocks", w.hashes = json_array()))) return st;
	if ((st = BENCH_NEW(w.e.v, BLOCK))) return st;
	st = write_all(&w, path);
	free(w.e.v);
	if (st) return st;
	if (!c->json)
		printf("%s: %" PRId64 " events, %s, %.2f GB/s\n", path, n, iso_bytes((int64_t)bytes),
		       1e-9 * bytes / (iso_now_s() - start_s));
	return ISO_OK;
}
