/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a run read, held and waited for, in the record of rank 0. */
#include "record.h"

#include "core/comm.h"
#include "core/progress.h"
#include "core/size.h"

#include <stdio.h>

struct use {
	int64_t bytes_read, peak_bytes, exchanged;
	double busy_s, waiting_s;
};

int64_t record_bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	int64_t bytes = 0;

	if (!f) return 0;
	if (fscanf(f, "rchar: %" SCNd64, &bytes) != 1) bytes = 0;
	fclose(f);
	return bytes;
}

static struct use own_use(const iso_ctx *ctx, const struct record_since *since)
{
	struct use u = { .bytes_read = record_bytes_read() - since->bytes_read,
		         .peak_bytes = record_peak_bytes() };

	iso_ctx_exchanged(&u.exchanged, &u.waiting_s, ctx);
	u.exchanged -= since->exchanged;
	u.waiting_s -= since->waiting_s;
	u.busy_s = iso_now_s() - since->began_s - u.waiting_s;
	return u;
}

struct record_since record_since(const iso_ctx *ctx)
{
	struct record_since s = { .began_s = iso_now_s(), .bytes_read = record_bytes_read() };

	iso_ctx_exchanged(&s.exchanged, &s.waiting_s, ctx);
	return s;
}

static json_t *use_json(const struct use *u)
{
	return record_pack("{s:I, s:I, s:I, s:f, s:f}", "bytes_read", (json_int_t)u->bytes_read,
	                   "peak_memory_bytes", (json_int_t)u->peak_bytes, "bytes_exchanged",
	                   (json_int_t)u->exchanged, "busy_s", u->busy_s, "waiting_s", u->waiting_s);
}

static int gather(iso_ctx *ctx, struct use *all, const struct record_since *since)
{
	int ranks = iso_ranks(ctx), st;
	int64_t *first = size_alloc(ranks + 1, sizeof *first);

	for (int r = 0; first && r <= ranks; r++) first[r] = r * (int64_t)sizeof *all;
	if (all) all[iso_rank(ctx)] = own_use(ctx, since);
	st = first && all ? ISO_OK : iso_fail_memory("ranks", ranks * (int64_t)sizeof *all);
	if (first) st = iso_comm_gather_host(ctx, st, all, first);
	free(first);
	return st;
}

int record_ranks(struct record *r, iso_ctx *ctx, const struct record_since *since)
{
	int ranks = iso_ranks(ctx), st;
	struct use *all;
	json_t *each;

	if (ranks == 1) return ISO_OK;
	all = size_alloc(ranks, sizeof *all);
	st = gather(ctx, all, since);
	each = json_array();
	for (int i = 0; i < ranks && !st; i++) json_array_append_new(each, use_json(&all[i]));
	free(all);
	if (!st) return record_set(r, "ranks", record_pack("{s:i, s:o}", "n", ranks, "each", each));
	json_decref(each);
	return st;
}
