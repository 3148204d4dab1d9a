/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop around the steps of an algorithm, its arrays, and its checkpoints. */
#include "loop.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK ((int64_t)1 << 22) /* values put in order at a time, and sent to a device */

/* ---- memory ---- */

void *iso_loop_make(size_t size, const struct iso_loop_fn *fn, iso_op *op, enum iso_place place,
                    int64_t total)
{
	int64_t points = total + fn->at_start;
	iso_ctx *ctx = iso_op_ctx(op);
	struct iso_loop *l = size_alloc(1, (int64_t)size);

	if (!l) goto no_memory;
	*l = (struct iso_loop){
		.fn = fn,
		.stage = fn->name,
		.op = iso_op_keep(op),
		.ctx = ctx,
		.v = ctx->vec,
		.n = iso_op_n_in(op),
		.n_data = iso_op_n_out(op),
		.place = place,
		.total = total,
		.per = 1,
		.room = { .ctx = ctx, .what = fn->name },
		.taken = { .ctx = ctx, .what = fn->name },
	};
	ISO_HOST(&l->room, l->host, l->n);
	for (int k = 0; k < fn->curves; k++)
		if (!(l->curve[k] = size_alloc(points, sizeof *l->curve[k]))) goto no_memory;
	return l;
no_memory:
	iso_loop_free(l);
	iso_fail_memory(fn->name, fn->curves * points * (int64_t)sizeof *l->curve[0]);
	return NULL;
}

void iso_loop_free(struct iso_loop *l)
{
	if (!l) return;
	iso_room_free(&l->taken);
	iso_room_free(&l->room);
	for (int k = 0; k < 2; k++) free(l->curve[k]);
	iso_op_free(l->op);
	free(l);
}

/* ---- the caller's arrays ---- */

int iso_loop_take(struct iso_loop *l, const char *what, int64_t n, const iso_real **v, bool nonneg)
{
	iso_real *copy;
	int st;

	if (!*v) return ISO_OK;
	if (l->place == ISO_DEVICE && iso_ctx_is_cuda(l->ctx)) {
		if (!ISO_HOST(&l->taken, copy, n)) return l->taken.status;
		if ((st = l->v->download(l->ctx, copy, *v, n * (int64_t)sizeof *copy))) return st;
		*v = copy;
	}
	int64_t bad = n;

#pragma omp parallel for num_threads(l->ctx->threads) reduction(min : bad)
	for (int64_t i = 0; i < n; i++)
		if (i < bad && (!isfinite((*v)[i]) || (nonneg && !((*v)[i] >= 0)))) bad = i;
	if (bad < n)
		return iso_fail(ISO_EINPUT, "%s: %s holds %g at %" PRId64 ", must be finite%s", l->fn->name,
		                what, (double)(*v)[bad], bad, nonneg ? " and not negative" : "");
	iso_clock_add(&l->data, n);
	return ISO_OK;
}

/* In blocks: the caller may ask to stop, and for a device there need not be another copy on the host. */
iso_real *iso_loop_rows(struct iso_loop *l, const iso_real *host)
{
	struct iso_room room = { .ctx = l->ctx, .what = l->fn->name };
	int64_t most = l->n_data < BLOCK ? l->n_data : BLOCK;
	bool cuda = iso_ctx_is_cuda(l->ctx), sorts = l->op->fn->file_row;
	iso_real *there, *block = NULL;

	if (!host || !ISO_DEVICE(&l->room, there, l->n_data)) return NULL;
	if (cuda && sorts && !ISO_HOST(&room, block, most)) l->room.status = room.status;
	for (int64_t i = 0; i < l->n_data && !l->room.status; i += most) {
		struct iso_rows rows = { i, l->n_data - i < most ? l->n_data - i : most };

		if ((l->room.status = iso_ctx_poll(l->ctx))) break;
		if (sorts || !cuda) iso_op_sort_rows(l->op, cuda ? block : there + i, host, rows);
		if (cuda)
			l->room.status = l->v->upload(l->ctx, there + i, sorts ? block : host + i,
			                              rows.n * (int64_t)sizeof *block);
		iso_clock_add(&l->data, rows.n);
	}
	iso_room_free(&room);
	return l->room.status ? NULL : there;
}

int iso_loop_image(iso_real *x, const struct iso_loop *l)
{
	if (l->place == ISO_DEVICE) return l->v->copy(l->ctx, l->n, x, l->x);
	return l->v->download(l->ctx, x, l->x, l->n * (int64_t)sizeof *x);
}

const double *iso_loop_curve(const struct iso_loop *l, int which, int *n)
{
	*n = (int)l->done + l->fn->at_start;
	return l->curve[which];
}

/* On CUDA the vectors go through arrays of the host. */
static int transfer(struct iso_loop *l, const struct iso_run *run, bool write)
{
	struct iso_item item[LOOP_ITEMS], host[LOOP_ITEMS];
	struct iso_room room = { .ctx = l->ctx, .what = "checkpoint" };
	int n = l->fn->items(l, item), st;

	for (int i = 0; i < n; i++) {
		host[i] = item[i];
		if (iso_ctx_is_cuda(l->ctx) && item[i].type == ISO_ITEM_REAL)
			host[i].v = iso_room_host(&room, item[i].n, sizeof(iso_real));
	}
	st = room.status;
	if (!write && !st) st = iso_checkpoint_read(run->checkpoint, run->key, n, host);
	for (int i = 0; i < n && !st; i++) {
		int64_t bytes = item[i].n * (int64_t)sizeof(iso_real);

		if (host[i].v == item[i].v) continue;
		st = write ? l->v->download(l->ctx, host[i].v, item[i].v, bytes)
		           : l->v->upload(l->ctx, item[i].v, host[i].v, bytes);
	}
	if (write && !st) st = iso_checkpoint_write(run->checkpoint, run->key, n, host);
	iso_room_free(&room);
	return st;
}

/* ---- the loop ---- */

static bool minutes_over(double minutes, double since_s)
{
	return iso_now_s() - since_s >= 60 * minutes;
}

/* Stopped by the caller or the clock: keep what there is. */
static int stop(struct iso_loop *l, const struct iso_run *run)
{
	int st = run->checkpoint ? transfer(l, run, true) : ISO_OK;

	if (st) return st;
	return iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " of %" PRId64 " %s%s%s", l->done, l->total,
	                l->fn->unit, run->checkpoint ? "; resume continues from " : "",
	                run->checkpoint ? run->checkpoint : "");
}

bool iso_loop_finished(const struct iso_loop *l)
{
	return l->fn->finished ? l->fn->finished(l) : l->done == l->total;
}

/* The first curve, summed over the steps of the iteration that has just ended. */
static double objective(const struct iso_loop *l)
{
	if (l->fn->now) return l->fn->now(l);
	const double *end = l->curve[0] + l->done + l->fn->at_start;
	double sum = 0;

	for (int k = 1; k <= l->per; k++) sum += end[-k];
	return sum;
}

/* To the caller of this rank, if wanted. */
static int show_own(struct iso_loop *l, const struct iso_run *run, int iteration)
{
	int st;

	if (!run->each || (run->wants && !run->wants(run->arg, iteration))) return ISO_OK;
	if (run->objective) *run->objective = objective(l);
	st = l->v->download(l->ctx, l->host, l->x, l->n * (int64_t)sizeof *l->host);
	return st ? st : run->each(run->arg, iteration, l->host);
}

/* The caller may look at the image of a whole iteration. Where that fails, the work is kept. */
static int show(struct iso_loop *l, const struct iso_run *run)
{
	char message[1024];

	if (l->ended || l->done % l->per || !l->shown) return ISO_OK;
	int st = show_own(l, run, (int)(l->done / l->per));
	double enough = st == ISO_ENOUGH;

	st = iso_comm_max(l->ctx, enough > 0 ? ISO_OK : st, &enough, 1);
	l->stopped = enough > 0 && !iso_loop_finished(l);
	if (st && run->checkpoint) {
		snprintf(message, sizeof message, "%s", iso_message());
		transfer(l, run, true);
		iso_fail(st, "%s", message); /* the first failure is the one to tell */
	}
	return st;
}

/* What is to be done after a step. */
struct next {
	bool stop, save;
	bool asked; /* to save, by whoever looks on */
};

/* Shows the image to whoever looks on and wants it; whether to save. */
static int watch(bool *save, struct iso_loop *l, const struct iso_watch *w)
{
	const struct iso_watched s = { l->done, l->total, l->per, l->done % l->per ? NAN : objective(l),
		                       l->fn->figure };
	int wants = w->step(w->arg, &s), st = ISO_OK;

	*save = wants & ISO_WATCH_SAVE;
	if (wants & ISO_WATCH_IMAGE) {
		st = l->v->download(l->ctx, l->host, l->x, l->n * (int64_t)sizeof *l->host);
		if (!st) st = w->image(w->arg, l->host);
	}
	return st;
}

/* What the clocks, and the callers of several ranks, ask for after a step that ended with `st`: all ranks do what one
   of them is asked for. */
static int ask(struct next *n, struct iso_loop *l, const struct iso_run *run, double saved_s, int st)
{
	bool asked = iso_ranks(l->ctx) > 1 && iso_stopped(l->ctx);
	bool late = run->stop_after_minutes > 0 && minutes_over(run->stop_after_minutes, l->start_s);
	bool save = false;

	if (!st && run->watch) st = watch(&save, l, run->watch);
	bool due = save || minutes_over(run->checkpoint_minutes, saved_s);
	double v[2] = { asked || late, run->checkpoint && due };

	st = iso_comm_max(l->ctx, st, v, 2);
	*n = (struct next){ v[0] > 0, v[1] > 0, save };
	return st;
}

static int loop(struct iso_loop *l, const struct iso_run *run)
{
	struct iso_clock clock = iso_clock_start(l->ctx, l->stage, l->done, l->total);
	double saved_s = l->start_s, value;
	struct next next;
	char note[64];
	int st;

	while (!iso_loop_finished(l)) {
		if ((st = ask(&next, l, run, saved_s, l->fn->step(l))))
			return st == ISO_ECANCEL ? stop(l, run) : st;
		value = l->fn->now ? l->fn->now(l) : l->curve[0][l->done - 1 + l->fn->at_start];
		iso_snprintf(note, sizeof note, "%s %.9g", l->fn->figure, value);
		iso_clock_step(&clock, l->done, l->done % l->per || isnan(value) ? NULL : note);
		if ((st = show(l, run))) return st;
		if (l->stopped || iso_loop_finished(l)) break;
		if (next.stop) return stop(l, run);
		if (!next.save) continue;
		saved_s = iso_now_s();
		st = transfer(l, run, true);
		if (st) l->unsaved++; /* it may be written next time: the run goes on */
		if (next.asked) run->watch->saved(run->watch->arg, st);
	}
	return ISO_OK;
}

/* Whether there is a checkpoint to go on from: rank 0 tells, which writes and removes it. All ranks read the file
   before rank 0 can write the next, after a step of all. */
static int find(bool *found, struct iso_loop *l, const struct iso_run *run)
{
	double there =
		iso_rank(l->ctx) == 0 && run->resume && run->checkpoint && access(run->checkpoint, F_OK) == 0;
	int st = run->resume ? iso_comm_max(l->ctx, ISO_OK, &there, 1) : ISO_OK;

	*found = there > 0;
	return st;
}

/* Behind the checkpoint of the finished run: one that is resumed goes on from the last step. */
static int cut(struct iso_loop *l, const struct iso_run *run)
{
	int st = iso_comm_agree(l->ctx, l->fn->cut(l));

	return st == ISO_ECANCEL ? stop(l, run) : st;
}

int iso_loop_run(struct iso_loop *l, iso_real *x, const struct iso_run *given)
{
	struct iso_run run = { 0 };
	int st = given ? iso_sized_take(&run, "iso_run", sizeof run, given) : ISO_OK;
	double shown = run.each != NULL;
	bool found;

	if ((st = iso_comm_max(l->ctx, st, &shown, 1))) return st;
	l->shown = shown > 0;
	l->start_s = iso_now_s();
	if ((st = find(&found, l, &run))) return st;
	if (found) {
		if (!(st = transfer(l, &run, false))) st = l->fn->restored(l, run.checkpoint);
		st = iso_comm_agree(l->ctx, st); /* all have read it before one removes it */
	} else if (l->fn->begin) {
		st = l->fn->begin(l);
	}
	l->resumed_from = (int)l->done;
	if (!st) st = loop(l, &run);
	if (!st && run.keep && run.checkpoint && transfer(l, &run, true)) l->unsaved++;
	if (!st && l->stopped && l->fn->cut) st = cut(l, &run);
	if (!st) st = iso_loop_image(x, l);
	if (!st && run.watch && l->place == ISO_HOST) st = run.watch->image(run.watch->arg, x);
	return st;
}

int iso_loop_step(struct iso_loop *l)
{
	if (l->done == l->total && iso_loop_finished(l))
		return iso_fail(ISO_EARG, "%s: all %" PRId64 " %s are done", l->fn->name, l->total,
		                l->fn->unit);
	return l->fn->step(l);
}
