/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over the crystals in coincidence with one crystal: its fan. */
#ifndef ISO_RANDOMS_H
#define ISO_RANDOMS_H

#include "isotome/events.h"
#include "scanner/scanner.h"

struct iso_fans {
	const iso_scanner *s; /* borrowed */
	double *sum;          /* running sums */
	/* free detectors by azimuth, and how many next in that order are too near to be partners */
	int64_t *order, *after, *before;
};

int iso_fans_create(struct iso_fans *f, const iso_scanner *s);
void iso_fans_free(struct iso_fans *f);

/* fan[a] = sum over the partners b of crystal a of v[b], for every crystal; v not negative. */
void iso_fans_sum(double *fan, struct iso_fans *f, const double *v);

/* Adds the delayeds of each crystal to `ends`; how many lie on no pair. */
int64_t iso_randoms_ends(double *ends, iso_ctx *ctx, const iso_scanner *s, const struct iso_events *delayed);

/* Rates from the delayeds of each crystal. */
int iso_randoms_of_ends(double *rate, iso_ctx *ctx, const iso_scanner *s, const double *ends);

#endif
