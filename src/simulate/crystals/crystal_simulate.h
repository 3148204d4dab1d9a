/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of crystals without rates: decays of an image, one after the other, their coincidences as events. */
#ifndef ISO_CRYSTAL_SIMULATE_H
#define ISO_CRYSTAL_SIMULATE_H

#include "crystal_scan.h"
#include "isotome/simulate.h"

/* What an event is, for --truth: the columns of ISO_CRYSTAL_TRUTH. */
typedef int (*iso_crystal_truth_fn)(void *arg, const struct crystal_event *e, int64_t n);

struct iso_crystal_simulate {
	const iso_scanner *scanner;
	struct crystal_setting setting; /* modules: those of the scanner, or with another window */
	double counts;                  /* expected coincidences, prompt ones included */
	double decays;                  /* expected decays instead; 0: as many as the counts need */
	bool exact;                     /* exactly these, instead of Poisson numbers */
	bool pairs_only;                /* singles of decays without a pair need not be counted */
	double prompt_kev;              /* of a photon more a decay; 0: none */
	iso_crystal_truth_fn truth;     /* NULL: nobody asks */
	void *truth_arg;
};

struct iso_crystal_simulated {
	int64_t decays, events;
	int64_t count[CRYSTAL_COUNTS];
};

/* The events, the same for any number of threads and ranks and on both devices; every rank sends them all to `emit`. */
int iso_crystal_simulate(struct iso_crystal_simulated *info, iso_ctx *ctx,
                         const struct iso_crystal_simulate *p, iso_emit_fn emit, void *arg);

/* Decays at a point, or photons of a beam where beam[2], its energy in keV, is above 0: beam[0..1] phi and theta in degrees
   at module 0, over the pitch cell of its middle crystal. Only counted. */
struct iso_crystal_point {
	double at[3], beam[3];
	int64_t n;
	uint64_t seed;
};

struct iso_crystal_pointed {
	int64_t count[CRYSTAL_COUNTS];
	int64_t several, not_first, full_energy, in_window, more; /* of a beam */
	double depth;                                             /* mean of the first deposit, mm */
	double mean[2], rms[2]; /* offset of the beam's line from the ends of lines, u and v, within 20 mm */
};

int iso_crystal_count(struct iso_crystal_pointed *r, iso_ctx *ctx, const struct iso_modules *m,
                      const struct iso_crystal_point *p);

#endif
