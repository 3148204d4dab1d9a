/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets and resolution of a scanner's crystals, as the library's own code sees them. */
#ifndef ISO_TIMES_H
#define ISO_TIMES_H

#include "isotome/timing.h"

#include <jansson.h>

struct iso_times {
	int64_t crystals;
	double *offset, *sd, *sigma; /* (crystals), ps; sigma NULL: not fitted */
	struct iso_timing_info info;
	double fwhm, fwhm_sd;
	json_t *scanner; /* of_scanner.h */
};

#endif
