/* SPDX-License-Identifier: BSD-3-Clause */
/* From the taps of a direction in one plane to strips: they are sorted by phase, by bands of rows, and by
   columns; a strip is a stretch of a band's columns. */
#include "srm_single_strip.h"
#include "model/srm/matrix/srm_matrix.h"

#include <string.h>

enum {
	GAP = SINGLE_Z, /* columns without taps that end a strip: to read them costs as much as a new strip */
};

/* ---- cells of taps ---- */

struct cell {
	int phase, slot, x, z; /* slot: of the quad */
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

struct box iso_single_cells(const struct srm_op *m, const struct iso_srm_rows *taps,
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

/* ---- the order of taps ---- */

static struct cell plane_cell(const struct single_plane *p, int64_t i)
{
	return cell_of(p->image, p->taps.voxel[i]);
}

static int16_t *band_of(const struct single_plane *p, const struct cell *c)
{
	return &p->band[(int64_t)c->phase * (p->cells.x1 - p->cells.x0) + c->x - p->cells.x0];
}

static bool make_room(struct single_plane *p, int64_t bands, int64_t n)
{
	if (bands > p->band_room) {
		free(p->band);
		p->band = malloc((size_t)(2 * bands) * sizeof *p->band);
		p->band_room = p->band ? 2 * bands : 0;
	}
	if (n > p->room) {
		free(p->sorted);
		p->sorted = malloc((size_t)(4 * n) * sizeof *p->sorted); /* half of it to sort with */
		p->room = p->sorted ? 2 * n : 0;
	}
	return p->band && p->sorted;
}

/* The box of cells that are read; returns how many taps are. */
static int64_t find_cells(struct single_plane *p)
{
	int64_t n = 0;

	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);
		struct box at = { c.x, c.x + 1, c.z, c.z + 1 };

		if (read_at(&p->m->shape, p->d, &c)) p->cells = n++ ? box_join(p->cells, at) : at;
	}
	return n;
}

/* Rows with taps that follow one another make the fewest bands, of like height. */
static void find_bands(int16_t *row, int n)
{
	for (int begin = 0, end; begin < n; begin = end) {
		for (end = begin; end < n && row[end] >= 0; end++) {
		}
		if (end == begin) {
			end++;
			continue;
		}
		int high = up(end - begin, up(end - begin, SINGLE_ROWS));

		for (int i = begin; i < end; i++) row[i] = (int16_t)(begin + (i - begin) / high * high);
	}
}

static void mark_bands(struct single_plane *p)
{
	int phases = p->image->d[0] * p->image->blocks, rows = p->cells.x1 - p->cells.x0;

	memset(p->band, -1, (size_t)phases * (size_t)rows * sizeof *p->band);
	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);

		if (read_at(&p->m->shape, p->d, &c)) *band_of(p, &c) = 0;
	}
	for (int k = 0; k < phases; k++) find_bands(p->band + (int64_t)k * rows, rows);
}

static bool sort_taps(struct single_plane *p)
{
	int64_t bands, n = find_cells(p);

	p->n = 0;
	if (n == 0) return true;
	bands = (int64_t)p->image->d[0] * p->image->blocks * (p->cells.x1 - p->cells.x0);
	if (p->taps.n >> (64 - SINGLE_ORDER_BITS) || !make_room(p, bands, n)) return false;
	mark_bands(p);
	for (int64_t i = 0; i < p->taps.n; i++) {
		struct cell c = plane_cell(p, i);

		if (read_at(&p->m->shape, p->d, &c))
			p->sorted[p->n++] =
				(uint64_t)i << SINGLE_ORDER_BITS |
				((uint64_t)c.phase << SINGLE_BAND_BITS | (uint64_t)*band_of(p, &c))
					<< SINGLE_COLUMN_BITS |
				(uint64_t)(c.z - p->cells.z0);
	}
	iso_srm_sort(p->sorted, p->sorted + p->room, n, SINGLE_ORDER_BITS);
	return true;
}

/* ---- strips ---- */

static int64_t tap_at(const struct single_plane *p, int64_t k)
{
	return (int64_t)(p->sorted[k] >> SINGLE_ORDER_BITS);
}

/* The strip that begins with sorted tap k ends before the sorted tap whose number is returned. */
static int64_t strip_end(const struct single_plane *p, int64_t k)
{
	const uint64_t order = ((uint64_t)1 << SINGLE_ORDER_BITS) - 1,
		       columns = ((uint64_t)1 << SINGLE_COLUMN_BITS) - 1;
	uint64_t first = p->sorted[k] & order, last = first;

	for (k++; k < p->n; k++) {
		uint64_t at = p->sorted[k] & order;

		if (at >> SINGLE_COLUMN_BITS != first >> SINGLE_COLUMN_BITS ||
		    (at & columns) - (last & columns) >= GAP ||
		    (at & columns) - (first & columns) >= SINGLE_COLUMNS)
			break;
		last = at;
	}
	return k;
}

/* Quads of sorted taps k ... end - 1, rows and columns counted from those of cell `first`. */
static uint64_t fill_quads(struct single_quad *quad, const struct single_plane *p, int64_t k, int64_t end,
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

static void write_strip(struct single_writer *w, const struct single_plane *p, int64_t k, int64_t end)
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
			(int32_t)single_cell(*p->image, p->y, first.phase, x, z),
			(uint8_t)rows,
			(uint8_t)columns,
			(uint8_t)((p->image->z + z) % SINGLE_Z),
			0,
			fill_quads(w->quad + w->n_quad, p, k, end, first, rows),
		};
	}
	w->n_strip++;
	w->n_quad += (int64_t)rows * columns;
}

void iso_single_write(struct single_writer *w, struct single_plane *p, const struct iso_srm_rows *taps,
                      const struct srm_direction *d, int y)
{
	p->d = d;
	p->y = y;
	p->taps = taps_of(p->m, taps, d, y);
	if (!sort_taps(p)) w->full = true;
	for (int64_t k = 0, end; k < p->n && !w->full; k = end) {
		end = strip_end(p, k);
		write_strip(w, p, k, end);
	}
}

void iso_single_plane_free(struct single_plane *p)
{
	free(p->band);
	free(p->sorted);
}
