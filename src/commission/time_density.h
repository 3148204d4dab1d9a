/* SPDX-License-Identifier: BSD-3-Clause */
/* The density of a time difference: a source that lies evenly from lo to hi along the line, blurred by a Gaussian
   of width s. Times are ps, x is the time difference without offsets. */
#ifndef ISO_TIME_DENSITY_H
#define ISO_TIME_DENSITY_H

#include <math.h>

#define TIME_NARROW 1e-3 /* of s: a source as short as this is a point */

/* b, b' = db/dx, and db/d ln s. They add up over pieces of a source. The mean of the error n of such an event is
   -s^2 b'/b, that of n^2 is s^2 (1 + (db/d ln s)/b). */
struct time_density {
	double b, slope, wider;
};

static inline double time_phi(double z)
{
	return exp(-.5 * z * z) * 0.3989422804014327;
}

static inline double time_tail(double z) /* 1 - Phi(z) */
{
	return .5 * erfc(z * M_SQRT1_2);
}

/* Phi(a) - Phi(b), b <= a, from the tails of the side where both are. */
static inline double time_between(double a, double b)
{
	if (b > 0) return time_tail(b) - time_tail(a);
	return a < 0 ? time_tail(-a) - time_tail(-b) : 1 - time_tail(a) - time_tail(-b);
}

static inline double time_ramp(double z) /* integral of Phi up to z: z Phi(z) + phi(z) */
{
	return z * time_tail(-z) + time_phi(z);
}

static inline struct time_density time_point(double z, double s)
{
	const double b = time_phi(z) / s;

	return (struct time_density){ b, -z * b / s, (z * z - 1) * b };
}

/* A = (x - lo)/s, B = (x - hi)/s: b = (Phi(A) - Phi(B))/w, b' = (phi(A) - phi(B))/(s w). */
static inline struct time_density time_stretch(double x, double s, double lo, double hi)
{
	const double w = hi - lo, a = (x - lo) / s, b = (x - hi) / s;

	if (w < TIME_NARROW * s) return time_point(.5 * (a + b), s);
	const double at_a = time_phi(a), at_b = time_phi(b);

	return (struct time_density){ time_between(a, b) / w, (at_a - at_b) / (s * w),
		                      (b * at_b - a * at_a) / w };
}

/* The mean of b over the bin of this width around x. */
static inline struct time_density time_binned(double x, double s, double lo, double hi, double bin)
{
	const double w = hi - lo, up = x + .5 * bin, down = x - .5 * bin;

	if (w < TIME_NARROW * s) {
		const double mid = .5 * (lo + hi), a = (up - mid) / s, b = (down - mid) / s;

		return (struct time_density){ time_between(a, b) / bin,
			                      (time_phi(a) - time_phi(b)) / (s * bin),
			                      (b * time_phi(b) - a * time_phi(a)) / bin };
	}
	const double a1 = (up - lo) / s, b1 = (up - hi) / s, a0 = (down - lo) / s, b0 = (down - hi) / s;
	const double k = s / (w * bin);
	const double ramps = time_ramp(a1) - time_ramp(b1) - time_ramp(a0) + time_ramp(b0);

	return (struct time_density){ fmax(k * ramps, 0),
		                      (time_between(a1, b1) - time_between(a0, b0)) / (w * bin),
		                      k * (time_phi(a1) - time_phi(b1) - time_phi(a0) + time_phi(b0)) };
}

#endif
