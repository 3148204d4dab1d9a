/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of small matrices from the rows of a system matrix: see srm_stream.h. Each group of
   directions (forward) or of voxels (adjoint) makes a piece of its own, a batch of them side by side;
   the pieces are put together in a fixed order. And padded memory, which the streams read. */
#include "srm_stream_piece.h"
#include "model/srm/matrix/srm_matrix.h"

#include <math.h>
#include <string.h>

enum {
	WARPS = 8000,          /* wanted of a subset: enough to keep a GPU evenly busy */
	SLICES = 16,           /* at most */
	BATCH = 8,             /* pieces a thread: what lies in memory besides the stream itself */
	SPARE = STREAM_CELL_X, /* rows of zeros around all planes: a warp reads whole cells */
	ROW = 128,             /* rows of voxels and of data are padded to a multiple of 128 words */
	MOST_X = STREAM_MOST_CELLS * STREAM_CELL_X, /* crystals */
	MOST_Z = STREAM_MOST_CELLS * STREAM_CELL_Z,
	MOST_PLACES = 2000000000, /* words of image or data: an offset of a tap has 31 bits */
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

	for (int k = 0; k < POOLS && fits; k++) fits = iso_pool_append(&all[k], p->pool[k].v, p->pool[k].n);
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
		for (int pool = 0; pool < POOLS; pool++) free(p[i].pool[pool].v);
	}
	if (!fits) return iso_fail_memory("srm: streams of taps", all[WEIGHT].n * all[WEIGHT].size);
	if (all[OUT].n > INT32_MAX || all[WEIGHT].n > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "srm: streams of %" PRId64 " outputs and %" PRId64 " rows, at most 2^31",
		                all[OUT].n, all[WEIGHT].n);
	return ISO_OK;
}

/* The stream takes the arrays over. */
static int take_pools(struct srm_stream *s, struct iso_room *room, struct pool all[POOLS])
{
	void *v[POOLS];

	for (int k = 0; k < POOLS; k++)
		if (!(v[k] = iso_room_take(room, all[k].v))) free(all[k].v);
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
	return room->status;
}

int iso_stream_begin(struct srm_stream *s, struct pieces *k)
{
	k->unit = iso_half_unit(k->m, k->taps);
	*s = (struct srm_stream){ .n_sub = k->m->n_sub, .unit = k->unit };
	ISO_HOST(k->room, s->block_of, s->n_sub + 1);
	ISO_HOST(k->room, k->first, s->n_sub + 1);
	return k->room->status;
}

int iso_stream_make(struct srm_stream *s, struct pieces *k)
{
	int threads = k->room->ctx->threads, st = ISO_OK;
	int64_t many = (int64_t)BATCH * threads;
	struct pool all[POOLS];
	struct piece *p;

	if (!ISO_HOST(k->room, p, many)) return k->room->status;
	s->slices = k->slices;
	iso_pools_open(all);
	for (int64_t i = 0, n; !st && i < k->first[s->n_sub]; i += n) {
		n = k->first[s->n_sub] - i < many ? k->first[s->n_sub] - i : many;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
		for (int64_t j = 0; j < n; j++) iso_piece_make(&p[j], k, i + j);
		st = take_batch(s, all, p, k, i, n);
	}
	if (take_pools(s, k->room, all) && !st) st = k->room->status;
	for (int sub = 0; sub < s->n_sub && !st; sub++)
		qsort(s->block + s->block_of[sub], (size_t)(s->block_of[sub + 1] - s->block_of[sub]),
		      sizeof *s->block, by_work);
	iso_room_drop(k->room, p);
	iso_room_drop(k->room, k->first);
	iso_room_drop(k->room, k->strip);
	iso_room_drop(k->room, k->start);
	return st;
}

int iso_stream_slices(double warps, int most)
{
	double n = ceil(WARPS / (warps > 1 ? warps : 1));

	most = most < SLICES ? most : SLICES;
	return n < 1 ? 1 : n < most ? (int)n : most > 1 ? most : 1;
}

/* ---- padded memory ---- */

/* l->direction[j]: the word of place (0, 0) of direction j. Directions (dx, dz) and (dx, dz - Ncz) have
   Ncz - dz and dz places along z, Ncz together, and share the rows of one plane. */
static void place_directions(struct stream_layout *l, const struct srm_op *m)
{
	l->data = (int64_t)(STREAM_MARGIN_X + SPARE) * l->row_data;
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz < 0) continue;
		l->direction[j] = l->data + STREAM_MARGIN_DATA;
		l->data += (int64_t)(d->nx + STREAM_MARGIN_X) * l->row_data;
	}
	l->data += STREAM_MARGIN_DATA + (int64_t)SPARE * l->row_data;
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz >= 0) continue;
		const struct srm_direction *partner =
			srm_direction_at(m, d->a, d->b, d->number + m->shape.nc[1]);

		l->direction[j] = l->direction[partner - m->direction] + partner->nz + STREAM_MARGIN_DATA;
	}
}

int iso_stream_layout(struct stream_layout *l, struct iso_room *room, const struct srm_op *m)
{
	const struct srm_shape *h = &m->shape;

	if (h->d[0] > PLANES)
		return iso_fail(ISO_EARG, "srm: %d voxels a crystal along x, at most %d on CUDA", h->d[0],
		                PLANES);
	if (h->nc[0] > MOST_X || h->nc[1] > MOST_Z)
		return iso_fail(ISO_EARG, "srm: %d x %d crystals, at most %d x %d in correlation on CUDA",
		                h->nc[0], h->nc[1], MOST_X, MOST_Z);
	*l = (struct stream_layout){
		.plane = { (h->nc[0] + STREAM_MARGIN_X) * h->d[0],
		           up((h->nc[1] + STREAM_MARGIN_Z) * h->d[1], ROW) * ROW,
		           (STREAM_MARGIN_X + SPARE) * h->d[0], STREAM_MARGIN_Z * h->d[1] },
		.row_data = up(h->nc[1] + 2 * STREAM_MARGIN_DATA, ROW) * ROW,
	};
	l->row_image = h->d[0] * l->plane.pitch;
	l->image = stream_voxel(l->plane, h->planes, 0, 0);
	if (!ISO_HOST(room, l->direction, m->n_direction)) return room->status;
	place_directions(l, m);
	if (l->image <= MOST_PLACES && l->data <= MOST_PLACES) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "srm: %" PRId64 " and %" PRId64 " values of padded image and data, at most %d",
	                l->image, l->data, MOST_PLACES);
}

/* ---- weights as halves ---- */

/* Weights are halves, of 11 bits, in units in which the greatest is below 2^15. Up to 2^11 counts are exact;
   those of long runs would need a second half, which costs a third of the time. But counts are random
   numbers: where a weight is a mean of less than 2^14 over at most 16 mirror images, what a half leaves out
   is less than a fifth of its own error. So it is rounded, and what is left goes to the next weights of its
   row: the row's sum stays, and no weight changes by more than two fifths of its error. Weights that were
   computed or imported keep all their bits. */

#define MOST_ROUNDED 0x1p14 /* counts */

/* 11 of a float's 24 bits, rounded to even; below 2^-14 units, multiples of 2^-24. */
float iso_half_of(float w, double unit)
{
	float v = (float)(w / unit);
	uint32_t word;

	if (fabsf(v) < 0x1p-14f) return (float)(rint(v * 0x1p24) * 0x1p-24 * unit);
	memcpy(&word, &v, sizeof word);
	word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
	memcpy(&v, &word, sizeof v);
	return (float)(v * unit);
}

bool iso_half_holds(float w, double unit)
{
	return fabsf(w - iso_half_of(w, unit)) <= 0x1p-22f * fabsf(w);
}

/* Weights that were counted are whole counts over pairs, times powers of 2 (srm_fold.c). */
static double count_of(const iso_srm *m)
{
	int outcomes = m->options.outcomes > 1 ? m->options.outcomes : 1;

	return m->source == SRM_TRANSPORT ? 1. / ((double)m->pairs * outcomes * outcomes) : 1;
}

/* A power of 2 of a count: a half's numbers are whole multiples of 2^-24, up to 65504. */
double iso_half_unit(const struct srm_op *m, const struct iso_srm_rows *taps)
{
	double unit = count_of(m->srm), most = 0;
	int power;

	for (int i = 0; i < SRM_PAIRS(m); i++)
		for (int64_t k = 0; k < taps[i].ptr[taps[i].n]; k++)
			most = (double)taps[i].w[k] > most ? (double)taps[i].w[k] : most;
	frexp(most / unit, &power);
	return ldexp(unit, power - 15);
}

/* Taps of one direction and plane. */
static void round_taps(iso_real *w, int64_t n, double unit, double most)
{
	double left = 0;

	for (int64_t i = 0; i < n; i++) {
		double exact = (double)w[i], most_taken = exact * 0x1p-11;
		double take = fmax(-most_taken, fmin(left, most_taken));

		if (exact > most || iso_half_holds((float)w[i], unit)) continue;
		w[i] = (iso_real)iso_half_of((float)(exact + take), unit);
		left += exact - (double)w[i];
	}
}

void iso_stream_round(struct iso_srm_rows *taps, iso_ctx *ctx, const struct srm_op *m)
{
	double unit = iso_half_unit(m, taps), most = MOST_ROUNDED * count_of(m->srm);

	if (m->srm->source != SRM_TRANSPORT) return;
	for (int i = 0; i < SRM_PAIRS(m); i++) {
		const struct iso_srm_rows *r = &taps[i];

#pragma omp parallel for num_threads(ctx->threads) schedule(static)
		for (int64_t k = 0; k < r->n; k++)
			round_taps(r->w + r->ptr[k], r->ptr[k + 1] - r->ptr[k], unit, most);
	}
}
