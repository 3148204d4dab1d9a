/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a PET series to be written. */
#ifndef ISO_DICOM_WRITE_H
#define ISO_DICOM_WRITE_H

#include "isotome.h"

/* Of this writer: any number that stays the same. */
#define DICOM_MAKER "2.25.162837412365287461928374650192837465"

struct dicom_tags;

struct dicom_bytes {
	uint8_t *v;
	int64_t n, room;
	bool failed; /* no memory */
};

struct dicom_series_out {
	const struct dicom_tags *tags;
	struct iso_grid grid;
	const iso_real *v; /* frame after frame */
	double most;       /* of all values, above 0: the window that a viewer begins with */
	uint64_t key[2];   /* hash of all that is written, from which identifiers are made */
	char study[65], series[65], frame_of_reference[65];
};

/* The file of slice k, counted through all frames, into *b, whose room is kept. */
int dicom_slice_bytes(struct dicom_bytes *b, const struct dicom_series_out *o, int64_t k);

/* A number in at most 16 letters: as few as give it back, else the most digits that fit. */
void dicom_decimal(char out[17], double v);

/* An identifier, which follows from key, word and number. */
void dicom_uid(char uid[65], const uint64_t key[2], const char *what, int64_t k);

#endif
