/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a scan over strengths of a penalty. */
#ifndef ISO_SCAN_H
#define ISO_SCAN_H

#include "page.h"

/* One strength, and what the image is like that was made with it. */
struct iso_scan_point {
	double relative, beta;
	double loglik, penalty; /* L, and R without beta */
	double passes;
	bool converged;
	double noise,
		contrast; /* std / mean in the background; mean of the region over that mean. NAN: not asked for */
};

/* The L-curve (L against R), contrast against noise where they are known, a table, and the images that `r` holds. */
int iso_report_scan(struct iso_text *t, const struct iso_report *r, int n, const struct iso_scan_point *p);

#endif
