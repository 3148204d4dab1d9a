/* SPDX-License-Identifier: BSD-3-Clause */
/* Colour maps: from a share of the window, 0 to 1, to a colour. */
#ifndef ISO_COLORMAP_H
#define ISO_COLORMAP_H

#include "isotome.h"

enum { ISO_COLOURS = 256 };

struct iso_colour {
	unsigned char r, g, b; /* sRGB */
};

struct iso_colormap {
	struct iso_colour colour[ISO_COLOURS];
	bool light; /* 0 is shown lighter than what is far from it */
};

/* What is not a number is drawn in this colour, which no map comes near. */
extern const struct iso_colour iso_colour_not_finite;

/* ISO_EARG for a name that iso_picture_maps does not have. */
int iso_colormap_make(struct iso_colormap *m, const char *name);

/* Below 0 is the first colour, above 1 the last. */
struct iso_colour iso_colormap_at(const struct iso_colormap *m, double share);

#endif
