/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips of the taps of single directions: see srm_single.h. The taps of a plane lie on a board, phase by phase;
   its rows make bands, and a strip is a stretch of a band's columns. Directions are gone through three times:
   for the margins, for the number of strips and quads, and to write them. */
#include "srm_single.h"
#include "srm_stream_piece.h"
#include "model/srm/srm_share.h"
#include "core/size.h"

enum {
	MANY = 32,               /* subsets, up to which streams of scattered directions are faster */
	MOST_QUADS = 2000000000, /* of an image: their numbers must fit 31 bits */
	GAP = SINGLE_Z, /* columns without taps that end a strip: to read them costs as much as a new strip */
};

bool iso_single_wanted(const struct srm_op *m)
{
	for (int sub = 0; sub < m->n_sub; sub++)
		if (iso_stream_neighbours(m, m->sub[sub], m->sub[sub + 1])) return false;
	return m->n_sub > MANY;
}

/* ---- cells of taps ---- */

/* Slice k of direction j: its strips and quads begin with number [j slices + k], and end where the next
   begin. */
struct making {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	struct srm_single *s;
	struct iso_room *room;
	struct voxel_place *x, *z; /* as of struct pieces */
	int64_t *strip, *quad;
};

struct cell {
	int phase, slot, x, z; /* slot: of the quad */
};

static struct cell cell_of(const struct making *k, struct iso_srm_voxel v)
{
	const struct srm_shape *h = &k->m->shape;
	struct voxel_place x = k->x[h->nc[0] * h->d[0] + v.i], z = k->z[h->nc[1] * h->d[1] + v.k];

	return (struct cell){ x.phase * k->s->image.blocks + z.phase / SINGLE_QUAD, z.phase % SINGLE_QUAD,
		              x.cell, z.cell };
}

/* Whether a place of the direction reads the inside of the image there. */
static bool read_at(const struct srm_shape *h, const struct srm_direction *d, const struct cell *c)
{
	int x = d->x0 + c->x, z = d->z0 + c->z;

	return x < h->nc[0] && x + d->nx > 0 && z < h->nc[1] && z + d->nz > 0;
}

/* ---- the image ---- */

/* The box of cells around the image and around all that the places of direction d read, in any plane. */
static struct box cells_read(const struct making *k, const struct srm_direction *d)
{
	const struct srm_shape *h = &k->m->shape;
	struct box b = { 0, h->nc[0], 0, h->nc[1] };

	for (int y = 0; y < h->planes; y++) {
		struct srm_taps t = srm_taps_of(k->m, k->taps, d, y);

		for (int64_t i = 0; i < t.n; i++) {
			struct cell c = cell_of(k, t.voxel[i]);
			int x = d->x0 + c.x, z = d->z0 + c.z;

			if (read_at(h, d, &c)) b = box_join(b, (struct box){ x, x + d->nx, z, z + d->nz });
		}
	}
	return b;
}

static int make_image(const struct making *k)
{
	const struct srm_shape *h = &k->m->shape;
	struct single_image *image = &k->s->image;
	struct box all = { 0, h->nc[0], 0, h->nc[1] };

	*image = (struct single_image){ .d = { h->d[0], h->d[1] }, .blocks = up(h->d[1], SINGLE_QUAD) };
#pragma omp parallel for num_threads(k->room->ctx->threads)
	for (int j = 0; j < k->m->n_direction; j++) {
		struct box b = cells_read(k, &k->m->direction[j]);

#pragma omp critical(srm_single)
		all = box_join(all, b);
	}
	image->x = -all.x0;
	image->z = -all.z0;
	image->rows = all.x1 - all.x0;
	image->part = up(all.z1 - all.z0, SINGLE_Z) + 1; /* a thread's last places may lie outside */
	image->quads = single_cell(*image, h->planes, 0, SINGLE_X, 0);
	if (image->quads <= MOST_QUADS) return ISO_OK;
	return iso_fail(ISO_EARG, "srm: an image of %" PRId64 " quads with margins, at most %d", image->quads,
	                MOST_QUADS);
}

/* ---- strips ---- */

/* A thread's work: one plane of a direction after the other. */
struct plane {
	const struct making *of;
	const struct srm_direction *d;
	int y;
	struct board board;      /* planes: phases; slots of a quad: lanes */
	int64_t n_strip, n_quad; /* the next to be written */
};

/* Taps that are read. */
static bool put_taps(struct plane *p)
{
	const struct making *k = p->of;
	struct srm_taps t = srm_taps_of(k->m, k->taps, p->d, p->y);

	if (!iso_board_reserve(&p->board, t.n)) return false;
	for (int64_t i = 0; i < t.n; i++) {
		struct cell c = cell_of(k, t.voxel[i]);

		if (!read_at(&k->m->shape, p->d, &c)) continue;
		int32_t at = board_at(&p->board, c.phase, c.x, c.z);

		p->board.weights[at].w[c.slot] = (float)t.w[i];
	}
	return true;
}

/* Columns first ... last of a phase, and rows from x on, of which `rows` has the bits of those with taps. */
struct stretch {
	int phase, first, last, x;
	unsigned rows;
};

/* Quads of a stretch, `high` rows from x on; returns the mask of those with taps. */
static uint64_t fill_quads(const struct plane *p, const struct stretch *t, int x, int high)
{
	struct single_quad *quad = p->of->s->quad + p->n_quad;
	uint64_t mask = 0;

	for (int c = t->first; c <= t->last; c++, quad += high) {
		int64_t column = board_column(&p->board, t->phase, c);
		unsigned rows = board_rows(&p->board, column, x, high);

		for (int r = 0; r < high; r++)
			if (rows >> r & 1)
				memcpy(quad[r].w, p->board.weights[board_get(&p->board, column, x + r)].w,
				       sizeof quad[r].w);
		mask |= (uint64_t)rows << ((c - t->first) * SINGLE_ROWS);
	}
	return mask;
}

/* Counts where the table of strips is not there yet. */
static void write_strip(struct plane *p, const struct stretch *t)
{
	const struct srm_single *s = p->of->s;
	int low = __builtin_ctz(t->rows), rows = 32 - __builtin_clz(t->rows) - low,
	    columns = t->last - t->first + 1;
	int x = p->d->x0 + t->x + low, z = p->d->z0 + p->board.z0 + t->first;

	if (s->strip)
		s->strip[p->n_strip] = (struct single_strip){
			.at = (int32_t)single_cell(s->image, p->y, t->phase, x, z),
			.rows = (uint8_t)rows,
			.columns = (uint8_t)columns,
			.part = (uint8_t)((s->image.z + z) % SINGLE_Z),
			.mask = fill_quads(p, t, t->x + low, rows),
		};
	p->n_strip++;
	p->n_quad += (int64_t)rows * columns;
}

/* The strips of `high` rows from x on. */
static void write_band(struct plane *p, int phase, int x, int high)
{
	const struct board_span *span = &p->board.span[phase];
	struct stretch t = { .phase = phase, .x = x };

	for (int c = span->first; c < span->end; c++) {
		unsigned rows = board_rows(&p->board, board_column(&p->board, phase, c), x, high);

		if (!rows) continue;
		if (t.rows && (c - t.last >= GAP || c - t.first >= SINGLE_COLUMNS)) {
			write_strip(p, &t);
			t.rows = 0;
		}
		if (!t.rows) t.first = c;
		t.last = c;
		t.rows |= rows;
	}
	if (t.rows) write_strip(p, &t);
}

/* Bits of row number `word` times 64 and of those behind it, of all columns of a phase. */
static uint64_t rows_of(const struct board *s, int phase, int word)
{
	uint64_t bits = 0;

	for (int c = s->span[phase].first; c < s->span[phase].end; c++)
		bits |= s->has[board_column(s, phase, c) * s->words + word];
	return bits;
}

/* Rows with taps that follow one another make the fewest bands, of like height. */
static void write_bands(struct plane *p, int phase, int begin, int end)
{
	int high = end > begin ? up(end - begin, up(end - begin, SINGLE_ROWS)) : 1;

	for (int row = begin; row < end; row += high)
		write_band(p, phase, p->board.x0 + row, end - row < high ? end - row : high);
}

static void write_phase(struct plane *p, int phase)
{
	int begin = 0, end = 0; /* of the rows that follow one another so far */

	for (int i = 0; i < p->board.words; i++)
		for (uint64_t bits = rows_of(&p->board, phase, i); bits; bits &= bits - 1) {
			int row = i * 64 + __builtin_ctzll(bits);

			if (row != end) {
				write_bands(p, phase, begin, end);
				begin = row;
			}
			end = row + 1;
		}
	write_bands(p, phase, begin, end);
}

static bool write_slice(struct plane *p, int j, int slice)
{
	const struct making *k = p->of;
	int planes = k->m->shape.planes, slices = k->s->slices;
	int64_t number = (int64_t)j * slices + slice;

	p->d = &k->m->direction[j];
	p->n_strip = k->s->strip ? k->strip[number] : 0;
	p->n_quad = k->s->strip ? k->quad[number] : 0;
	for (p->y = slice * planes / slices; p->y < (slice + 1) * planes / slices; p->y++) {
		if (!put_taps(p)) return false;
		for (int phase = 0; phase < p->board.planes; phase++) write_phase(p, phase);
		iso_board_clear(&p->board);
	}
	if (k->s->strip) return true;
	k->strip[number + 1] = p->n_strip;
	k->quad[number + 1] = p->n_quad;
	return true;
}

static int write_all(const struct making *k)
{
	const struct srm_shape *h = &k->m->shape;
	int phases = h->d[0] * k->s->image.blocks;
	bool fits = true;

#pragma omp parallel num_threads(k->room->ctx->threads) reduction(&& : fits)
	{
		struct plane p = { .of = k };

		fits = iso_board_open(&p.board, phases, -h->nc[1], 2 * h->nc[1], -h->nc[0], 2 * h->nc[0],
		                      true);
#pragma omp for schedule(dynamic, 16)
		for (int j = 0; j < k->m->n_direction; j++)
			for (int i = 0; i < k->s->slices && k->m->share->mine[j]; i++)
				fits = fits && write_slice(&p, j, i);
		iso_board_close(&p.board);
	}
	return fits ? ISO_OK : iso_fail_memory("srm: strips of taps", (int64_t)sizeof(struct single_quad));
}

static int make_tables(const struct making *k)
{
	struct srm_single *s = k->s;
	int64_t n = (int64_t)k->m->n_direction * s->slices;
	int st = write_all(k);

	if (st) return st;
	for (int64_t i = 0; i < n; i++) {
		k->strip[i + 1] += k->strip[i];
		k->quad[i + 1] += k->quad[i];
	}
	s->n_strip = k->strip[n];
	s->n_quad = k->quad[n];
	ISO_HOST(k->room, s->strip, s->n_strip);
	return ISO_HOST(k->room, s->quad, s->n_quad) ? write_all(k) : k->room->status;
}

/* ---- blocks ---- */

static int by_work(const void *a, const void *b)
{
	const struct single_block *x = a, *y = b;

	if (x->work != y->work) return x->work < y->work ? 1 : -1;
	if (x->strip != y->strip) return x->strip < y->strip ? -1 : 1;
	return x->warp - y->warp;
}

static int warps_of(const struct srm_direction *d)
{
	return up(single_threads(d->nx, d->nz), SINGLE_THREADS);
}

static int64_t all_warps(const struct srm_op *m)
{
	int64_t n = 0;

	for (int j = 0; j < m->n_direction; j++) n += warps_of(&m->direction[j]);
	return n;
}

/* The warps of direction j; returns the place behind them. */
static struct single_block *add_blocks(struct single_block *to, const struct making *k, int j)
{
	const struct srm_direction *d = &k->m->direction[j];

	for (int slice = 0; slice < k->s->slices; slice++) {
		const int64_t *strip = k->strip + (int64_t)j * k->s->slices + slice;
		const int64_t *quad = k->quad + (strip - k->strip);
		struct single_block b = {
			.strip = strip[0], .quad = quad[0], .slice = slice, .row = d->first
		};

		b.n = (int32_t)(strip[1] - strip[0]);
		b.nx = (int16_t)d->nx;
		b.nz = (int16_t)d->nz;
		b.work = quad[1] - quad[0];
		for (; b.warp < warps_of(d); b.warp++) *to++ = b;
	}
	return to;
}

static int make_blocks(const struct making *k)
{
	struct srm_single *s = k->s;
	const int *sub = k->m->sub;

	if (!ISO_HOST(k->room, s->block, all_warps(k->m) * s->slices)) return k->room->status;
	for (int i = 0; i < s->n_sub; i++) {
		struct single_block *first = s->block + s->block_of[i], *end = first;

		for (int j = sub[i]; j < sub[i + 1]; j++)
			if (k->m->share->mine[j]) end = add_blocks(end, k, j);
		qsort(first, (size_t)(end - first), sizeof *first, by_work);
		s->block_of[i + 1] = end - s->block;
	}
	return ISO_OK;
}

/* Twice the warps that streams have: what a warp walks differs more in length. */
int iso_single_make(struct srm_single *s, struct iso_room *room, const struct srm_op *m,
                    const struct iso_srm_rows *taps)
{
	struct making k = { .m = m, .taps = taps, .s = s, .room = room };
	double warps = (double)all_warps(m) / m->n_sub / 2;
	int64_t n;
	int st;

	*s = (struct srm_single){ .n_sub = m->n_sub, .slices = iso_stream_slices(warps, m->shape.planes) };
	n = (int64_t)m->n_direction * s->slices;
	ISO_HOST(room, s->block_of, m->n_sub + 1);
	ISO_HOST(room, k.strip, n + 1);
	k.x = iso_voxel_places(room, m->shape.nc[0], m->shape.d[0]);
	k.z = iso_voxel_places(room, m->shape.nc[1], m->shape.d[1]);
	if (!ISO_HOST(room, k.quad, n + 1)) return room->status;
	iso_srm_share_directions(m, taps, NULL, NULL);
	if (!(st = make_image(&k)) && !(st = make_tables(&k))) st = make_blocks(&k);
	iso_room_drop(room, k.strip);
	iso_room_drop(room, k.quad);
	iso_room_drop(room, k.x);
	iso_room_drop(room, k.z);
	return st;
}
