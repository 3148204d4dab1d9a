/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalised likelihood on the phantom `spheres` in a clinical ring with time of flight: passes and seconds until the
   image is within the thresholds of the PETRIC challenge of the converged one, and contrast of the spheres at equal
   noise beside filtered OSEM. */
#ifndef ISO_PRIORS_STUDY_H
#define ISO_PRIORS_STUDY_H

#include "papers/study/study.h"

enum { PRIORS_COUNTS = 3, PRIORS_REGIONS = 17 }; /* numbers of events; spheres and the lung */

/* How much is run. */
struct priors_scale {
	double events[PRIORS_COUNTS];   /* of the scans whose convergence is looked at; 0: no more */
	double relative[PRIORS_COUNTS]; /* their scale-free strengths */
	int64_t seeds;                  /* scans of each */
	int passes, reference;          /* at most; evaluations of the reference */
	int subsets;                    /* at most */
	double lesion_events;
	int64_t lesion_seeds;
	int64_t n[3];
	double voxel; /* mm */
	const char *scanner;
};

struct priors {
	struct study s;
	struct priors_scale scale;
	iso_scanner *scanner;
	struct iso_array truth, mu, sens, anatomy;
	struct iso_nema places;
	/* of each voxel: object, background, and 1 + the number of its region of interest, 0: none */
	bool *whole, *background;
	uint8_t *region;
	int regions;
};

/* One scan, ready for any algorithm. */
struct priors_scan {
	int subsets; /* those of the scale; fewer in scans with fewer counts than voxels */
	struct iso_events e;
	iso_problem *problem;
	iso_op *op;
	iso_real *y, *r, *m; /* rows of the operator, in the file's order; y is NULL */
	double unit;         /* image value of the background */
};

/* ---- priors_scan.c ---- */

int priors_object_open(struct priors *p);
void priors_object_close(struct priors *p);

/* Attenuation, and randoms for a quarter of the events. */
int priors_scan_open(struct priors_scan *s, const struct priors *p, double events, uint64_t seed);
void priors_scan_close(struct priors_scan *s);

/* A reconstruction of it, from an image of equal values. `anatomy`: of the prior, NULL: none. */
struct iso_map priors_map(const struct priors *p, const struct priors_scan *s,
                          const struct iso_prior_spec *prior);
int priors_start(struct iso_array *x, const struct priors *p, const struct priors_scan *s);

/* ---- priors_converge.c, priors_lesions.c ---- */

int priors_converge(struct priors *p);
int priors_lesions(struct priors *p);

#endif
