/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of a ring whose activity follows curves: f(t) = sum of component images times their curves. */
#ifndef ISO_CURVES_SIMULATE_H
#define ISO_CURVES_SIMULATE_H

#include "isotome/kinetics.h"
#include "isotome/simulate.h"

struct simulate_component {
	struct iso_array activity; /* on a grid */
	const iso_curve *curve;    /* corrected for decay to the start of the scan; not negative */
	/* found: */
	double seen;     /* share of its decays that give an event, by a pilot */
	double expected; /* decays, over the scan */
};

/* What the events of a component were in each of so many bins; n = 0: nobody asks. */
struct simulate_bins {
	int n;
	const double *edge_s; /* n + 1 */
	double *mean;         /* components x n: of the curve, weighted by the decay */
	double *decays;       /* expected */
	int64_t *trues;       /* recorded; with scatters */
};

/* As iso_simulate_blocks; p->activity is not looked at. p->half_life_s is the decay that curves are corrected for. Events of a
   component are a Poisson process whose rate is proportional to curve and decay; randoms follow the square of all. It holds all events in
   memory. Not with what moves, dead time, exact counts and randoms by rate. */
int iso_simulate_curves(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p, int n,
                        struct simulate_component *c, const struct simulate_bins *bins, iso_emit_fn emit,
                        void *arg);

#endif
