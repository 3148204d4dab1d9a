/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ECAT 7 image says besides its values. */
#ifndef ISO_ECAT_H
#define ISO_ECAT_H

#include "isotome.h"

bool iso_ecat_begins(const uint8_t *head, int64_t n); /* the mark, MATRIX7, among the first n bytes */

bool iso_is_ecat(const char *path); /* of a file that is there */

struct iso_ecat {
	int64_t frames;
	double *start_s, *duration_s; /* of each frame, from the start of the scan */
	const char *patient;          /* how the patient lies; */
	bool patient_said;            /* false: the file does not say it, and this is assumed */
};

int iso_ecat_info(struct iso_ecat *info, const char *path);
void iso_ecat_info_free(struct iso_ecat *info);

#endif
