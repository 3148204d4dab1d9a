/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of LORs of two panels, as files: (Ncx, Ncz, Ncx, Ncz), with layers (L, L, ...) before. */
#ifndef ISO_LORS_H
#define ISO_LORS_H

#include "problem/param.h"
#include "problem/record.h"

/* The axes, and their number. */
int lors_shape(int64_t dim[8], const struct iso_panels *p);

/* ISO_EINPUT: another shape, or values that are negative or not finite. */
int lors_read(struct record *record, struct iso_array *a, const char *path, const struct iso_panels *p);

#endif
