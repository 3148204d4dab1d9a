/* SPDX-License-Identifier: BSD-3-Clause */
/* Photon cross sections of a material, tabulated once: plain data that goes to any device. */
#ifndef ISO_MATERIAL_H
#define ISO_MATERIAL_H

#include "core/hd.h"
#include "elements.h"

enum {
	MATERIAL_LOW = 10,                                   /* keV: a photon below is absorbed on the spot */
	MATERIAL_TOP = 520,                                  /* keV */
	MATERIAL_ENERGIES = MATERIAL_TOP - MATERIAL_LOW + 1, /* one a keV */
	MATERIAL_FORM = 2048,                                /* intervals of the form factor's table */
};

/* h c, keV Angstrom: a photon of E keV has the wave length MATERIAL_HC / E Angstrom. */
#define MATERIAL_HC 12.39842f

/* Rayleigh angles: with x = q^2, q = sin(theta/2) E / hc, and R(x) the integral of F^2 from x on to
   the largest x, over that from 0 on, a photon's x lies below x with the probability
   (1 - R(x)) / (1 - R((E / hc)^2)). */
struct iso_material {
	/* 1/mm at MATERIAL_LOW + i keV: photoelectric, + Compton, + Rayleigh (running sums) */
	float mu[MATERIAL_ENERGIES][4];
	float rest[MATERIAL_ENERGIES]; /* R((E / hc)^2), the same energies */
	/* x where R = (j / MATERIAL_FORM)^2: finer where F is small */
	float q2[MATERIAL_FORM + 1];
};

/* ISO_EINPUT if the formula cannot be read, names an element that the source does not have, or the
   density (g/cm^3) is not above 0. From xraylib where the library was built with it, else from the
   stored table of elements. */
int iso_material_make(struct iso_material *m, const char *formula, double density);
int iso_material_from(struct iso_material *m, const struct iso_elements *source, const char *formula,
                      double density);

/* What iso_material_make takes. */
const struct iso_elements *iso_material_source(void);

#endif
