/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing on pixels: boxes, lines of text. What lies outside is left out. */
#ifndef ISO_CANVAS_H
#define ISO_CANVAS_H

#include "colormap.h"

/* Pixels from the left and from the top. */
struct iso_box {
	int64_t x, y, w, h;
};

/* Free with iso_pixels_free. */
int iso_canvas_create(struct iso_pixels *p, int64_t width, int64_t height, struct iso_colour c);

void iso_canvas_put(struct iso_pixels *p, int64_t x, int64_t y, struct iso_colour c);
void iso_canvas_fill(struct iso_pixels *p, struct iso_box b, struct iso_colour c);

/* `opacity` of the colour over what is there, 0 to 1. */
void iso_canvas_tint(struct iso_pixels *p, struct iso_box b, struct iso_colour c, double opacity);

/* One pixel wide, around the box. */
void iso_canvas_frame(struct iso_pixels *p, struct iso_box b, struct iso_colour c);

/* Where x lies in a line of text. */
enum iso_align { ISO_LEFT, ISO_MIDDLE, ISO_RIGHT };

/* y: the row below the base line; `scale`: pixels a unit of the font. */
void iso_canvas_text(struct iso_pixels *p, double x, int64_t y, int scale, enum iso_align align,
                     struct iso_colour c, const char *text);

#endif
