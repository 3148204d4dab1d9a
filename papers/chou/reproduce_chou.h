/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Chou et al. 2012, "Accelerating image reconstruction in dual-head PET system by
   GPU and symmetry properties", measured with Isotome: the Derenzo phantom (Figures 7 to 9), a rat,
   Tables 1 to 3. */
#ifndef ISO_CHOU_H
#define ISO_CHOU_H

#include "reproduce_dual.h"

enum {
	CHOU_SUBSETS = 72,
	CHOU_SHOWN = 2, /* images: after 1 and after 24 iterations */
	CHOU_LINES = 2, /* profiles */
	CHOU_SAMPLES = 241,
	CHOU_WAYS = 5,
	CHOU_RAT_ITERATIONS = 2, /* the paper does not tell */
};

struct chou_scale {
	const char *name, *scanner, *what;
	double pairs, share;
	double factor, rat_factor; /* counts over those of the paper */
	int repeats;
	bool row_on_cpu; /* all its subsets */
};

struct chou_way {
	const char *device, *strategy;
	struct dual_times times;
};

struct chou {
	struct dual d;
	struct dual_model osem; /* of all images */
	const struct chou_scale *scale;
	struct iso_srm_info info;
	double counts;
	struct {
		struct iso_rods rods;
		struct iso_pixels pixels;
		double profile[CHOU_LINES][CHOU_SAMPLES];
	} image[CHOU_SHOWN];
	double place[CHOU_SAMPLES], truth[CHOU_LINES][CHOU_SAMPLES];
	double seconds;                            /* of an iteration, Derenzo */
	double rat_trues, rat_randoms, rat_counts; /* counts: what subtraction left */
	double rat_seconds, rat_tbr;
	struct iso_pixels rat;
	struct chou_way way[CHOU_WAYS];
	struct dual_ladder ladder;
};

extern const int chou_shown[CHOU_SHOWN];
extern const double chou_lines[CHOU_LINES]; /* x, mm */

int chou_page(struct iso_text *t, const struct chou *m);
int chou_record(const struct chou *m);

#endif
