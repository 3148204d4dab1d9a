/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a line is inside a box, in double: an axis at a time. Two float twins have other arithmetic:
   transport_side of physics/transport_kern.h and narrow of model/ray/cuda/ray_cell.cuh. */
#ifndef ISO_BOX_H
#define ISO_BOX_H

#include "core/hd.h"

/* Narrows [*t0, *t1] to where p + t d lies between two faces of an axis, which are `to_low` and
   `to_high` >= to_low from p. False for a line along the faces that is not between them; half-open:
   a line in the upper face is outside. The box is missed too where *t1 > *t0 fails after all axes. */
ISO_HD bool box_narrow(double *t0, double *t1, double to_low, double to_high, double d)
{
	if (d == 0) return to_low <= 0 && to_high > 0;
	double a = to_low / d, b = to_high / d;

	*t0 = fmax(*t0, fmin(a, b));
	*t1 = fmin(*t1, fmax(a, b));
	return true;
}

#endif
