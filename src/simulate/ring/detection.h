/* SPDX-License-Identifier: BSD-3-Clause */
/* What the electronics of a simulated ring do to its events, in the order of time: factors of pairs, time offsets and widths
   of crystals, and dead time. */
#ifndef ISO_DETECTION_H
#define ISO_DETECTION_H

#include "isotome/simulate.h"

struct iso_detection {
	const struct iso_pair_factors *pairs; /* which thin events; NULL: none */
	const double *offset, *fwhm;          /* of crystals, ps; NULL: none, or the width is in the events */
	enum iso_dead_time model;
	double dead_s; /* 0: none */
	double since;  /* the last event that began a dead time, s */
	bool delayed; /* events are delayeds: they are lost where prompts make it dead, and make nothing dead */
	const double *prompt; /* (prompts): times at which dead times began; of delayeds */
	int64_t prompts, next;
	uint64_t seed;
	int64_t seen, lost, thinned;
	/* times at which dead times began, to be freed; `keep`: they are wanted */
	bool keep;
	double *began;
	int64_t n_began, room;
};

/* ISO_EARG unless the parameters make sense. */
int iso_detection_check(const struct iso_simulate *p);

/* Whether events change at all. */
bool iso_detection_any(const struct iso_simulate *p);

struct iso_detection iso_detection_of(const struct iso_simulate *p);

/* Events as the electronics write them: fewer, if some are lost. order and time_s (exact, s) belong to them. */
int iso_detection_apply(struct iso_detection *d, struct iso_events *e, uint8_t *order, const double *time_s);

#endif
