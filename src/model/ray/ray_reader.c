/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the blocks of a subset on a thread of its own, into two places in turn: one is read while
   the other is used. */
#include "ray_reader.h"
#include "core/room.h"
#include "core/size.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	SLOTS = 2,
	PIECE = 1 << 16, /* events read at a time where a subset's are picked out */
};

struct iso_ray_reader {
	const struct iso_ray_source *s;
	struct iso_order order;
	int64_t block;
	struct iso_events slot[SLOTS];
	struct iso_events piece; /* both are there if subsets must be picked out */
	int64_t *chosen;
	int64_t *start, *first; /* event where block k of a subset begins: start[first[sub] + k] */

	/* one run of the thread */
	int sub;
	bool running;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	int64_t end, filled, used; /* blocks: of the subset, read so far, given back so far */
	bool stop;
	int status;
	struct iso_room room;
	char message[1024]; /* of a failure: messages belong to their thread */
};

/* ---- blocks ---- */

int64_t iso_ray_source_bytes(const struct iso_ray_source *s)
{
	return (int64_t)sizeof(struct iso_event) +
	       (s->has_count + s->has_mult + s->has_add) * (int64_t)sizeof(iso_real);
}

static bool want(bool wanted, iso_real **array, int64_t n)
{
	return !wanted || (*array = size_alloc(n, sizeof **array));
}

int iso_ray_source_block(struct iso_events *block, const struct iso_ray_source *s, int64_t n)
{
	struct iso_events b = { .v = size_alloc(n, sizeof *b.v) };

	if (!b.v || !want(s->has_count, &b.count, n) || !want(s->has_mult, &b.mult, n) ||
	    !want(s->has_add, &b.add, n)) {
		iso_events_free(&b);
		return iso_fail_memory("block of events", n * iso_ray_source_bytes(s));
	}
	*block = b;
	return ISO_OK;
}

/* to[first + j] = from[at[j]], where there is such an array. */
static void pick(iso_real *to, int64_t first, const iso_real *from, int64_t n, const int64_t *at)
{
	for (int64_t j = 0; from && j < n; j++) to[first + j] = from[at[j]];
}

/* The events of `from` at the places in `at`, appended to `to`. */
static void pick_all(struct iso_events *to, const struct iso_events *from, int64_t n, const int64_t *at)
{
	for (int64_t j = 0; j < n; j++) to->v[to->n + j] = from->v[at[j]];
	pick(to->count, to->n, from->count, n, at);
	pick(to->mult, to->n, from->mult, n, at);
	pick(to->add, to->n, from->add, n, at);
	to->n += n;
}

int64_t iso_ray_blocks(const struct iso_order *o, int sub, int64_t block)
{
	return (order_rows(o, sub).n + block - 1) / block;
}

static bool consecutive(const struct iso_order *o)
{
	return o->n_sub == 1 || o->rule == ISO_BLOCKS;
}

/* ---- one block ---- */

/* Events of the subset among m from `at` on, at most `most`; *looked: how many were looked at. */
static int64_t choose(struct iso_ray_reader *r, int64_t at, int64_t m, int64_t most, int64_t *looked)
{
	struct iso_rows rows = order_rows(&r->order, r->sub);
	int64_t n = 0, i = 0;

	for (; i < m && n < most; i++) {
		int64_t row = order_row(&r->order, at + i);

		if (row >= rows.first && row < rows.first + rows.n) r->chosen[n++] = i;
	}
	*looked = i;
	return n;
}

/* n events of the subset, from event *at of the source on, which moves behind the last. */
static int pick_out(struct iso_ray_reader *r, struct iso_events *b, int64_t n, int64_t *at)
{
	const struct iso_ray_source *s = r->s;

	b->n = 0;
	while (b->n < n) {
		int64_t m = s->n - *at < PIECE ? s->n - *at : PIECE, looked;
		int64_t found = choose(r, *at, m, n - b->n, &looked);
		int st = found ? s->read(s->arg, &r->piece, *at, looked) : ISO_OK;

		if (st) return st;
		pick_all(b, &r->piece, found, r->chosen);
		*at += looked;
	}
	return ISO_OK;
}

static int fill(struct iso_ray_reader *r, struct iso_events *b, int64_t k)
{
	struct iso_rows rows = order_rows(&r->order, r->sub);
	int64_t left = rows.n - k * r->block, n = left < r->block ? left : r->block;
	int64_t *start = r->start + r->first[r->sub] + k;
	int st;

	if (consecutive(&r->order)) {
		b->n = n;
		return r->s->read(r->s->arg, b, rows.first + k * r->block, n);
	}
	int64_t at = start[0];

	st = pick_out(r, b, n, &at);
	start[1] = at;
	return st;
}

/* ---- the thread ---- */

/* Whether there is a place to read block k into; waits for one. */
static bool may_fill(struct iso_ray_reader *r, int64_t k)
{
	pthread_mutex_lock(&r->lock);
	while (!r->stop && k >= r->used + SLOTS) pthread_cond_wait(&r->change, &r->lock);
	bool go_on = !r->stop;

	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void tell(struct iso_ray_reader *r, int st, int64_t filled)
{
	pthread_mutex_lock(&r->lock);
	r->filled = filled;
	r->status = st;
	if (st) snprintf(r->message, sizeof r->message, "%s", iso_message());
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
}

static void *read_blocks(void *arg)
{
	struct iso_ray_reader *r = arg;
	int st = ISO_OK;

	for (int64_t k = r->filled; k < r->end && !st && may_fill(r, k); k++) {
		st = fill(r, r->slot + k % SLOTS, k);
		tell(r, st, st ? k : k + 1);
	}
	return NULL;
}

int iso_ray_reader_start(struct iso_ray_reader *r, int sub, int64_t first)
{
	int e;

	r->sub = sub;
	r->end = iso_ray_blocks(&r->order, sub, r->block);
	r->filled = r->used = first;
	r->stop = false;
	r->status = ISO_OK;
	e = pthread_create(&r->thread, NULL, read_blocks, r);
	r->running = e == 0;
	return e ? iso_fail(ISO_EIO, "ray stream: can't start a thread: %s", strerror(e)) : ISO_OK;
}

int iso_ray_reader_next(struct iso_ray_reader *r, struct iso_events **block)
{
	int st;

	pthread_mutex_lock(&r->lock);
	while (r->filled == r->used && !r->status) pthread_cond_wait(&r->change, &r->lock);
	st = r->filled == r->used ? r->status : ISO_OK;
	pthread_mutex_unlock(&r->lock);
	if (st) return iso_fail(st, "%s", r->message);
	*block = r->slot + r->used % SLOTS;
	return ISO_OK;
}

void iso_ray_reader_done(struct iso_ray_reader *r)
{
	pthread_mutex_lock(&r->lock);
	r->used++;
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
}

void iso_ray_reader_stop(struct iso_ray_reader *r)
{
	if (!r->running) return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->running = false;
}

/* ---- memory ---- */

void iso_ray_reader_free(struct iso_ray_reader *r)
{
	if (!r) return;
	for (int i = 0; i < SLOTS; i++) iso_events_free(r->slot + i);
	iso_events_free(&r->piece);
	pthread_cond_destroy(&r->change);
	pthread_mutex_destroy(&r->lock);
	iso_room_free(&r->room);
	free(r);
}

/* Where each subset's blocks stand in r->start, which has room for an end behind each. */
static int allocate_starts(struct iso_ray_reader *r)
{
	int64_t n = 0;

	ISO_HOST(&r->room, r->first, r->order.n_sub);
	for (int sub = 0; r->first && sub < r->order.n_sub; sub++) {
		r->first[sub] = n;
		n += iso_ray_blocks(&r->order, sub, r->block) + 1;
	}
	ISO_HOST(&r->room, r->start, n);
	return r->room.status;
}

static int64_t most_rows(const struct iso_order *o, int64_t block)
{
	int64_t most = order_rows(o, 0).n; /* no subset is longer */

	return most < block ? most : block;
}

static int allocate(struct iso_ray_reader *r)
{
	int st = allocate_starts(r);

	for (int i = 0; i < SLOTS && !st; i++)
		st = iso_ray_source_block(r->slot + i, r->s, most_rows(&r->order, r->block));
	if (st || consecutive(&r->order)) return st;
	return ISO_HOST(&r->room, r->chosen, PIECE) ? iso_ray_source_block(&r->piece, r->s, PIECE)
	                                            : r->room.status;
}

int iso_ray_reader_create(struct iso_ray_reader **out, const struct iso_ray_source *s,
                          const struct iso_order *o, int64_t block)
{
	struct iso_ray_reader *r = size_alloc(1, sizeof *r);
	int st;

	if (!r) return iso_fail_memory("ray stream", sizeof *r);
	r->s = s;
	r->order = *o;
	r->block = block;
	r->room.what = "ray stream";
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->change, NULL);
	if ((st = allocate(r)))
		iso_ray_reader_free(r);
	else
		*out = r;
	return st;
}

void iso_ray_reader_plan(struct iso_plan *plan, const struct iso_ray_source *s, const struct iso_order *o,
                         int64_t block)
{
	iso_plan_add(plan, "blocks of events, read ahead", most_rows(o, block),
	             SLOTS * iso_ray_source_bytes(s), false);
	if (!consecutive(o))
		iso_plan_add(plan, "events to pick a subset from", PIECE,
		             iso_ray_source_bytes(s) + (int64_t)sizeof(int64_t), false);
}
