/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of small matrices from the rows of a system matrix: see srm_stream.h. Each group of
   directions (forward) or of voxels (adjoint) makes a piece of its own, side by side; the pieces are
   then put together in a fixed order. */
#include "srm_stream.h"
#include "srm.h"
#include "core/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	WARPS = 8000,		/* wanted of a subset: enough to keep a GPU evenly busy */
	SLICES = 16,		/* at most */
	GAP = 8,		/* steps in a range of a warp that need not reach it */
	CELLS = 64,		/* of a rectangle along an axis: bits of a reach */
	MOST_PLACES = 2000000000,	/* offsets of taps, too, must fit 31 bits */
	BIN = 8,		/* directions whose taps are sorted together (adjoint) */
	SPARE = STREAM_CELL_X,	/* rows at either end that a warp may read without need */
	BATCH = 8,		/* pieces a thread: what lies in memory besides the stream itself */
	ROW = 128,		/* words: what a row of places is a multiple of */
	QUAD = 4,
};

/* ---- arrays that grow ---- */

struct pool {
	char *v;
	int64_t n, room, size;
};

/* Room for so many more. */
static bool pool_reserve(struct pool *p, int64_t more)
{
	int64_t room = 2 * p->room + 64;
	char *v;

	if (p->n + more <= p->room)
		return true;
	room = room < p->n + more ? p->n + more : room;
	v = realloc(p->v, (size_t)(room * p->size));
	if (!v)
		return false;
	p->v = v;
	p->room = room;
	return true;
}

static bool pool_add(struct pool *p, const void *item)
{
	if (!pool_reserve(p, 1))
		return false;
	memcpy(p->v + p->n++ * p->size, item, (size_t)p->size);
	return true;
}

static bool pool_append(struct pool *p, const struct pool *more)
{
	if (!pool_reserve(p, more->n))
		return false;
	if (more->n)
		memcpy(p->v + p->n * p->size, more->v, (size_t)(more->n * more->size));
	p->n += more->n;
	return true;
}

/* ---- a piece: what one thread makes ---- */

enum { BLOCK, RANGE, OUT, REACH, OFFSET, WEIGHT, POOLS };

struct tap {
	uint64_t key;
	int lane;
	float w;
};

/* Places from x0, z0 to before x1, z1. */
struct box {
	int x0, x1, z0, z1;
};

static struct box box_join(struct box a, struct box b)
{
	return (struct box){ a.x0 < b.x0 ? a.x0 : b.x0, a.x1 > b.x1 ? a.x1 : b.x1,
			     a.z0 < b.z0 ? a.z0 : b.z0, a.z1 > b.z1 ? a.z1 : b.z1 };
}

static struct box box_meet(struct box a, struct box b)
{
	return (struct box){ a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1,
			     a.z0 > b.z0 ? a.z0 : b.z0, a.z1 < b.z1 ? a.z1 : b.z1 };
}

static bool box_holds(struct box a, struct box b)
{
	return a.x0 <= b.x0 && a.x1 >= b.x1 && a.z0 <= b.z0 && a.z1 >= b.z1;
}

/* A step in the making. It reaches whole cells; where it does, each of its taps must read from its own
   plane or from the zeros around it: those places are `allowed`. */
struct step {
	int n;				/* runs */
	struct box reach, allowed;
	struct stream_offsets offset;
	struct stream_weights weight[2 * STREAM_RUN];
};

/* Taps at QUAD neighbouring columns, which a warp reads at a time, and rows that follow one another along x,
   with their weights, a lane each; `cells` and `allowed` as of a step. */
struct run {
	int first, end;			/* rows with taps */
	unsigned slots;			/* bit k: column k has a tap, */
	int32_t offset[QUAD];		/* and row 0 of it reads from here on */
	struct box cells, allowed;
	float w[STREAM_RUN][QUAD][STREAM_LANES];
};

/* Steps of a kind, in cells. */
struct kind {
	struct pool reach, offset, weight;
	struct step step;		/* in the making */
};

struct piece {
	struct pool pool[POOLS];
	struct pool tap;		/* not yet in a step */
	uint64_t *sorted;
	int64_t room;
	struct kind kind[STREAM_KINDS];
	int64_t first[STREAM_KINDS + 1];	/* step of a kind */
	struct box places;		/* the rectangle of outputs */
	double unit;
	float greatest;
	int64_t products;		/* rows of taps by cells that they reach */
	int64_t useful;
	bool full;			/* out of memory */
};

static void pools_open(struct pool pool[POOLS])
{
	static const int64_t size[POOLS] = {
		sizeof(struct stream_block), sizeof(struct stream_range), sizeof(struct stream_out),
		sizeof(struct stream_reach), sizeof(struct stream_offsets), sizeof(struct stream_weights),
	};

	for (int i = 0; i < POOLS; i++)
		pool[i] = (struct pool){ .size = size[i] };
}

static void piece_open(struct piece *p, double unit)
{
	*p = (struct piece){ .tap.size = sizeof(struct tap), .unit = unit };
	pools_open(p->pool);
	for (int i = 0; i < STREAM_KINDS; i++) {
		p->kind[i].reach.size = sizeof(struct box);
		p->kind[i].offset.size = sizeof(struct stream_offsets);
		p->kind[i].weight.size = sizeof(struct stream_weights);
	}
}

static void piece_rest(struct piece *p)
{
	for (int i = 0; i < STREAM_KINDS; i++) {
		free(p->kind[i].reach.v);
		free(p->kind[i].offset.v);
		free(p->kind[i].weight.v);
		p->kind[i].reach.v = p->kind[i].offset.v = p->kind[i].weight.v = NULL;
	}
	free(p->tap.v);
	free(p->sorted);
	p->tap.v = NULL;
	p->sorted = NULL;
}

static void piece_free(struct piece *p)
{
	for (int i = 0; i < POOLS; i++)
		free(p->pool[i].v);
}

static void add(struct piece *p, int pool, const void *item)
{
	p->full |= !pool_add(&p->pool[pool], item);
}

/* ---- steps ---- */

static int up(int a, int d)
{
	return (a + d - 1) / d;
}

static int down(int a, int d)
{
	return a >= 0 ? a / d : -((d - 1 - a) / d);
}

static void whole(int *from, int *end, int first, int size)
{
	*from = first + down(*from - first, size) * size;
	*end = first - down(first - *end, size) * size;
}

/* The cells that hold a box, as places; cells count from the rectangle's first place. */
static struct box whole_cells(const struct piece *p, struct box b)
{
	whole(&b.x0, &b.x1, p->places.x0, STREAM_CELL_X);
	whole(&b.z0, &b.z1, p->places.z0, STREAM_CELL_Z);
	return b;
}

/* In cells of the rectangle. */
static struct box cells_of(const struct piece *p, struct box b)
{
	return (struct box){ (b.x0 - p->places.x0) / STREAM_CELL_X, (b.x1 - p->places.x0) / STREAM_CELL_X,
			     (b.z0 - p->places.z0) / STREAM_CELL_Z, (b.z1 - p->places.z0) / STREAM_CELL_Z };
}

/* A quad left over reads what the first does, and weighs 0. */
static void close_step(struct piece *p, int kind)
{
	struct kind *to = &p->kind[kind];
	struct step *s = &to->step;
	int rows = stream_rows(kind) * (1 + stream_pairs(kind));
	struct box cells = cells_of(p, s->reach);

	if (s->n == 0)
		return;
	for (int k = s->n * QUAD; k < STREAM_TAPS; k++)
		s->offset.v[k % 4][k / 4] = s->offset.v[k % 4][0];
	p->full |= !pool_add(&to->reach, &cells) || !pool_add(&to->offset, &s->offset);
	for (int i = 0; i < rows; i++)
		p->full |= !pool_add(&to->weight, &s->weight[i]);
	p->products += (int64_t)(cells.x1 - cells.x0) * (cells.z1 - cells.z0) * rows;
	*s = (struct step){ 0 };
}

static uint64_t bits(int first, int end)
{
	return (end < CELLS ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0) & ~(uint64_t)0 << first;
}

/* Steps by kind. */
static void close_steps(struct piece *p)
{
	for (int i = 0; i < STREAM_KINDS; i++) {
		close_step(p, i);
		p->first[i] = p->pool[REACH].n;
		for (int64_t k = 0; k < p->kind[i].reach.n; k++) {
			const struct box *b = (const struct box *)p->kind[i].reach.v + k;

			add(p, REACH, &(struct stream_reach){ bits(b->x0, b->x1), bits(b->z0, b->z1) });
		}
		p->full |= !pool_append(&p->pool[OFFSET], &p->kind[i].offset) ||
			   !pool_append(&p->pool[WEIGHT], &p->kind[i].weight);
	}
	p->first[STREAM_KINDS] = p->pool[REACH].n;
}

/* Places that read the inside of a plane, and where the reading begins for place (0, 0). */
struct source {
	struct box inside;
	int32_t offset;
	int stride;			/* words to the next row of places */
	int margin;			/* columns of zeros beside it */
};

/* Where a column reads from in the first row with taps; one without a tap reads what another does, and
   weighs 0. */
static int32_t run_offset(const struct run *r, int slot, int stride)
{
	while (!(r->slots >> slot & 1))
		slot = (slot + 1) % QUAD;
	return r->offset[slot] + r->first * stride;
}

/* What a half holds of a weight: 11 of a float's 24 bits, rounded to even, in the weights' unit. */
static float half_of(float w, double unit)
{
	float v = (float)(w / unit);
	uint32_t word;

	memcpy(&word, &v, sizeof word);
	word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
	memcpy(&v, &word, sizeof v);
	return (float)(v * unit);
}

/* The rest is no more than the rounding of a float. */
static bool half_holds(float w, double unit)
{
	return fabsf(w - half_of(w, unit)) <= 0x1p-22f * fabsf(w);
}

static int kind_of(const struct piece *p, const struct run *r)
{
	const float *w = r->w[r->first][0];
	int rows = r->end - r->first, pairs = 0;

	for (int i = 0; i < rows * QUAD * STREAM_LANES; i++)
		pairs |= w[i] != 0 && !half_holds(w[i], p->unit);
	return rows - 1 + STREAM_RUN * pairs;
}

/* Slot k of row `row` of a step. */
static void put_weights(struct piece *p, struct step *s, int kind, int row, int k, const float w[STREAM_LANES])
{
	for (int j = 0; j < STREAM_LANES; j++) {
		float first = w[j] != 0 ? half_of(w[j], p->unit) : 0;
		int to = j % 8 * 4 + k % 4, at = j / 8 + k / 4 * 2;

		s->weight[row].v[to][at] = first;
		if (stream_pairs(kind))
			s->weight[stream_rows(kind) + row].v[to][at] = w[j] - first;
		p->greatest = fabsf(first) > p->greatest ? fabsf(first) : p->greatest;
	}
}

static void add_run(struct piece *p, const struct run *r, int stride)
{
	int kind = kind_of(p, r);
	struct step *s = &p->kind[kind].step;

	if (s->n == STREAM_TAPS / QUAD ||
	    (s->n > 0 && !box_holds(box_meet(s->allowed, r->allowed), box_join(s->reach, r->cells))))
		close_step(p, kind);
	s->reach = s->n ? box_join(s->reach, r->cells) : r->cells;
	s->allowed = s->n ? box_meet(s->allowed, r->allowed) : r->allowed;
	for (int i = 0; i < QUAD; i++) {
		int k = s->n * QUAD + i;

		s->offset.v[k % 4][k / 4] = run_offset(r, i, stride);
		for (int row = 0; row < stream_rows(kind); row++)
			put_weights(p, s, kind, row, k, r->w[r->first + row][i]);
	}
	s->n++;
}

/* ---- from taps to steps ---- */

/* Those of a direction in a plane. */
struct taps {
	int64_t n;
	const struct iso_srm_voxel *voxel;
	const iso_real *w;
};

static struct taps taps_of(const struct srm_op *m, const struct iso_srm_rows *taps,
			   const struct srm_direction *d, int y)
{
	const struct iso_srm_rows *r = &taps[d->a * m->shape.layers + d->b];
	const int64_t *ptr = r->ptr + y * r->directions + d->number;

	return (struct taps){ ptr[1] - ptr[0], r->voxel + ptr[0], r->w + ptr[0] };
}

/* The order of taps: plane by plane (phases px, or directions), column by column, along x. */
enum { Z_BITS = 16, X_BITS = 16, KEY_BITS = 40, PLANES = 1 << (KEY_BITS - Z_BITS - X_BITS) };

static uint64_t key_of(int plane, int x, int z)
{
	return ((((uint64_t)plane << Z_BITS) + (uint64_t)(z + (1 << (Z_BITS - 1)))) << X_BITS) +
	       (uint64_t)(x + (1 << (X_BITS - 1)));
}

static int key_x(uint64_t key)
{
	return (int)(key & ((1 << X_BITS) - 1)) - (1 << (X_BITS - 1));
}

static int key_z(uint64_t key)
{
	return (int)(key >> X_BITS & ((1 << Z_BITS) - 1)) - (1 << (Z_BITS - 1));
}

static int key_plane(uint64_t key)
{
	return (int)(key >> (X_BITS + Z_BITS));
}

static bool sort_room(struct piece *p, int64_t n)
{
	if (p->room >= n)
		return true;
	free(p->sorted);
	p->room = 2 * n;
	p->sorted = malloc((size_t)p->room * 2 * sizeof *p->sorted);
	if (!p->sorted)
		p->room = 0;
	return p->sorted;
}

static bool sort_taps(struct piece *p)
{
	const struct tap *tap = (const struct tap *)p->tap.v;
	int64_t n = p->tap.n;

	if (n >> (64 - KEY_BITS) || !sort_room(p, n))
		return false;
	for (int64_t i = 0; i < n; i++)
		p->sorted[i] = (uint64_t)i << KEY_BITS | tap[i].key;
	iso_srm_sort(p->sorted, p->sorted + p->room, n, KEY_BITS);
	return true;
}

/* Where a tap goes in a run, and what it reads. */
struct target {
	int row, slot;
	struct source at;
};

/* Unless no place of the rectangle reads it. */
static void run_add(struct run *r, const struct piece *p, const struct target *t, const float w[STREAM_LANES])
{
	struct box in = t->at.inside, cells = box_meet(in, p->places), allowed = {
		in.x0 - STREAM_MARGIN_X, in.x1 + STREAM_MARGIN_X, in.z0 - t->at.margin, in.z1 + t->at.margin,
	};

	if (cells.x0 >= cells.x1 || cells.z0 >= cells.z1)
		return;
	cells = whole_cells(p, cells);
	if (!r->slots)
		*r = (struct run){ .first = t->row, .cells = cells, .allowed = allowed };
	r->cells = box_join(r->cells, cells);
	r->allowed = box_meet(r->allowed, allowed);
	r->first = t->row < r->first ? t->row : r->first;
	r->end = t->row >= r->end ? t->row + 1 : r->end;
	r->slots |= 1u << t->slot;
	r->offset[t->slot] = t->at.offset - t->row * t->at.stride;
	memcpy(r->w[t->row][t->slot], w, sizeof r->w[0][0]);
}

/* The key of sorted tap number i. */
static uint64_t sorted_key(const struct piece *p, int64_t i)
{
	return p->sorted[i] & (((uint64_t)1 << KEY_BITS) - 1);
}

/* Taps of one plane, of columns z ... z + QUAD - 1, at x0 ... x1. */
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

		if (key_plane(k) != key_plane(key) || key_z(k) >= q.z + QUAD)
			break;
		q.x0 = key_x(k) < q.x0 ? key_x(k) : q.x0;
		q.x1 = key_x(k) > q.x1 ? key_x(k) : q.x1;
	}
	return q;
}

/* Taps i ... of the same key are one, with several lanes; returns the next. */
static int64_t gather_tap(float w[STREAM_LANES], const struct piece *p, int64_t i)
{
	const struct tap *tap = (const struct tap *)p->tap.v;
	uint64_t key = sorted_key(p, i);

	memset(w, 0, STREAM_LANES * sizeof *w);
	for (; i < p->tap.n && sorted_key(p, i) == key; i++) {
		const struct tap *t = &tap[p->sorted[i] >> KEY_BITS];

		w[t->lane] += t->w;
	}
	return i;
}

typedef struct source (*where_fn)(const void *arg, uint64_t key);

/* The taps of a quad at x ... x + length - 1. */
static void make_run(struct piece *p, const struct quad *q, int x, int length, where_fn where, const void *arg)
{
	struct target t = { 0 };
	struct run r = { 0 };

	for (int64_t i = q->begin; i < q->end;) {
		uint64_t key = sorted_key(p, i);
		float w[STREAM_LANES];

		i = gather_tap(w, p, i);
		if (key_x(key) < x || key_x(key) >= x + length)
			continue;
		t = (struct target){ key_x(key) - x, key_z(key) - q->z, where(arg, key) };
		run_add(&r, p, &t, w);
	}
	if (r.slots)
		add_run(p, &r, t.at.stride);
}

/* A quad becomes the fewest runs, of like length. */
static void make_steps(struct piece *p, where_fn where, const void *arg)
{
	struct quad q;

	if (p->full || !sort_taps(p)) {
		p->full = true;
		return;
	}
	for (int64_t i = 0; i < p->tap.n; i = q.end) {
		q = next_quad(p, i);

		int span = q.x1 - q.x0 + 1, length = up(span, up(span, STREAM_RUN));

		for (int x = q.x0; x <= q.x1; x += length)
			make_run(p, &q, x, length, where, arg);
	}
	p->tap.n = 0;
}

/* ---- blocks ---- */

/* Warps that cover a rectangle, and those of them side by side along z. */
static int across(const struct box *b)
{
	return up(b->z1 - b->z0, STREAM_CELL_Z);
}

static int warps_of(const struct box *b)
{
	return up(up(b->x1 - b->x0, STREAM_CELL_X), STREAM_CELLS) * across(b);
}

static void add_range(struct piece *p, struct stream_range *g)
{
	if (g->n)
		add(p, RANGE, g);
	g->n = 0;
}

/* The ranges of a kind for a warp at cell (x, z), and its work: a step costs about as much as two rows.
   `row`: the kind's first. */
static int64_t add_ranges(struct piece *p, int kind, int32_t row, int x, int z)
{
	const struct stream_reach *r = (const struct stream_reach *)p->pool[REACH].v;
	int rows = stream_rows(kind) * (1 + stream_pairs(kind));
	struct stream_range g = { .kind = kind };
	int64_t work = 0;

	for (int32_t i = (int32_t)p->first[kind]; i < p->first[kind + 1]; i++) {
		int cells = (int)(r[i].x >> x & 1) + (x + 1 < CELLS ? (int)(r[i].x >> (x + 1) & 1) : 0);

		if (!cells || !(r[i].z >> z & 1))
			continue;
		if (g.n && i - g.first - g.n > GAP)
			add_range(p, &g);
		if (!g.n) {
			g.first = i;
			g.row = row + (int32_t)(i - p->first[kind]) * rows;
		}
		g.n = i + 1 - g.first;
		work += cells * rows + 2;
	}
	add_range(p, &g);
	return work;
}

static void add_blocks(struct piece *p, int slice)
{
	const struct box *b = &p->places;
	struct stream_block k = {
		.slice = slice, .x0 = (int16_t)b->x0, .nx = (int16_t)(b->x1 - b->x0), .z0 = (int16_t)b->z0,
		.nz = (int16_t)(b->z1 - b->z0),
	};

	for (; k.warp < warps_of(b) && !p->full; k.warp++) {
		int32_t row = 0;

		k.range = p->pool[RANGE].n;
		k.work = 0;
		for (int i = 0; i < STREAM_KINDS; i++) {
			k.work += add_ranges(p, i, row, k.warp / across(b) * STREAM_CELLS, k.warp % across(b));
			row += (int32_t)p->kind[i].weight.n;
		}
		add(p, RANGE, &(struct stream_range){ .kind = -1 });
		add(p, BLOCK, &k);
	}
}

/* ---- forward: up to 16 directions near each other, and a share of the planes ---- */

/* Directions are taken strip by strip: `wide` values of dx, counted from 0 both ways, and in a strip
   by dz, then dx. Where a subset holds all neighbours, strips of 4 make groups of 4 x 4; where it was dealt out
   singly, strips are so much wider that 16 of its directions lie in a square. */
struct strip {
	int j, a, b, at, dz, dx;
};

static int by_strip(const void *a, const void *b)
{
	const struct strip *s = a, *t = b;
	int order[5] = { s->a - t->a, s->b - t->b, s->at - t->at, s->dz - t->dz, s->dx - t->dx };

	for (int i = 0; i < 5; i++)
		if (order[i])
			return order[i];
	return 0;
}

/* Whether most directions have their neighbour along z in the same subset. */
static bool neighbours(const struct srm_op *m, int first, int end)
{
	int n = 0;

	for (int j = first; j + 1 < end; j++)
		n += m->direction[j + 1].dz == m->direction[j].dz + 1;
	return 2 * n > end - first;
}

static int make_strips(struct strip *s, const struct srm_op *m, int first, int end)
{
	double share = (double)(end - first) / m->n_direction;
	int wide = neighbours(m, first, end) ? 4 : (int)ceil(4 / sqrt(share));

	for (int j = first; j < end; j++) {
		const struct srm_direction *d = &m->direction[j];
		int at = d->dx >= 0 ? d->dx / wide : -1 - -d->dx / wide;

		s[j] = (struct strip){ j, d->a, d->b, at, d->dz, d->dx };
	}
	qsort(s + first, (size_t)(end - first), sizeof *s, by_strip);
	return wide;
}

/* Members of a group: of one strip, and no more than its width apart. */
static int group_size(const struct strip *s, int n, int wide)
{
	int k = 1;

	while (k < n && k < STREAM_LANES && s[k].a == s->a && s[k].b == s->b && s[k].at == s->at &&
	       s[k].dz - s->dz < wide)
		k++;
	return k;
}

struct forward {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	const struct strip *member;
	int n;
	int y;
};

/* Where counting begins: the upper crystal, or for planes of the lower half the lower one. */
static int origin(const struct srm_direction *d, bool lower, int axis)
{
	return lower ? (axis ? d->dz : d->dx) : 0;
}

/* Keys are of phase px, crystal x and voxel z. */
static struct source forward_source(const void *arg, uint64_t key)
{
	const struct forward *f = arg;
	const int *d = f->m->shape.d, *nc = f->m->shape.nc;
	int x = key_x(key), k = key_z(key), z = down(k, d[1]);

	return (struct source){
		{ -x, nc[0] - x, -z, nc[1] - z },
		(int32_t)stream_voxel(f->l->plane, f->y, x * d[0] + key_plane(key), k),
		f->l->row_image, STREAM_MARGIN_Z,
	};
}

static void forward_taps(struct piece *p, const struct forward *f, int lane, bool lower)
{
	const struct srm_direction *d = &f->m->direction[f->member[lane].j];
	struct taps t = taps_of(f->m, f->taps, d, f->y);
	const int *phases = f->m->shape.d;

	p->useful += t.n * d->nx * d->nz;
	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, lower, 0), x = down(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, lower, 1);
		struct tap tap = { key_of(i - x * phases[0], x, k), lane, (float)t.w[n] };

		p->full |= !pool_add(&p->tap, &tap);
	}
}

static void forward_outs(struct piece *p, const struct forward *f, bool lower)
{
	for (int i = 0; i < STREAM_LANES; i++) {
		struct stream_out o = { 0 };

		if (i < f->n) {
			const struct srm_direction *d = &f->m->direction[f->member[i].j];
			int x = d->x0 + origin(d, lower, 0), z = d->z0 + origin(d, lower, 1);
			struct box b = { x, x + d->nx, z, z + d->nz };

			o = (struct stream_out){ d->first, d->nz, 1, (int16_t)x, (int16_t)d->nx, (int16_t)z,
						 (int16_t)d->nz };
			p->places = i ? box_join(p->places, b) : b;
		}
		add(p, OUT, &o);
	}
}

/* Slices 0, 2, ... are shares of the lower half of the planes, 1, 3, ... of the upper. */
static void forward_piece(struct piece *p, struct forward *f, int slice, int slices)
{
	int planes = f->m->shape.planes, middle = planes / 2, share = slice / 2, shares = slices / 2;
	bool lower = slice % 2 == 0;
	int first = lower ? 0 : middle, n = lower ? middle : planes - middle;
	int end = first + (share + 1) * n / shares;

	forward_outs(p, f, lower);
	for (f->y = first + share * n / shares; f->y < end; f->y++) {
		for (int i = 0; i < f->n; i++)
			forward_taps(p, f, i, lower);
		make_steps(p, forward_source, f);
	}
	close_steps(p);
	add_blocks(p, slice);
}

/* ---- adjoint: up to 16 phases of one plane, and a share of the directions ---- */

struct adjoint {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	const struct srm_direction *first;	/* of a bin of directions */
	bool lower;
	int y, phase;				/* phase: the first of the lanes' */
};

/* Keys are of the direction's number in its bin, crystal -x (a row of taps further on reads a row of places
   further) and crystal -z. Phases are numbered pz Dx + px: in an image neighbours along x lie side by side. */
static struct source adjoint_source(const void *arg, uint64_t key)
{
	const struct adjoint *f = arg;
	const struct srm_direction *d = f->first + key_plane(key);
	int x = -key_x(key) + d->x0 + origin(d, f->lower, 0);
	int z = -key_z(key) + d->z0 + origin(d, f->lower, 1);

	return (struct source){
		{ x, x + d->nx, z, z + d->nz },
		(int32_t)(f->l->direction[d - f->m->direction] - (int64_t)x * f->l->row_data - z),
		f->l->row_data, STREAM_MARGIN_DATA,
	};
}

static void adjoint_taps(struct piece *p, const struct adjoint *f, int member)
{
	const struct srm_direction *d = f->first + member;
	struct taps t = taps_of(f->m, f->taps, d, f->y);
	const int *phases = f->m->shape.d;

	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, f->lower, 0), x = down(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, f->lower, 1), z = down(k, phases[1]);
		int lane = (k - z * phases[1]) * phases[0] + i - x * phases[0] - f->phase;

		if (lane < 0 || lane >= STREAM_LANES)
			continue;
		struct tap tap = { key_of(member, -x, -z), lane, (float)t.w[n] };

		p->useful += (int64_t)d->nx * d->nz;
		p->full |= !pool_add(&p->tap, &tap);
	}
}

static void adjoint_outs(struct piece *p, const struct adjoint *f)
{
	const int *nc = f->m->shape.nc, *d = f->m->shape.d, planes = f->m->shape.planes;
	int64_t nx = (int64_t)nc[0] * d[0];

	p->places = (struct box){ 0, nc[0], 0, nc[1] };
	for (int i = 0; i < STREAM_LANES; i++) {
		struct stream_out o = { 0 };
		int phase = f->phase + i, px = phase % d[0], pz = phase / d[0];

		if (phase < d[0] * d[1])
			o = (struct stream_out){ ((int64_t)pz * planes + f->y) * nx + px, d[0],
						 (int32_t)(d[1] * planes * nx), 0, (int16_t)nc[0], 0,
						 (int16_t)nc[1] };
		add(p, OUT, &o);
	}
}

static void adjoint_piece(struct piece *p, struct adjoint *f, const int range[2], int slice, int slices)
{
	int n = range[1] - range[0], end = range[0] + (int)((int64_t)(slice + 1) * n / slices);

	adjoint_outs(p, f);
	for (int j = range[0] + (int)((int64_t)slice * n / slices); j < end; j += BIN) {
		f->first = f->m->direction + j;
		for (int i = 0; i < BIN && j + i < end; i++)
			adjoint_taps(p, f, i);
		make_steps(p, adjoint_source, f);
	}
	close_steps(p);
	add_blocks(p, slice);
}

/* ---- putting pieces together ---- */

/* Most work first; of like work, those together that read the same steps. */
static int by_work(const void *a, const void *b)
{
	const struct stream_block *x = a, *y = b;

	if (x->work != y->work)
		return x->work < y->work ? 1 : -1;
	return x->range < y->range ? -1 : x->range > y->range;
}

/* Blocks and ranges of a piece count from its own first. */
static bool append(struct pool all[POOLS], const struct piece *p)
{
	const int64_t step = all[REACH].n, range = all[RANGE].n, out = all[OUT].n, row = all[WEIGHT].n;
	bool fits = !p->full;

	for (int k = 0; k < POOLS && fits; k++)
		fits = pool_append(&all[k], &p->pool[k]);
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

/* Pieces of all subsets: number first[sub] ... first[sub + 1] - 1 belong to subset sub. */
struct pieces {
	void (*make)(struct piece *p, const void *arg, int64_t number);
	const void *arg;
	int64_t *first;			/* n_sub + 1 */
	double unit;
};

static void make_batch(struct piece *p, iso_ctx *ctx, const struct pieces *k, int64_t first, int64_t n)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i++) {
		piece_open(&p[i], k->unit);
		k->make(&p[i], k->arg, first + i);
		piece_rest(&p[i]);
	}
}

/* Pieces numbered from `number` on; blocks of a subset begin with its first piece. */
static int take_batch(struct srm_stream *s, struct pool all[POOLS], struct piece *p,
		      const struct pieces *k, int64_t number, int64_t n)
{
	bool fits = true;

	for (int64_t i = 0; i < n; i++) {
		for (int sub = 0; sub < s->n_sub; sub++)
			if (k->first[sub] == number + i)
				s->block_of[sub] = all[BLOCK].n;
		fits = fits && append(all, &p[i]);
		s->useful += p[i].useful;
		s->greatest = p[i].greatest > s->greatest ? p[i].greatest : s->greatest;
		s->done += p[i].products * STREAM_CELL_X * STREAM_CELL_Z * STREAM_TAPS * STREAM_LANES;
		piece_free(&p[i]);
	}
	if (!fits)
		return iso_fail_memory("srm: streams of taps", all[WEIGHT].n * all[WEIGHT].size);
	if (all[OUT].n > INT32_MAX || all[WEIGHT].n > INT32_MAX)
		return iso_fail(ISO_EARG, "srm: %" PRId64 " outputs and %" PRId64 " rows of taps in streams, at "
				"most 2^31", all[OUT].n, all[WEIGHT].n);
	return ISO_OK;
}

/* The stream takes the arrays over. */
static void take_pools(struct srm_stream *s, struct pool all[POOLS])
{
	s->block = (struct stream_block *)all[BLOCK].v;
	s->range = (struct stream_range *)all[RANGE].v;
	s->out = (struct stream_out *)all[OUT].v;
	s->reach = (struct stream_reach *)all[REACH].v;
	s->offset = (struct stream_offsets *)all[OFFSET].v;
	s->weight = (struct stream_weights *)all[WEIGHT].v;
	s->n_range = all[RANGE].n;
	s->n_out = all[OUT].n;
	s->n_step = all[REACH].n;
	s->n_row = all[WEIGHT].n;
	s->block_of[s->n_sub] = all[BLOCK].n;
}

static void sort_blocks(struct srm_stream *s)
{
	for (int sub = 0; sub < s->n_sub; sub++)
		qsort(s->block + s->block_of[sub], (size_t)(s->block_of[sub + 1] - s->block_of[sub]),
		      sizeof *s->block, by_work);
}

static int make_stream(struct srm_stream *s, iso_ctx *ctx, const struct pieces *k)
{
	int64_t n = k->first[s->n_sub], many = (int64_t)BATCH * ctx->threads;
	struct piece *p = size_alloc(many, sizeof *p);
	struct pool all[POOLS];
	int st = p ? ISO_OK : iso_fail_memory("srm: streams of taps", many * (int64_t)sizeof *p);

	pools_open(all);
	for (int64_t i = 0; i < n && !st; i += many) {
		int64_t now = n - i < many ? n - i : many;

		make_batch(p, ctx, k, i, now);
		st = take_batch(s, all, p, k, i, now);
	}
	take_pools(s, all);
	if (!st)
		sort_blocks(s);
	free(p);
	return st;
}

/* Weights that were counted are whole counts over pairs, times powers of 2 (srm_table.c). */
static double unit_of(const iso_srm *m)
{
	int outcomes = m->options.outcomes > 1 ? m->options.outcomes : 1;

	return m->source == SRM_TRANSPORT ? 1. / ((double)m->pairs * outcomes * outcomes) : 1;
}

static int stream_begin(struct srm_stream *s, struct pieces *k, const struct srm_op *m)
{
	int n_sub = m->n_sub;

	*s = (struct srm_stream){ .n_sub = n_sub, .unit = unit_of(m->srm) };
	k->unit = s->unit;
	s->block_of = size_alloc(n_sub + 1, sizeof *s->block_of);
	k->first = size_alloc(n_sub + 1, sizeof *k->first);
	return s->block_of && k->first ? ISO_OK : iso_fail_memory("srm: streams of taps",
								  n_sub * (int64_t)sizeof *k->first);
}

static int stream_end(struct srm_stream *s, struct pieces *k, int st)
{
	free(k->first);
	if (st)
		iso_stream_free(s);
	return st;
}

static int slices_for(double warps, int most)
{
	double n = ceil(WARPS / (warps > 1 ? warps : 1));

	most = most < SLICES ? most : SLICES;
	return n < 1 ? 1 : n < most ? (int)n : most > 1 ? most : 1;
}

/* ---- the streams ---- */

/* Groups of all subsets: start[g] is a member's place in the strips, first[sub] counts groups. */
static int64_t make_groups(int *start, int64_t *first, struct strip *strip, const struct srm_op *m)
{
	int64_t n = 0;

	for (int sub = 0; sub < m->n_sub; sub++) {
		int j = m->sub[sub], end = m->sub[sub + 1];
		int wide = make_strips(strip, m, j, end);

		first[sub] = n;
		while (j < end) {
			start[n++] = j;
			j += group_size(strip + j, end - j, wide);
		}
	}
	start[n] = m->n_direction;
	first[m->n_sub] = n;
	return n;
}

/* Warps that an average direction's places take: half the crystals along either axis. */
static double forward_warps(const struct srm_op *m, int64_t groups)
{
	double x = (m->shape.nc[0] / 2. + 4) / STREAM_CELL_X, z = m->shape.nc[1] / 2. / STREAM_CELL_Z + 1;

	return (double)groups / m->n_sub * ceil(x * z / STREAM_CELLS);
}

/* Pieces are numbered by group, then slice. */
struct forward_pieces {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	const struct strip *strip;
	const int *start;
	int slices;
};

static void make_forward(struct piece *p, const void *arg, int64_t number)
{
	const struct forward_pieces *k = arg;
	int64_t g = number / k->slices;
	struct forward f = { k->m, k->taps, k->l, k->strip + k->start[g], k->start[g + 1] - k->start[g],
			     0 };

	forward_piece(p, &f, (int)(number % k->slices), k->slices);
}

int iso_stream_forward(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	struct strip *strip = size_alloc(m->n_direction, sizeof *strip);
	int *start = size_alloc(m->n_direction + 1, sizeof *start);
	struct forward_pieces f = { m, taps, l, strip, start, 0 };
	struct pieces k = { make_forward, &f, NULL, 0 };
	int st = stream_begin(s, &k, m);

	if ((!strip || !start) && !st)
		st = iso_fail_memory("srm: streams of taps", m->n_direction * (int64_t)sizeof *strip);
	if (st) goto done;
	int64_t groups = make_groups(start, k.first, strip, m);

	f.slices = s->slices = 2 * slices_for(2 * forward_warps(m, groups),
					      m->shape.planes < 32 ? m->shape.planes / 4 : 8);
	for (int sub = 0; sub <= m->n_sub; sub++)
		k.first[sub] *= f.slices;
	st = make_stream(s, ctx, &k);
done:
	free(strip);
	free(start);
	return stream_end(s, &k, st);
}

/* By subset, plane, quire of phases, slice. */
struct adjoint_pieces {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	int quires, slices;
};

static void make_adjoint(struct piece *p, const void *arg, int64_t number)
{
	const struct adjoint_pieces *k = arg;
	int planes = k->m->shape.planes, slice = (int)(number % k->slices);
	int quire = (int)(number / k->slices % k->quires);
	int y = (int)(number / k->slices / k->quires % planes);
	int sub = (int)(number / k->slices / k->quires / planes);
	const int range[2] = { k->m->sub[sub], k->m->sub[sub + 1] };
	struct adjoint f = { k->m, k->taps, k->l, NULL, y < planes / 2, y, quire * STREAM_LANES };

	adjoint_piece(p, &f, range, slice, k->slices);
}

int iso_stream_adjoint(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	const struct srm_shape *h = &m->shape;
	const struct box image = { 0, h->nc[0], 0, h->nc[1] };
	int quires = up(h->d[0] * h->d[1], STREAM_LANES);
	double warps = (double)h->planes * quires * warps_of(&image);
	struct adjoint_pieces f = { m, taps, l, quires, slices_for(warps, SLICES) };
	struct pieces k = { make_adjoint, &f, NULL, 0 };
	int st = stream_begin(s, &k, m);

	if (st)
		return stream_end(s, &k, st);
	s->slices = f.slices;
	for (int sub = 0; sub <= m->n_sub; sub++)
		k.first[sub] = (int64_t)sub * h->planes * quires * f.slices;
	return stream_end(s, &k, make_stream(s, ctx, &k));
}

void iso_stream_free(struct srm_stream *s)
{
	free(s->block_of);
	free(s->block);
	free(s->range);
	free(s->out);
	free(s->reach);
	free(s->offset);
	free(s->weight);
	*s = (struct srm_stream){ 0 };
}

/* ---- padded memory ---- */

/* Directions dz and dz - Ncz together have Ncz columns: they share the rows of one plane. */
static void place_directions(struct stream_layout *l, const struct srm_op *m)
{
	l->data = (int64_t)(STREAM_MARGIN_X + SPARE) * l->row_data;
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz < 0)
			continue;
		l->direction[j] = l->data + STREAM_MARGIN_DATA;
		l->data += (int64_t)(d->nx + STREAM_MARGIN_X) * l->row_data;
	}
	l->data += STREAM_MARGIN_DATA + (int64_t)SPARE * l->row_data;
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz >= 0)
			continue;
		int of_layers = (d->a * m->shape.layers + d->b) * (m->n_direction / (m->shape.layers *
				m->shape.layers));
		int partner = m->place[of_layers + d->number + m->shape.nc[1]];

		l->direction[j] = l->direction[partner] + m->direction[partner].nz + STREAM_MARGIN_DATA;
	}
}

/* Rows begin at multiples of ROW words. */
static int row_of(int words)
{
	return up(words, ROW) * ROW;
}

int iso_stream_layout(struct stream_layout *l, const struct srm_op *m)
{
	const struct srm_shape *h = &m->shape;

	if (h->d[0] > PLANES)
		return iso_fail(ISO_EARG, "srm: %d voxels a crystal along x, at most %d in correlation on CUDA",
				h->d[0], PLANES);
	if (up(h->nc[0], STREAM_CELL_X) > CELLS || up(h->nc[1], STREAM_CELL_Z) > CELLS)
		return iso_fail(ISO_EARG, "srm: %d x %d crystals, at most %d x %d in correlation on CUDA", h->nc[0],
				h->nc[1], CELLS * STREAM_CELL_X, CELLS * STREAM_CELL_Z);
	*l = (struct stream_layout){
		.plane = { (h->nc[0] + STREAM_MARGIN_X) * h->d[0], row_of((h->nc[1] + STREAM_MARGIN_Z) * h->d[1]),
			   (STREAM_MARGIN_X + SPARE) * h->d[0], STREAM_MARGIN_Z * h->d[1] },
		.row_data = row_of(h->nc[1] + 2 * STREAM_MARGIN_DATA),
	};
	l->row_image = h->d[0] * l->plane.pitch;
	l->image = stream_voxel(l->plane, h->planes, 0, 0);
	l->direction = size_alloc(m->n_direction, sizeof *l->direction);
	if (!l->direction)
		return iso_fail_memory("srm: directions", m->n_direction * (int64_t)sizeof *l->direction);
	place_directions(l, m);
	if (l->image > MOST_PLACES || l->data > MOST_PLACES) {
		int st = iso_fail(ISO_EARG, "srm: %" PRId64 " and %" PRId64 " values of image and data with "
				  "margins, at most %d", l->image, l->data, MOST_PLACES);

		iso_stream_layout_free(l);
		return st;
	}
	return ISO_OK;
}

void iso_stream_layout_free(struct stream_layout *l)
{
	free(l->direction);
	*l = (struct stream_layout){ 0 };
}
