/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing on pixels: boxes, lines of text, scales. What lies outside is left out. */
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

/* The same along a straight line, one pixel wide, with smooth edges. */
void iso_canvas_line(struct iso_pixels *p, const double from[2], const double to[2], struct iso_colour c,
                     double opacity);

/* One pixel wide, around the box. */
void iso_canvas_frame(struct iso_pixels *p, struct iso_box b, struct iso_colour c);

/* Where x lies in a line of text, in halves of its width. */
enum iso_align { ISO_LEFT, ISO_MIDDLE, ISO_RIGHT };

/* y: the row below the base line; `scale`: pixels a unit of the font. */
void iso_canvas_text(struct iso_pixels *p, double x, int64_t y, int scale, enum iso_align align,
                     struct iso_colour c, const char *text);

/* ---- letters: strokes of a round pen, in units of a twelfth of the height of capitals ---- */

enum {
	ISO_FONT_CAPITAL = 12, /* height of capitals and digits */
	ISO_FONT_TOP = 14,     /* all ink lies below this, */
	ISO_FONT_BOTTOM = -5,  /* and above this, from the base line */
};

#define ISO_FONT_PEN 1.5 /* diameter */

struct iso_stroke {
	double x0, y0, x1, y1; /* straight; y is up from the base line */
};

struct iso_glyph {
	double advance; /* to the next glyph */
	int n;
	struct iso_stroke stroke[96];
};

/* The first character of a UTF-8 text, and the text after it: ASCII, the signs of units such as
   a micro, degree, minus or times, superscript digits; an empty box for all others, and for bytes
   that are no UTF-8. */
const char *iso_font_next(struct iso_glyph *g, const char *text);

/* Of a line of text, without the gap after the last glyph. */
double iso_font_width(const char *text);

/* ---- round numbers for scales: 1, 2 or 5 times a power of ten ---- */

enum { ISO_TICKS = 16 };

struct iso_ticks {
	int n;
	double value[ISO_TICKS];  /* rising; the first and the last are the ends */
	char text[ISO_TICKS][24]; /* UTF-8 */
	char factor[24];          /* that the texts lack: "" or "×10³" */
};

/* The greatest round number that is not above `most`, which is positive and finite. */
double iso_round_below(double most);

/* At low, high, and at most `between` round numbers, none of them near an end. */
void iso_ticks_make(struct iso_ticks *t, double low, double high, int between);

/* "%.4g" with a true minus sign. */
void iso_tick_text(char *text, size_t size, double value);

#endif
