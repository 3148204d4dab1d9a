/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop around the steps of an algorithm, its arrays, and its checkpoints. */
#include "loop.h"

#include "core/op.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

void *iso_loop_make(size_t size, const struct iso_loop_fn *fn, iso_op *op, enum iso_place place,
                    int64_t total)
{
	int64_t points = total + fn->at_start, n = iso_op_n_in(op);
	struct iso_loop *l = size_alloc(1, (int64_t)size);

	if (!l) goto no_memory;
	l->fn = fn;
	l->stage = fn->name;
	l->op = iso_op_keep(op);
	l->ctx = iso_op_ctx(op);
	l->v = l->ctx->vec;
	l->n = n;
	l->n_data = iso_op_n_out(op);
	l->place = place;
	l->total = total;
	l->per = 1;
	if (!(l->host = size_alloc(n, sizeof *l->host))) goto no_memory;
	for (int k = 0; k < fn->curves; k++)
		if (!(l->curve[k] = size_alloc(points, sizeof *l->curve[k]))) goto no_memory;
	return l;
no_memory:
	iso_loop_free(l);
	iso_fail_memory(fn->name,
	                n * (int64_t)sizeof *l->host + fn->curves * points * (int64_t)sizeof *l->curve[0]);
	return NULL;
}

void iso_loop_free(struct iso_loop *l)
{
	if (!l) return;
	iso_loop_drop(l);
	for (int k = 0; k < LOOP_VECTORS; k++) l->v->free(l->ctx, l->vector[k]);
	for (int k = 0; k < 2; k++) free(l->curve[k]);
	free(l->host);
	iso_op_free(l->op);
	free(l);
}

int iso_loop_vector(struct iso_loop *l, iso_real **v, int64_t n)
{
	int k = 0, st;

	while (l->vector[k]) k++;
	if (!(st = iso_vec_alloc(l->ctx, &l->vector[k], n))) *v = l->vector[k];
	return st;
}

/* ---- the caller's arrays ---- */

static int check_values(const char *name, const char *what, int64_t n, const iso_real *v, bool nonneg)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(v[i]) || (nonneg && !(v[i] >= 0)))
			return iso_fail(ISO_EINPUT, "%s: %s holds %g at %" PRId64 ", must be finite%s", name,
			                what, (double)v[i], i, nonneg ? " and not negative" : "");
	return ISO_OK;
}

int iso_loop_take(struct iso_loop *l, const char *what, int64_t n, const iso_real **v, bool nonneg)
{
	int64_t bytes = n * (int64_t)sizeof **v;
	int k = 0, st;

	if (!*v) return ISO_OK;
	if (l->place == ISO_DEVICE && iso_ctx_is_cuda(l->ctx)) {
		while (l->taken[k]) k++;
		if (!(l->taken[k] = size_alloc(n, sizeof **v))) return iso_fail_memory(what, bytes);
		if ((st = l->v->download(l->ctx, l->taken[k], *v, bytes))) return st;
		*v = l->taken[k];
	}
	return check_values(l->fn->name, what, n, *v, nonneg);
}

void iso_loop_drop(struct iso_loop *l)
{
	for (int k = 0; k < LOOP_TAKEN; k++) {
		free(l->taken[k]);
		l->taken[k] = NULL;
	}
}

int iso_loop_rows(struct iso_loop *l, iso_real **v, const iso_real *host)
{
	int64_t bytes = l->n_data * (int64_t)sizeof *host;
	iso_real *sorted;
	int st;

	if (!host) return ISO_OK;
	if (!(sorted = size_alloc(l->n_data, sizeof *sorted))) return iso_fail_memory("data", bytes);
	iso_op_sort(l->op, sorted, host);
	if (!(st = iso_loop_vector(l, v, l->n_data))) st = l->v->upload(l->ctx, *v, sorted, bytes);
	free(sorted);
	return st;
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

double *iso_loop_hand_over(struct iso_loop *l, int which)
{
	double *curve = l->curve[which];

	l->curve[which] = NULL;
	return curve;
}

/* ---- checkpoints ---- */

/* `host` = the items, with room on the host for the vectors, all in *block: free that. On the CPU the
   vectors themselves serve, and *block is NULL. */
static int on_host(struct iso_item *host, iso_real **block, const iso_ctx *ctx, int n,
                   const struct iso_item *item)
{
	int64_t all = 0, at = 0;

	*block = NULL;
	memcpy(host, item, (size_t)n * sizeof *item);
	if (!iso_ctx_is_cuda(ctx)) return ISO_OK;
	for (int i = 0; i < n; i++) all += item[i].type == ISO_ITEM_REAL ? item[i].n : 0;
	if (!(*block = size_alloc(all, sizeof **block)))
		return iso_fail_memory("checkpoint", all * (int64_t)sizeof **block);
	for (int i = 0; i < n; i++)
		if (item[i].type == ISO_ITEM_REAL) {
			host[i].v = *block + at;
			at += item[i].n;
		}
	return ISO_OK;
}

static int transfer(struct iso_loop *l, const struct iso_run *run, bool write)
{
	struct iso_item item[LOOP_ITEMS], host[LOOP_ITEMS];
	iso_real *block;
	int n = l->fn->items(l, item), st = on_host(host, &block, l->ctx, n, item);

	if (!write && !st) st = iso_checkpoint_read(run->checkpoint, run->key, n, host);
	for (int i = 0; block && i < n && !st; i++) {
		int64_t bytes = item[i].n * (int64_t)sizeof *block;

		if (item[i].type != ISO_ITEM_REAL) continue;
		st = write ? l->v->download(l->ctx, host[i].v, item[i].v, bytes)
		           : l->v->upload(l->ctx, item[i].v, host[i].v, bytes);
	}
	if (write && !st) st = iso_checkpoint_write(run->checkpoint, run->key, n, host);
	free(block);
	return st;
}

static int save(struct iso_loop *l, const struct iso_run *run)
{
	return transfer(l, run, true);
}

static int restore(struct iso_loop *l, const struct iso_run *run)
{
	int st = transfer(l, run, false);

	return st ? st : l->fn->restored(l, run->checkpoint);
}

/* ---- the loop ---- */

static bool minutes_over(double minutes, double since_s)
{
	return iso_now_s() - since_s >= 60 * minutes;
}

/* Stopped by the caller or the clock: keep what there is. */
static int stop(struct iso_loop *l, const struct iso_run *run)
{
	int st = run->checkpoint ? save(l, run) : ISO_OK;

	if (st) return st;
	return iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " of %" PRId64 " %s%s%s", l->done, l->total,
	                l->fn->unit, run->checkpoint ? "; resume continues from " : "",
	                run->checkpoint ? run->checkpoint : "");
}

/* The caller may look at the image of a whole iteration. Where that fails, the work is kept. */
static int show(struct iso_loop *l, const struct iso_run *run)
{
	int iteration = (int)(l->done / l->per), st;
	char message[1024];

	if (l->ended || l->done % l->per || !run->each || (run->wants && !run->wants(run->arg, iteration)))
		return ISO_OK;
	st = l->v->download(l->ctx, l->host, l->x, l->n * (int64_t)sizeof *l->host);
	if (!st) st = run->each(run->arg, iteration, l->host);
	if (st && run->checkpoint) {
		snprintf(message, sizeof message, "%s", iso_message());
		save(l, run);
		iso_fail(st, "%s", message); /* the first failure is the one to tell */
	}
	return st;
}

/* A checkpoint that can't be written now may be next time: the run goes on. */
static void save_if_due(struct iso_loop *l, const struct iso_run *run, double *saved_s)
{
	if (!run->checkpoint || !minutes_over(run->checkpoint_minutes, *saved_s)) return;
	*saved_s = iso_now_s();
	if (save(l, run)) l->unsaved++;
}

static void tell(const struct iso_loop *l, const struct iso_clock *clock)
{
	char note[64];

	iso_snprintf(note, sizeof note, "%s %.9g", l->fn->figure, l->curve[0][l->done - 1 + l->fn->at_start]);
	iso_clock_step(clock, l->done, l->done % l->per ? NULL : note);
}

bool iso_loop_finished(const struct iso_loop *l)
{
	return l->fn->finished ? l->fn->finished(l) : l->done == l->total;
}

static int loop(struct iso_loop *l, const struct iso_run *run, double start_s)
{
	struct iso_clock clock = iso_clock_start(l->ctx, l->stage, l->done, l->total);
	double saved_s = start_s;
	int st;

	while (!iso_loop_finished(l)) {
		if ((st = l->fn->step(l))) return st == ISO_ECANCEL ? stop(l, run) : st;
		tell(l, &clock);
		if ((st = show(l, run))) return st;
		if (iso_loop_finished(l)) break;
		if (run->stop_after_minutes > 0 && minutes_over(run->stop_after_minutes, start_s))
			return stop(l, run);
		save_if_due(l, run, &saved_s);
	}
	return ISO_OK;
}

static int begin(struct iso_loop *l)
{
	return l->fn->begin ? l->fn->begin(l) : ISO_OK;
}

int iso_loop_run(struct iso_loop *l, iso_real *x, const struct iso_run *given, double start_s)
{
	struct iso_run run = { 0 };
	int st = given ? iso_sized_take(&run, "iso_run", sizeof run, given) : ISO_OK;

	if (st) return st;
	st = run.resume && run.checkpoint && access(run.checkpoint, F_OK) == 0 ? restore(l, &run) : begin(l);
	l->resumed_from = (int)l->done;
	if (!st) st = loop(l, &run, start_s);
	return st ? st : iso_loop_image(x, l);
}

int iso_loop_step(struct iso_loop *l)
{
	if (l->done == l->total && iso_loop_finished(l))
		return iso_fail(ISO_EARG, "%s: all %" PRId64 " %s are done", l->fn->name, l->total,
		                l->fn->unit);
	return l->fn->step(l);
}
