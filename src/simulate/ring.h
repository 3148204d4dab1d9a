/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of an ideal ring: a cylinder of activity and three axial lines, isotropic directions, kept
   if both photons meet the ring. Event i takes its numbers from (seed, i) alone.

   Decisions are in double, so that CPU and CUDA keep the same histories: they would part only where
   a photon passes the ring's edge within rounding. */
#ifndef ISO_RING_H
#define ISO_RING_H

#include "base/constants.h"
#include "core/philox.h"

#define RING_CYLINDER_MM 150.  /* radius of the uniform cylinder, as long as the ring */
#define RING_LINES_MM 60.      /* distance of the three lines from the axis */
#define RING_CYLINDER_SHARE .7 /* of the decays; each line has a third of the rest */

struct ring {
	double radius, half; /* mm; half the axial length */
	double cos_b, sin_b; /* tan b = half / (radius - RING_CYLINDER_MM) */
	double sigma_ps;
	uint64_t seed;
};

/* A decay: distance from the axis, azimuth, height, and the direction's angle to the transverse plane. */
struct ring_decay {
	double r, azimuth, z, sin_tilt, cos_tilt;
};

/* No path from a decay to the ring is shorter across than K = radius - RING_CYLINDER_MM, so only
   decays with |z| + K |tan tilt| <= half can be kept, and only those are drawn: sin tilt, uniform
   for isotropic directions, then has the density half - K tan tilt, tilt = 0..b, and the integral
   sqrt(half^2 + K^2) (cos(b - tilt) - cos b). */
ISO_HD struct ring_decay ring_decay(const struct ring *q, struct philox p)
{
	double u = philox_unit(p.w[0]), v = philox_unit(p.w[1]);
	double c = q->cos_b + (1 - q->cos_b) * philox_unit(p.w[3]), s = sqrt(1 - c * c);
	double sin_tilt = q->sin_b * c - q->cos_b * s, cos_tilt = q->cos_b * c + q->sin_b * s;
	double room = q->half - (q->radius - RING_CYLINDER_MM) * sin_tilt / cos_tilt;
	struct ring_decay d = {
		RING_CYLINDER_MM * sqrt(u / RING_CYLINDER_SHARE),
		2 * M_PI * v,
		(2 * (double)philox_unit(p.w[2]) - 1) * room,
		sin_tilt,
		cos_tilt,
	};

	if (p.w[3] & 1) /* philox_unit leaves the low bits */
		d.sin_tilt = -d.sin_tilt;
	if (u > RING_CYLINDER_SHARE) {
		d.r = RING_LINES_MM;
		d.azimuth = 2 * M_PI / 3 * floor(3 * v);
	}
	return d;
}

/* History `attempt` of event i; false if a photon leaves through an end. */
ISO_HD bool ring_try(struct iso_event *e, const struct ring *q, uint64_t i, uint64_t attempt)
{
	struct ring_decay d = ring_decay(q, philox_draw(q->seed, i, 2 * attempt));
	double slope = d.sin_tilt / d.cos_tilt;

	/* every path across is longer than radius - r: cheap, and many failures end here */
	if (fabs(d.z) + fabs(slope) * (q->radius - d.r) > q->half) return false;

	struct philox p = philox_draw(q->seed, i, 2 * attempt + 1);
	double turn = 2 * M_PI * (double)philox_unit(p.w[0]); /* of direction against place */
	double along = d.r * cos(turn), across = d.r * sin(turn);
	double root = sqrt(q->radius * q->radius - across * across);
	double t1 = root - along, t2 = root + along; /* paths across, to ends 1 and 2 */
	double z1 = d.z + slope * t1, z2 = d.z - slope * t2;

	if (fabs(z1) > q->half || fabs(z2) > q->half) return false;

	/* the place is `along` the direction's azimuth and `across` to its right */
	double c = cos(d.azimuth + turn), s = sin(d.azimuth + turn);
	double dt = (t1 - t2) / (d.cos_tilt * ISO_C_MM_PER_PS);
	struct iso_event kept = {
		{ (float)(root * c + across * s), (float)(root * s - across * c), (float)z1 },
		{ (float)(-root * c + across * s), (float)(-root * s - across * c), (float)z2 },
		(float)(q->sigma_ps > 0 ? dt + q->sigma_ps * philox_gauss(p.w[1], p.w[2]) : dt),
	};

	*e = kept;
	return true;
}

ISO_HD void ring_event(struct iso_event *e, const struct ring *q, uint64_t i)
{
	for (uint64_t attempt = 0; !ring_try(e, q, i, attempt); attempt++)
		;
}

#endif
