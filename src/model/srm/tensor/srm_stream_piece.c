/* SPDX-License-Identifier: BSD-3-Clause */
/* From taps to steps, and from steps to the ranges of warps: see srm_stream_piece.h. */
#include "srm_stream_piece.h"
#include "model/srm/matrix/srm_matrix.h"

#include <string.h>

enum { GAP = 8 }; /* steps in a range of a warp that need not reach it */

/* ---- arrays that grow ---- */

bool iso_pool_append(struct pool *p, const void *items, int64_t n)
{
	if (p->n + n > p->room) {
		int64_t room = n > p->room + 64 ? p->n + n : 2 * p->room + 64;
		char *v = realloc(p->v, (size_t)(room * p->size));

		if (!v) return false;
		p->v = v;
		p->room = room;
	}
	if (n) memcpy(p->v + p->n * p->size, items, (size_t)(n * p->size));
	p->n += n;
	return true;
}

/* ---- a piece: what one thread makes ---- */

static struct box box_meet(struct box a, struct box b)
{
	return (struct box){ a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1, a.z0 > b.z0 ? a.z0 : b.z0,
		             a.z1 < b.z1 ? a.z1 : b.z1 };
}

static bool box_holds(struct box a, struct box b)
{
	return a.x0 <= b.x0 && a.x1 >= b.x1 && a.z0 <= b.z0 && a.z1 >= b.z1;
}

void iso_pools_open(struct pool pool[POOLS])
{
	static const int64_t size[POOLS] = {
		sizeof(struct stream_block), sizeof(struct stream_range),   sizeof(struct stream_out),
		sizeof(struct stream_reach), sizeof(struct stream_offsets), sizeof(struct stream_weights),
	};

	for (int i = 0; i < POOLS; i++) pool[i] = (struct pool){ .size = size[i] };
}

/* All that goes into the stream stays. */
void iso_piece_make(struct piece *p, const struct pieces *k, int64_t number)
{
	*p = (struct piece){ .of = k, .tap.size = sizeof(struct tap) };
	iso_pools_open(p->pool);
	for (int i = 0; i < STREAM_KINDS; i++) iso_pools_open(p->kind[i].pool);
	k->make(p, number);
	for (int i = 0; i < STREAM_KINDS; i++)
		for (int pool = REACH; pool < POOLS; pool++) free(p->kind[i].pool[pool].v);
	free(p->tap.v);
	free(p->sorted);
}

/* ---- steps ---- */

/* Taps at STREAM_QUAD neighbouring columns, which a warp reads at a time, and at rows that follow one
   another along x, with their weights, a lane each; `cells` and `allowed` as `reach` and `allowed` of a step. */
struct run {
	int first, end;              /* rows with taps */
	unsigned slots;              /* bit k: column k has a tap, */
	int32_t offset[STREAM_QUAD]; /* and row 0 of it reads from here on */
	struct box cells, allowed;
	float w[STREAM_RUN][STREAM_QUAD][STREAM_LANES];
};

static uint64_t bits(int first, int end)
{
	return (end < STREAM_MOST_CELLS ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0) & ~(uint64_t)0 << first;
}

/* Rows of weights of a step. */
static int rows_of(int kind)
{
	return stream_rows(kind) * (1 + stream_pairs(kind));
}

/* A quad left over reads what the first does, and weighs 0. */
static void close_step(struct piece *p, int kind)
{
	struct pool *to = p->kind[kind].pool;
	struct step *s = &p->kind[kind].step;
	struct box r = s->reach;

	if (s->n == 0) return;
	for (int k = s->n * STREAM_QUAD; k < STREAM_TAPS; k++)
		s->offset.v[k % 4][k / 4] = s->offset.v[k % 4][0];
	piece_add(p, &to[REACH], &(struct stream_reach){ bits(r.x0, r.x1), bits(r.z0, r.z1) });
	piece_add(p, &to[OFFSET], &s->offset);
	for (int i = 0; i < rows_of(kind); i++) piece_add(p, &to[WEIGHT], &s->weight[i]);
	p->products += (int64_t)(r.x1 - r.x0) * (r.z1 - r.z0) * rows_of(kind);
	*s = (struct step){ 0 };
}

/* Steps by kind. */
static void close_steps(struct piece *p)
{
	for (int i = 0; i < STREAM_KINDS; i++) {
		const struct pool *from = p->kind[i].pool;

		close_step(p, i);
		p->first[i] = p->pool[REACH].n;
		for (int k = REACH; k < POOLS; k++)
			p->full |= !iso_pool_append(&p->pool[k], from[k].v, from[k].n);
	}
	p->first[STREAM_KINDS] = p->pool[REACH].n;
}

/* Where a column reads from in the first row with taps; one without a tap reads what another does, and
   weighs 0. */
static int32_t run_offset(const struct run *r, int slot, int stride)
{
	while (!(r->slots >> slot & 1)) slot = (slot + 1) % STREAM_QUAD;
	return r->offset[slot] + r->first * stride;
}

static int kind_of(const struct piece *p, const struct run *r)
{
	const float *w = r->w[r->first][0];
	int rows = r->end - r->first, pairs = 0;

	for (int i = 0; i < rows * STREAM_QUAD * STREAM_LANES; i++)
		pairs |= w[i] != 0 && !iso_half_holds(w[i], p->of->unit);
	return rows - 1 + STREAM_RUN * pairs;
}

/* Slot k of row `row` of a step. */
static void put_weights(struct piece *p, struct step *s, int kind, int row, int k,
                        const float w[STREAM_LANES])
{
	for (int j = 0; j < STREAM_LANES; j++) {
		float first = w[j] != 0 ? iso_half_of(w[j], p->of->unit) : 0;
		int to = j % 8 * 4 + k % 4, at = j / 8 + k / 4 * 2;

		s->weight[row].v[to][at] = first;
		if (stream_pairs(kind))
			s->weight[stream_rows(kind) + row].v[to][at] = STREAM_REST * (w[j] - first);
	}
}

static void add_run(struct piece *p, const struct run *r, int stride)
{
	int kind = kind_of(p, r);
	struct step *s = &p->kind[kind].step;

	if (s->n == STREAM_TAPS / STREAM_QUAD ||
	    (s->n > 0 && !box_holds(box_meet(s->allowed, r->allowed), box_join(s->reach, r->cells))))
		close_step(p, kind);
	s->reach = s->n ? box_join(s->reach, r->cells) : r->cells;
	s->allowed = s->n ? box_meet(s->allowed, r->allowed) : r->allowed;
	for (int i = 0; i < STREAM_QUAD; i++) {
		int k = s->n * STREAM_QUAD + i;

		s->offset.v[k % 4][k / 4] = run_offset(r, i, stride);
		for (int row = 0; row < stream_rows(kind); row++)
			put_weights(p, s, kind, row, k, r->w[r->first + row][i]);
	}
	s->n++;
}

/* ---- from taps to steps ---- */

static bool sort_taps(struct piece *p)
{
	const struct tap *tap = (const struct tap *)p->tap.v;
	int64_t n = p->tap.n;

	if (n > p->room) {
		free(p->sorted);
		p->sorted = malloc((size_t)(4 * n) * sizeof *p->sorted); /* half of it to sort with */
		p->room = p->sorted ? 2 * n : 0;
	}
	if (n >> (64 - KEY_BITS) || n > p->room) return false;
	for (int64_t i = 0; i < n; i++) p->sorted[i] = (uint64_t)i << KEY_BITS | tap[i].key;
	if (n > 0) /* else there may be no room to sort in */
		iso_srm_sort(p->sorted, p->sorted + p->room, n, KEY_BITS);
	return true;
}

/* Takes a tap, which reads `at`, for a row and a slot of the run; false: no place of the rectangle reads it. */
static bool run_add(struct run *r, const struct piece *p, int row, int slot, const struct source *at)
{
	struct box in = at->inside, read = box_meet(in, p->places);
	int x = p->places.x0, z = p->places.z0, mx = STREAM_MARGIN_X, mz = at->margin;
	struct box cells = { srm_down(read.x0 - x, STREAM_CELL_X), -srm_down(x - read.x1, STREAM_CELL_X),
		             srm_down(read.z0 - z, STREAM_CELL_Z), -srm_down(z - read.z1, STREAM_CELL_Z) };
	struct box allowed = { -srm_down(x - in.x0 + mx, STREAM_CELL_X),
		               srm_down(in.x1 + mx - x, STREAM_CELL_X),
		               -srm_down(z - in.z0 + mz, STREAM_CELL_Z),
		               srm_down(in.z1 + mz - z, STREAM_CELL_Z) };

	if (read.x0 >= read.x1 || read.z0 >= read.z1) return false;
	if (!r->slots) *r = (struct run){ .first = row, .cells = cells, .allowed = allowed };
	r->cells = box_join(r->cells, cells);
	r->allowed = box_meet(r->allowed, allowed);
	r->first = row < r->first ? row : r->first;
	r->end = row >= r->end ? row + 1 : r->end;
	r->slots |= 1u << slot;
	r->offset[slot] = at->offset - row * at->stride;
	return true;
}

/* The key of sorted tap number i. */
static uint64_t sorted_key(const struct piece *p, int64_t i)
{
	return p->sorted[i] & (((uint64_t)1 << KEY_BITS) - 1);
}

/* Taps of one plane, of columns z ... z + STREAM_QUAD - 1, at x0 ... x1. */
struct quad {
	int64_t begin, end;
	int z, x0, x1;
};

static struct quad next_quad(const struct piece *p, int64_t i)
{
	uint64_t key = sorted_key(p, i);
	struct quad q = { i, i, key_z(key), key_x(key), key_x(key) };

	for (; q.end < p->tap.n; q.end++) {
		uint64_t k = sorted_key(p, q.end);

		if (key_plane(k) != key_plane(key) || key_z(k) >= q.z + STREAM_QUAD) break;
		q.x0 = key_x(k) < q.x0 ? key_x(k) : q.x0;
		q.x1 = key_x(k) > q.x1 ? key_x(k) : q.x1;
	}
	return q;
}

/* The taps of a quad at x ... x + length - 1; those of the same key are one, with several lanes. */
static void make_run(struct piece *p, const struct quad *q, int x, int length, where_fn where)
{
	const struct tap *tap = (const struct tap *)p->tap.v;
	uint64_t last = UINT64_MAX;
	struct source at = { .stride = 0 };
	struct run r = { 0 };
	bool read = false;

	for (int64_t i = q->begin; i < q->end; i++) {
		const struct tap *t = &tap[p->sorted[i] >> KEY_BITS];
		int row = key_x(t->key) - x, slot = key_z(t->key) - q->z;

		if (row < 0 || row >= length) continue;
		if (t->key != last) {
			at = where(p, t->key);
			read = run_add(&r, p, row, slot, &at);
			last = t->key;
		}
		if (read) r.w[row][slot][t->lane] += t->w;
	}
	if (r.slots) add_run(p, &r, at.stride);
}

/* A quad becomes the fewest runs, of like length. */
void iso_piece_steps(struct piece *p, where_fn where)
{
	struct quad q;

	p->full = p->full || !sort_taps(p);
	for (int64_t i = 0; i < p->tap.n && !p->full; i = q.end) {
		q = next_quad(p, i);

		int span = q.x1 - q.x0 + 1, length = up(span, up(span, STREAM_RUN));

		for (int x = q.x0; x <= q.x1; x += length) make_run(p, &q, x, length, where);
	}
	p->tap.n = 0;
}

/* ---- blocks ---- */

/* Warps that cover a rectangle, and those of them side by side along z. */
static int across(const struct box *b)
{
	return up(b->z1 - b->z0, STREAM_CELL_Z);
}

int iso_piece_warps(const struct box *b)
{
	return up(up(b->x1 - b->x0, STREAM_CELL_X), STREAM_CELLS) * across(b);
}

/* The ranges of a kind for a warp at cell (x, z), and its work: a step costs about as much as two rows.
   `row`: the kind's first. */
static int64_t add_ranges(struct piece *p, int kind, int32_t row, int x, int z)
{
	const struct stream_reach *r = (const struct stream_reach *)p->pool[REACH].v;
	struct stream_range g = { .kind = kind };
	int rows = rows_of(kind);
	int64_t work = 0;

	for (int32_t i = (int32_t)p->first[kind]; i < p->first[kind + 1]; i++) {
		int cells = (int)(r[i].x >> x & 1) +
		            (x + 1 < STREAM_MOST_CELLS ? (int)(r[i].x >> (x + 1) & 1) : 0);

		if (!cells || !(r[i].z >> z & 1)) continue;
		if (g.n && i - g.first - g.n > GAP) {
			piece_add(p, &p->pool[RANGE], &g);
			g.n = 0;
		}
		if (!g.n) {
			g.first = i;
			g.row = row + (int32_t)(i - p->first[kind]) * rows;
		}
		g.n = i + 1 - g.first;
		work += cells * rows + 2;
	}
	if (g.n) piece_add(p, &p->pool[RANGE], &g);
	return work;
}

void iso_piece_end(struct piece *p, int slice)
{
	const struct box b = p->places;
	struct stream_block k = { .slice = slice, .x0 = (int16_t)b.x0, .z0 = (int16_t)b.z0 };

	k.nx = (int16_t)(b.x1 - b.x0);
	k.nz = (int16_t)(b.z1 - b.z0);
	close_steps(p);
	for (; k.warp < iso_piece_warps(&b) && !p->full; k.warp++) {
		int x = k.warp / across(&b) * STREAM_CELLS, z = k.warp % across(&b);
		int32_t row = 0;

		k.range = p->pool[RANGE].n;
		k.work = 0;
		for (int i = 0; i < STREAM_KINDS; i++) {
			k.work += add_ranges(p, i, row, x, z);
			row += (int32_t)p->kind[i].pool[WEIGHT].n;
		}
		piece_add(p, &p->pool[RANGE], &(struct stream_range){ .kind = -1 });
		piece_add(p, &p->pool[BLOCK], &k);
	}
}
