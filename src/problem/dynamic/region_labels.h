/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of parameter 'regions': a label image, and tables of what is known of its labels. */
#ifndef ISO_REGION_LABELS_H
#define ISO_REGION_LABELS_H

#include "problem/problem.h"

#include "core/room.h"

struct regions {
	struct iso_array labels; /* no values: there are none */
	int n;
	int *label;     /* of each region, rising */
	int *of;        /* the region of each label, -1: none */
	double *voxels; /* of each region */
	struct iso_room room;
};

/* Of the parameter; without it nothing. *g is zeros, and to be freed also after a failure. */
int regions_read(struct regions *g, struct recon *r);
void regions_free(struct regions *g);

/* Means of the regions of an image. */
void regions_means(const struct regions *g, double *to, const iso_real *x);

/* A file of rows x columns values. */
int regions_write_values(struct recon *r, const char *path, int64_t rows, int64_t columns, const double *v);

/* A text file: the head, then whatever `line` makes of each region. */
int regions_write_text(const char *path, const char *head, const struct regions *g,
                       void (*line)(char *to, size_t size, const struct regions *g, int k, const void *arg),
                       const void *arg);

#endif
