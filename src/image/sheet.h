/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside a picture: the volume that it shows, where everything goes, and what its texts say. */
#ifndef ISO_SHEET_H
#define ISO_SHEET_H

#include "canvas.h"
#include "places.h"

/* Pixels at scale 1: the room that sheet.c leaves for what sheet_paint.c draws. */
enum {
	ISO_SHEET_MARGIN = 20,
	ISO_SHEET_LINE = 24,    /* of text */
	ISO_SHEET_LETTER = 24,  /* around a block */
	ISO_SHEET_TEXT_GAP = 8, /* from an edge to a text */
};

enum iso_side { ISO_SIDE_LEFT, ISO_SIDE_RIGHT, ISO_SIDE_BOTTOM, ISO_SIDE_TOP };

/* One plane of the volume. */
struct iso_panel {
	int axis;      /* across it */
	int64_t index; /* of the slice; -1: greatest values */
	int64_t n[2];  /* voxels along its horizontal and vertical axis */
	bool turned;   /* the horizontal one, x, runs to the left */
	struct iso_box box;
	char caption[24]; /* above it, in a montage */
};

/* Panels that look the same way, with letters around them and one caption. */
struct iso_block {
	int axis;
	struct iso_box box;
	char caption[64];
	char letter[4][4]; /* by iso_side */
};

struct iso_sheet {
	struct iso_shown volume;
	struct iso_picture_info info;
	int64_t width, height;
	int scale;      /* of texts, and of the space around them */
	bool crosshair; /* around info.voxel */
	int n_blocks;
	struct iso_block block[3];
	struct iso_panel *panel; /* info.panels of them */
	struct iso_box bar;      /* colour bar */
	struct iso_ticks ticks;
	char unit[80];        /* above the bar, with the ticks' factor */
	struct iso_box ruler; /* scale bar */
	char ruler_text[32];
	char title[256], note[96];
	int64_t title_y, note_y; /* base lines */
};

/* The sheet that iso_picture_render paints; free with iso_sheet_free. */
int iso_picture_sheet(struct iso_sheet *s, const struct iso_array *a, const struct iso_picture *p);
void iso_sheet_free(struct iso_sheet *s);

/* Puts everything in its place on a sheet whose volume, window and voxel are known. ISO_EARG for more
   pixels than a picture may have. */
int iso_sheet_make(struct iso_sheet *s, const struct iso_array *a, const struct iso_picture *p);

/* The colour of the page, then all but the insides of the panels. */
struct iso_colour iso_sheet_page(const struct iso_colormap *m);
void iso_sheet_paint(struct iso_pixels *pixels, const struct iso_sheet *s, const struct iso_colormap *m);

#endif
