/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation down to the single crystal: photons through the object and through the crystals of a scanner whose description
   has `detector`, and of two panels. Lengths are mm, energies keV, times ps.

   Threads: a simulation uses its context's threads; `emit` is called on the caller's. */
#ifndef ISOTOME_CRYSTALS_H
#define ISOTOME_CRYSTALS_H

#include "isotome/simulate.h"

ISO_BEGIN_C

struct iso_crystals {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	const struct iso_array *activity; /* any scale: decays per volume */
	const struct iso_array *mu; /* the object: 1/mm at 511 keV, as water of that density; NULL: none */
	const struct iso_array
		*labels; /* or whole numbers, whose matter the file `materials` tells; NULL: none */
	const char *materials;
	double counts;   /* expected coincidences */
	double decays;   /* expected decays instead; 0: as many as the counts need */
	bool exact;      /* exactly these, instead of Poisson numbers */
	bool pairs_only; /* photons are not followed where no coincidence can come of them: the same events */
	bool rayleigh;   /* Rayleigh scatter in an object of mu; labelled matter has it always */
	double window_kev[2]; /* energy window; 0, 0: the scanner's */
	double resolution;    /* FWHM at 511 keV as a share of it; 0: the scanner's */
	double prompt_kev;    /* energy of a third photon of each decay, in a direction of its own; 0: none */
	uint64_t seed;
	const char *truth; /* .npy of records that say what each event is; NULL: none */
};

/* How many. Pairs: decays with exactly two singles, in crystals that the scanner takes as a pair. */
struct iso_crystals_made {
	size_t size; /* size of this struct, set by the caller */
	int64_t decays, events;
	int64_t met, interacted;   /* photons of the pair that met a module, and interacted in one */
	int64_t singles;           /* pulses in the window */
	int64_t several_crystals;  /* singles with deposits in several crystals */
	int64_t not_first_crystal; /* singles in another crystal than that of the first deposit */
	int64_t outside_window;    /* pulses outside of the window */
	int64_t pairs, scattered;  /* coincidences, and those with Compton scatter in the object */
	int64_t rayleigh;          /* pairs without Compton scatter but with Rayleigh scatter in the object */
	int64_t three_or_more;     /* decays with three or more singles, which make no event */
	int64_t one_module, too_near; /* two singles of one module, and others that make no pair */
	int64_t pairs_several_crystals, pairs_not_first_crystal;
	int64_t with_prompt; /* pairs with a deposit of a prompt photon: events, but not among `pairs` */
	int64_t by_order[5]; /* pairs by scatters in the object; the last: 4 or more */
	int64_t left, in_crystals, in_cover_or_gap, in_object; /* photons by where they end */
	int64_t full; /* photons with more deposits than are kept: the last takes the rest */
};

/* The events, the same for any number of threads and ranks and on both devices; each rank sends them all to `emit`, piece
   by piece. Without rates: decays do not know of each other, and events have no times in the scan. ISO_EINPUT if the scanner
   has no `detector`, or the object reaches into a module. */
ISO_CHECKED int iso_crystals_simulate(struct iso_crystals_made *made, iso_ctx *ctx,
                                      const struct iso_crystals *p, iso_emit_fn emit, void *arg);

/* The memory that it takes. */
void iso_crystals_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_crystals *p);

/* Decays at a point, or a beam of parallel photons on module 0: even over the pitch cell of its middle crystal, in the
   direction (sin phi cos theta, sin theta, cos phi cos theta) of (t, z, n). n points away from the axis, z along it. */
struct iso_crystals_point {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	double at[3];
	double phi_deg, theta_deg;
	double beam_kev;                  /* above 0: a beam */
	double window_kev[2], resolution; /* 0: the scanner's */
	int64_t n;                        /* decays, or photons of the beam */
	uint64_t seed;
};

struct iso_crystals_beam {
	size_t size; /* size of this struct, set by the caller */
	/* photons with a single, with several crystals in it, in another crystal than the first deposit's, whose
	   whole energy lies in the unit, with more than one single */
	int64_t in_window, several_crystals, not_first_crystal, full_energy, more_than_one_single;
	double first_depth_mm; /* mean depth of the first deposit */
	double u_mean_rms_mm[2],
		v_mean_rms_mm[2]; /* the beam's line less the end of lines, across, within 20 mm */
};

/* `beam` is filled for a beam; NULL: nobody asks. */
ISO_CHECKED int iso_crystals_count(struct iso_crystals_made *made, struct iso_crystals_beam *beam,
                                   iso_ctx *ctx, const struct iso_crystals_point *p);

ISO_END_C
#endif
