/* SPDX-License-Identifier: BSD-3-Clause */
/* One file of a DICOM series: what its head says, and where its values are. */
#ifndef ISO_DICOM_H
#define ISO_DICOM_H

#include "isotome.h"

enum { DICOM_TEXT = 65 }; /* the longest UID, and a NUL */

/* Reader and writer refuse what is beyond. */
#define DICOM_FURTHEST 1e6  /* mm of a position */
#define DICOM_WIDEST 1e3    /* mm of a pixel, and of a slice */
#define DICOM_CLOSEST 1e-3  /* mm between slices; closer ones lie at one place */
#define DICOM_STEEPEST 1e30 /* factor of PET values, which have 16 bits: they stay finite */

/* Modalities that a caller takes; may be added. */
enum dicom_want { DICOM_CT = 1, DICOM_PT = 2 };

struct dicom_slice {
	char *path;
	char class[DICOM_TEXT], syntax[DICOM_TEXT], modality[DICOM_TEXT], series[DICOM_TEXT],
		unit[DICOM_TEXT];
	char maker[DICOM_TEXT];                  /* class of the program that wrote it */
	char description[DICOM_TEXT];            /* of the series */
	char units[DICOM_TEXT];                  /* of PET: BQML, CNTS, ... */
	char date[DICOM_TEXT], time[DICOM_TEXT]; /* of the acquisition */
	double position[3];    /* of the centre of the first voxel, mm towards left, posterior, superior */
	double orientation[6]; /* where columns count up, then where rows do */
	double spacing[2];     /* between rows, between columns, mm */
	double thickness, kvp; /* mm, kV; 0: not said */
	double slope, intercept, frames;
	double reference_ms, duration_ms,
		instance; /* of PET: time and length of its frame; number of the file */
	int rows, columns, samples, bits, stored, high, sign;
	int64_t pixels, bytes; /* where the values begin, and how many bytes they have; -1: packed */
	uint64_t found;        /* bit i: row i of the table of tags was there */
};

/* Whether a file has DICM at byte 128; false of what can't be read. */
bool dicom_marked(const char *path);

/* All of the head up to the values; what it lacks is for dicom_complete to tell. ISO_EINPUT: no DICOM, or damaged; *s
   then has what came before the damage. s->path is the caller's. */
int dicom_head(struct dicom_slice *s, const char *path);

/* Whether the modality is one of those. */
bool dicom_wanted(const struct dicom_slice *s, enum dicom_want want);

/* ISO_EINPUT unless it says all that an uncompressed slice of a CT or a PET image must, in the ways that are known. */
int dicom_complete(const struct dicom_slice *s, enum dicom_want want);

/* v = its rows x columns values, in the unit of the series. */
int dicom_values(iso_real *v, const struct dicom_slice *s);

/* ---- dicom_folder.c: files of one series ---- */

struct dicom_series {
	int64_t n, room;
	struct dicom_slice *v;
};

/* The one series of that modality in a folder, or the series that a file is of, with those of its folder. */
int dicom_gather(struct dicom_series *s, const iso_ctx *ctx, const char *path, enum dicom_want want);
void dicom_series_free(struct dicom_series *s);

/* ---- dicom_series.c: where they lie ---- */

/* Puts the slices in the order of their frames, and within each of their places; v->dim, affine and kvp are set. A CT has
   one frame. */
int dicom_order(struct iso_volume *v, int64_t *frames, struct dicom_series *s);

#endif
