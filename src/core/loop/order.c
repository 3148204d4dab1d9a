/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the events of one rank of several: which subset an event is of follows from its number among all. */
#include "order.h"
#include "core/comm.h"
#include "core/room.h"
#include "core/size.h"

/* Subset of each event; the least event whose number, or part, there is not, n: none. */
static int64_t find_subsets(int *sub, const struct iso_order *o, const iso_ctx *ctx, int64_t n,
                            const int64_t *number, int64_t before, const struct order_parts *parts)
{
	int64_t bad = n;

#pragma omp parallel for num_threads(ctx->threads) reduction(min : bad)
	for (int64_t j = 0; j < n; j++) {
		int64_t k = number ? number[j] : before + j;
		int32_t part = parts->n > 0 ? parts->of[j] : 0;

		if (k >= 0 && k < o->n && part >= 0 && part < (parts->n > 0 ? parts->n : 1))
			sub[j] = order_subset(o, order_row(o, k)) * (parts->n > 0 ? parts->n : 1) + part;
		else
			bad = j < bad ? j : bad;
	}
	return bad;
}

/* A counting sort: first[sub + 1] counts, then is where the next event of `sub` stands. */
static void sort(int64_t *first, int64_t *event, int n_sub, int64_t n, const int *sub)
{
	for (int64_t j = 0; j < n; j++) first[sub[j] + 1]++;
	for (int k = 0; k < n_sub; k++) first[k + 1] += first[k];
	for (int64_t j = n; j-- > 0;) event[--first[sub[j] + 1]] = j;
	for (int k = 0; k < n_sub; k++) first[k] = first[k + 1];
	first[n_sub] = n;
}

int iso_order_part(struct iso_order *o, struct iso_room *room, const iso_ctx *ctx, int64_t n,
                   const int64_t *number, int64_t before, const struct order_parts *parts)
{
	struct iso_room own = { .what = room->what };
	int64_t *first, *event, bad;
	int *sub, st;

	static const struct order_parts none;

	parts = parts ? parts : &none;
	int n_sub = o->n_sub * (parts->n > 0 ? parts->n : 1);

	ISO_HOST(&own, sub, n);
	ISO_HOST(room, first, n_sub + 1);
	ISO_HOST(room, event, n);
	if ((st = own.status ? own.status : room->status)) goto done;
	if ((bad = find_subsets(sub, o, ctx, n, number, before, parts)) < n) {
		int64_t at = number ? number[bad] : before + bad;

		st = parts->n > 0 && at >= 0 && at < o->n
		             ? iso_fail(ISO_EARG, "%s: part %d of event %" PRId64 ", must be 0 to %d",
		                        room->what, parts->of[bad], bad, parts->n - 1)
		             : iso_fail(ISO_EARG,
		                        "%s: number %" PRId64 " of event %" PRId64 ", must be 0 to %" PRId64,
		                        room->what, at, bad, o->n - 1);
		goto done;
	}
	o->n_sub = n_sub;
	sort(first, event, n_sub, n, sub);
	o->first = first;
	o->event = event;
done:
	iso_room_free(&own);
	return st;
}

static int count_ranks(struct order_list *l, iso_ctx *ctx, int st, int64_t n)
{
	int ranks = iso_ranks(ctx);
	int64_t *of = size_alloc(ranks, sizeof *of);

	if (of)
		of[iso_rank(ctx)] = n;
	else if (!st)
		st = iso_fail_memory("ranks", ranks * (int64_t)sizeof *of);
	st = iso_comm_sum(ctx, st, of, ranks);
	l->total = 0;
	for (int r = 0; r < ranks && !st; r++) {
		l->before += r < iso_rank(ctx) ? of[r] : 0;
		l->total += of[r];
	}
	free(of);
	return st;
}

int iso_order_ranks(struct order_list *l, iso_ctx *ctx, int st, const char *what, int64_t n,
                    const int64_t *number, int64_t total)
{
	bool several = iso_ranks(ctx) > 1;

	*l = (struct order_list){ 0, n, several || number };
	if (several) st = count_ranks(l, ctx, st, n);
	if (st || !number || total == l->total) return st;
	return iso_fail(ISO_EARG, "%s: numbers are of %" PRId64 " events, the ranks have %" PRId64 " in all",
	                what, total, l->total);
}
