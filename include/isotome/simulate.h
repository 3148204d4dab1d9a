/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated scans: events of an image in a scanner. Lengths are mm, times ps and s as named.

   Threads: a simulation uses its context's threads; `emit` is called on the caller's. */
#ifndef ISOTOME_SIMULATE_H
#define ISOTOME_SIMULATE_H

#include "isotome/array.h"
#include "isotome/events.h"

ISO_BEGIN_C

struct iso_simulate {
	size_t size; /* of this struct */
	const iso_scanner *scanner;
	const struct iso_array *activity; /* any scale: decays per volume */
	const struct iso_array *mu;       /* NULL: no attenuation */
	const iso_real *eff;              /* efficiency per crystal, any scale; NULL: all alike */
	double counts;                    /* expected prompts */
	bool exact_counts;                /* exactly that many instead of a Poisson number */
	double randoms, scatters;         /* shares of the prompts */
	bool delayed;                     /* delayed coincidences instead of prompts: as many as the
					   prompts have randoms, independent of them */
	double tof_fwhm_ps;               /* 0: dt is written as 0 */
	double duration_s;                /* 0: events have no times */
	double half_life_s;               /* of the activity over the scan; 0: it does not decay */
	const char *isotope;              /* for the events to tell; NULL: not said */
	uint64_t seed;
};

struct iso_simulated {
	int64_t trues, scatters, randoms;
	double decays;              /* that gave the trues and scatters, and all that no crystal saw */
	double window_ps;           /* randoms are uniform over |dt| <= window */
	double randoms_per_pair;    /* expected, for --additive without TOF; with efficiencies, of
					   a pair of efficiency 1: others have eff_a eff_b times that */
	double randoms_per_pair_mm; /* and with unbinned TOF */
};

/* Emission points from the image, isotropic directions, photons binned into crystals; events have
   crystal numbers, and with a duration their times, in order. The same seed gives the same events
   for every number of threads. */
int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx,
                 const struct iso_simulate *p);

/* The same list piece by piece, in memory that does not grow with it: `emit` sees each piece in
   turn, on the calling thread, and stops the simulation by returning a failure. */
typedef int (*iso_emit_fn)(void *arg, const struct iso_events *piece);
int iso_simulate_blocks(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p,
                        iso_emit_fn emit, void *arg);

/* Singles per crystal over the scan that give these randoms within window_ps, Poisson numbers. */
int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p);

/* Decays in an ideal ring, for benchmarks: a uniform cylinder of radius 150 mm along the whole
   ring has 70 %, each of three lines along z, 60 mm off the axis and 120 degrees apart, 10 %. */
struct iso_ring {
	double radius, length; /* mm; radius at least 160 */
	double tof_fwhm_ps;    /* 0: exact times */
	uint64_t seed;
};

/* Events first to first + n - 1 with both ends on the ring, into host memory. Event i depends on
   the seed and i alone: any split gives the same events. */
int iso_ring_events(struct iso_event *e, iso_ctx *ctx, const struct iso_ring *p, int64_t first, int64_t n);

ISO_END_C
#endif
