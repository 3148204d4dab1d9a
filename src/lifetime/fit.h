/* SPDX-License-Identifier: BSD-3-Clause */
/* The penalised likelihood as a function of log(rate) and w, side by side: u of all voxels, then w of all voxels. */
#ifndef ISO_LIFETIME_FIT_H
#define ISO_LIFETIME_FIT_H

#include "density.h"

enum { MANY = 20000 }; /* unknowns that several threads share */

struct fit {
	const struct iso_triples *t;
	const struct iso_lifetime *p;
	struct likelihood l;
	bool w_free;
	int64_t n;                       /* voxels */
	int64_t unknowns;                /* n, or 2 n */
	double beta[2];                  /* of u and of w */
	double *f;                       /* activity, counts */
	double *rate, *w;                /* of the last evaluation */
	iso_real *image, *slope, *curve; /* of the penalty: an image and what it gives */
	double value, loglik;
	double *gradient; /* of the value to be maximised */
	double *diagonal; /* of what bends it: information of the triples and curvature of the penalty */
};

int fit_open(struct fit *f, struct iso_room *room, const struct iso_triples *t, const struct iso_lifetime *p);

/* Sets beta at the start, where it is relative. */
int fit_strength(struct fit *f, struct iso_room *work, const double *x);

/* Value, gradient and diagonal at x. */
int fit_at(struct fit *f, const double *x);

static inline double fit_least(const struct fit *f, int64_t i)
{
	return i < f->n ? log(RATE_LEAST) : W_LEAST;
}

static inline double fit_most(const struct fit *f, int64_t i)
{
	return i < f->n ? log(RATE_MOST) : W_MOST;
}

/* From a start to the maximum within the bounds; `residual`: the largest gradient in u over that at the start. */
struct ascent {
	int iterations;
	double start, residual;
	bool converged;
};
int fit_climb(struct ascent *a, struct fit *f, struct iso_room *work, double *x);

/* Standard errors of all unknowns at the maximum, and of the means of regions; region may be NULL. */
int fit_errors(double *error, double *region, struct fit *f, struct iso_room *work, const double *x);

#endif
