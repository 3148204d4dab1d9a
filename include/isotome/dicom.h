/* SPDX-License-Identifier: BSD-3-Clause */
/* Images as PET series in DICOM, which clinical viewers open.

   Threads: any number of series at a time. */
#ifndef ISOTOME_DICOM_H
#define ISOTOME_DICOM_H

#include "isotome/array.h"

ISO_BEGIN_C

struct iso_dicom {
	size_t size; /* of this struct */
	/* Image that the array was read from: the record beside it says isotope, dose, times, corrections. NULL: none. */
	const char *image;
	const char *patient_name, *patient_id; /* NULL: "Anonymous^", "0" */
	const char *
		description; /* name of the series in a viewer; NULL: the method of the record, or "Isotome" */
	bool force;          /* replace an existing series */
};

/* A PET series (PET Image Storage): `folder`, which is made, holds one file a slice and frame. The folder appears whole, or
   not at all. The array has 3 or 4 axes and a grid, whose axes are taken as right, anterior, superior of a patient who
   lies head first, supine. Values are stored as 16-bit integers, with a factor for each slice: each is right to half of
   that. Units are BQML for Bq/mL, GML for g/mL, else CNTS. All identifiers (UIDs) follow from what is written, so that the
   same image gives the same bytes. `sidecar`: as of iso_write, or NULL. */
ISO_CHECKED int iso_dicom_write(const char *folder, const struct iso_array *a, const struct iso_dicom *p,
                                const char *sidecar);

/* Before the work: ISO_EARG if something stands there that may not be replaced. With `force` that is a folder which holds
   nothing but such a series. */
ISO_CHECKED int iso_dicom_write_check(const char *folder, bool force);

ISO_END_C
#endif
