/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng et al. 2019, "Comparison of GPU reconstruction based on different symmetries
   for dual-head PET", measured with Isotome: Tables I, III, IV and VI, the spheres, the Derenzo
   phantom, the point source and a mouse. */
#ifndef ISO_MENG_H
#define ISO_MENG_H

#include "papers/dual/dual.h"

struct meng_scale {
	const char *scanner; /* description */
	double pairs[3];     /* few, the working and the reference number */
	double share[2];     /* of the sensitivity kept: less cut, and cut */
	int scans;           /* of an activity of Table VI, at most MENG_SCANS */
	double factor, most; /* counts: those of the paper times factor, at most so many */
	int derenzo_iterations, repeats;
};

enum { MENG_ACTIVITIES = 5, MENG_SCANS = 3 }; /* of Table VI */

struct meng {
	struct dual d; /* its model: without subsets, of the last matrix after Table VI */
	const struct meng_scale *scale;
};

#define MENG_SEED 100 /* of the scans; each adds its own number */

/* Counts of the paper at this scale. */
double meng_counts_here(const struct meng *m, double paper);

/* The matrices, each with its noise; the last one serves all other experiments. */
int meng_table_6(struct meng *m);

#endif
