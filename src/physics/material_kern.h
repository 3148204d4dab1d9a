/* SPDX-License-Identifier: BSD-3-Clause */
/* What transport asks a material: attenuation at an energy, and the angle of Rayleigh scatter. */
#ifndef ISO_MATERIAL_KERN_H
#define ISO_MATERIAL_KERN_H

#include "material.h"

/* Place of an energy in the 1 keV tables: entry, and share of the way to the next. Energies off
   the table have the values of its ends. */
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

/* cos(theta) from u in (0, 1), by F^2 d(q^2) up to q(E); the polarisation factor
   (1 + cos^2 theta) / 2 is the caller's rejection. */
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
