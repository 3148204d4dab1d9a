/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves and bars as inline SVG. Colours are CSS variables of the page (--ink, --faint, --c1 ...),
   so that one drawing serves light and dark. */
#ifndef ISO_SVG_H
#define ISO_SVG_H

#include "text.h"

struct iso_svg_curve {
	const char *name;	/* for the legend; escaped */
	int64_t n;
	const double *x, *y;	/* points that are not finite are left out */
};

struct iso_svg_chart {
	const char *label;	/* what it shows, for readers that do not see it */
	const char *x_label, *y_label;
	int n;			/* curves, at most 4 */
	const struct iso_svg_curve *curve;
	bool from_zero;		/* the y axis begins at 0 */
};

/* Round tick values that cover [lo, hi]: first value and step of 1, 2 or 5 times a power of ten;
   how many. */
int iso_svg_ticks(double lo, double hi, double *first, double *step);

/* Nothing is added if no curve has two points. */
void iso_svg_chart(struct iso_text *t, const struct iso_svg_chart *c);

/* Horizontal bars with name, bar and value in `unit`. */
void iso_svg_bars(struct iso_text *t, const char *label, int n, const char *const *name, const double *v,
	      const char *unit);

#endif
