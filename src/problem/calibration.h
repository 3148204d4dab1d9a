/* SPDX-License-Identifier: BSD-3-Clause */
/* What a calibration is inside: its file, read. */
#ifndef ISO_CALIBRATION_H
#define ISO_CALIBRATION_H

#include "problem/record/record.h"

struct iso_calibration {
	json_t *root; /* of the file */
	double k, error;
};

/* What the scale of its image depended on, as `scale` of struct model has it; NULL: not said. */
const json_t *calibration_made_with(const iso_calibration *c);

#endif
