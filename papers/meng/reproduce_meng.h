/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng et al. 2019, "Comparison of GPU reconstruction based on different symmetries
   for dual-head PET", measured with Isotome: Tables I, III, IV and VI, the spheres, the Derenzo
   phantom, the point source and a mouse. */
#ifndef ISO_MENG_H
#define ISO_MENG_H

#include "papers/chou/reproduce_dual.h"

#define MENG_SLICES 2.5 /* mm: ten slices of 0.5 mm around the middle */

enum {
	MENG_PAIRS = 3,      /* numbers of pairs: few, the working and the reference one */
	MENG_LEVELS = 5,     /* matrices: few pairs; then working and reference, each less cut and cut */
	MENG_ACTIVITIES = 5, /* of Table VI */
	MENG_SCANS = 3,      /* of an activity, at most */
	MENG_STEPS = 4,      /* from one matrix to another, seen in the same scans */
	MENG_REGIONS = 3,    /* I, II, and the plane YoZ */
	MENG_SPHERES = 2,    /* as printed, and apart */
	MENG_WAYS = 2 * DUAL_STRATEGIES, /* strategies on the CPU, then on CUDA */
	MENG_MOST_SAMPLES = 1024,
};

struct meng_scale {
	const char *name, *scanner; /* scanner: description */
	const char *what;           /* of the scanner and the counts, for the page */
	double pairs[MENG_PAIRS];
	double share[2];     /* of the sensitivity kept: less cut, and cut */
	int scans;           /* of an activity of Table VI */
	double factor, most; /* counts: those of the paper times factor, at most so many */
	int derenzo_iterations, repeats;
};

/* PSTD^2 = floor2 + slope / counts, in per cent squared; error: the standard error of floor2. */
struct meng_fit {
	double floor2, error, slope;
};

/* The floor, 0 where the fit found none, and how far it rises with floor2 a standard error above. */
double meng_floor(const struct meng_fit *f);
double meng_floor_error(const struct meng_fit *f);

struct meng_level {
	const char *name;
	struct iso_srm_info info;
	double pstd[MENG_ACTIVITIES][MENG_SCANS], mean[MENG_ACTIVITIES], sd[MENG_ACTIVITIES];
	struct meng_fit fit;
};

/* Fit of the differences of PSTD^2, a less b, in the same scans. */
struct meng_step {
	const char *name;
	const struct meng_level *a, *b;
	struct meng_fit fit;
};

/* NaN: not measured. */
struct meng_way {
	double tbr, diff; /* diff%: against `combined` on the CPU */
	double seconds;   /* of an iteration */
	struct dual_times times;
};

struct meng {
	struct dual d;
	const struct meng_scale *scale;
	struct dual_model mlem; /* the last matrix's, after Table VI */
	double counts[MENG_ACTIVITIES];
	struct meng_level level[MENG_LEVELS];
	struct meng_step step[MENG_STEPS];
	struct iso_pixels sphere[MENG_ACTIVITIES];
	struct {
		double counts, pstd[MENG_REGIONS];
		struct iso_pixels pixels, side;
	} spheres[MENG_SPHERES];
	struct {
		double counts;
		struct iso_rods rods;
		struct iso_pixels pixels;
		int64_t samples;
		double place[MENG_MOST_SAMPLES], profile[MENG_MOST_SAMPLES], truth[MENG_MOST_SAMPLES];
	} derenzo;
	struct {
		double counts, diff;
		double fwhm[2], seconds[2]; /* MLEM, OSEM; FWHM: mean of x and z */
		struct iso_pixels pixels[2];
	} point;
	double mouse_counts;
	struct iso_pixels mouse;
	struct meng_way way[MENG_WAYS];
	struct dual_ladder ladder;
};

extern const double meng_counts[MENG_ACTIVITIES], meng_pstd[MENG_ACTIVITIES]; /* Table VI */

/* Counts of the paper at this scale; a projector without subsets; a scan of a phantom with a seed of
   its own, into y, which is made. */
double meng_counts_here(const struct meng *m, double paper);
struct dual_way meng_mlem(iso_ctx *ctx, enum iso_srm_strategy strategy);
int meng_scan(iso_real **y, const struct meng *m, const char *name, const double *at, double n, int which);

int meng_table_6(struct meng *m);

int meng_page(struct iso_text *t, const struct meng *m);
int meng_record(const struct meng *m);

#endif
