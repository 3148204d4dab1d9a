/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms of penalised least squares share, F(x) = |y - A x|^2 + mu <x, L x> + ...: cg.c has it. */
#ifndef ISO_SQUARES_H
#define ISO_SQUARES_H

#include "loop.h"

struct iso_squares {
	struct iso_loop l;
	iso_op *penalty; /* L; NULL: mu is 0 */
	double mu;
	iso_real *lap; /* L times an image, on the device */
};

/* ISO_EARG, said by `name`, if the problem lacks something or its numbers are not allowed. */
int iso_squares_check(const char *name, const struct iso_cg *p, const iso_real *x);

/* The start image to l.x, the data to *y; keeps the penalty. */
int iso_squares_load(struct iso_squares *s, const struct iso_cg *p, const iso_real *x, iso_real **y);
void iso_squares_free(struct iso_squares *s);

/* All steps of a state that was made with status st, which it frees; struct iso_fista_result has the
   fields of struct iso_cg_result. */
int iso_squares_run(struct iso_squares *s, int st, iso_real *x, void *result, const struct iso_run *run);

int iso_squares_add(struct iso_squares *s, iso_real *z, double mu, const iso_real *x); /* z += mu L x */
int iso_squares_smoothness(struct iso_squares *s, double *f, const iso_real *x);       /* mu <x, L x> */

#endif
