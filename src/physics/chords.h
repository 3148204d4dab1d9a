/* SPDX-License-Identifier: BSD-3-Clause */
/* The integral of an image along a line. */
#ifndef ISO_CHORDS_H
#define ISO_CHORDS_H

#include "isotome/array.h"

/* Sum of voxels times the way through them from p to q, mm; an image on its grid. */
double iso_chords_sum(const struct iso_array *image, const double p[3], const double q[3]);

#endif
