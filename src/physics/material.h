/* SPDX-License-Identifier: BSD-3-Clause */
/* Photon cross sections of a material, tabulated once: plain data that goes to any device. */
#ifndef ISO_MATERIAL_H
#define ISO_MATERIAL_H

#include "core/hd.h"

enum {
	MATERIAL_LOW = 10,	/* keV: a photon below is absorbed on the spot */
	MATERIAL_TOP = 520,	/* keV */
	MATERIAL_ENERGIES = MATERIAL_TOP - MATERIAL_LOW + 1,	/* one a keV */
	MATERIAL_FORM = 2048,	/* intervals of the form factor's table */
};

struct iso_material {
	/* 1/mm at MATERIAL_LOW + i keV: photoelectric, + Compton, + Rayleigh (running sums) */
	float mu[MATERIAL_ENERGIES][4];
	/* integral of F^2 d(q^2), q = sin(theta/2) E / 12.398 keV in 1/Angstrom, scaled to 1 at the
	   largest q, and its inverse: see material_kern.h */
	float form[MATERIAL_FORM + 1], q2[MATERIAL_FORM + 1];
};

/* ISO_EINPUT if the formula cannot be read, names an unknown element, or the density is not above
   0. From xraylib where the library was built with it, else from a stored table of elements. */
int iso_material_make(struct iso_material *m, const char *formula, double density);

#endif
