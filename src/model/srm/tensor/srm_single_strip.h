/* SPDX-License-Identifier: BSD-3-Clause */
/* From the taps of a direction in one plane to strips (srm_single.h). For srm_single*.c alone. */
#ifndef ISO_SRM_SINGLE_STRIP_H
#define ISO_SRM_SINGLE_STRIP_H

#include "srm_single.h"
#include "srm_stream_piece.h"

/* The order of taps: phase, band (rows that make strips together), column. */
enum {
	SINGLE_COLUMN_BITS = 13,
	SINGLE_BAND_BITS = 12,
	SINGLE_PHASE_BITS = 15,
	SINGLE_ORDER_BITS = SINGLE_COLUMN_BITS + SINGLE_BAND_BITS + SINGLE_PHASE_BITS,
};

/* One plane after the other; m and image are the caller's, all else zero at first. */
struct single_plane {
	const struct srm_op *m;
	const struct single_image *image;
	const struct srm_direction *d;
	int y;
	struct taps taps;
	struct box cells; /* that they lie in */
	int16_t *band;    /* of phase and row: the first row of its band; -1: no taps */
	int64_t n;
	uint64_t *sorted; /* taps that are read, as number << SINGLE_ORDER_BITS | order */
	int64_t band_room, room;
};

/* What a direction writes, or counts where `strip` is NULL. */
struct single_writer {
	struct single_strip *strip;
	struct single_quad *quad;
	int64_t n_strip, n_quad;
	bool full; /* out of memory */
};

/* Adds the strips of plane y of direction d. */
void iso_single_write(struct single_writer *w, struct single_plane *p, const struct iso_srm_rows *taps,
                      const struct srm_direction *d, int y);
void iso_single_plane_free(struct single_plane *p);

/* The box of cells around the image and around all that the places of direction d read, in any plane. */
struct box iso_single_cells(const struct srm_op *m, const struct iso_srm_rows *taps,
                            const struct single_image *image, const struct srm_direction *d);

#endif
