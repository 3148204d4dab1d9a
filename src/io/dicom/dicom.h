/* SPDX-License-Identifier: BSD-3-Clause */
/* One file of a DICOM series: what its head says, and where its values are. */
#ifndef ISO_DICOM_H
#define ISO_DICOM_H

#include "isotome.h"

enum { DICOM_TEXT = 65 }; /* the longest UID, and a NUL */

struct dicom_slice {
	char *path;
	char class[DICOM_TEXT], syntax[DICOM_TEXT], modality[DICOM_TEXT], series[DICOM_TEXT],
		unit[DICOM_TEXT];
	double position[3];    /* of the centre of the first voxel, mm towards left, posterior, superior */
	double orientation[6]; /* where columns count up, then where rows do */
	double spacing[2];     /* between rows, between columns, mm */
	double thickness, kvp; /* mm, kV; 0: not said */
	double slope, intercept, frames;
	int rows, columns, samples, bits, stored, high, sign;
	int64_t pixels, bytes; /* where the values begin, and how many bytes they have; -1: packed */
	uint64_t found;        /* bit i: row i of the table of tags was there */
};

/* Whether a file has DICM at byte 128; false of what can't be read. */
bool dicom_marked(const char *path);

/* All of the head up to the values; what it lacks is for dicom_complete to tell. ISO_EINPUT: no DICOM, or damaged.
   s->path is the caller's. */
int dicom_head(struct dicom_slice *s, const char *path);

/* ISO_EINPUT unless it says all that an uncompressed slice of a CT must, in the ways that are known. */
int dicom_complete(const struct dicom_slice *s);

/* v = its rows x columns values, in Hounsfield units. */
int dicom_values(iso_real *v, const struct dicom_slice *s);

#endif
