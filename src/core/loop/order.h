/* SPDX-License-Identifier: BSD-3-Clause */
/* Which event stands in which row: rows of a subset are contiguous, and which events they are
   depends on the event's number alone. Both ways in closed form, without a table; where several ranks have some
   of the events each, by tables of those that are here. */
#ifndef ISO_ORDER_H
#define ISO_ORDER_H

#include "core/philox.h"

struct iso_room;

struct iso_order {
	int64_t n; /* events, of all ranks */
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;
	/* of the events of this rank, on the host, from iso_order_part; NULL: all events are here */
	const int64_t *first; /* row where each subset begins, n_sub + 1 */
	const int64_t *event; /* place in the list of this rank of the event in each row */
};

/* Rows of a subset of all events; the first n % n_sub subsets have one more. */
ISO_HD struct iso_rows order_share(const struct iso_order *o, int sub)
{
	int64_t each = o->n / o->n_sub, more = o->n % o->n_sub;
	struct iso_rows r = { sub * each + (sub < more ? sub : more), each + (sub < more) };

	return r;
}

/* Those that are here. */
ISO_HD struct iso_rows order_rows(const struct iso_order *o, int sub)
{
	if (!o->first) return order_share(o, sub);
	struct iso_rows r = { o->first[sub], o->first[sub + 1] - o->first[sub] };

	return r;
}

/* The subset that a row of all events lies in. */
ISO_HD int order_subset(const struct iso_order *o, int64_t row)
{
	int64_t each = o->n / o->n_sub, longer = o->n % o->n_sub, rows = longer * (each + 1);

	return (int)(row < rows ? row / (each + 1) : longer + (row - rows) / each);
}

/* ---- interleaved: row q of subset b is event b + q n_sub ---- */

ISO_HD int64_t order_deal(const struct iso_order *o, int64_t event)
{
	return order_share(o, (int)(event % o->n_sub)).first + event / o->n_sub;
}

ISO_HD int64_t order_undeal(const struct iso_order *o, int64_t row)
{
	int64_t each = o->n / o->n_sub, more = o->n % o->n_sub, long_rows = more * (each + 1);

	if (row < long_rows) return row / (each + 1) + row % (each + 1) * o->n_sub;
	return more + (row - long_rows) / each + (row - long_rows) % each * o->n_sub;
}

/* ---- random: a keyed permutation of 0 .. n-1 ---- */

#define ORDER_ROUNDS 6 /* of the Feistel network, three rounds of Philox in each */

/* Bits of the low and the high half of a number: together the fewest that hold n - 1, and at least 2. */
struct order_halves {
	int low, high;
};

ISO_HD struct order_halves order_halves(int64_t n)
{
	int bits = 2;

	while (bits < 62 && ((int64_t)1 << bits) < n) bits++;
	struct order_halves h = { bits - bits / 2, bits / 2 };

	return h;
}

ISO_HD uint32_t order_hash(uint64_t seed, int round, uint32_t v)
{
	struct philox c = { { v, (uint32_t)round, 0, 0 } };

	for (int i = 0; i < 3; i++)
		c = philox_round(c, (uint32_t)seed + (uint32_t)i * 0x9E3779B9u,
		                 (uint32_t)(seed >> 32) + (uint32_t)i * 0xBB67AE85u);
	return c.w[0] ^ c.w[2];
}

/* One round changes one half by a hash of the other, so doing it twice changes nothing. */
ISO_HD int64_t order_round(struct order_halves h, uint64_t seed, int round, int64_t v)
{
	uint32_t low = (uint32_t)(v & (((int64_t)1 << h.low) - 1)), high = (uint32_t)(v >> h.low);

	if (round % 2)
		low ^= order_hash(seed, round, high) & (uint32_t)(((int64_t)1 << h.low) - 1);
	else
		high ^= order_hash(seed, round, low) & (uint32_t)(((int64_t)1 << h.high) - 1);
	return ((int64_t)high << h.low) | low;
}

/* Numbers beyond n - 1 are sent round again until they fall inside (cycle walking); fewer than
   half of all are beyond. */
ISO_HD int64_t order_shuffle(const struct iso_order *o, int64_t v)
{
	struct order_halves h = order_halves(o->n);

	do
		for (int i = 0; i < ORDER_ROUNDS; i++) v = order_round(h, o->seed, i, v);
	while (v >= o->n);
	return v;
}

ISO_HD int64_t order_unshuffle(const struct iso_order *o, int64_t v)
{
	struct order_halves h = order_halves(o->n);

	do
		for (int i = ORDER_ROUNDS - 1; i >= 0; i--) v = order_round(h, o->seed, i, v);
	while (v >= o->n);
	return v;
}

/* ---- any rule ---- */

/* Row of an event of all. */
ISO_HD int64_t order_row(const struct iso_order *o, int64_t event)
{
	if (o->rule == ISO_INTERLEAVED) return order_deal(o, event);
	return o->rule == ISO_RANDOM ? order_shuffle(o, event) : event;
}

/* The event in a row of those that are here. */
ISO_HD int64_t order_event(const struct iso_order *o, int64_t row)
{
	if (o->event) return o->event[row];
	if (o->rule == ISO_INTERLEAVED) return order_undeal(o, row);
	return o->rule == ISO_RANDOM ? order_unshuffle(o, row) : row;
}

/* ---- some of the events: order.c ---- */

/* No subset has more rows here. */
static inline int64_t order_most_rows(const struct iso_order *o)
{
	int64_t most = 0;

	if (!o->first) return order_share(o, 0).n;
	for (int sub = 0; sub < o->n_sub; sub++)
		most = order_rows(o, sub).n > most ? order_rows(o, sub).n : most;
	return most;
}

ISO_BEGIN_C

/* Ranges that each subset is cut into; `of` each event here, from 0. */
struct order_parts {
	int n;
	const int32_t *of;
};

/* The tables of n events that are here, of all o->n, in the room; number[j]: that of event j, NULL: before + j.
   `parts` may be NULL; else o->n_sub becomes that of all ranges. Rows of a subset keep the order of the events. ISO_EARG if a number is not below o->n. */
int iso_order_part(struct iso_order *o, struct iso_room *room, const iso_ctx *ctx, int64_t n,
                   const int64_t *number, int64_t before, const struct order_parts *parts);

/* The list that the events here are all of, or a part. */
struct order_list {
	int64_t before, total; /* events of the ranks before this one, and of all */
	bool part;             /* others may have some */
};

/* Where this rank has n events; ISO_EARG, "WHAT: ...", if they have numbers among `total`, and that is not how many
   there are. Collective, see comm.h. */
int iso_order_ranks(struct order_list *l, iso_ctx *ctx, int st, const char *what, int64_t n,
                    const int64_t *number, int64_t total);

ISO_END_C

/* ---- chunks: rows that one thread takes between two looks at the cancel flag ---- */

#define ORDER_CHUNK 1024

ISO_HD int64_t order_chunks(struct iso_rows r)
{
	return (r.n + ORDER_CHUNK - 1) / ORDER_CHUNK;
}

ISO_HD struct iso_rows order_chunk(struct iso_rows r, int64_t number)
{
	int64_t first = r.first + number * ORDER_CHUNK, left = r.first + r.n - first;
	struct iso_rows c = { first, left < ORDER_CHUNK ? left : ORDER_CHUNK };

	return c;
}

#endif
