/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates of a scan as frames of it: which part of the time each has, and what decay makes of that. */
#ifndef ISO_GATE_FRAMES_H
#define ISO_GATE_FRAMES_H

#include "isotome.h"

/* Gates by a table of times, or of each event, with shares of the time that somebody says. Zero: there are none. */
struct gating {
	iso_gates *table; /* NULL: gates are those of events */
	double *share;    /* of the time, n; NULL: the table says */
	int n;
};

/* The times of a frame, and its decay. */
struct gating_frame {
	double from_s, to_s; /* INFINITY: the end is not known */
	double half_life_s;  /* 0: no decay */
};

/* A gate in a frame of length D. k: the decay constant. */
struct gate_part {
	double weight;             /* integral of exp(-kt) over the gate, over D: of the sensitivity */
	double share, randoms;     /* of what the frame counts: with k, with 2k */
	double mean, mean_randoms; /* of exp(-kt), exp(-2kt) in the gate; 1 if it has no time */
};

/* `text`: shares between commas, above 0 and with a sum of at most 1. */
int gating_shares(struct gating *g, const char *text);
void gating_free(struct gating *g); /* leaves zeros */

struct gate_part gating_part(const struct gating *g, int gate, const struct gating_frame *f);

#endif
