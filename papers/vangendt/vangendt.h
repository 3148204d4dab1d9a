/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Van Gendt et al. 2021, "Productively accelerating PET image reconstruction on
   GPUs with Julia", measured with Isotome: Table 2 (the ladder from a basic to an optimised kernel)
   and Table 3 (the extensions). */
#ifndef ISO_VANGENDT_H
#define ISO_VANGENDT_H

#include "papers/study/study.h"

/* How much is run; the problems stay those of the paper, except where `tiny` says so. */
struct vangendt_scale {
	double ladder_events, body_events, pairs; /* pairs: of crystals, for a sensitivity */
	int sizes;                                /* of Table 2: tiny leaves the largest out */
	double budget_s;                          /* of a cell on the CPU: past it fewer iterations are run */
	double body_voxel;                        /* mm; 4 is the paper's */
};

struct vangendt {
	struct study s;
	const struct vangendt_scale *scale;
	iso_ctx *one;         /* of Table 2: one thread; s.cpu has all */
	struct iso_grid grid; /* of Table 3 */
};

#define VANGENDT_TOF_FWHM_PS 390.

/* One measured time, or why there is none. */
struct vangendt_cell {
	double seconds; /* NAN: not measured */
	int ran;        /* iterations; less than asked for: seconds is in proportion */
	int threads;    /* of a block or of the CPU; 0: not told */
	char why[128];  /* not measured: this is why */
};

json_t *vangendt_cell_json(const struct vangendt_cell *c);

int vangendt_body(struct vangendt *v); /* Table 3; writes images into the current folder */

#endif
