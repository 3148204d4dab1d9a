/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of small matrices from the rows of a system matrix: see srm_stream.h. Each group of
   directions (forward) or of voxels (adjoint) makes a piece of its own, a batch of them side by side;
   the pieces are put together in a fixed order. */
#include "srm_stream_piece.h"
#include "core/size.h"

#include <math.h>

enum {
	WARPS = 8000, /* wanted of a subset: enough to keep a GPU evenly busy */
	SLICES = 16,  /* at most */
	BATCH = 8,    /* pieces a thread: what lies in memory besides the stream itself */
};

/* Most work first; of like work, those together that read the same steps. */
static int by_work(const void *a, const void *b)
{
	const struct stream_block *x = a, *y = b;

	if (x->work != y->work) return x->work < y->work ? 1 : -1;
	return x->range < y->range ? -1 : x->range > y->range;
}

/* Blocks and ranges of a piece count from its own first. */
static bool append(struct pool all[POOLS], const struct piece *p)
{
	const int64_t step = all[REACH].n, range = all[RANGE].n, out = all[OUT].n, row = all[WEIGHT].n;
	bool fits = !p->full;

	for (int k = 0; k < POOLS && fits; k++) fits = iso_pool_append(&all[k], &p->pool[k]);
	for (int64_t i = 0; fits && i < p->pool[BLOCK].n; i++) {
		struct stream_block *b = (struct stream_block *)all[BLOCK].v + all[BLOCK].n - 1 - i;

		b->range += range;
		b->out = (int32_t)out;
	}
	for (int64_t i = 0; fits && i < p->pool[RANGE].n; i++) {
		struct stream_range *g = (struct stream_range *)all[RANGE].v + range + i;

		g->first += (int32_t)step;
		g->row += (int32_t)row;
	}
	return fits;
}

static void make_batch(struct piece *p, iso_ctx *ctx, const struct pieces *k, int64_t first, int64_t n)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i++) {
		iso_piece_open(&p[i], k->unit);
		k->make(&p[i], k->arg, first + i);
		iso_piece_rest(&p[i]);
	}
}

/* Pieces numbered from `number` on; blocks of a subset begin with its first piece. */
static int take_batch(struct srm_stream *s, struct pool all[POOLS], struct piece *p, const struct pieces *k,
                      int64_t number, int64_t n)
{
	bool fits = true;

	for (int64_t i = 0; i < n; i++) {
		for (int sub = 0; sub < s->n_sub; sub++)
			if (k->first[sub] == number + i) s->block_of[sub] = all[BLOCK].n;
		fits = fits && append(all, &p[i]);
		s->useful += p[i].useful;
		s->done += p[i].products * STREAM_CELL_X * STREAM_CELL_Z * STREAM_TAPS * STREAM_LANES;
		iso_piece_free(&p[i]);
	}
	if (!fits) return iso_fail_memory("srm: streams of taps", all[WEIGHT].n * all[WEIGHT].size);
	if (all[OUT].n > INT32_MAX || all[WEIGHT].n > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "srm: %" PRId64 " outputs and %" PRId64
		                " rows of taps in streams, at most 2^31",
		                all[OUT].n, all[WEIGHT].n);
	return ISO_OK;
}

/* The stream takes the arrays over. */
static int take_pools(struct srm_stream *s, struct pool all[POOLS])
{
	void *v[POOLS];

	for (int k = 0; k < POOLS; k++)
		if (!(v[k] = iso_room_take(&s->room, all[k].v))) free(all[k].v);
	s->block = v[BLOCK];
	s->range = v[RANGE];
	s->out = v[OUT];
	s->reach = v[REACH];
	s->offset = v[OFFSET];
	s->weight = v[WEIGHT];
	s->n_range = all[RANGE].n;
	s->n_out = all[OUT].n;
	s->n_step = all[REACH].n;
	s->n_row = all[WEIGHT].n;
	s->block_of[s->n_sub] = all[BLOCK].n;
	return s->room.status;
}

static void sort_blocks(struct srm_stream *s)
{
	for (int sub = 0; sub < s->n_sub; sub++)
		qsort(s->block + s->block_of[sub], (size_t)(s->block_of[sub + 1] - s->block_of[sub]),
		      sizeof *s->block, by_work);
}

int iso_stream_make(struct srm_stream *s, iso_ctx *ctx, const struct pieces *k)
{
	int64_t n = k->first[s->n_sub], many = (int64_t)BATCH * ctx->threads;
	struct piece *p = size_alloc(many, sizeof *p);
	struct pool all[POOLS];
	int st = p ? ISO_OK : iso_fail_memory("srm: streams of taps", many * (int64_t)sizeof *p);

	iso_pools_open(all);
	for (int64_t i = 0; i < n && !st; i += many) {
		int64_t now = n - i < many ? n - i : many;

		make_batch(p, ctx, k, i, now);
		st = take_batch(s, all, p, k, i, now);
	}
	if (take_pools(s, all) && !st) st = s->room.status;
	if (!st) sort_blocks(s);
	free(p);
	return st;
}

int iso_stream_begin(struct srm_stream *s, struct pieces *k, const struct srm_op *m,
                     const struct iso_srm_rows *taps)
{
	int n_sub = m->n_sub;

	*s = (struct srm_stream){ .n_sub = n_sub,
		                  .unit = iso_half_unit(m, taps),
		                  .room = { .what = "srm: streams of taps" } };
	k->unit = s->unit;
	ISO_HOST(&s->room, s->block_of, n_sub + 1);
	ISO_HOST(&s->room, k->first, n_sub + 1);
	return s->room.status;
}

int iso_stream_end(struct srm_stream *s, struct pieces *k, int st)
{
	iso_room_drop(&s->room, k->first);
	if (st) iso_stream_free(s);
	return st;
}

int iso_stream_slices(double warps, int most)
{
	double n = ceil(WARPS / (warps > 1 ? warps : 1));

	most = most < SLICES ? most : SLICES;
	return n < 1 ? 1 : n < most ? (int)n : most > 1 ? most : 1;
}

void iso_stream_free(struct srm_stream *s)
{
	iso_room_free(&s->room);
}
