/* SPDX-License-Identifier: BSD-3-Clause */
/* A basis inside. */
#ifndef ISO_BASIS_H
#define ISO_BASIS_H

#include "curve.h"

struct iso_basis {
	struct iso_basis_spec is; /* its curves are those below */
	int k;                    /* basis curves */
	iso_curve *input, *whole, *column[ISO_BASES_MOST];
	int rates; /* curves that are convolutions, behind that of whole blood */
	double beta[ISO_BASES_MOST];
	double *state; /* rates x samples of the input */
};

/* All basis curves at a time. */
void basis_values(double *v, const iso_basis *b, double t);

/* The name of map i of a model, NULL: it has fewer. */
const char *basis_map_name(const struct iso_basis_spec *s, int i);

#endif
