/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity after NEMA NU 2: a line source in sleeves of metal, extrapolated to none. */
#ifndef ISO_NEMA_LINE_H
#define ISO_NEMA_LINE_H

#include "core/status.h"

struct nema_sleeve {
	double wall_mm;    /* of all sleeves about the line */
	double counts;     /* prompts less delayeds, of all slices */
	double variance;   /* of them: prompts and delayeds added up; 0: counts */
	double duration_s; /* T */
	double decay;      /* mean decay factor over it, from the time of the calibrated activity */
};

struct nema_sensitivity {
	double r0, mu; /* counts/s without metal at the time of the calibrated activity; 1/mm */
	double r0_err, mu_err;
	double s, s_err; /* counts/s/MBq */
};

/* ln(C / (T d)) = ln R_0 - 2 mu X by least squares with weights C; S = R_0 / activity. Errors: what
   `variance` makes of the counts' logarithms. */
int iso_nema_sensitivity_fit(struct nema_sensitivity *s, const struct nema_sleeve *sleeve, int n,
                             double activity_mbq);

#endif
