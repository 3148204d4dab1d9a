/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners that headers call by name and say no sizes of. */
#ifndef ISO_KNOWN_H
#define ISO_KNOWN_H

enum { KNOWN_NAMES = 5 };

struct iso_known {
	const char *name[KNOWN_NAMES];  /* any of them serves */
	int rings;                      /* 0: models of that name differ */
	int detectors;                  /* of a ring */
	double radius;                  /* of the inner face, mm */
	double depth;                   /* of interaction below the inner face, mm */
	double pitch;                   /* of rings, mm */
	double bin;                     /* of arc-corrected data, mm */
	double tof_bin_ps, tof_fwhm_ps; /* unmashed; 0: no time of flight */
};

/* By name; case, blanks and "_" do not count. NULL: not in the table. */
const struct iso_known *iso_known_scanner(const char *name);

#endif
