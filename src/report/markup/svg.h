/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves as SVG, inside a page or as a file. Colours are CSS variables of the page (--ink, --line, --c1,
   --c2, ...), so that one drawing serves light and dark. */
#ifndef ISO_SVG_H
#define ISO_SVG_H

#include "text.h"

struct iso_svg_curve {
	const char *name; /* for the legend; escaped; NULL: not named there */
	int colour;       /* 1 to ISO_SVG_COLOURS; 0: that of the text, and dashed */
	int64_t n;
	const double *x, *y; /* points that are not finite, or beyond 1e100, are left out */
};

#define ISO_SVG_COLOURS 6

enum iso_svg_axes {
	ISO_SVG_PLAIN,
	ISO_SVG_FROM_ZERO, /* the y axis begins at 0, unless there are values below */
	ISO_SVG_LOG,       /* both are logarithmic: points that are not above 0 are left out */
};

struct iso_svg_chart {
	const char *label; /* what it shows, for readers that do not see it */
	const char *x_label, *y_label;
	int n;
	const struct iso_svg_curve *curve;
	enum iso_svg_axes axes;
};

/* Round tick values that cover [lo, hi]: first value and step of 1, 2 or 5 times a power of ten; how many. */
int iso_svg_ticks(double lo, double hi, double *first, double *step);

/* The drawing, and below it the names of the curves if there are several. Nothing is added if no
   curve has two points. */
void iso_svg_chart(struct iso_text *t, const struct iso_svg_chart *c);

/* The same of n charts, one below the other, as a file of its own, on white. Nothing is added if there is
   nothing to draw. */
void iso_svg_file(struct iso_text *t, int n, const struct iso_svg_chart *c);

#endif
