/* SPDX-License-Identifier: BSD-3-Clause */
/* A curve inside: samples, and the integral up to each. */
#ifndef ISO_CURVE_H
#define ISO_CURVE_H

#include "isotome/kinetics.h"

#include <stdbool.h>

enum { CURVE_NAME = 64 };

struct iso_curve {
	int64_t n;
	double *t, *y, *area; /* area[i]: integral from t[0] to t[i] */
	char name[CURVE_NAME];
};

/* As iso_curve_create, with the samples at their times and nothing in front of the first. */
int curve_of(iso_curve **c, int64_t n, const double *t, const double *y);

int curve_copy(iso_curve **c, const iso_curve *from);

/* The last sample at or before t, from 0; -1: none. */
int64_t curve_place(const iso_curve *c, double t);

/* Integrals over a piece of length h from 0 to `at`, 0 to h, on which y goes from c0 to c1, of y(s) exp(-beta (at - s)) ds,
   after a state `before` at its beginning. */
double curve_piece(double before, double c0, double c1, double h, double beta);

#endif
