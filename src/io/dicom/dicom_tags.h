/* SPDX-License-Identifier: BSD-3-Clause */
/* What the head of a PET series says of patient, scan and method, from the caller and from the record of the image. */
#ifndef ISO_DICOM_TAGS_H
#define ISO_DICOM_TAGS_H

#include "isotome.h"

enum { DICOM_LINE = 65 }; /* the longest short text of DICOM, and a NUL */

struct dicom_tags {
	char patient_name[DICOM_LINE], patient_id[DICOM_LINE], description[DICOM_LINE];
	char scanner[DICOM_LINE], method[DICOM_LINE], corrected[DICOM_LINE];
	char attenuation[DICOM_LINE], scatter[DICOM_LINE], randoms[DICOM_LINE];
	char units[17], isotope[17];
	double start_s;   /* of the series, since 1970 */
	bool start_known; /* the clock of the scan; else that of the run, or none */
	bool corrects_decay;
	double half_life_s, branching, dose_bq, weight_kg; /* 0: not known */
	double injected_s;                                 /* since 1970, where injected_known */
	bool injected_known;
	int64_t frames;
	double *frame_s, *duration_s; /* of each frame, from the start of the scan; 0: not known */
};

int dicom_tags_take(struct dicom_tags *t, const struct iso_array *a, const struct iso_dicom *p);
void dicom_tags_free(struct dicom_tags *t);

/* YYYYMMDD and HHMMSS of seconds since 1970. */
void dicom_date(char text[9], double s);
void dicom_time(char text[17], double s);

#endif
