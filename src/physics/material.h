/* SPDX-License-Identifier: BSD-3-Clause */
/* Photon cross sections of elements and of a material, tabulated once: plain data that goes to any device. */
#ifndef ISO_MATERIAL_H
#define ISO_MATERIAL_H

#include "core/hd.h"

/* ---- elements: where cross sections come from, xraylib or a stored table ---- */

/* Cross sections, cm^2/g at 10 to 520 keV, and F(q) of coherent scatter, q in 1/Angstrom. */
enum iso_element_curve { ISO_PHOTO, ISO_COMPTON, ISO_COHERENT, ISO_FORM };

struct iso_elements {
	const char *name;
	double (*weight)(int z); /* g/mol; 0: the source does not have the element */
	double (*at)(int z, enum iso_element_curve curve, double x);
};

extern const struct iso_elements iso_elements_stored;
extern const struct iso_elements iso_elements_xraylib; /* of builds with ISO_XRAYLIB */

/* ---- a material ---- */

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

/* From xraylib where the library was built with it, else from the stored table. ISO_EINPUT if the formula
   cannot be read or names an element that the source lacks, or the density (g/cm^3) is not above 0. */
int iso_material_make(struct iso_material *m, const char *formula, double density);
int iso_material_from(struct iso_material *m, const struct iso_elements *source, const char *formula,
                      double density);

/* 1/mm at 0..n-1 keV, running sums as in struct iso_material. Below 10 keV it is that of 10; above the tables (800 keV of
   xraylib, 520 of the stored table) photoelectric effect goes on as a power law, Compton scatter as that of free electrons,
   Rayleigh scatter as E^-2; pair production is left out. Of a formula that iso_material_make takes. */
int iso_material_wide(float (*mu)[4], int n, const char *formula, double density);

/* What iso_material_make takes. */
const struct iso_elements *iso_material_source(void);

/* Entry of an energy in the 1 keV tables, or of their end, and share of the way to the next entry. */
ISO_HD int material_place(float *share, float kev)
{
	float t = kev - MATERIAL_LOW;

	t = t > 0 ? t : 0;
	t = t < MATERIAL_ENERGIES - 1 ? t : MATERIAL_ENERGIES - 1;
	int i = t < MATERIAL_ENERGIES - 2 ? (int)t : MATERIAL_ENERGIES - 2;

	*share = t - (float)i;
	return i;
}

/* 1/mm: photoelectric, photoelectric + Compton, total. */
ISO_HD void material_mu(float mu[3], const struct iso_material *m, float kev)
{
	float share;
	int i = material_place(&share, kev);

	for (int k = 0; k < 3; k++) mu[k] = m->mu[i][k] + share * (m->mu[i + 1][k] - m->mu[i][k]);
}

/* cos(theta) from u in (0, 1), by F^2 d(q^2) up to q(E), without the polarisation factor (1 + cos^2) / 2. */
ISO_HD float material_rayleigh(const struct iso_material *m, float kev, float u)
{
	float share, q = kev / MATERIAL_HC;
	int i = material_place(&share, kev);
	float rest = m->rest[i] + share * (m->rest[i + 1] - m->rest[i]);
	float s = sqrtf((1 - u) + u * rest) * MATERIAL_FORM;
	int j = s < MATERIAL_FORM - 1 ? (int)s : MATERIAL_FORM - 1;
	float x = m->q2[j] + (s - (float)j) * (m->q2[j + 1] - m->q2[j]);
	float c = 1 - 2 * x / (q * q);

	return c > -1 ? c : -1;
}

#endif
