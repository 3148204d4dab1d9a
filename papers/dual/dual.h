/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two dual-head papers share: a scanner and its system matrix, scans by photon transport,
   reconstructions, times of the strategies, pictures. */
#ifndef ISO_DUAL_H
#define ISO_DUAL_H

#include "bench/ladder.h"
#include "bench/srm/strategies.h"
#include "papers/study/study.h"

/* A projector of the matrix as it is now. Its tables take longer to make than many iterations: one
   serves all scans that want it. */
struct dual_model {
	iso_op *op;
	struct iso_grid grid;
	iso_real *sens; /* an image for each subset, from the first reconstruction on */
};

struct dual {
	struct study s;
	uint64_t deal; /* seed of a random deal of directions to subsets; 0: by groups of directions */
	iso_scanner *scanner;
	struct iso_grid grid;
	int64_t lors;
	iso_srm *srm;            /* grows by dual_simulate */
	double matrix_s;         /* spent on it */
	struct dual_model model; /* of most images */
};

/* The scanner of this description, which goes with the results as scanner.yaml. */
int dual_open(struct dual *d, const char *scanner_text);
void dual_release(void *state); /* of a state that begins with struct dual */

/* What --dry-run prints, with so many histograms of LORs at a time. */
int dual_plan(struct cmd *c, const char *scanner_text, int n_sub, int histograms);

/* Up to so many pairs a voxel, then the bound that keeps this share of the sensitivity. */
int dual_simulate(struct dual *d, double pairs, double share);

/* A phantom on the scanner's grid; `at` for a point. */
int dual_phantom(struct iso_array *x, const struct dual *d, const char *name, const double at[3]);

/* Scans a phantom: exactly so many true coincidences, and `randoms` more at random; *y, which is made,
   holds the LORs. *delayed, unless NULL, is made too and holds as many delayed ones. */
struct dual_scan {
	const char *phantom;
	const double *at; /* of a point */
	double trues, randoms;
	uint64_t seed;
};

int dual_scan(iso_real **y, iso_real **delayed, const struct dual *d, const struct dual_scan *s);

int dual_model_open(struct dual_model *m, const struct dual *d, iso_ctx *ctx, enum srm_strategy s, int n_sub);
void dual_model_close(struct dual_model *m);

/* From ones; x is made. *seconds, unless NULL, is the time of the run over its iterations; `run` may be
   NULL. */
int dual_recon(struct iso_array *x, double *seconds, struct dual_model *m, int iterations, const iso_real *y,
               const struct iso_run *run);

/* Seconds; NaN: not measured. */
struct dual_times {
	double forward_sub, back_sub; /* subset 0 */
	double forward, back;         /* all subsets, one after the other */
	double iteration;             /* of EM, all subsets */
};

#define DUAL_NO_TIMES ((struct dual_times){ NAN, NAN, NAN, NAN, NAN })

enum { DUAL_SUBSET = 1, DUAL_ALL = 2, DUAL_ITERATION = 4 }; /* what is timed */

/* Medians of the repeats after a warm-up, or the warm-up itself where it took more than a second. */
int dual_time(struct dual_times *t, const struct dual_model *m, int what, int repeats);

/* The papers' variants, on CUDA; NaN where there is none. Chou 2012, Table 1: forward projections
   of Algorithms 1, 2, 3, and of the last with one thread a block instead of 128. Meng 2019: back
   projection by 16 seed columns a plane, and by the folded ones. */
struct dual_ladder {
	double step[ISO_SRM_STEPS + 1], columns[2];
};

int dual_ladder(struct dual_ladder *l, const struct dual *d, int repeats);

#define DUAL_SLICES 2.5 /* mm: images are looked at in the mean of the slices within that of 0 */

/* PSTD of a disc at (x, y, z) across the axis. */
int dual_pstd(double *pstd, const struct iso_array *x, int axis, const double centre[3], double radius);

/* Adds a picture to the page: the mean of slices across y with x upwards, or across x with y upwards, z to
   the right, no further than `reach` mm from the middle (0: all of it); one pixel in 500 is above the last
   colour. */
struct dual_view {
	const char *key, *name, *alt, *note; /* note: NULL: none */
	bool across_x;
	double half, reach; /* half: of the slices, mm; 0: DUAL_SLICES */
};

int dual_draw(struct dual *d, const struct iso_array *x, const struct dual_view *v);

#define DUAL_SAMPLES 241

/* A profile along z at x, from -half to half mm, over its own mean: DUAL_SAMPLES values. */
int dual_profile(double *value, double *place, const struct iso_array *x, double at, double half);

#endif
