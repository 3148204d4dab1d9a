/* SPDX-License-Identifier: BSD-3-Clause */
/* Where photon cross sections come from: xraylib, or a stored table; one element at a time. */
#ifndef ISO_ELEMENTS_H
#define ISO_ELEMENTS_H

#include <stdbool.h>

enum iso_process { ISO_PHOTO, ISO_COMPTON, ISO_COHERENT };

struct iso_elements {
	const char *name;
	bool (*has)(int z);      /* the others hold for these elements alone */
	double (*weight)(int z); /* g/mol */
	double (*cs)(int z, enum iso_process process, double kev); /* cm^2/g, 10 to 520 keV */
	double (*form)(int z, double q); /* F(q) of coherent scatter, q in 1/Angstrom */
};

extern const struct iso_elements iso_elements_stored;
extern const struct iso_elements iso_elements_xraylib; /* of builds with ISO_XRAYLIB */

#endif
