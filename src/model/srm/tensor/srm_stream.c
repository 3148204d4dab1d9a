/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of small matrices from the rows of a system matrix: see srm_stream.h. Each group of
   directions (forward) or of voxels (adjoint) makes a piece of its own, all of them side by side;
   the pieces are put together in the order of their numbers. And padded memory, which the streams read. */
#include "srm_stream_piece.h"

#include <omp.h>

enum {
	WARPS = 8000,          /* wanted of a subset: enough to keep a GPU evenly busy */
	SLICES = 16,           /* at most */
	SPARE = STREAM_CELL_X, /* rows of zeros around all planes: a warp reads whole cells */
	ROW = 128,             /* rows of voxels and of data are padded to a multiple of 128 words */
	MOST_X = STREAM_MOST_CELLS * STREAM_CELL_X, /* crystals */
	MOST_Z = STREAM_MOST_CELLS * STREAM_CELL_Z,
	MOST_PLACES = 2000000000, /* words of image or data: an offset of a tap has 31 bits */
};

/* ---- pieces side by side ---- */

static bool make_pieces(struct srm_stream *s, const struct pieces *k, struct made *made)
{
	bool fits = true;

	for (int i = 0; i < k->taps->n_store; i++) iso_store_empty(&k->taps->store[i]);
#pragma omp parallel num_threads(k->taps->n_store) reduction(&& : fits)
	{
		struct piece p;

		fits = iso_piece_open(&p, k);
#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < s->n_part; i++)
			fits = fits && iso_piece_make(&made[i], &k->taps->store[omp_get_thread_num()], &p, i);
		iso_piece_close(&p);
	}
	return fits;
}

/* ---- pieces in their order ---- */

/* A piece's items begin in the stream with number at[i]. */
static void place_piece(struct srm_stream *s, const struct made *m, const int64_t at[POOLS])
{
	char *to[] = { [BLOCK] = (char *)s->block,
		       [RANGE] = (char *)s->range,
		       [OUT] = (char *)s->out,
		       [REACH] = (char *)s->reach,
		       [OFFSET] = (char *)s->offset };

	for (int i = BLOCK; i < WEIGHT; i++)
		memcpy(to[i] + at[i] * iso_pool_size[i], m->v[i], (size_t)(m->n[i] * iso_pool_size[i]));
	for (struct stream_block *b = s->block + at[BLOCK], *end = b + m->n[BLOCK]; b < end; b++) {
		b->range += at[RANGE];
		b->out = (int32_t)at[OUT];
	}
	for (struct stream_range *g = s->range + at[RANGE], *end = g + m->n[RANGE]; g < end; g++) {
		g->first += (int32_t)at[REACH];
		g->row += (int32_t)at[WEIGHT];
	}
}

/* at[i]: where piece i begins; at[n_part] is the number of all items. */
static int make_room(struct srm_stream *s, struct iso_room *room, const int64_t *all)
{
	if (all[OUT] > INT32_MAX || all[WEIGHT] > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "srm: streams of %" PRId64 " outputs and %" PRId64 " rows, at most 2^31",
		                all[OUT], all[WEIGHT]);
	s->n_range = all[RANGE];
	s->n_out = all[OUT];
	s->n_step = all[REACH];
	s->n_row = all[WEIGHT];
	ISO_HOST(room, s->block, all[BLOCK]);
	ISO_HOST(room, s->range, all[RANGE]);
	ISO_HOST(room, s->out, all[OUT]);
	ISO_HOST(room, s->reach, all[REACH]);
	ISO_HOST(room, s->offset, all[OFFSET]);
	ISO_HOST(room, s->part, s->n_part + 1);
	return room->status;
}

static int join_pieces(struct srm_stream *s, struct pieces *k, const struct made *made)
{
	int64_t(*at)[POOLS];
	int st;

	if (!ISO_HOST(k->room, at, s->n_part + 1)) return k->room->status;
	for (int64_t i = 0; i < s->n_part; i++) {
		for (int pool = 0; pool < POOLS; pool++) at[i + 1][pool] = at[i][pool] + made[i].n[pool];
		s->useful += made[i].useful;
		s->done += made[i].products * STREAM_CELL_X * STREAM_CELL_Z * STREAM_TAPS * STREAM_LANES;
	}
	if ((st = make_room(s, k->room, at[s->n_part]))) return st;
#pragma omp parallel for num_threads(k->taps->n_store) schedule(dynamic)
	for (int64_t i = 0; i < s->n_part; i++) {
		place_piece(s, &made[i], at[i]);
		s->part[i] = (struct stream_part){ at[i][WEIGHT], made[i].v[WEIGHT] };
	}
	s->part[s->n_part].row = s->n_row;
	for (int sub = 0; sub <= s->n_sub; sub++) s->block_of[sub] = at[k->first[sub]][BLOCK];
	iso_room_drop(k->room, at);
	return ISO_OK;
}

/* Most work first; of like work, those together that read the same steps. */
static int by_work(const void *a, const void *b)
{
	const struct stream_block *x = a, *y = b;

	if (x->work != y->work) return x->work < y->work ? 1 : -1;
	return x->range < y->range ? -1 : x->range > y->range;
}

/* ---- the stream ---- */

struct voxel_place *iso_voxel_places(struct iso_room *room, int n, int d)
{
	struct voxel_place *p;

	if (!ISO_HOST(room, p, 2 * (int64_t)n * d)) return NULL;
	for (int i = 0; i < 2 * n * d; i++)
		p[i] = (struct voxel_place){ (int16_t)(i / d - n), (int16_t)(i % d) };
	return p;
}

int iso_stream_begin(struct srm_stream *s, struct pieces *k)
{
	const struct srm_shape *h = &k->m->shape;

	*s = (struct srm_stream){ .n_sub = k->m->n_sub, .unit = k->taps->unit };
	ISO_HOST(k->room, s->block_of, s->n_sub + 1);
	ISO_HOST(k->room, k->first, s->n_sub + 1);
	k->x = iso_voxel_places(k->room, h->nc[0], h->d[0]);
	k->z = iso_voxel_places(k->room, h->nc[1], h->d[1]);
	return k->room->status;
}

int iso_stream_make(struct srm_stream *s, struct pieces *k)
{
	struct made *made;
	int st;

	if (k->room->status) return k->room->status;
	s->slices = k->slices;
	s->n_part = k->first[s->n_sub];
	if (!ISO_HOST(k->room, made, s->n_part)) return k->room->status;
	st = make_pieces(s, k, made) ? join_pieces(s, k, made)
	                             : iso_fail_memory("srm: streams of taps", sizeof(struct stream_weights));
	for (int sub = 0; sub < s->n_sub && !st; sub++)
		qsort(s->block + s->block_of[sub], (size_t)(s->block_of[sub + 1] - s->block_of[sub]),
		      sizeof *s->block, by_work);
	iso_room_drop(k->room, made);
	iso_room_drop(k->room, k->first);
	iso_room_drop(k->room, k->x);
	iso_room_drop(k->room, k->z);
	iso_room_drop(k->room, k->strip);
	iso_room_drop(k->room, k->start);
	iso_room_drop(k->room, k->group);
	return st;
}

/* The part that has a row. */
static int64_t part_of(const struct srm_stream *s, int64_t row)
{
	int64_t low = 0, high = s->n_part;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (s->part[middle].row <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void copy_rows(struct stream_weights *to, const struct srm_stream *s, int64_t first, int64_t end)
{
	for (const struct stream_part *p = &s->part[part_of(s, first)]; first < end; p++) {
		int64_t n = (p[1].row < end ? p[1].row : end) - first;

		memcpy(to, p->v + (first - p->row), (size_t)n * sizeof *to);
		to += n;
		first += n;
	}
}

void iso_stream_rows(struct stream_weights *to, const struct srm_stream *s, int64_t first, int64_t n,
                     int threads)
{
#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < threads; i++) {
		int64_t from = n * i / threads, end = n * (i + 1) / threads;

		if (from < end) copy_rows(to + from, s, first + from, first + end);
	}
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

	if (h->d[0] > STREAM_PLANES)
		return iso_fail(ISO_EARG, "srm: %d voxels a crystal along x, at most %d on CUDA", h->d[0],
		                STREAM_PLANES);
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
