/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips of the taps of single directions: see srm_single.h. Directions are gone through three times: for
   the margins, for the number of strips and quads, and to write them. */
#include "srm_single.h"
#include "srm_stream_piece.h"
#include "srm.h"
#include "core/size.h"

#include <string.h>

enum {
	MANY = 32,		/* subsets, up to which streams of scattered directions are faster */
	GAP = SINGLE_Z,		/* a strip ends where the next taps are so many columns on: to read those
				   between costs as much as a new strip */
	MOST_QUADS = 2000000000,	/* of an image: their numbers must fit 31 bits */
};

/* The order of taps: phase, band (rows that make strips together), column. */
enum { COLUMN_BITS = 13, BAND_BITS = 12, PHASE_BITS = 15, ORDER_BITS = COLUMN_BITS + BAND_BITS + PHASE_BITS };

bool iso_single_wanted(const struct srm_op *m)
{
	for (int sub = 0; sub < m->n_sub; sub++)
		if (iso_stream_neighbours(m, m->sub[sub], m->sub[sub + 1]))
			return false;
	return m->n_sub > MANY;
}

/* ---- cells of taps ---- */

struct cell {
	int phase, slot, x, z;	/* slot: of the quad */
};

static struct cell cell_of(const struct single_image *m, struct iso_srm_voxel v)
{
	int x = down(v.i, m->d[0]), z = down(v.k, m->d[1]), pz = v.k - z * m->d[1];

	return (struct cell){ (v.i - x * m->d[0]) * m->blocks + pz / SINGLE_QUAD, pz % SINGLE_QUAD, x, z };
}

/* Whether a place of the direction reads the inside of the image there. */
static bool read_at(const struct srm_shape *h, const struct srm_direction *d, const struct cell *c)
{
	int x = d->x0 + c->x, z = d->z0 + c->z;

	return x < h->nc[0] && x + d->nx > 0 && z < h->nc[1] && z + d->nz > 0;
}

/* Cells of all places of a direction, in all planes. */
static struct box cells_read(const struct srm_op *m, const struct iso_srm_rows *taps,
			     const struct single_image *image, const struct srm_direction *d)
{
	struct box b = { 0, m->shape.nc[0], 0, m->shape.nc[1] };

	for (int y = 0; y < m->shape.planes; y++) {
		struct taps t = taps_of(m, taps, d, y);

		for (int64_t i = 0; i < t.n; i++) {
			struct cell c = cell_of(image, t.voxel[i]);
			int x = d->x0 + c.x, z = d->z0 + c.z;

			if (read_at(&m->shape, d, &c))
				b = box_join(b, (struct box){ x, x + d->nx, z, z + d->nz });
		}
	}
	return b;
}

static int make_image(struct single_image *image, iso_ctx *ctx, const struct srm_op *m,
		      const struct iso_srm_rows *taps)
{
	const struct srm_shape *h = &m->shape;
	int x0 = 0, x1 = h->nc[0], z0 = 0, z1 = h->nc[1];

	*image = (struct single_image){ .d = { h->d[0], h->d[1] }, .blocks = up(h->d[1], SINGLE_QUAD) };
	if ((int64_t)h->d[0] * image->blocks >> PHASE_BITS)
		return iso_fail(ISO_EARG, "srm: %d x %d voxels a crystal in correlation on CUDA, too many", h->d[0],
				h->d[1]);
#pragma omp parallel for num_threads(ctx->threads) reduction(min : x0, z0) reduction(max : x1, z1)
	for (int j = 0; j < m->n_direction; j++) {
		struct box b = cells_read(m, taps, image, &m->direction[j]);

		x0 = b.x0 < x0 ? b.x0 : x0;
		x1 = b.x1 > x1 ? b.x1 : x1;
		z0 = b.z0 < z0 ? b.z0 : z0;
		z1 = b.z1 > z1 ? b.z1 : z1;
	}
	image->x = -x0;
	image->z = -z0;
	image->rows = x1 - x0;
	image->part = up(z1 - z0, SINGLE_Z) + 1;	/* a thread's last places may lie outside */
	image->quads = single_cell(*image, h->planes, 0, SINGLE_X, 0);
	return image->quads <= MOST_QUADS ? ISO_OK :
	       iso_fail(ISO_EARG, "srm: an image of %" PRId64 " quads with margins, at most %d", image->quads,
			MOST_QUADS);
}

/* ---- a plane of a direction ---- */

struct plane {
	const struct srm_op *m;
	const struct single_image *image;
	const struct srm_direction *d;
	int y;
	struct taps taps;
	struct box cells;	/* that they lie in */
	int16_t *band;		/* of phase and row: the first row of its band; -1: no taps */
	int64_t n;
	uint64_t *sorted;	/* taps that are read, as number << ORDER_BITS | order */
	int64_t band_room, room;
};

/* What a direction writes, or counts where `strip` is NULL. */
struct writer {
	struct single_strip *strip;
	struct single_quad *quad;
	int64_t n_strip, n_quad;
	bool full;		/* out of memory */
};

static struct cell plane_cell(const struct plane *p, int64_t i)
{
	return cell_of(p->image, p->taps.voxel[i]);
}

static int16_t *band_of(const struct plane *p, const struct cell *c)
{
	return &p->band[(int64_t)c->phase * (p->cells.x1 - p->cells.x0) + c->x - p->cells.x0];
}

static bool make_room(struct plane *p, int64_t bands, int64_t n)
{
	if (bands > p->band_room) {
		free(p->band);
		p->band = malloc((size_t)(2 * bands) * sizeof *p->band);
		p->band_room = p->band ? 2 * bands : 0;
	}
	if (n > p->room) {
		free(p->sorted);
		p->sorted = malloc((size_t)(4 * n) * sizeof *p->sorted);	/* half of it to sort with */
		p->room = p->sorted ? 2 * n : 0;
	}
	return p->band && p->sorted;
}

/* The box of cells that are read; returns how many taps are. */
static int64_t find_cells(struct plane *p)
{
	int64_t n = 0;

	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);
		struct box at = { c.x, c.x + 1, c.z, c.z + 1 };

		if (read_at(&p->m->shape, p->d, &c))
			p->cells = n++ ? box_join(p->cells, at) : at;
	}
	return n;
}

/* Rows with taps that follow one another make the fewest bands, of like height. */
static void find_bands(int16_t *row, int n)
{
	for (int begin = 0, end; begin < n; begin = end) {
		for (end = begin; end < n && row[end] >= 0; end++) { }
		if (end == begin) {
			end++;
			continue;
		}
		int high = up(end - begin, up(end - begin, SINGLE_ROWS));

		for (int i = begin; i < end; i++)
			row[i] = (int16_t)(begin + (i - begin) / high * high);
	}
}

static void mark_bands(struct plane *p)
{
	int phases = p->image->d[0] * p->image->blocks, rows = p->cells.x1 - p->cells.x0;

	memset(p->band, -1, (size_t)phases * (size_t)rows * sizeof *p->band);
	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);

		if (read_at(&p->m->shape, p->d, &c))
			*band_of(p, &c) = 0;
	}
	for (int k = 0; k < phases; k++)
		find_bands(p->band + (int64_t)k * rows, rows);
}

static bool sort_taps(struct plane *p)
{
	int64_t bands, n = find_cells(p);

	p->n = 0;
	if (n == 0)
		return true;
	bands = (int64_t)p->image->d[0] * p->image->blocks * (p->cells.x1 - p->cells.x0);
	if (p->taps.n >> (64 - ORDER_BITS) || !make_room(p, bands, n))
		return false;
	mark_bands(p);
	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);

		if (read_at(&p->m->shape, p->d, &c))
			p->sorted[p->n++] = (uint64_t)i << ORDER_BITS |
					    ((uint64_t)c.phase << BAND_BITS | (uint64_t)*band_of(p, &c))
						    << COLUMN_BITS | (uint64_t)(c.z - p->cells.z0);
	}
	iso_srm_sort(p->sorted, p->sorted + p->room, n, ORDER_BITS);
	return true;
}

/* ---- strips ---- */

static int64_t tap_at(const struct plane *p, int64_t k)
{
	return (int64_t)(p->sorted[k] >> ORDER_BITS);
}

/* Sorted tap `k` and those after it that make a strip: the number of the next. */
static int64_t strip_end(const struct plane *p, int64_t k)
{
	const uint64_t order = ((uint64_t)1 << ORDER_BITS) - 1, columns = ((uint64_t)1 << COLUMN_BITS) - 1;
	uint64_t first = p->sorted[k] & order, last = first;

	for (k++; k < p->n; k++) {
		uint64_t at = p->sorted[k] & order;

		if (at >> COLUMN_BITS != first >> COLUMN_BITS || (at & columns) - (last & columns) >= GAP ||
		    (at & columns) - (first & columns) >= SINGLE_COLUMNS)
			break;
		last = at;
	}
	return k;
}

/* Quads of sorted taps k ... end - 1, rows and columns counted from those of cell `first`. */
static uint64_t fill_quads(struct single_quad *quad, const struct plane *p, int64_t k, int64_t end,
			   struct cell first, int rows)
{
	uint64_t mask = 0;

	for (; k < end; k++) {
		struct cell c = plane_cell(p, tap_at(p, k));
		int x = c.x - first.x, z = c.z - first.z;

		quad[z * rows + x].w[c.slot] += (float)p->taps.w[tap_at(p, k)];
		mask |= (uint64_t)1 << (z * SINGLE_ROWS + x);
	}
	return mask;
}

static void write_strip(struct writer *w, const struct plane *p, int64_t k, int64_t end)
{
	struct cell first = plane_cell(p, tap_at(p, k)), last = plane_cell(p, tap_at(p, end - 1));
	int x1 = first.x, columns = last.z - first.z + 1, rows;

	for (int64_t i = k; i < end; i++) {
		int x = plane_cell(p, tap_at(p, i)).x;

		first.x = x < first.x ? x : first.x;
		x1 = x > x1 ? x : x1;
	}
	rows = x1 - first.x + 1;
	if (w->strip) {
		int x = p->d->x0 + first.x, z = p->d->z0 + first.z;

		w->strip[w->n_strip] = (struct single_strip){
			(int32_t)single_cell(*p->image, p->y, first.phase, x, z), (uint8_t)rows,
			(uint8_t)columns, (uint8_t)((p->image->z + z) % SINGLE_Z), 0,
			fill_quads(w->quad + w->n_quad, p, k, end, first, rows),
		};
	}
	w->n_strip++;
	w->n_quad += (int64_t)rows * columns;
}

static void write_plane(struct writer *w, struct plane *p, const struct iso_srm_rows *taps)
{
	p->taps = taps_of(p->m, taps, p->d, p->y);
	if (!sort_taps(p))
		w->full = true;
	for (int64_t k = 0, end; k < p->n && !w->full; k = end) {
		end = strip_end(p, k);
		write_strip(w, p, k, end);
	}
}

/* ---- all of them ---- */

/* Slice k of direction j: its strips and quads begin with number [j slices + k], and end where the next
   begin. */
struct making {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	struct srm_single *s;
	int64_t *strip, *quad;
};

/* Counts where the table of strips is not there yet. */
static bool write_slice(const struct making *k, struct plane *p, int j, int slice)
{
	struct srm_single *s = k->s;
	int planes = k->m->shape.planes;
	int64_t number = (int64_t)j * s->slices + slice;
	struct writer w = { 0 };

	p->d = &k->m->direction[j];
	if (s->strip)
		w = (struct writer){ s->strip + k->strip[number], s->quad + k->quad[number], 0, 0, false };
	for (p->y = slice * planes / s->slices; p->y < (slice + 1) * planes / s->slices && !w.full; p->y++)
		write_plane(&w, p, k->taps);
	if (!s->strip) {
		k->strip[number + 1] = w.n_strip;
		k->quad[number + 1] = w.n_quad;
	}
	return !w.full;
}

static int write_all(const struct making *k, iso_ctx *ctx)
{
	bool fits = true;

#pragma omp parallel num_threads(ctx->threads) reduction(&& : fits)
	{
		struct plane p = { .m = k->m, .image = &k->s->image };

#pragma omp for schedule(dynamic, 16)
		for (int j = 0; j < k->m->n_direction; j++)
			for (int i = 0; i < k->s->slices; i++)
				fits = fits && write_slice(k, &p, j, i);
		free(p.band);
		free(p.sorted);
	}
	return fits ? ISO_OK : iso_fail_memory("srm: strips of taps", (int64_t)sizeof(struct single_quad));
}

static int make_tables(const struct making *k, iso_ctx *ctx)
{
	struct srm_single *s = k->s;
	int64_t n = (int64_t)k->m->n_direction * s->slices;
	int st = write_all(k, ctx);

	if (st)
		return st;
	for (int64_t i = 0; i < n; i++) {
		k->strip[i + 1] += k->strip[i];
		k->quad[i + 1] += k->quad[i];
	}
	s->n_strip = k->strip[n];
	s->n_quad = k->quad[n];
	s->strip = size_alloc(s->n_strip, sizeof *s->strip);
	s->quad = size_alloc(s->n_quad, sizeof *s->quad);
	if (!s->strip || !s->quad)
		return iso_fail_memory("srm: strips of taps", s->n_strip * (int64_t)sizeof *s->strip +
				       s->n_quad * (int64_t)sizeof *s->quad);
	return write_all(k, ctx);
}

/* ---- blocks ---- */

static int by_work(const void *a, const void *b)
{
	const struct single_block *x = a, *y = b;

	if (x->work != y->work)
		return x->work < y->work ? 1 : -1;
	if (x->strip != y->strip)
		return x->strip < y->strip ? -1 : 1;
	return x->warp - y->warp;
}

static int64_t block_count(const struct srm_op *m, int j, int slices)
{
	return (int64_t)up(single_threads(m->direction[j].nx, m->direction[j].nz), SINGLE_THREADS) * slices;
}

static void add_blocks(const struct making *k, struct single_block *to, int j)
{
	const struct srm_direction *d = &k->m->direction[j];

	for (int slice = 0; slice < k->s->slices; slice++) {
		int64_t number = (int64_t)j * k->s->slices + slice;
		struct single_block b = {
			.strip = k->strip[number], .quad = k->quad[number], .slice = slice, .row = d->first,
			.n = (int32_t)(k->strip[number + 1] - k->strip[number]),
			.nx = (int16_t)d->nx, .nz = (int16_t)d->nz,
			.work = k->quad[number + 1] - k->quad[number],
		};

		for (; b.warp < block_count(k->m, j, 1); b.warp++)
			*to++ = b;
	}
}

static int make_blocks(const struct making *k)
{
	const struct srm_op *m = k->m;
	struct srm_single *s = k->s;
	int64_t n = 0;

	for (int j = 0; j < m->n_direction; j++)
		n += block_count(m, j, s->slices);
	s->block = size_alloc(n, sizeof *s->block);
	if (!s->block)
		return iso_fail_memory("srm: strips of taps", n * (int64_t)sizeof *s->block);
	n = 0;
	for (int sub = 0; sub < m->n_sub; sub++) {
		s->block_of[sub] = n;
		for (int j = m->sub[sub]; j < m->sub[sub + 1]; j++) {
			add_blocks(k, s->block + n, j);
			n += block_count(m, j, s->slices);
		}
		qsort(s->block + s->block_of[sub], (size_t)(n - s->block_of[sub]), sizeof *s->block, by_work);
	}
	s->block_of[m->n_sub] = n;
	return ISO_OK;
}

/* Twice the warps that streams have: what a warp walks differs more in length. */
static int slices_of(const struct srm_op *m)
{
	int64_t warps = 0;

	for (int j = 0; j < m->n_direction; j++)
		warps += block_count(m, j, 1);
	return iso_stream_slices((double)warps / m->n_sub / 2, m->shape.planes);
}

int iso_single_make(struct srm_single *s, iso_ctx *ctx, const struct srm_op *m,
		    const struct iso_srm_rows *taps)
{
	struct making k = { .m = m, .taps = taps, .s = s };
	int64_t n;
	int st;

	*s = (struct srm_single){ .n_sub = m->n_sub, .slices = slices_of(m) };
	n = (int64_t)m->n_direction * s->slices;
	s->block_of = size_alloc(m->n_sub + 1, sizeof *s->block_of);
	k.strip = size_alloc(n + 1, sizeof *k.strip);
	k.quad = size_alloc(n + 1, sizeof *k.quad);
	st = s->block_of && k.strip && k.quad ? ISO_OK :
	     iso_fail_memory("srm: strips of taps", 2 * n * (int64_t)sizeof *k.strip);
	if (st || (st = make_image(&s->image, ctx, m, taps)) || (st = make_tables(&k, ctx)) ||
	    (st = make_blocks(&k)))
		iso_single_free(s);
	free(k.strip);
	free(k.quad);
	return st;
}

void iso_single_free(struct srm_single *s)
{
	free(s->block_of);
	free(s->block);
	free(s->strip);
	free(s->quad);
	*s = (struct srm_single){ 0 };
}
