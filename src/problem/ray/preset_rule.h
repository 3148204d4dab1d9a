/* SPDX-License-Identifier: BSD-3-Clause */
/* What a preset chooses for a scan: one table, of counts and crystals alone. docs/recon-presets.md has it in words. */
#ifndef ISO_PRESET_RULE_H
#define ISO_PRESET_RULE_H

#include <stdint.h>

/* As the words of parameter 'preset'. */
enum preset_kind { PRESET_QUICK, PRESET_CLINICAL, PRESET_CONVERGED, PRESET_NONE };

struct preset_scan {
	double counts;  /* of the image: of a frame, where there are several */
	double crystal; /* width of a crystal, mm */
	double across;  /* width of the scanner's field of view, mm */
	double finest;  /* voxels of that field are no smaller, mm; 0: they are not to be chosen */
	double plane;   /* planes of lines lie this far apart along z, mm; 0: not in planes */
};

struct preset_values {
	const char *method;
	int64_t iterations, subsets; /* 0: the method's own */
	double voxel, filter, psf;   /* mm; filter, psf: FWHM; 0: none */
	double height;               /* of a voxel along z, mm */
	double strength;             /* of penalty rdp, without unit; 0: none */
};

struct preset_values preset_rule(enum preset_kind kind, const struct preset_scan *scan);

#endif
