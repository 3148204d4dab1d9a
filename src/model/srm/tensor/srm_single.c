/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips of the taps of single directions: see srm_single.h. Directions are gone through three times: for
   the margins, for the number of strips and quads, and to write them. */
#include "srm_single_strip.h"

enum {
	MANY = 32,               /* subsets, up to which streams of scattered directions are faster */
	MOST_QUADS = 2000000000, /* of an image: their numbers must fit 31 bits */
};

bool iso_single_wanted(const struct srm_op *m)
{
	for (int sub = 0; sub < m->n_sub; sub++)
		if (iso_stream_neighbours(m, m->sub[sub], m->sub[sub + 1])) return false;
	return m->n_sub > MANY;
}

/* ---- the image ---- */

static int make_image(struct single_image *image, iso_ctx *ctx, const struct srm_op *m,
                      const struct iso_srm_rows *taps)
{
	const struct srm_shape *h = &m->shape;
	int x0 = 0, x1 = h->nc[0], z0 = 0, z1 = h->nc[1];

	*image = (struct single_image){ .d = { h->d[0], h->d[1] }, .blocks = up(h->d[1], SINGLE_QUAD) };
	if ((int64_t)h->d[0] * image->blocks >> SINGLE_PHASE_BITS)
		return iso_fail(ISO_EARG, "srm: %d x %d voxels a crystal in correlation on CUDA, too many",
		                h->d[0], h->d[1]);
#pragma omp parallel for num_threads(ctx->threads) reduction(min : x0, z0) reduction(max : x1, z1)
	for (int j = 0; j < m->n_direction; j++) {
		struct box b = iso_single_cells(m, taps, image, &m->direction[j]);

		x0 = b.x0 < x0 ? b.x0 : x0;
		x1 = b.x1 > x1 ? b.x1 : x1;
		z0 = b.z0 < z0 ? b.z0 : z0;
		z1 = b.z1 > z1 ? b.z1 : z1;
	}
	image->x = -x0;
	image->z = -z0;
	image->rows = x1 - x0;
	image->part = up(z1 - z0, SINGLE_Z) + 1; /* a thread's last places may lie outside */
	image->quads = single_cell(*image, h->planes, 0, SINGLE_X, 0);
	return image->quads <= MOST_QUADS
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "srm: an image of %" PRId64 " quads with margins, at most %d",
	                          image->quads, MOST_QUADS);
}

/* ---- strips ---- */

/* Slice k of direction j: its strips and quads begin with number [j slices + k], and end where the next
   begin. */
struct making {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	struct srm_single *s;
	int64_t *strip, *quad;
};

/* Counts where the table of strips is not there yet. */
static bool write_slice(const struct making *k, struct single_plane *p, int j, int slice)
{
	struct srm_single *s = k->s;
	int planes = k->m->shape.planes;
	int64_t number = (int64_t)j * s->slices + slice;
	struct single_writer w = { 0 };

	if (s->strip)
		w = (struct single_writer){ s->strip + k->strip[number], s->quad + k->quad[number], 0, 0,
			                    false };
	for (int y = slice * planes / s->slices; y < (slice + 1) * planes / s->slices && !w.full; y++)
		iso_single_write(&w, p, k->taps, &k->m->direction[j], y);
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
		struct single_plane p = { .m = k->m, .image = &k->s->image };

#pragma omp for schedule(dynamic, 16)
		for (int j = 0; j < k->m->n_direction; j++)
			for (int i = 0; i < k->s->slices; i++) fits = fits && write_slice(k, &p, j, i);
		iso_single_plane_free(&p);
	}
	return fits ? ISO_OK : iso_fail_memory("srm: strips of taps", (int64_t)sizeof(struct single_quad));
}

static int make_tables(const struct making *k, iso_ctx *ctx)
{
	struct srm_single *s = k->s;
	int64_t n = (int64_t)k->m->n_direction * s->slices;
	int st = write_all(k, ctx);

	if (st) return st;
	for (int64_t i = 0; i < n; i++) {
		k->strip[i + 1] += k->strip[i];
		k->quad[i + 1] += k->quad[i];
	}
	s->n_strip = k->strip[n];
	s->n_quad = k->quad[n];
	ISO_HOST(&s->room, s->strip, s->n_strip);
	ISO_HOST(&s->room, s->quad, s->n_quad);
	return s->room.status ? s->room.status : write_all(k, ctx);
}

/* ---- blocks ---- */

static int by_work(const void *a, const void *b)
{
	const struct single_block *x = a, *y = b;

	if (x->work != y->work) return x->work < y->work ? 1 : -1;
	if (x->strip != y->strip) return x->strip < y->strip ? -1 : 1;
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
			.strip = k->strip[number],
			.quad = k->quad[number],
			.slice = slice,
			.row = d->first,
			.n = (int32_t)(k->strip[number + 1] - k->strip[number]),
			.nx = (int16_t)d->nx,
			.nz = (int16_t)d->nz,
			.work = k->quad[number + 1] - k->quad[number],
		};

		for (; b.warp < block_count(k->m, j, 1); b.warp++) *to++ = b;
	}
}

static int make_blocks(const struct making *k)
{
	const struct srm_op *m = k->m;
	struct srm_single *s = k->s;
	int64_t n = 0;

	for (int j = 0; j < m->n_direction; j++) n += block_count(m, j, s->slices);
	if (!ISO_HOST(&s->room, s->block, n)) return s->room.status;
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

	for (int j = 0; j < m->n_direction; j++) warps += block_count(m, j, 1);
	return iso_stream_slices((double)warps / m->n_sub / 2, m->shape.planes);
}

int iso_single_make(struct srm_single *s, iso_ctx *ctx, const struct srm_op *m,
                    const struct iso_srm_rows *taps)
{
	struct making k = { .m = m, .taps = taps, .s = s };
	int64_t n;
	int st;

	*s = (struct srm_single){ .n_sub = m->n_sub,
		                  .slices = slices_of(m),
		                  .room = { .what = "srm: strips of taps" } };
	n = (int64_t)m->n_direction * s->slices;
	ISO_HOST(&s->room, s->block_of, m->n_sub + 1);
	ISO_HOST(&s->room, k.strip, n + 1);
	ISO_HOST(&s->room, k.quad, n + 1);
	if ((st = s->room.status) || (st = make_image(&s->image, ctx, m, taps)) ||
	    (st = make_tables(&k, ctx)) || (st = make_blocks(&k)))
		iso_single_free(s);
	iso_room_drop(&s->room, k.strip);
	iso_room_drop(&s->room, k.quad);
	return st;
}

void iso_single_free(struct srm_single *s)
{
	iso_room_free(&s->room);
}
