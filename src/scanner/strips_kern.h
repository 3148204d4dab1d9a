/* SPDX-License-Identifier: BSD-3-Clause */
/* Two strips: what a hit's error is, and which directions from a point meet both strips.

   The plane is (z, y), z along the strips; a direction is tau = tan(theta), theta against y. From
   (y, z) it meets the upper strip at z + (R - y) tau, the lower one at z - (R + y) tau. */
#ifndef ISO_STRIPS_KERN_H
#define ISO_STRIPS_KERN_H

#include "core/hd.h"

/* sigma(z) = sigma_z (1 + growth (2 z / L)^2) for a hit at z; off the strip, that of its end. */
ISO_HD double strips_sigma_z(const struct iso_strips *s, double z)
{
	double end = fmin(fabs(2 * z / s->length), 1.);

	return s->sigma_z * (1 + s->sigma_z_growth * end * end);
}

/* Directions from a point with |y| <= R that meet both strips; none if max <= min. At |y| = R one
   bound is infinite, the right limit; on the very end of a strip it is 0/0, which fmin and fmax
   leave out (Bialas 2015, eq. 4). */
struct strips_range {
	double min, max;
};

ISO_HD struct strips_range strips_accepted(const struct iso_strips *s, double y, double z)
{
	double half = s->length / 2, up = s->radius - y, down = s->radius + y;
	struct strips_range r = { fmax(-(half + z) / up, (z - half) / down),
		                  fmin((half - z) / up, (half + z) / down) };

	return r;
}

/* Share of the decays at a point that both strips see: accepted angles over pi; 0 beyond the strips. */
ISO_HD double strips_sens(const struct iso_strips *s, double y, double z)
{
	struct strips_range r = strips_accepted(s, y, z);

	return fabs(y) <= s->radius ? fmax(0., atan(r.max) - atan(r.min)) / M_PI : 0;
}

#endif
