/* SPDX-License-Identifier: BSD-3-Clause */
/* Small least squares, many with one matrix: min |y - A x|, and with x >= 0 by the active sets of Lawson and Hanson. The
   columns have length 1. Equations are solved by Cholesky with one step of refinement; ties go to the lowest index, so that
   a right side has one result. */
#ifndef ISO_NNLS_H
#define ISO_NNLS_H

#include <stdbool.h>

enum { NNLS_MOST = 8 };

struct nnls {
	int rows, n;
	const double *a;                      /* (rows, n) */
	double gram[NNLS_MOST * NNLS_MOST];   /* A^T A */
	double factor[NNLS_MOST * NNLS_MOST]; /* its Cholesky factor, of all columns */
};

/* False: the columns are not independent. */
bool nnls_begin(struct nnls *s, int rows, int n, const double *a);

/* Both return |y - A x|^2. `rest` has room for `rows` numbers, and holds y - A x afterwards. */
double nnls_plain(double *x, double *rest, const struct nnls *s, const double *y);
double nnls_nonneg(double *x, double *rest, const struct nnls *s, const double *y);

/* (A^T A)^-1. */
void nnls_inverse(double *inverse, const struct nnls *s);

#endif
