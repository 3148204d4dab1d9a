/* SPDX-License-Identifier: BSD-3-Clause */
/* Photons in water: Compton scatter off free electrons (Klein and Nishina, 1929) and photoelectric absorption, by
   formula. Energies keV, lengths mm. E0 is the rest energy of an electron, and that of an annihilation photon. */
#ifndef ISO_WATER_H
#define ISO_WATER_H

#include "core/hd.h"

#define WATER_E0 510.999            /* keV */
#define WATER_RADIUS 2.81794e-12    /* classical radius of an electron, mm */
#define WATER_ELECTRONS 3.342831e20 /* per mm^3 of water */
#define WATER_PHOTO 2.76e-4         /* photoelectric, 1/mm at 100 keV, */
#define WATER_PHOTO_POWER -3.25     /* which goes with this power of the energy */

/* Energy after a scatter by an angle of this cosine. */
ISO_HD double water_scattered(double kev, double cosine)
{
	return kev / (1 + kev / WATER_E0 * (1 - cosine));
}

/* Cross section per electron and solid angle, mm^2/sr. */
ISO_HD double water_klein_nishina(double kev, double cosine)
{
	double p = water_scattered(kev, cosine) / kev;

	return WATER_RADIUS * WATER_RADIUS / 2 * p * p * (p + 1 / p - (1 - cosine * cosine));
}

/* Its integral over all directions, mm^2 per electron. */
ISO_HD double water_cross_section(double kev)
{
	double k = kev / WATER_E0, l = log1p(2 * k), m = 1 + 2 * k;

	return 2 * M_PI * WATER_RADIUS * WATER_RADIUS *
	       ((1 + k) / (k * k) * (2 * (1 + k) / m - l / k) + l / (2 * k) - (1 + 3 * k) / (m * m));
}

/* Attenuation by Compton scatter, and in all, 1/mm. */
ISO_HD double water_compton(double kev)
{
	return WATER_ELECTRONS * water_cross_section(kev);
}

ISO_HD double water_mu(double kev)
{
	return water_compton(kev) + WATER_PHOTO * pow(kev / 100, WATER_PHOTO_POWER);
}

#endif
