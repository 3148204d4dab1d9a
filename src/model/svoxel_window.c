/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the window of a trace must be in which one transducer hears a brick of voxels. */
#include "svoxel_window.h"

#define ROUNDING .01	/* bins, more than delays in float can be wrong by */

/* The least distance of a transducer from the middle of a voxel, mm. */
static double nearest(const struct svoxel *p, int64_t q)
{
	double square = 0;

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)(p->n[a] - 1) * p->ds;
		double out = fmax(fabs(p->pos[3 * q + a] - p->first[a] - half) - half, 0);

		square += out * out;
	}
	return sqrt(square);
}

/* Bins by which half the delays across a rectangle can differ from those at a place `reach` mm away:
   the sine of an angle at distance d changes by at most 1/d a mm, and by 1 at most. */
static double bending(const struct svoxel *p, double reach)
{
	double most = 0;

	for (int64_t q = 0; p->sir == ISO_SIR_RECT && q < p->n_trans; q++) {
		double d = nearest(p, q), half = (p->side[2 * q] + p->side[2 * q + 1]) / 2;

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
