/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips of the taps of single directions: see srm_single.h. In a plane they are sorted by phase, by bands of
   rows, and by columns; a strip is a stretch of a band's columns. Directions are gone through three times: for
   the margins, for the number of strips and quads, and to write them. */
#include "srm_single.h"
#include "srm_stream_piece.h"
#include "core/size.h"
#include "model/srm/matrix/srm_matrix.h"

#include <string.h>

enum {
	MANY = 32,               /* subsets, up to which streams of scattered directions are faster */
	MOST_QUADS = 2000000000, /* of an image: their numbers must fit 31 bits */
	GAP = SINGLE_Z, /* columns without taps that end a strip: to read them costs as much as a new strip */
};

/* The order of taps: phase, band (rows that make strips together), column. */
enum {
	COLUMN_BITS = 13,
	BAND_BITS = 12,
	PHASE_BITS = 15,
	ORDER_BITS = COLUMN_BITS + BAND_BITS + PHASE_BITS,
};

bool iso_single_wanted(const struct srm_op *m)
{
	for (int sub = 0; sub < m->n_sub; sub++)
		if (iso_stream_neighbours(m, m->sub[sub], m->sub[sub + 1])) return false;
	return m->n_sub > MANY;
}

/* ---- cells of taps ---- */

struct cell {
	int phase, slot, x, z; /* slot: of the quad */
};

static struct cell cell_of(const struct single_image *m, struct iso_srm_voxel v)
{
	int x = srm_down(v.i, m->d[0]), z = srm_down(v.k, m->d[1]), pz = v.k - z * m->d[1];

	return (struct cell){ (v.i - x * m->d[0]) * m->blocks + pz / SINGLE_QUAD, pz % SINGLE_QUAD, x, z };
}

/* Whether a place of the direction reads the inside of the image there. */
static bool read_at(const struct srm_shape *h, const struct srm_direction *d, const struct cell *c)
{
	int x = d->x0 + c->x, z = d->z0 + c->z;

	return x < h->nc[0] && x + d->nx > 0 && z < h->nc[1] && z + d->nz > 0;
}

/* ---- the image ---- */

/* The box of cells around the image and around all that the places of direction d read, in any plane. */
static struct box cells_read(const struct srm_op *m, const struct iso_srm_rows *taps,
                             const struct single_image *image, const struct srm_direction *d)
{
	struct box b = { 0, m->shape.nc[0], 0, m->shape.nc[1] };

	for (int y = 0; y < m->shape.planes; y++) {
		struct srm_taps t = srm_taps_of(m, taps, d, y);

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
	struct box all = { 0, h->nc[0], 0, h->nc[1] };

	*image = (struct single_image){ .d = { h->d[0], h->d[1] }, .blocks = up(h->d[1], SINGLE_QUAD) };
	if ((int64_t)h->d[0] * image->blocks >> PHASE_BITS)
		return iso_fail(ISO_EARG, "srm: %d x %d voxels a crystal in correlation on CUDA, too many",
		                h->d[0], h->d[1]);
#pragma omp parallel for num_threads(ctx->threads)
	for (int j = 0; j < m->n_direction; j++) {
		struct box b = cells_read(m, taps, image, &m->direction[j]);

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

/* ---- the order of taps ---- */

/* Slice k of direction j: its strips and quads begin with number [j slices + k], and end where the next
   begin. */
struct making {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	struct srm_single *s;
	struct iso_room *room;
	int64_t *strip, *quad;
};

/* A thread's work: one plane of a direction after the other. */
struct plane {
	const struct making *of;
	const struct srm_direction *d;
	int y;
	struct srm_taps taps;
	struct box cells; /* that those lie in that are read */
	int16_t *band;    /* of phase and row: the first row of its band; -1: no taps */
	int64_t n, room;
	uint64_t *sorted;        /* taps that are read, as number << ORDER_BITS | order */
	int64_t n_strip, n_quad; /* the next to be written */
};

static struct cell plane_cell(const struct plane *p, uint64_t tap)
{
	return cell_of(&p->of->s->image, p->taps.voxel[tap]);
}

static int16_t *band_of(const struct plane *p, const struct cell *c)
{
	return &p->band[(int64_t)c->phase * (p->cells.x1 - p->cells.x0) + c->x - p->cells.x0];
}

/* Rows with taps that follow one another make the fewest bands, of like height. */
static void find_bands(int16_t *row, int n)
{
	for (int begin = 0, end; begin < n; begin = end + 1) {
		for (end = begin; end < n && row[end] >= 0;) end++;
		if (end == begin) continue;
		int high = up(end - begin, up(end - begin, SINGLE_ROWS));

		for (int i = begin; i < end; i++) row[i] = (int16_t)(begin + (i - begin) / high * high);
	}
}

/* Numbers of the taps that are read, into p->sorted, and the box of their cells. */
static bool find_taps(struct plane *p)
{
	p->n = 0;
	if (p->taps.n > p->room) {
		free(p->sorted);
		p->sorted = malloc((size_t)(4 * p->taps.n) * sizeof *p->sorted); /* half of it to sort with */
		p->room = p->sorted ? 2 * p->taps.n : 0;
	}
	if (p->taps.n > p->room || p->taps.n >> (64 - ORDER_BITS)) return false;
	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, (uint64_t)i);
		struct box at = { c.x, c.x + 1, c.z, c.z + 1 };

		if (!read_at(&p->of->m->shape, p->d, &c)) continue;
		p->cells = p->n ? box_join(p->cells, at) : at;
		p->sorted[p->n++] = (uint64_t)i;
	}
	return true;
}

static void sort_taps(struct plane *p)
{
	const struct single_image *image = &p->of->s->image;
	int phases = image->d[0] * image->blocks, rows = p->cells.x1 - p->cells.x0;

	if (p->n == 0) return;
	memset(p->band, -1, (size_t)phases * (size_t)rows * sizeof *p->band);
	for (int64_t i = 0; i < p->n; i++) {
		struct cell c = plane_cell(p, p->sorted[i]);

		*band_of(p, &c) = 0;
	}
	for (int k = 0; k < phases; k++) find_bands(p->band + (int64_t)k * rows, rows);
	for (int64_t i = 0; i < p->n; i++) {
		struct cell c = plane_cell(p, p->sorted[i]);
		uint64_t band = (uint64_t)c.phase << BAND_BITS | (uint64_t)*band_of(p, &c);

		p->sorted[i] =
			p->sorted[i] << ORDER_BITS | band << COLUMN_BITS | (uint64_t)(c.z - p->cells.z0);
	}
	iso_srm_sort(p->sorted, p->sorted + p->room, p->n, ORDER_BITS);
}

/* ---- strips ---- */

static struct cell sorted_cell(const struct plane *p, int64_t k)
{
	return plane_cell(p, p->sorted[k] >> ORDER_BITS);
}

/* The strip that begins with sorted tap k ends before the sorted tap whose number is returned. */
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
static uint64_t fill_quads(const struct plane *p, int64_t k, int64_t end, struct cell first, int rows)
{
	struct single_quad *quad = p->of->s->quad + p->n_quad;
	uint64_t mask = 0;

	for (; k < end; k++) {
		struct cell c = sorted_cell(p, k);
		int x = c.x - first.x, z = c.z - first.z;

		quad[z * rows + x].w[c.slot] += (float)p->taps.w[p->sorted[k] >> ORDER_BITS];
		mask |= (uint64_t)1 << (z * SINGLE_ROWS + x);
	}
	return mask;
}

/* Counts where the table of strips is not there yet. */
static void write_strip(struct plane *p, int64_t k, int64_t end)
{
	const struct srm_single *s = p->of->s;
	struct cell first = sorted_cell(p, k);
	int x1 = first.x, columns = sorted_cell(p, end - 1).z - first.z + 1;

	for (int64_t i = k; i < end; i++) {
		int x = sorted_cell(p, i).x;

		first.x = x < first.x ? x : first.x;
		x1 = x > x1 ? x : x1;
	}
	int rows = x1 - first.x + 1, x = p->d->x0 + first.x, z = p->d->z0 + first.z;

	if (s->strip)
		s->strip[p->n_strip] = (struct single_strip){
			.at = (int32_t)single_cell(s->image, p->y, first.phase, x, z),
			.rows = (uint8_t)rows,
			.columns = (uint8_t)columns,
			.part = (uint8_t)((s->image.z + z) % SINGLE_Z),
			.mask = fill_quads(p, k, end, first, rows),
		};
	p->n_strip++;
	p->n_quad += (int64_t)rows * columns;
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
		p->taps = srm_taps_of(k->m, k->taps, p->d, p->y);
		if (!find_taps(p)) return false;
		sort_taps(p);
		for (int64_t i = 0, end; i < p->n; i = end) {
			end = strip_end(p, i);
			write_strip(p, i, end);
		}
	}
	if (k->s->strip) return true;
	k->strip[number + 1] = p->n_strip;
	k->quad[number + 1] = p->n_quad;
	return true;
}

/* The cells along x that are read are at most those of two images. */
static int write_all(const struct making *k)
{
	int64_t bands = 2 * (int64_t)k->m->shape.nc[0] * k->m->shape.d[0] * k->s->image.blocks;
	bool fits = true;

#pragma omp parallel num_threads(k->room->ctx->threads) reduction(&& : fits)
	{
		struct plane p = { .of = k, .band = size_alloc(bands, sizeof *p.band) };

		fits = p.band != NULL;
#pragma omp for schedule(dynamic, 16)
		for (int j = 0; j < k->m->n_direction; j++)
			for (int i = 0; i < k->s->slices; i++) fits = fits && write_slice(&p, j, i);
		free(p.band);
		free(p.sorted);
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

		for (int j = sub[i]; j < sub[i + 1]; j++) end = add_blocks(end, k, j);
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
	if (!ISO_HOST(room, k.quad, n + 1)) return room->status;
	if (!(st = make_image(&s->image, room->ctx, m, taps)) && !(st = make_tables(&k)))
		st = make_blocks(&k);
	iso_room_drop(room, k.strip);
	iso_room_drop(room, k.quad);
	return st;
}
