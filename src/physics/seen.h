/* SPDX-License-Identifier: BSD-3-Clause */
/* Which share of the photons of an energy the crystals of a ring count: energy window and resolution, or a table. */
#ifndef ISO_SEEN_H
#define ISO_SEEN_H

#include "scanner/scanner.h"

struct seen {
	double window[2], resolution; /* keV; FWHM at 511 keV as a share of it */
	const iso_scanner *table;     /* whose table of efficiencies counts instead; NULL: none does */
};

/* The scanner's, but what is not 0 of `window` and `resolution` comes first. ISO_EARG, "WHO: ...", where neither says
   it, or a number is out of bounds. */
int iso_seen_make(struct seen *s, const char *who, const iso_scanner *c, const double window[2],
                  double resolution);

/* eps(E), 0 to 1. */
double iso_seen(const struct seen *s, double kev);

#endif
