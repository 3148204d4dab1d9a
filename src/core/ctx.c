/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: which device, how many threads, whom to tell, whether to stop. It is made in ctx_open.c. */
#include "comm.h"
#include "ctx.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

iso_ctx *iso_ctx_keep(iso_ctx *ctx)
{
	__atomic_add_fetch(&ctx->refs, 1, __ATOMIC_RELAXED);
	return ctx;
}

void iso_ctx_free(iso_ctx *ctx)
{
	if (!ctx || __atomic_sub_fetch(&ctx->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
	iso_ctx_opening_free(ctx);
	if (ctx->owns_comm) iso_comm_close(ctx->comm);
	if (!iso_ctx_closed(ctx) && ctx->cuda) ctx->cuda->close(ctx);
	free(ctx);
}

/* With its device, as far as that can be had. */
static const iso_ctx *opened(const iso_ctx *ctx)
{
	(void)(iso_ctx_ready((iso_ctx *)ctx) == ISO_OK); /* a failure is told by what needs the device */
	return ctx;
}

bool iso_ctx_is_cuda(const iso_ctx *ctx)
{
	return ctx && opened(ctx)->cuda != NULL;
}

const char *iso_ctx_device(const iso_ctx *ctx)
{
	return ctx ? opened(ctx)->device : NULL;
}

const char *iso_ctx_device_name(const iso_ctx *ctx)
{
	return ctx ? opened(ctx)->device_name : NULL;
}

int iso_ctx_threads(const iso_ctx *ctx)
{
	return ctx ? ctx->threads : 0;
}

int iso_ctx_rank(const iso_ctx *ctx)
{
	return ctx ? iso_rank(ctx) : 0;
}

int iso_ctx_ranks(const iso_ctx *ctx)
{
	return ctx ? iso_ranks(ctx) : 1;
}

void iso_ctx_exchanged(int64_t *bytes, double *seconds, const iso_ctx *ctx)
{
	if (!bytes || !seconds || !ctx) return;
	*bytes = ctx->comm ? ctx->comm->bytes : 0;
	*seconds = ctx->comm ? ctx->comm->wait_s : 0;
}

const struct iso_vec *iso_ctx_vec(const iso_ctx *ctx)
{
	return ctx ? opened(ctx)->vec : NULL;
}

int iso_ctx_set_stream(iso_ctx *ctx, void *stream)
{
	int st = ctx ? iso_ctx_ready(ctx) : iso_fail_null(__func__);

	if (st) return st;
	if (!ctx->cuda) return iso_fail(ISO_EARG, "set_stream: the context's device is the CPU");
	ctx->cuda->close(ctx);
	ctx->stream = stream;
	return ISO_OK;
}

void *iso_ctx_stream(const iso_ctx *ctx)
{
	return ctx ? opened(ctx)->stream : NULL;
}

static int order(iso_ctx *ctx, const char *what, void *stream, bool lead)
{
	int st = iso_ctx_ready(ctx);

	if (st) return st;
	if (!ctx->cuda) return iso_fail(ISO_EARG, "%s: the context's device is the CPU", what);
	return lead ? ctx->cuda->order(ctx, ctx->stream, stream) : ctx->cuda->order(ctx, stream, ctx->stream);
}

int iso_ctx_follow_stream(iso_ctx *ctx, void *stream)
{
	return ctx ? order(ctx, "follow_stream", stream, false) : iso_fail_null(__func__);
}

int iso_ctx_lead_stream(iso_ctx *ctx, void *stream)
{
	return ctx ? order(ctx, "lead_stream", stream, true) : iso_fail_null(__func__);
}

int iso_ctx_wait(iso_ctx *ctx)
{
	int st = ctx ? iso_ctx_ready(ctx) : iso_fail_null(__func__);

	return !st && ctx->cuda ? ctx->cuda->wait(ctx) : st;
}

void iso_ctx_set_memory_limit(iso_ctx *ctx, int64_t bytes)
{
	if (!ctx) return;
	ctx->memory_limit = bytes;
}

void iso_ctx_set_device_memory_limit(iso_ctx *ctx, int64_t bytes)
{
	if (!ctx) return;
	ctx->device_limit = bytes;
}

void iso_ctx_cancel(iso_ctx *ctx)
{
	if (!ctx) return;
	__atomic_store_n(&ctx->cancel, 1, __ATOMIC_RELAXED);
}

void iso_ctx_clear_cancel(iso_ctx *ctx)
{
	if (!ctx) return;

	int asked = 1; /* and not ISO_CTX_LOST */

	__atomic_compare_exchange_n(&ctx->cancel, &asked, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool iso_ctx_cancelled(const iso_ctx *ctx)
{
	return ctx && iso_stopped(ctx);
}

int iso_ctx_poll(const iso_ctx *ctx)
{
	if (!iso_stopped(ctx)) return ISO_OK;
	int st = __atomic_load_n(&ctx->cancel, __ATOMIC_ACQUIRE) == ISO_CTX_LOST
	                 ? iso_ctx_ready((iso_ctx *)ctx)
	                 : ISO_OK;

	return st ? st : iso_fail(ISO_ECANCEL, "stopped on request");
}

/* ---- memory ---- */

/* Of ranks that share a machine each has its part of what was free there before they began: what the others have taken
   meanwhile is not taken from it again. */
static int64_t available(const iso_ctx *ctx)
{
	const struct iso_comm *c = ctx ? ctx->comm : NULL;
	int64_t now = iso_memory_available();

	if (!c) return now;
	int64_t left = c->free_bytes / c->local_size - (iso_memory_own() - c->own_bytes);

	return left < 0 ? 0 : left < now ? left : now;
}

int64_t iso_ctx_host_memory(const iso_ctx *ctx)
{
	return ctx->memory_limit > 0 ? ctx->memory_limit : available(ctx);
}

int64_t iso_ctx_host_left(const iso_ctx *ctx)
{
	return ctx->memory_limit > 0 ? ctx->memory_limit - iso_memory_resident() : available(ctx);
}

/* What was taken since the first look, by whomever, counts as ours. */
int iso_ctx_device_left(const iso_ctx *ctx, int64_t *bytes)
{
	int st = ctx->cuda->free_memory(ctx, bytes);

	if (st || ctx->device_limit <= 0) return st;
	if (ctx->device_base == 0) ((iso_ctx *)ctx)->device_base = *bytes;
	int64_t left = ctx->device_limit - (ctx->device_base - *bytes);

	if (*bytes > left) *bytes = left > 0 ? left : 0;
	return ISO_OK;
}

/* Bytes of the process's buffers, names and the like, which no plan counts. */
#define SMALL ((int64_t)4 << 20)

int iso_memory_check(const iso_ctx *ctx, const char *what, int64_t bytes)
{
	if (!what) return iso_fail_null(__func__);
	bool limited = ctx && ctx->memory_limit > 0;
	int64_t held = limited ? iso_memory_own() - ctx->base - SMALL : 0; /* since the context was made */
	int64_t left = limited ? ctx->memory_limit - (held > 0 ? held : 0) : available(ctx);

	if (bytes <= left) return ISO_OK;
	if (!limited)
		return iso_fail(ISO_ENOMEM, "%s: needs %s of host memory, %s are free", what,
		                iso_bytes(bytes), iso_bytes(left));
	return iso_fail(ISO_ENOMEM, "%s: needs %s of host memory, %s are left of the limit of %s", what,
	                iso_bytes(bytes), iso_bytes(left > 0 ? left : 0), iso_bytes(ctx->memory_limit));
}

/* ---- progress: the rate so far gives the time left ---- */

#define MOMENT_S .3 /* a brief stage that is over sooner is not told of, */
#define PAUSE_S .1  /* and a longer one no more often */

static _Thread_local struct {
	iso_progress_fn fn;
	void *arg;
	bool mute;
} listener; /* its address tells threads apart, too */

void iso_progress_listen(iso_progress_fn fn, void *arg)
{
	listener.fn = fn;
	listener.arg = arg;
}

void iso_progress_mute(void)
{
	listener.mute = true;
}

static struct iso_clock make_clock(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total)
{
	return (struct iso_clock){ .fn = ctx ? ctx->progress : listener.fn,
		                   .arg = ctx ? ctx->progress_arg : listener.arg,
		                   .stage = stage,
		                   .first = first,
		                   .total = total,
		                   .start_s = iso_now_s(),
		                   .thread = &listener };
}

static void tell_begin(const struct iso_clock *c)
{
	struct iso_progress p = { .stage = c->stage,
		                  .done = c->first,
		                  .total = c->total,
		                  .left_s = -1,
		                  .note = c->note,
		                  .unit = c->unit,
		                  .brief = c->brief };

	if (c->fn) c->fn(c->arg, &p);
}

struct iso_clock iso_clock_start(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total)
{
	struct iso_clock c = make_clock(ctx, stage, first, total);

	tell_begin(&c);
	return c;
}

void iso_clock_count(struct iso_clock *c, const char *unit, double each)
{
	c->unit = unit;
	c->each = each;
}

struct iso_clock iso_clock_start_of(const iso_ctx *ctx, const char *stage, const char *unit, int64_t first,
                                    int64_t total)
{
	struct iso_clock c = make_clock(ctx, stage, first, total);

	iso_clock_count(&c, unit, 1);
	tell_begin(&c);
	return c;
}

void iso_clock_step(const struct iso_clock *c, int64_t done, const char *note)
{
	if (!c->fn) return;
	double elapsed = iso_now_s() - c->start_s;
	int64_t steps = done - c->first;
	struct iso_progress p = {
		.stage = c->stage,
		.done = done,
		.total = c->total,
		.elapsed_s = elapsed,
		.left_s =
			steps > 0 && c->total > 0 ? elapsed / (double)steps * (double)(c->total - done) : -1,
		.note = note,
		.unit = c->unit,
		.per_s = c->unit && elapsed > 0 ? (double)steps * c->each / elapsed : 0,
		.brief = c->brief,
	};

	c->fn(c->arg, &p);
}

struct iso_clock iso_clock_brief(const iso_ctx *ctx, const char *stage, const char *unit, int64_t total,
                                 const char *note)
{
	struct iso_clock c = make_clock(ctx, stage, 0, total);

	iso_clock_count(&c, unit, 1);
	if (listener.mute) c.fn = NULL;
	c.brief = true;
	c.note = note;
	return c;
}

void iso_clock_add(struct iso_clock *c, int64_t steps)
{
	int64_t done = __atomic_add_fetch(&c->done, steps, __ATOMIC_RELAXED);

	if (!c->fn || c->thread != &listener) return;
	double now = iso_now_s();

	if (now < (c->told_s > 0 ? c->told_s + PAUSE_S : c->start_s + MOMENT_S) ||
	    (c->total > 0 && done == c->total))
		return;
	if (c->told_s == 0) tell_begin(c);
	iso_clock_step(c, done, c->note);
	c->told_s = now;
}

void iso_clock_end(struct iso_clock *c)
{
	if (c->total == 0) c->total = c->done > 0 ? c->done : 1;
	if (c->told_s > 0) iso_clock_step(c, c->total, c->note);
	c->told_s = 0;
}

void iso_ctx_set_progress(iso_ctx *ctx, iso_progress_fn fn, void *arg)
{
	if (!ctx) return;
	ctx->progress = fn;
	ctx->progress_arg = arg;
}
