/* SPDX-License-Identifier: BSD-3-Clause */
/* Spherical voxels (Wang 2013, 17 to 19): what both backends compute for a voxel and a point of a
   transducer. The spectrum of a voxel is a line-dependent factor times exp(-j 2 pi f d/c)/(2 pi d),
   d the distance; so a transducer hears an impulse of 1/(2 pi d) at the delay d/c, and the lines
   come from the impulses of all voxels by one transform.

   The delay is spread over `width` bins of a trace by phi(x) = exp(beta (sqrt(1 - (2x/w)^2) - 1)),
   whose w values a polynomial in the fraction of the bin gives: phi = sum over i of c_ij s^i for
   tap j. The sums over voxels and over i change places. Forward, a voxel adds a s^i to
   moment i of its first bin, and the taps follow from the moments of all; the adjoint makes a
   polynomial in s of the taps and the trace at each bin, and a voxel evaluates it. */
#ifndef ISO_SVOXEL_KERN_H
#define ISO_SVOXEL_KERN_H

#include "core/hd.h"

#define SVOXEL_OVER_2_PI .15915494309189533577

enum { SVOXEL_TAPS = 8 }; /* greatest width: narrower kernels have zeros behind */
#ifdef ISO_DOUBLE
enum { SVOXEL_DEGREE = 12 };
#else
enum { SVOXEL_DEGREE = 6 }; /* to 1e-6 */
#endif

/* Tap j is sum over i of c[i][j] s^i, s in [-1, 1] the place within the bin. */
struct svoxel_taps {
	iso_real c[SVOXEL_DEGREE + 1][SVOXEL_TAPS];
	int width;
};

/* A point of a transducer as seen from a reference point in the image: R from the first to the
   second. Made in double; the distances of voxels near the reference are then good in float,
   since only their difference to D is rounded. */
struct svoxel_view {
	iso_real r2[3]; /* 2 R, mm */
	iso_real d, dd; /* D = |R|, D^2 */
	int64_t bin;    /* D/c - w/2 in bins of the trace, rounded down; */
	iso_real fraction;
	iso_real ex[3], ey[3];   /* the transducer's axes */
	iso_real x, y;           /* R along them, mm */
	iso_real side_x, side_y; /* of a rectangle, over c: bins */
};

/* Delay in bins from v->bin; *d is the distance. d - D = excess / (d + D) has no cancellation. */
ISO_HD iso_real svoxel_delay(const struct svoxel_view *v, iso_real bins_per_mm, iso_real excess, iso_real *d)
{
	*d = iso_sqrt(v->dd + excess);
	return v->fraction + excess / (*d + v->d) * bins_per_mm;
}

/* First bin of the w that a delay u touches, and the place within it. */
ISO_HD int svoxel_first(iso_real u, iso_real *s)
{
	iso_real first = iso_ceil(u);

	*s = 2 * (first - u) - 1;
	return (int)first;
}

#endif
