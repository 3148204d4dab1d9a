/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips of the taps of single directions: see srm_single.h. Directions are gone through three times: for
   the margins, for the number of strips and quads, and to write them. */
#include "srm_single.h"
#include "srm_stream_piece.h"
#include "core/size.h"

#include <string.h>

enum {
	MANY = 32,		/* subsets, up to which streams of scattered directions are faster */
	GAP = SINGLE_Z,		/* empty columns at which a strip ends: as many cost as much as a new one */
	MOST_QUADS = 2000000000,	/* of an image: their numbers must fit 31 bits */
};

bool iso_single_wanted(const struct srm_op *m)
{
	int n = 0;

	for (int sub = 0; sub < m->n_sub; sub++)
		for (int j = m->sub[sub]; j + 1 < m->sub[sub + 1]; j++)
			n += m->direction[j + 1].dz == m->direction[j].dz + 1;
	return m->n_sub > MANY && 2 * n < m->n_direction;
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

/* ---- a direction ---- */

/* The quads of one plane, dense: phases, columns, rows of a box of cells. */
struct plane {
	struct box cells;
	int rows, columns;
	struct single_quad *quad;
	int64_t room;
};

/* What a direction writes, or counts where `strip` is NULL. */
struct writer {
	struct single_strip *strip;
	struct single_quad *quad;
	int64_t n_strip, n_quad;
	bool full;		/* out of memory */
};

static struct single_quad *plane_quad(const struct plane *p, int phase, int x, int z)
{
	return p->quad + ((int64_t)phase * p->columns + z) * p->rows + x;
}

static bool plane_room(struct plane *p, int64_t n)
{
	if (n > p->room) {
		free(p->quad);
		p->room = 2 * n;
		p->quad = malloc((size_t)p->room * sizeof *p->quad);
		if (!p->quad)
			p->room = 0;
	}
	if (p->quad)
		memset(p->quad, 0, (size_t)n * sizeof *p->quad);
	return p->quad;
}

/* Taps of plane y; returns how many, or -1. */
static int64_t plane_fill(struct plane *p, const struct srm_op *m, const struct single_image *image,
			  const struct srm_direction *d, struct taps t)
{
	int64_t n = 0;

	for (int64_t i = 0; i < t.n; i++) {
		struct cell c = cell_of(image, t.voxel[i]);
		struct box at = { c.x, c.x + 1, c.z, c.z + 1 };

		if (read_at(&m->shape, d, &c))
			p->cells = n++ ? box_join(p->cells, at) : at;
	}
	if (n == 0)
		return 0;
	p->rows = p->cells.x1 - p->cells.x0;
	p->columns = p->cells.z1 - p->cells.z0;
	if (!plane_room(p, (int64_t)image->d[0] * image->blocks * p->rows * p->columns))
		return -1;
	for (int64_t i = 0; i < t.n; i++) {
		struct cell c = cell_of(image, t.voxel[i]);

		if (read_at(&m->shape, d, &c))
			plane_quad(p, c.phase, c.x - p->cells.x0, c.z - p->cells.z0)->w[c.slot] += (float)t.w[i];
	}
	return n;
}

static bool empty(const struct plane *p, int phase, int x0, int x1, int z)
{
	for (int x = x0; x < x1; x++)
		for (int i = 0; i < SINGLE_QUAD; i++)
			if (plane_quad(p, phase, x, z)->w[i] != 0)
				return false;
	return true;
}

static uint64_t mask_of(const struct plane *p, struct box b, int phase)
{
	uint64_t mask = 0;

	for (int z = b.z0; z < b.z1; z++)
		for (int x = b.x0; x < b.x1; x++)
			if (!empty(p, phase, x, x + 1, z))
				mask |= (uint64_t)1 << ((z - b.z0) * SINGLE_ROWS + x - b.x0);
	return mask;
}

/* Where a strip of plane y begins. */
struct origin {
	const struct single_image *image;
	const struct srm_direction *d;
	int y;
};

/* Rows x0 ... x1 - 1 and columns z0 ... z1 - 1 of a phase. */
static void write_strip(struct writer *w, const struct plane *p, const struct origin *o, struct box b,
			int phase)
{
	int rows = b.x1 - b.x0, columns = b.z1 - b.z0;
	int x = o->d->x0 + p->cells.x0 + b.x0, z = o->d->z0 + p->cells.z0 + b.z0;

	if (w->strip) {
		w->strip[w->n_strip] = (struct single_strip){
			(int32_t)single_cell(*o->image, o->y, phase, x, z), (uint8_t)rows, (uint8_t)columns,
			(uint8_t)((o->image->z + z) % SINGLE_Z), 0, mask_of(p, b, phase),
		};
		for (int i = 0; i < columns; i++)
			memcpy(w->quad + w->n_quad + (int64_t)i * rows, plane_quad(p, phase, b.x0, b.z0 + i),
			       (size_t)rows * sizeof *w->quad);
	}
	w->n_strip++;
	w->n_quad += (int64_t)rows * columns;
}

/* Strips of a phase in rows x0 ... x1 - 1: from a column with taps to the last before a gap. */
static void write_band(struct writer *w, const struct plane *p, const struct origin *o, int phase, int x0,
		       int x1)
{
	int begin = -1, last = -1;

	for (int z = 0; z < p->columns + GAP; z++) {
		bool taps = z < p->columns && !empty(p, phase, x0, x1, z);

		if (begin >= 0 && (z - last >= GAP || (taps && z - begin >= SINGLE_COLUMNS))) {
			write_strip(w, p, o, (struct box){ x0, x1, begin, last + 1 }, phase);
			begin = -1;
		}
		if (taps) {
			begin = begin < 0 ? z : begin;
			last = z;
		}
	}
}

/* Rows with taps, in the fewest bands, of like height. */
static void write_phase(struct writer *w, const struct plane *p, const struct origin *o, int phase)
{
	int x0 = p->rows, x1 = 0;

	for (int x = 0; x < p->rows; x++)
		for (int z = 0; z < p->columns; z++)
			if (!empty(p, phase, x, x + 1, z)) {
				x0 = x < x0 ? x : x0;
				x1 = x + 1;
			}
	if (x0 >= x1)
		return;
	int high = up(x1 - x0, up(x1 - x0, SINGLE_ROWS));

	for (int x = x0; x < x1; x += high)
		write_band(w, p, o, phase, x, x + high < x1 ? x + high : x1);
}

/* Taps of plane y become strips; returns how many taps. */
static int64_t write_plane(struct writer *w, struct plane *p, const struct srm_op *m,
			   const struct iso_srm_rows *taps, const struct origin *o)
{
	int64_t n = plane_fill(p, m, o->image, o->d, taps_of(m, taps, o->d, o->y));

	for (int i = 0; i < o->image->d[0] * o->image->blocks && n > 0; i++)
		write_phase(w, p, o, i);
	w->full |= n < 0;
	return n;
}

/* ---- all of them ---- */

/* Slice k of direction j: its strips and quads begin with number [j slices + k], and end where the next
   begin. */
struct making {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	struct srm_single *s;
	int64_t *strip, *quad, *useful;
};

/* Counts where the table of strips is not there yet. */
static bool write_slice(const struct making *k, struct plane *p, int j, int slice)
{
	struct srm_single *s = k->s;
	int planes = k->m->shape.planes;
	int64_t number = (int64_t)j * s->slices + slice, n = 0;
	const struct srm_direction *d = &k->m->direction[j];
	struct origin o = { &s->image, d, 0 };
	struct writer w = { 0 };

	if (s->strip)
		w = (struct writer){ s->strip + k->strip[number], s->quad + k->quad[number], 0, 0, false };
	for (o.y = slice * planes / s->slices; o.y < (slice + 1) * planes / s->slices && !w.full; o.y++)
		n += write_plane(&w, p, k->m, k->taps, &o);
	if (!s->strip) {
		k->strip[number + 1] = w.n_strip;
		k->quad[number + 1] = w.n_quad;
		k->useful[number] = n * d->nx * d->nz;
	}
	return !w.full;
}

static int write_all(const struct making *k, iso_ctx *ctx)
{
	bool fits = true;

#pragma omp parallel num_threads(ctx->threads) reduction(&& : fits)
	{
		struct plane p = { 0 };

#pragma omp for schedule(dynamic, 16)
		for (int j = 0; j < k->m->n_direction; j++)
			for (int i = 0; i < k->s->slices; i++)
				fits = fits && write_slice(k, &p, j, i);
		free(p.quad);
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
		s->useful += k->useful[i];
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
		int64_t quads = k->quad[number + 1] - k->quad[number];
		struct single_block b = {
			.strip = k->strip[number], .quad = k->quad[number], .slice = slice, .row = d->first,
			.n = (int32_t)(k->strip[number + 1] - k->strip[number]),
			.nx = (int16_t)d->nx, .nz = (int16_t)d->nz,
			.work = quads * SINGLE_X * SINGLE_Z * SINGLE_THREADS,
		};

		for (; b.warp < block_count(k->m, j, 1); b.warp++) {
			*to++ = b;
			k->s->done += b.work * SINGLE_QUAD;
		}
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
	k.useful = size_alloc(n, sizeof *k.useful);
	st = s->block_of && k.strip && k.quad && k.useful ? ISO_OK :
	     iso_fail_memory("srm: strips of taps", 3 * n * (int64_t)sizeof *k.strip);
	if (st || (st = make_image(&s->image, ctx, m, taps)) || (st = make_tables(&k, ctx)) ||
	    (st = make_blocks(&k)))
		iso_single_free(s);
	free(k.strip);
	free(k.quad);
	free(k.useful);
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
