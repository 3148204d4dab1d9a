/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory, for those who fill them. */
#ifndef ISO_ARRAYS_H
#define ISO_ARRAYS_H

#include "isotome/array.h"

/* iso_array_create, with `who` in its messages; memory only with `values`. */
int iso_array_make(struct iso_array *a, const char *who, int n_dim, const int64_t *dim, bool values);

#endif
