/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of scatter read at events, on the host. An event reads 64 rows of the table, which lie far apart: in the order
   of a list most of them come from main memory. So events are read in the order of the table, a block at a time. */
#include "core/progress.h"
#include "core/room.h"
#include "table.h"

/* Events of a block; fewer than LEAST are read as they come; a thread takes TURN at a time; an event is fetched AHEAD of
   its turn. */
enum { BLOCK = 1 << 22, LEAST = 4096, TURN = 4096, AHEAD = 6 };
enum { PASSES = 2 }; /* over the events: their keys, their values */

static float value(const struct iso_scatter_table *t, const struct iso_event *e, double bin)
{
	return iso_event_bad(e) ? 0 : table_event(&t->grid, t->h, e, bin);
}

/* The row of the table at the lower corner of what an event reads. */
static uint32_t key(const struct scatter_grid *g, const struct iso_event *e)
{
	double p1[3], p2[3], u;

	if (iso_event_bad(e) || !table_line(p1, p2, &u, g, e)) return 0;
	struct table_end a = table_end(g, p1), b = table_end(g, p2);
	int64_t row = a.ring > b.ring ? table_row(g, b.ring, b.i[1], a.ring, a.i[1])
	                              : table_row(g, a.ring, a.i[1], b.ring, b.i[1]);

	return row < 0 ? 0 : (uint32_t)row;
}

struct order {
	uint32_t *key, *index; /* (BLOCK): of each event, and their numbers in the order of the keys */
	int64_t *first;        /* (keys): where a key's begin; afterwards where they end */
	int64_t keys;
};

static void sort(struct order *o, const struct scatter_grid *g, const iso_ctx *ctx, const struct iso_event *e,
                 int64_t n, struct iso_clock *clock)
{
	int64_t sum = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t at = 0; at < n; at += TURN) {
		int64_t end = n - at < TURN ? n : at + TURN;

		for (int64_t i = at; i < end; i++) o->key[i] = key(g, &e[i]);
		iso_clock_add(clock, end - at);
	}
	for (int64_t k = 0; k < o->keys; k++) o->first[k] = 0;
	for (int64_t i = 0; i < n; i++) o->first[o->key[i]]++;
	for (int64_t k = 0; k < o->keys; k++) {
		int64_t count = o->first[k];

		o->first[k] = sum;
		sum += count;
	}
	for (int64_t i = 0; i < n; i++) o->index[o->first[o->key[i]]++] = (uint32_t)i;
}

int table_events(iso_real *h, const struct iso_scatter_table *t, iso_ctx *ctx, const struct iso_events *e,
                 double bin)
{
	struct iso_room room = iso_room_of(NULL, "scatter of events");
	struct order o = { .keys = table_rows(&t->grid) };
	int64_t most = e->n < BLOCK ? e->n : BLOCK;

	if (e->n < LEAST) {
		for (int64_t i = 0; i < e->n; i++) h[i] = (iso_real)value(t, &e->v[i], bin);
		return ISO_OK;
	}
	ISO_HOST(&room, o.key, most);
	ISO_HOST(&room, o.index, most);
	ISO_HOST(&room, o.first, o.keys);
	struct iso_clock clock = iso_clock_brief(ctx, "scatter", "events", PASSES * e->n, NULL);

	iso_clock_count(&clock, "events", 1. / PASSES);
	for (int64_t from = 0; from < e->n && !room.status; from += most) {
		int64_t n = e->n - from < most ? e->n - from : most;

		sort(&o, &t->grid, ctx, e->v + from, n, &clock);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
		for (int64_t at = 0; at < n; at += TURN) {
			int64_t end = n - at < TURN ? n : at + TURN;

			for (int64_t i = at; i < end; i++) {
				const struct iso_event *own = e->v + from + o.index[i];

				if (i + AHEAD < n) __builtin_prefetch(e->v + from + o.index[i + AHEAD]);
				h[from + o.index[i]] = (iso_real)value(t, own, bin);
			}
			iso_clock_add(&clock, end - at);
		}
		room.status = iso_ctx_poll(ctx);
	}
	if (!room.status) iso_clock_end(&clock);
	return iso_room_free(&room);
}
