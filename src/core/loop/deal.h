/* SPDX-License-Identifier: BSD-3-Clause */
/* How a long list is dealt to ranks: chunk c of it is rank c % ranks', so that every rank has of all times and places
   of a file alike. Which item a rank has is known without a table. */
#ifndef ISO_DEAL_H
#define ISO_DEAL_H

#include "core/comm.h"

struct iso_deal {
	int64_t n, chunk; /* items of the list, and of a chunk; the last may be shorter */
	int rank, ranks;
};

enum { DEAL_LEAST = 1 << 10, DEAL_MOST = 1 << 18 }; /* items of a chunk */

/* About 16 chunks a rank; for one rank the whole list is one chunk. */
static inline struct iso_deal iso_deal_of(const iso_ctx *ctx, int64_t n)
{
	struct iso_deal d = { n, n > 0 ? n : 1, iso_rank(ctx), iso_ranks(ctx) };

	if (d.ranks == 1) return d;
	d.chunk = n / (16 * (int64_t)d.ranks);
	d.chunk = d.chunk < DEAL_LEAST ? DEAL_LEAST : d.chunk < DEAL_MOST ? d.chunk : DEAL_MOST;
	return d;
}

/* The same, with chunks that are multiples of `unit` items. */
static inline struct iso_deal iso_deal_by(const iso_ctx *ctx, int64_t n, int64_t unit)
{
	struct iso_deal d = iso_deal_of(ctx, n);

	if (d.ranks > 1) d.chunk = (d.chunk + unit - 1) / unit * unit;
	return d;
}

static inline int64_t iso_deal_chunks(const struct iso_deal *d)
{
	return (d->n + d->chunk - 1) / d->chunk;
}

/* Chunk c. */
static inline struct iso_rows iso_deal_chunk(const struct iso_deal *d, int64_t c)
{
	int64_t first = c * d->chunk, left = d->n - first;
	struct iso_rows r = { first, left < d->chunk ? left : d->chunk };

	return r;
}

/* Items that this rank has. */
static inline int64_t iso_deal_count(const struct iso_deal *d)
{
	int64_t chunks = iso_deal_chunks(d), own = (chunks - d->rank + d->ranks - 1) / d->ranks;

	if (chunks <= d->rank) return 0;
	return (own - 1) * d->chunk + iso_deal_chunk(d, (own - 1) * d->ranks + d->rank).n;
}

/* Number in the list of item j of this rank; and place among this rank's of an item of the list, -1: another has it. */
static inline int64_t iso_deal_number(const struct iso_deal *d, int64_t j)
{
	return (j / d->chunk * d->ranks + d->rank) * d->chunk + j % d->chunk;
}

static inline int64_t iso_deal_place(const struct iso_deal *d, int64_t number)
{
	int64_t c = number / d->chunk;

	return c % d->ranks == d->rank ? c / d->ranks * d->chunk + number % d->chunk : -1;
}

/* Items of this rank among the first `number` of the list. */
static inline int64_t iso_deal_before(const struct iso_deal *d, int64_t number)
{
	int64_t c = number / d->chunk, whole = (c - d->rank + d->ranks - 1) / d->ranks;

	return (c > d->rank ? whole * d->chunk : 0) + (c % d->ranks == d->rank ? number % d->chunk : 0);
}

#endif
