/* SPDX-License-Identifier: BSD-3-Clause */
/* Letters as strokes of a round pen, in units of a twelfth of the height of capitals. */
#ifndef ISO_FONT_H
#define ISO_FONT_H

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

#endif
