/* SPDX-License-Identifier: BSD-3-Clause */
/* The scale of a fixed-point sum. */
#ifndef ISO_FIXED_KERN_H
#define ISO_FIXED_KERN_H

#include "hd.h"

/* For sums whose magnitude stays within `bound`: a power of two, one bit to spare. */
ISO_HD double iso_fixed_scale(double bound)
{
	return bound > 0 ? ldexp(1., 61 - ilogb(bound)) : 1;
}

#endif
