/* SPDX-License-Identifier: BSD-3-Clause */
/* The preamble of a .npy file, for arrays and for events. */
#ifndef ISO_NPY_H
#define ISO_NPY_H

#include "element.h"

struct iso_npy {
	struct iso_element element;
	bool fortran; /* first axis fastest */
	bool complex; /* pairs: the last axis, of 2, is always fastest */
	int n_dim;
	int64_t dim[8];
	int64_t bytes; /* of the elements, which follow and end the file */
};

/* Reads up to the first element; the file is as long as the preamble says. Complex numbers are
   refused without `pairs`. */
int iso_npy_head(struct iso_npy *npy, struct iso_in *in, bool pairs);

/* Elements of a file; 0 if they do not stand in C order. */
int iso_npy_count(int64_t *n, const char *path);

/* Elements first ... first + n - 1 of such a file, read alone. */
int iso_npy_piece(iso_real *dst, const char *path, int64_t first, int64_t n);

#define ISO_NPY_LEAD 512

/* Makes the preamble of floats of `size` bytes in C order; returns its length. */
int iso_npy_lead(char head[ISO_NPY_LEAD], int size, int n_dim, const int64_t *dim);

#endif
