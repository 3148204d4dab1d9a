/* SPDX-License-Identifier: BSD-3-Clause */
/* Padded memory: where voxels and data lie that the streams of srm_stream.h read. */
#include "srm_stream_piece.h"

enum {
	SPARE = STREAM_CELL_X,    /* rows of zeros before the first and behind the last plane: a warp reads
	                             whole cells of 4 rows */
	ROW = 128,                /* rows of voxels and of data are padded to a multiple of 128 words */
	MOST_PLACES = 2000000000, /* words of image or data: an offset of a tap has 31 bits */
};

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
		int of_layers = (d->a * m->shape.layers + d->b) *
		                (m->n_direction / (m->shape.layers * m->shape.layers));
		int partner = m->place[of_layers + d->number + m->shape.nc[1]];

		l->direction[j] = l->direction[partner] + m->direction[partner].nz + STREAM_MARGIN_DATA;
	}
}

/* `words` rounded up to a multiple of ROW. */
static int row_of(int words)
{
	return up(words, ROW) * ROW;
}

int iso_stream_layout(struct stream_layout *l, const struct srm_op *m)
{
	const struct srm_shape *h = &m->shape;

	if (h->d[0] > PLANES)
		return iso_fail(ISO_EARG,
		                "srm: %d voxels a crystal along x, at most %d in correlation on CUDA",
		                h->d[0], PLANES);
	if (up(h->nc[0], STREAM_CELL_X) > STREAM_MOST_CELLS ||
	    up(h->nc[1], STREAM_CELL_Z) > STREAM_MOST_CELLS)
		return iso_fail(ISO_EARG, "srm: %d x %d crystals, at most %d x %d in correlation on CUDA",
		                h->nc[0], h->nc[1], STREAM_MOST_CELLS * STREAM_CELL_X,
		                STREAM_MOST_CELLS * STREAM_CELL_Z);
	*l = (struct stream_layout){
		.plane = { (h->nc[0] + STREAM_MARGIN_X) * h->d[0],
		           row_of((h->nc[1] + STREAM_MARGIN_Z) * h->d[1]),
		           (STREAM_MARGIN_X + SPARE) * h->d[0], STREAM_MARGIN_Z * h->d[1] },
		.row_data = row_of(h->nc[1] + 2 * STREAM_MARGIN_DATA),
	};
	l->row_image = h->d[0] * l->plane.pitch;
	l->image = stream_voxel(l->plane, h->planes, 0, 0);
	l->room.what = "srm: directions";
	if (!ISO_HOST(&l->room, l->direction, m->n_direction)) return l->room.status;
	place_directions(l, m);
	if (l->image > MOST_PLACES || l->data > MOST_PLACES) {
		int st = iso_fail(ISO_EARG,
		                  "srm: %" PRId64 " and %" PRId64
		                  " values of image and data with margins, at most %d",
		                  l->image, l->data, MOST_PLACES);

		iso_stream_layout_free(l);
		return st;
	}
	return ISO_OK;
}

void iso_stream_layout_free(struct stream_layout *l)
{
	iso_room_free(&l->room);
}
