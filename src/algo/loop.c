/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop around the steps of an algorithm, and its checkpoints. */
#include "loop.h"

#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"

#include <stdio.h>
#include <string.h>

static bool minutes_over(double minutes, double since_s)
{
	return iso_now_s() - since_s >= 60 * minutes;
}

/* Stopped by the caller or the clock: keep what there is. */
static int stop(const struct iso_loop *l)
{
	int st = l->checkpoint ? l->save(l->state) : ISO_OK;

	if (st) return st;
	return iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " of %" PRId64 " %s%s%s", *l->done, l->total,
	                l->unit, l->checkpoint ? "; resume continues from " : "",
	                l->checkpoint ? l->checkpoint : "");
}

/* Where the caller's look at the image fails, the work is kept. */
static int show(const struct iso_loop *l)
{
	char message[1024];
	int st = l->show(l->state);

	if (st && l->checkpoint) {
		snprintf(message, sizeof message, "%s", iso_message());
		l->save(l->state);
		iso_fail(st, "%s", message); /* the first failure is the one to tell */
	}
	return st;
}

/* A checkpoint that can't be written now may be next time: the run goes on. */
static void save_if_due(struct iso_loop *l, double *saved_s)
{
	if (!l->checkpoint || !minutes_over(l->checkpoint_minutes, *saved_s)) return;
	*saved_s = iso_now_s();
	if (l->save(l->state)) l->unsaved++;
}

int iso_loop_run(struct iso_loop *l)
{
	struct iso_clock clock = iso_clock_start(l->ctx, l->name, *l->done, l->total);
	double saved_s = l->start_s;
	char note[64];
	int st;

	while (!l->finished(l->state)) {
		if ((st = l->step(l->state))) return st == ISO_ECANCEL ? stop(l) : st;
		iso_clock_step(&clock, *l->done, l->note(note, sizeof note, l->state));
		if ((st = show(l))) return st;
		if (l->finished(l->state)) break;
		if (l->stop_after_minutes > 0 && minutes_over(l->stop_after_minutes, l->start_s))
			return stop(l);
		save_if_due(l, &saved_s);
	}
	return ISO_OK;
}

/* ---- vectors of the device ---- */

enum { MOST_ITEMS = 16 };

/* `host` = the items, with room on the host for the vectors, all in *block: free that. On the CPU the
   vectors themselves serve, and *block is NULL. */
static int on_host(struct iso_item *host, iso_real **block, const iso_ctx *ctx, int n_vectors, int n,
                   const struct iso_item *item)
{
	int64_t all = 0, at = 0;

	*block = NULL;
	if (n > MOST_ITEMS) return iso_fail(ISO_EARG, "checkpoint of %d items, at most %d", n, MOST_ITEMS);
	memcpy(host, item, (size_t)n * sizeof *item);
	if (!iso_ctx_is_cuda(ctx)) return ISO_OK;
	for (int i = 0; i < n_vectors; i++) all += item[i].n;
	if (!(*block = size_alloc(all, sizeof **block)))
		return iso_fail_memory("checkpoint", all * (int64_t)sizeof **block);
	for (int i = 0; i < n_vectors; at += item[i++].n) host[i].v = *block + at;
	return ISO_OK;
}

int iso_loop_write(iso_ctx *ctx, const char *path, uint64_t key, int n_vectors, int n,
                   const struct iso_item *item)
{
	struct iso_item host[MOST_ITEMS];
	iso_real *block;
	int st = on_host(host, &block, ctx, n_vectors, n, item);

	for (int i = 0; block && i < n_vectors && !st; i++)
		st = ctx->vec->download(ctx, host[i].v, item[i].v, item[i].n * (int64_t)sizeof *block);
	if (!st) st = iso_checkpoint_write(path, key, n, host);
	free(block);
	return st;
}

int iso_loop_read(iso_ctx *ctx, const char *path, uint64_t key, int n_vectors, int n,
                  const struct iso_item *item)
{
	struct iso_item host[MOST_ITEMS];
	iso_real *block;
	int st = on_host(host, &block, ctx, n_vectors, n, item);

	if (!st) st = iso_checkpoint_read(path, key, n, host);
	for (int i = 0; block && i < n_vectors && !st; i++)
		st = ctx->vec->upload(ctx, item[i].v, host[i].v, item[i].n * (int64_t)sizeof *block);
	free(block);
	return st;
}
