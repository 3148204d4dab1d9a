/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the window of a trace must be in which one transducer hears a brick of voxels. */
#include "svoxel_window.h"

#define ROUNDING .01 /* bins, more than delays in float can be wrong by */

/* Bins by which half the delays across a rectangle can differ from those at a place `reach` mm away:
   the sine of an angle at distance d changes by at most 1/d a mm, and by 1 at most. */
static double bending(const struct svoxel *p, double reach)
{
	double most = 0;

	for (int64_t q = 0; p->sir == ISO_SIR_RECT && q < p->n_trans; q++) {
		double d = iso_svoxel_distance(p, p->pos + 3 * q);
		double half = (p->side[2 * q] + p->side[2 * q + 1]) / 2;

		most = fmax(most, half * (reach < d ? reach / d : 1));
	}
	return most * p->bins_per_mm;
}

/* Delays differ from that of the middle by no more than places do. The view's bin is up to one before
   its delay, and the whole bins of a corner up to one before the corner's. */
struct svoxel_window iso_svoxel_window(const struct svoxel *p, int edge)
{
	double reach = sqrt(3.) / 2 * (edge - 1) * p->ds;
	int before = (int)ceil(reach * p->bins_per_mm + bending(p, reach) + ROUNDING);

	return (struct svoxel_window){ 2 * before + (p->sir == ISO_SIR_RECT ? 3 : 2), before };
}
