/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng et al. 2019, "Comparison of GPU reconstruction based on different symmetries
   for dual-head PET", measured with Isotome: Tables I, III, IV and VI, the spheres, the Derenzo
   phantom, the point source and a mouse. */
#ifndef ISO_MENG_H
#define ISO_MENG_H

#include "reproduce_dual.h"

enum {
	MENG_PAIRS = 3,		/* numbers of pairs: few, the working and the reference one */
	MENG_LEVELS = 5,	/* matrices: few pairs; then working and reference, each less cut and cut */
	MENG_ACTIVITIES = 5,	/* of Table VI */
	MENG_REGIONS = 3,	/* I, II, and the plane YoZ */
	MENG_SPHERES = 2,	/* as printed, and apart */
	MENG_WAYS = 2 * DUAL_STRATEGIES,	/* strategies on the CPU, then on CUDA */
	MENG_MOST_SAMPLES = 1024,
};

struct meng_scale {
	const char *name, *scanner;	/* scanner: description */
	const char *what;		/* of the scanner and the counts, for the page */
	double pairs[MENG_PAIRS];
	double share[2];		/* of the sensitivity kept: less cut, and cut */
	double factor, most;		/* counts: those of the paper times factor, at most so many */
	int derenzo_iterations, repeats;
	bool ways_on_cpu;		/* also the slow ones */
};

/* PSTD^2 = floor^2 + slope / counts, by least squares of the relative errors. */
struct meng_level {
	const char *name;
	struct iso_srm_info info;
	double pstd[MENG_ACTIVITIES];
	double floor2, slope;		/* per cent squared */
};

struct meng_way {
	bool ran;
	double tbr, diff;		/* diff%: against `combined` on the CPU */
	double seconds;			/* of an iteration */
	struct dual_times times;
};

struct meng {
	struct dual d;
	const struct meng_scale *scale;
	double counts[MENG_ACTIVITIES];
	struct meng_level level[MENG_LEVELS];
	struct iso_pixels sphere[MENG_ACTIVITIES];
	struct {
		double counts, pstd[MENG_REGIONS];
		struct iso_pixels pixels;
	} spheres[MENG_SPHERES];
	struct {
		double counts;
		struct iso_rods rods;
		struct iso_pixels pixels, boxes;
		int64_t samples;
		double place[MENG_MOST_SAMPLES], profile[MENG_MOST_SAMPLES], truth[MENG_MOST_SAMPLES];
	} derenzo;
	struct {
		double counts, diff;
		double fwhm[2], seconds[2];	/* MLEM, OSEM; FWHM: mean of x and z */
		struct iso_pixels pixels[2];
	} point;
	double mouse_counts;
	struct iso_pixels mouse;
	struct meng_way way[MENG_WAYS];
	struct dual_ladder ladder;
};

extern const double meng_counts[MENG_ACTIVITIES], meng_pstd[MENG_ACTIVITIES];	/* Table VI */

int meng_page(struct iso_text *t, const struct meng *m);
int meng_record(const struct meng *m);

#endif
