/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: the rate so far gives the time left. */
#include "progress.h"
#include "ctx.h"

#include <time.h>

double iso_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct iso_clock iso_clock_start(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total)
{
	struct iso_clock c = { ctx, stage, first, total, iso_now_s() };
	struct iso_progress p = { .stage = stage, .done = first, .total = total, .left_s = -1 };

	if (ctx->progress) ctx->progress(ctx->progress_arg, &p);
	return c;
}

void iso_clock_step(const struct iso_clock *c, int64_t done, const char *note)
{
	if (!c->ctx->progress) return;
	double elapsed = iso_now_s() - c->start_s;
	int64_t steps = done - c->first;
	struct iso_progress p = {
		.stage = c->stage,
		.done = done,
		.total = c->total,
		.elapsed_s = elapsed,
		.left_s = steps > 0 ? elapsed / (double)steps * (double)(c->total - done) : -1,
		.note = note,
	};

	c->ctx->progress(c->ctx->progress_arg, &p);
}

void iso_ctx_set_progress(iso_ctx *ctx, iso_progress_fn fn, void *arg)
{
	ctx->progress = fn;
	ctx->progress_arg = arg;
}
