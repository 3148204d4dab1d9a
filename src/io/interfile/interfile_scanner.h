/* SPDX-License-Identifier: BSD-3-Clause */
/* The scanner that a header of Interfile projection data tells: its sizes, and where its crystals are. */
#ifndef ISO_INTERFILE_SCANNER_H
#define ISO_INTERFILE_SCANNER_H

#include "base/number.h"
#include "text/interfile.h"

enum { INTERFILE_TOLD = 400 };

enum interfile_geometry { INTERFILE_CYLINDER, INTERFILE_BLOCKS, INTERFILE_MAP };

/* Lengths are mm, in STIR's axes. */
struct interfile_scanner {
	enum interfile_geometry geometry;
	int64_t rings, detectors;       /* detectors: of a ring */
	double radius;                  /* of the ends of lines */
	double pitch, bin;              /* of rings, of arc-corrected data; bin 0: not said */
	double offset;                  /* of view 0, rad */
	double tof_bin_ps, tof_fwhm_ps; /* of a known name, unmashed; 0: not known */
	char told[INTERFILE_TOLD];      /* what the header does not say and how it was taken; "": nothing */
};

int iso_interfile_scanner(struct interfile_scanner *s, const struct iso_interfile *h);

/* Crystals of a scanner that is no cylinder: place[3 (ring * detectors + detector) + axis], of rings * detectors
   crystals. */
int iso_interfile_crystals(double *place, const struct interfile_scanner *s, const struct iso_interfile *h);

/* Adds a text behind "; ", as far as it fits. */
ISO_PRINTF(3, 4) void iso_interfile_tell(char *told, size_t size, const char *fmt, ...);

#endif
