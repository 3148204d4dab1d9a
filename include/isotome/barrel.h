/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrels of long strips, such as J-PET of 24 modules: where the strips are, and how well they measure. Lengths are mm.

   Threads: a barrel is not written after its scanner was read. */
#ifndef ISOTOME_BARREL_H
#define ISOTOME_BARREL_H

#include "isotome/scanner.h"

ISO_BEGIN_C

/* A box along z. */
struct iso_barrel_strip {
	double x, y, z;              /* its middle, mm */
	double angle;                /* of its depth, from x towards y, rad */
	double width, depth, length; /* mm; width: across the depth */
};

/* All strips of a scanner, by their numbers, and the errors of a measured event. */
struct iso_barrel {
	int64_t n;
	const struct iso_barrel_strip *strip; /* (n) */
	int64_t first;                        /* number of the first strip in events: 0 or 1 */
	double mu;                            /* of the strips at 511 keV, 1/mm */
	double least_distance;                /* mm; of the middles of a pair's strips, across */
	bool shadow;                          /* strips between those of a pair take photons */
	/* Four times, at both ends of both strips: */
	double end_sigma_ps;      /* of one of them; 0: what follows holds instead */
	double light_speed;       /* along a strip, mm/ps */
	double light_attenuation; /* length, mm; 0: the errors are the same everywhere */
	/* or places and time as such: */
	double sigma_z;     /* mm */
	double crt_fwhm_ps; /* of t_a - t_b */
};

/* The strips of a scanner of the kind ISO_BARREL, valid as long as the scanner; NULL for another kind. */
const struct iso_barrel *iso_scanner_barrel(const iso_scanner *s);

/* Whether strips i and j, from 0, form a pair. */
bool iso_barrel_pair(const struct iso_barrel *b, int64_t i, int64_t j);

/* For an event with both hits in the middle of the strips: the error of a place along a strip, and that of the difference of the
   two ways, mm. */
void iso_barrel_sigma(double *z, double *dl, const struct iso_barrel *b);

ISO_END_C
#endif
