/* SPDX-License-Identifier: BSD-3-Clause */
/* From taps to steps, and from steps to the ranges of warps: see srm_stream_piece.h. */
#include "srm_stream_piece.h"
#include "srm_half.h"
#include "core/size.h"

enum {
	GAP = 8,        /* steps in a range of a warp that need not reach it */
	PART = 1 << 26, /* bytes of a store's part: worth large pages */
	HEAD = 16,      /* of them before the first array */
};

const int64_t iso_pool_size[POOLS] = {
	sizeof(struct stream_block), sizeof(struct stream_range),   sizeof(struct stream_out),
	sizeof(struct stream_reach), sizeof(struct stream_offsets), sizeof(struct stream_weights),
};

/* ---- memory ---- */

/* Room for n items more, not yet set; NULL: none. */
static void *extend(struct pool *p, int64_t n)
{
	if (p->n + n > p->room) {
		int64_t room = n > p->room + 64 ? p->n + n : 2 * p->room + 64;
		char *v = realloc(p->v, (size_t)(room * p->size));

		if (!v) return NULL;
		p->v = v;
		p->room = room;
	}
	p->n += n;
	return p->v + (p->n - n) * p->size;
}

void iso_piece_add(struct piece *p, struct pool *to, const void *item)
{
	void *at = extend(to, 1);

	if (at)
		memcpy(at, item, (size_t)to->size);
	else
		p->full = true;
}

struct store_part {
	struct store_part *before;
	int64_t bytes;
};

_Static_assert(sizeof(struct store_part) <= HEAD, "a part's head");

/* A part of at least so many bytes: the spare one that is next, if it will do. */
static struct store_part *take_part(struct store *s, int64_t bytes)
{
	struct store_part *part = s->spare;

	if (part && part->bytes >= bytes) {
		s->spare = part->before;
		return part;
	}
	bytes = bytes > PART ? bytes : PART;
	if ((part = size_alloc(bytes, 1))) part->bytes = bytes;
	return part;
}

void *iso_store_take(struct store *s, int64_t bytes)
{
	bytes = (bytes + 15) / 16 * 16;
	if (!s->last || bytes > s->left) {
		struct store_part *part = take_part(s, bytes + HEAD);

		if (!part) return NULL;
		part->before = s->last;
		s->last = part;
		s->left = part->bytes - HEAD;
	}
	s->left -= bytes;
	return (char *)s->last + s->last->bytes - s->left - bytes;
}

void iso_store_empty(struct store *s)
{
	for (struct store_part *p = s->last, *before; p; p = before) {
		before = p->before;
		p->before = s->spare;
		s->spare = p;
	}
	s->last = NULL;
}

void iso_store_free(struct store *s)
{
	iso_store_empty(s);
	for (struct store_part *p = s->spare, *before; p; p = before) {
		before = p->before;
		free(p);
	}
	s->spare = NULL;
}

/* ---- one piece after the other ---- */

bool iso_piece_open(struct piece *p, const struct pieces *k)
{
	*p = (struct piece){ .of = k };
	for (int i = 0; i < POOLS; i++) {
		p->pool[i].size = iso_pool_size[i];
		for (int j = 0; j < STREAM_KINDS; j++) p->kind[j].pool[i].size = iso_pool_size[i];
	}
	return k->open(&p->board, k);
}

void iso_piece_close(struct piece *p)
{
	for (int i = 0; i < POOLS; i++) {
		free(p->pool[i].v);
		for (int j = 0; j < STREAM_KINDS; j++) free(p->kind[j].pool[i].v);
	}
	iso_board_close(&p->board);
}

/* Steps and their weights by kind, one behind the other. */
static bool keep(struct made *to, struct store *in, struct piece *p)
{
	for (int i = 0; i < POOLS; i++) {
		char *v;

		to->n[i] = p->pool[i].n;
		for (int j = 0; j < STREAM_KINDS; j++) to->n[i] += p->kind[j].pool[i].n;
		if (!(v = iso_store_take(in, to->n[i] * iso_pool_size[i]))) return false;
		to->v[i] = v;
		for (int j = -1; j < STREAM_KINDS; j++) {
			struct pool *from = j < 0 ? &p->pool[i] : &p->kind[j].pool[i];

			if (from->n) memcpy(v, from->v, (size_t)(from->n * from->size));
			v += from->n * from->size;
			from->n = 0;
		}
	}
	to->products = p->products;
	to->useful = p->useful;
	p->products = p->useful = 0;
	return true;
}

bool iso_piece_make(struct made *to, struct store *in, struct piece *p, int64_t number)
{
	p->of->make(p, number);
	return !p->full && keep(to, in, p);
}

/* ---- steps ---- */

static struct box box_meet(struct box a, struct box b)
{
	return (struct box){ a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1, a.z0 > b.z0 ? a.z0 : b.z0,
		             a.z1 < b.z1 ? a.z1 : b.z1 };
}

static bool box_holds(struct box a, struct box b)
{
	return a.x0 <= b.x0 && a.x1 >= b.x1 && a.z0 <= b.z0 && a.z1 >= b.z1;
}

/* Taps at STREAM_QUAD neighbouring columns, which a warp reads at a time, and at rows that follow one
   another along x; `cells` and `allowed` as `reach` and `allowed` of a step. */
struct run {
	int rows;
	bool rest;                   /* a half does not hold one of its weights */
	int32_t offset[STREAM_QUAD]; /* where a column reads from in the first row */
	struct box cells, allowed;
	int32_t at[STREAM_RUN][STREAM_QUAD]; /* places of the board; -1: no tap */
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
	iso_piece_add(p, &to[REACH], &(struct stream_reach){ bits(r.x0, r.x1), bits(r.z0, r.z1) });
	iso_piece_add(p, &to[OFFSET], &s->offset);
	p->products += (int64_t)(r.x1 - r.x0) * (r.z1 - r.z0) * rows_of(kind);
	s->n = 0;
}

/* Its weights are zeros until runs come. */
static bool open_step(struct piece *p, int kind)
{
	struct pool *to = &p->kind[kind].pool[WEIGHT];
	void *w = extend(to, rows_of(kind));

	p->kind[kind].step.row = to->n - rows_of(kind);
	if (w) memset(w, 0, (size_t)rows_of(kind) * sizeof(struct stream_weights));
	p->full |= !w;
	return w;
}

/* Steps by kind. */
static void close_steps(struct piece *p)
{
	for (int i = 0; i < STREAM_KINDS; i++) {
		close_step(p, i);
		p->first[i + 1] = p->first[i] + p->kind[i].pool[REACH].n;
	}
}

/* Tap number `slot` of quad `quad` of a row. */
static void put_halves(struct stream_weights *row, int quad, int slot, const struct board_place *at)
{
	const uint16_t *low = at->half, *high = at->half + STREAM_LANES / 2;
	const uint16_t bits = STREAM_REST_BIT - 1;

	for (int j = 0; j < STREAM_LANES / 2; j++)
		row->v[j * 4 + slot][quad] = (uint32_t)(low[j] & bits) | (uint32_t)(high[j] & bits) << 16;
}

/* What halves leave of its weights. */
static void put_rests(struct stream_weights *row, int quad, int slot, const struct board_weights *at,
                      double unit)
{
	uint32_t rest[STREAM_LANES];

	for (int j = 0; j < STREAM_LANES; j++)
		rest[j] = half_of(STREAM_REST * (at->w[j] - half_split(at->w[j], unit).w) / unit);
	for (int j = 0; j < STREAM_LANES / 2; j++)
		row->v[j * 4 + slot][quad] = rest[j] | rest[j + STREAM_LANES / 2] << 16;
}

/* The weights of a run as quad number s->n of its step. */
static void put_run(struct piece *p, const struct run *r, int kind)
{
	const struct step *s = &p->kind[kind].step;
	struct stream_weights *row = (struct stream_weights *)p->kind[kind].pool[WEIGHT].v + s->row;

	for (int i = 0; i < r->rows; i++)
		for (int slot = 0; slot < STREAM_QUAD; slot++) {
			int32_t at = r->at[i][slot];

			if (at < 0) continue;
			put_halves(&row[i], s->n, slot, &p->board.place[at]);
			if (r->rest)
				put_rests(&row[r->rows + i], s->n, slot, &p->board.weights[at],
				          p->of->taps->unit);
		}
}

static void add_run(struct piece *p, const struct run *r)
{
	int kind = r->rows - 1 + STREAM_RUN * r->rest;
	struct step *s = &p->kind[kind].step;

	if (s->n == STREAM_TAPS / STREAM_QUAD ||
	    (s->n > 0 && !box_holds(box_meet(s->allowed, r->allowed), box_join(s->reach, r->cells))))
		close_step(p, kind);
	if (s->n == 0 && !open_step(p, kind)) return;
	s->reach = s->n ? box_join(s->reach, r->cells) : r->cells;
	s->allowed = s->n ? box_meet(s->allowed, r->allowed) : r->allowed;
	for (int i = 0; i < STREAM_QUAD; i++) s->offset.v[i][s->n] = r->offset[i];
	put_run(p, r, kind);
	s->n++;
}

/* ---- from taps to steps ---- */

/* Cells along one axis. */
struct line {
	bool read; /* a place of the rectangle reads the inside */
	int first, end, allowed_first, allowed_end;
};

/* A tap reads the inside at places in ... in + n - 1; the rectangle has places first ... end - 1, in cells of
   `cell` places. */
static struct line line_of(int in, int n, int first, int end, int cell, int margin)
{
	int low = in > first ? in : first, high = in + n < end ? in + n : end;

	return (struct line){ low < high, srm_down(low - first, cell), -srm_down(first - high, cell),
		              -srm_down(first - in + margin, cell), srm_down(in + n + margin - first, cell) };
}

/* Taps of one plane, of columns z ... z + columns - 1, at x0 ... x1. */
struct quad {
	const struct source *from;
	int64_t column; /* of the board, the first */
	int z, columns, x0, x1;
	struct line line[STREAM_QUAD]; /* of a column */
};

/* The join of the cells, and the meet of those allowed, of the rows and columns with taps. */
static void run_boxes(struct run *r, const struct quad *q, const struct line *row, unsigned rows,
                      const unsigned has[STREAM_QUAD])
{
	r->cells = (struct box){ INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN };
	r->allowed = (struct box){ INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX };
	for (int i = 0; i < STREAM_RUN; i++) {
		const struct line *l = &row[i];
		struct box b = { l->first, l->end, r->cells.z0, r->cells.z1 };
		struct box a = { l->allowed_first, l->allowed_end, r->allowed.z0, r->allowed.z1 };

		if (!(rows >> i & 1)) continue;
		r->cells = box_join(r->cells, b);
		r->allowed = box_meet(r->allowed, a);
	}
	for (int i = 0; i < STREAM_QUAD; i++) {
		const struct line *l = &q->line[i];
		struct box b = { r->cells.x0, r->cells.x1, l->first, l->end };
		struct box a = { r->allowed.x0, r->allowed.x1, l->allowed_first, l->allowed_end };

		if (!has[i]) continue;
		r->cells = box_join(r->cells, b);
		r->allowed = box_meet(r->allowed, a);
	}
}

static bool has_rest(const struct board_place *at)
{
	unsigned all = 0;

	for (int j = 0; j < STREAM_LANES; j++) all |= at->half[j];
	return all & STREAM_REST_BIT;
}

/* Places of the rows from x on, and where columns read; a column without a tap reads what another does, and
   weighs 0. */
static void run_taps(struct run *r, const struct board *s, const struct quad *q, int x,
                     const unsigned has[STREAM_QUAD])
{
	for (int i = 0; i < STREAM_QUAD; i++) {
		int slot = i;

		while (!has[slot]) slot = (slot + 1) % STREAM_QUAD;
		r->offset[i] = (int32_t)(q->from->base + (int64_t)x * q->from->stride + q->z + slot);
		for (int k = 0; k < r->rows; k++) {
			r->at[k][i] = has[i] >> k & 1 ? board_get(s, q->column + i, x + k) : -1;
			if (s->weighs && r->at[k][i] >= 0) r->rest |= has_rest(&s->place[r->at[k][i]]);
		}
	}
}

/* The taps of a quad at x ... x + length - 1 that places of the rectangle read. */
static void make_run(struct piece *p, const struct quad *q, int x, int length)
{
	unsigned has[STREAM_QUAD] = { 0 }, rows = 0, read = 0;
	struct line row[STREAM_RUN] = { { false, 0, 0, 0, 0 } };
	struct run r;

	for (int i = 0; i < length; i++) {
		row[i] = line_of(q->from->x0 - x - i, q->from->nx, p->places.x0, p->places.x1, STREAM_CELL_X,
		                 STREAM_MARGIN_X);
		read |= (unsigned)row[i].read << i;
	}
	for (int i = 0; i < q->columns; i++) {
		if (q->line[i].read) has[i] = board_rows(&p->board, q->column + i, x, length) & read;
		rows |= has[i];
	}
	if (!rows) return;
	int first = __builtin_ctz(rows), end = 32 - __builtin_clz(rows);

	run_boxes(&r, q, row, rows, has);
	for (int i = 0; i < STREAM_QUAD; i++) has[i] >>= first;
	r.rows = end - first;
	r.rest = false;
	run_taps(&r, &p->board, q, x + first, has);
	add_run(p, &r);
}

/* The quad that begins with column number `column` of the plane; false: there are no taps in that column. */
static bool make_quad(struct quad *q, const struct piece *p, const struct source *from, int plane, int column)
{
	const struct board *s = &p->board;

	*q = (struct quad){ .from = from,
		            .column = board_column(s, plane, column),
		            .z = s->z0 + column,
		            .x0 = INT32_MAX,
		            .x1 = INT32_MIN };
	if (!board_extent(&q->x0, &q->x1, s, q->column)) return false;
	q->columns = s->columns - column < STREAM_QUAD ? s->columns - column : STREAM_QUAD;
	for (int i = 0; i < q->columns; i++) {
		board_extent(&q->x0, &q->x1, s, q->column + i);
		q->line[i] = line_of(from->z0 - srm_down(q->z + i, from->per), from->nz, p->places.z0,
		                     p->places.z1, STREAM_CELL_Z, from->margin);
	}
	return true;
}

/* A quad becomes the fewest runs, of like length. */
static void add_quad(struct piece *p, const struct quad *q)
{
	int span = q->x1 - q->x0 + 1, length = up(span, up(span, STREAM_RUN));

	for (int x = q->x0; x <= q->x1; x += length) make_run(p, q, x, length);
}

void iso_piece_steps(struct piece *p, source_fn source)
{
	for (int plane = 0; plane < p->board.planes && !p->full; plane++) {
		struct board_span span = p->board.span[plane];
		struct source from = span.first < span.end ? source(p, plane) : (struct source){ .per = 1 };
		struct quad q;

		for (int c = span.first; c < span.end;) {
			bool some = make_quad(&q, p, &from, plane, c);

			if (some) add_quad(p, &q);
			c += some ? STREAM_QUAD : 1;
		}
	}
	iso_board_clear(&p->board);
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
	const struct pool *steps = &p->kind[kind].pool[REACH];
	const struct stream_reach *r = (const struct stream_reach *)steps->v;
	struct stream_range g = { .kind = kind };
	int32_t first = (int32_t)p->first[kind];
	int rows = rows_of(kind);
	int64_t work = 0;

	for (int32_t i = 0; i < steps->n; i++) {
		int cells = (int)(r[i].x >> x & 1) +
		            (x + 1 < STREAM_MOST_CELLS ? (int)(r[i].x >> (x + 1) & 1) : 0);

		if (!cells || !(r[i].z >> z & 1)) continue;
		if (g.n && first + i - g.first - g.n > GAP) {
			iso_piece_add(p, &p->pool[RANGE], &g);
			g.n = 0;
		}
		if (!g.n) {
			g.first = first + i;
			g.row = row + i * rows;
		}
		g.n = first + i + 1 - g.first;
		work += cells * rows + 2;
	}
	if (g.n) iso_piece_add(p, &p->pool[RANGE], &g);
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
		iso_piece_add(p, &p->pool[RANGE], &(struct stream_range){ .kind = -1 });
		iso_piece_add(p, &p->pool[BLOCK], &k);
	}
}
