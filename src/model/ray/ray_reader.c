/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the blocks of a subset on a thread of its own, into two places in turn: one is read while
   the other is used. */
#include "ray_reader.h"
#include "core/size.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define LOOK_NS 100000000 /* between two looks of who waits for a block */
enum {
	SLOTS = 2,
	PIECE = 1 << 16,   /* events read at a time where a subset's are picked out, */
	AT_ONCE = 1 << 21, /* and elsewhere at most */
};

struct iso_ray_reader {
	const struct ray_share *h;
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
	int64_t read;              /* events of the block that is read now, so far */
	bool stop;
	int status;
	struct iso_room room;
	char message[1024]; /* of a failure: messages belong to their thread */
};

/* ---- blocks ---- */

int64_t iso_ray_source_bytes(const struct iso_ray_source *s)
{
	return (int64_t)sizeof(struct iso_event) +
	       (s->has_count + s->has_mult + s->has_add + s->has_fwhm) * (int64_t)sizeof(iso_real) +
	       s->has_times * (int64_t)sizeof(uint32_t);
}

static bool want(bool wanted, iso_real **array, int64_t n)
{
	return !wanted || (*array = size_alloc(n, sizeof **array));
}

int iso_ray_source_block(struct iso_events *block, const struct iso_ray_source *s, int64_t n)
{
	struct iso_events b = { .v = size_alloc(n, sizeof *b.v) };

	if (!b.v || !want(s->has_count, &b.count, n) || !want(s->has_mult, &b.mult, n) ||
	    !want(s->has_add, &b.add, n) || !want(s->has_fwhm, &b.fwhm_ps, n) ||
	    (s->has_times && !(b.time_ms = size_alloc(n, sizeof *b.time_ms)))) {
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
	pick(to->fwhm_ps, to->n, from->fwhm_ps, n, at);
	for (int64_t j = 0; from->time_ms && j < n; j++) to->time_ms[to->n + j] = from->time_ms[at[j]];
	to->n += n;
}

/* ---- what a rank has ---- */

static bool consecutive(const struct iso_order *o)
{
	return o->n_sub == 1 || o->rule == ISO_BLOCKS;
}

/* Events of each subset among those of this rank. */
static void count_rows(struct ray_share *h, const iso_ctx *ctx)
{
	int64_t n = iso_deal_count(&h->deal);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t c = 0; c < n; c += PIECE)
		for (int64_t j = c; j < n && j < c + PIECE && !iso_stopped(ctx); j++) {
			int sub = order_subset(&h->order, order_row(&h->order, iso_deal_number(&h->deal, j)));

#pragma omp atomic
			h->rows[sub].n++;
		}
}

int iso_ray_share(struct ray_share *h, struct iso_room *room, iso_ctx *ctx, const struct iso_ray_source *s,
                  const struct iso_order *o)
{
	*h = (struct ray_share){ .s = *s, .order = *o, .deal = iso_deal_of(ctx, s->n) };
	if (!ISO_HOST(room, h->rows, o->n_sub)) return room->status;
	for (int sub = 0; sub < o->n_sub && (consecutive(o) || h->deal.ranks == 1); sub++) {
		struct iso_rows all = order_share(o, sub);
		int64_t first = iso_deal_before(&h->deal, all.first);

		h->rows[sub] =
			(struct iso_rows){ first, iso_deal_before(&h->deal, all.first + all.n) - first };
	}
	if (!consecutive(o) && h->deal.ranks > 1) count_rows(h, ctx);
	return iso_ctx_poll(ctx);
}

int64_t iso_ray_blocks(const struct ray_share *h, int sub, int64_t block)
{
	return (h->rows[sub].n + block - 1) / block;
}

/* Place `at` of a block, as a block. */
static struct iso_events from_place(const struct iso_events *b, int64_t at)
{
	struct iso_events r = *b;

	r.v += at;
	r.count = b->count ? b->count + at : NULL;
	r.mult = b->mult ? b->mult + at : NULL;
	r.add = b->add ? b->add + at : NULL;
	r.fwhm_ps = b->fwhm_ps ? b->fwhm_ps + at : NULL;
	r.time_ms = b->time_ms ? b->time_ms + at : NULL;
	return r;
}

/* n events of this rank from number `first` of its own on, chunk by chunk of the source. */
static int read_share(struct iso_ray_reader *r, struct iso_events *b, int64_t first, int64_t n)
{
	const struct ray_share *h = r->h;
	int st = ISO_OK;

	for (int64_t i = 0, m; i < n && !st && !__atomic_load_n(&r->stop, __ATOMIC_RELAXED); i += m) {
		struct iso_events to = from_place(b, i);
		int64_t left = h->deal.chunk - (first + i) % h->deal.chunk;

		m = n - i < left ? n - i : left;
		m = m < AT_ONCE ? m : AT_ONCE;
		st = h->s.read(h->s.arg, &to, iso_deal_number(&h->deal, first + i), m);
		__atomic_add_fetch(&r->read, m, __ATOMIC_RELAXED);
	}
	return st;
}

/* ---- one block ---- */

/* Events of the subset among m of this rank from `at` on, at most `most`; *looked: how many were looked at. */
static int64_t choose(struct iso_ray_reader *r, int64_t at, int64_t m, int64_t most, int64_t *looked)
{
	const struct iso_deal *d = &r->h->deal;
	struct iso_rows rows = order_share(&r->h->order, r->sub);
	int64_t n = 0, i = 0, number = iso_deal_number(d, at), left = d->chunk - at % d->chunk;

	for (; i < m && n < most; i++, number++, left--) {
		if (left == 0) {
			number = iso_deal_number(d, at + i);
			left = d->chunk;
		}
		int64_t row = order_row(&r->h->order, number);

		if (row >= rows.first && row < rows.first + rows.n) r->chosen[n++] = i;
	}
	*looked = i;
	return n;
}

/* n events of the subset, from event *at of the source on, which moves behind the last. */
static int pick_out(struct iso_ray_reader *r, struct iso_events *b, int64_t n, int64_t *at)
{
	int64_t all = iso_deal_count(&r->h->deal);

	b->n = 0;
	while (b->n < n && !__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		int64_t m = all - *at < PIECE ? all - *at : PIECE, looked;
		int64_t found = choose(r, *at, m, n - b->n, &looked);
		int st = found ? read_share(r, &r->piece, *at, looked) : ISO_OK;

		if (st) return st;
		pick_all(b, &r->piece, found, r->chosen);
		*at += looked;
	}
	return ISO_OK;
}

static int fill(struct iso_ray_reader *r, struct iso_events *b, int64_t k)
{
	struct iso_rows rows = r->h->rows[r->sub];
	int64_t left = rows.n - k * r->block, n = left < r->block ? left : r->block;
	int64_t *start = r->start + r->first[r->sub] + k;
	int st;

	if (consecutive(&r->h->order)) {
		b->n = n;
		return read_share(r, b, rows.first + k * r->block, n);
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

	iso_progress_mute();
	for (int64_t k = r->filled; k < r->end && !st && may_fill(r, k); k++) {
		__atomic_store_n(&r->read, 0, __ATOMIC_RELAXED);
		st = fill(r, r->slot + k % SLOTS, k);
		tell(r, st, st ? k : k + 1);
	}
	return NULL;
}

/* Whether the thread reads that already, and nothing of it was taken. */
static bool is_ahead(struct iso_ray_reader *r, int sub, int64_t first)
{
	if (!r->running || r->sub != sub || r->used != first) return false;
	pthread_mutex_lock(&r->lock);
	bool well = r->status == ISO_OK;

	pthread_mutex_unlock(&r->lock);
	return well;
}

int iso_ray_reader_start(struct iso_ray_reader *r, int sub, int64_t first)
{
	int e;

	if (is_ahead(r, sub, first)) return ISO_OK;
	iso_ray_reader_stop(r);
	r->sub = sub;
	r->end = iso_ray_blocks(r->h, sub, r->block);
	r->filled = r->used = first;
	r->stop = false;
	r->status = ISO_OK;
	e = pthread_create(&r->thread, NULL, read_blocks, r);
	r->running = e == 0;
	return e ? iso_fail(ISO_EIO, "ray stream: can't start a thread: %s", strerror(e)) : ISO_OK;
}

/* Waits for a change, but not long. */
static void wait_a_little(struct iso_ray_reader *r)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += LOOK_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&r->change, &r->lock, &t);
}

int iso_ray_reader_next(struct iso_ray_reader *r, const iso_ctx *ctx, struct iso_events **block)
{
	struct iso_clock clock = iso_clock_brief(ctx, "read", "events", 0, NULL);
	int64_t read = 0, now;
	int st;

	pthread_mutex_lock(&r->lock);
	while (r->filled == r->used && !r->status) {
		wait_a_little(r);
		now = __atomic_load_n(&r->read, __ATOMIC_RELAXED);
		iso_clock_add(&clock, now - read);
		read = now;
	}
	iso_clock_end(&clock);
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
	__atomic_store_n(&r->stop, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->running = false;
}

/* ---- memory ---- */

void iso_ray_reader_free(struct iso_ray_reader *r)
{
	if (!r) return;
	iso_ray_reader_stop(r);
	for (int i = 0; i < SLOTS; i++) iso_events_free(r->slot + i);
	iso_events_free(&r->piece);
	pthread_cond_destroy(&r->change);
	pthread_mutex_destroy(&r->lock);
	iso_room_free(&r->room);
	free(r);
}

const struct iso_events *iso_ray_reader_slot(const struct iso_ray_reader *r, int i)
{
	return i < SLOTS ? r->slot + i : NULL;
}

/* Where each subset's blocks stand in r->start, which has room for an end behind each. */
static int allocate_starts(struct iso_ray_reader *r)
{
	int64_t n = 0;

	ISO_HOST(&r->room, r->first, r->h->order.n_sub);
	for (int sub = 0; r->first && sub < r->h->order.n_sub; sub++) {
		r->first[sub] = n;
		n += iso_ray_blocks(r->h, sub, r->block) + 1;
	}
	ISO_HOST(&r->room, r->start, n);
	return r->room.status;
}

/* Events of a block, at most. */
static int64_t most_rows(const struct ray_share *h, int64_t block)
{
	int64_t most = 0;

	for (int sub = 0; sub < h->order.n_sub; sub++) most = h->rows[sub].n > most ? h->rows[sub].n : most;
	return most < block ? most : block;
}

static int allocate(struct iso_ray_reader *r)
{
	int st = allocate_starts(r);

	for (int i = 0; i < SLOTS && !st; i++)
		st = iso_ray_source_block(r->slot + i, &r->h->s, most_rows(r->h, r->block));
	if (st || consecutive(&r->h->order)) return st;
	return ISO_HOST(&r->room, r->chosen, PIECE) ? iso_ray_source_block(&r->piece, &r->h->s, PIECE)
	                                            : r->room.status;
}

int iso_ray_reader_create(struct iso_ray_reader **out, const struct ray_share *h, int64_t block)
{
	struct iso_ray_reader *r = size_alloc(1, sizeof *r);
	int st;

	if (!r) return iso_fail_memory("ray stream", sizeof *r);
	r->h = h;
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
	int64_t most = order_share(o, 0).n;

	iso_plan_add(plan, "blocks of events, read ahead", most < block ? most : block,
	             SLOTS * iso_ray_source_bytes(s), false);
	if (!consecutive(o))
		iso_plan_add(plan, "events to pick a subset from", PIECE,
		             iso_ray_source_bytes(s) + (int64_t)sizeof(int64_t), false);
}
