/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of crystals at a given activity: every decay, every pulse of a readout unit, singles, coincidences and randoms.
   Lengths are mm, energies keV; times are s, ns and ps as named.

   Threads: a scan uses its context's threads, or its device; `prompts` and `delayeds` are called on the caller's. */
#ifndef ISOTOME_ACTIVITY_H
#define ISOTOME_ACTIVITY_H

#include "isotome/simulate.h"

ISO_BEGIN_C

/* Which singles open a window: a single that lies in no open window, or every single. */
enum iso_sorter_windows { ISO_SORTER_SINGLE, ISO_SORTER_MULTI };

/* Pairs of three or more singles in a window. A pair is good if the scanner takes its two crystals. Ties go to the pair that
   comes first. */
enum iso_multiples {
	ISO_MULTIPLES_WINNER,         /* the good pair of the largest energy */
	ISO_MULTIPLES_ALL,            /* all good pairs */
	ISO_MULTIPLES_WINNER_IF_GOOD, /* the pair of the largest energy, if it is good */
	ISO_MULTIPLES_ONLY_ONE,       /* the good pair, if there is one only */
	ISO_MULTIPLES_NONE
};

/* A struct of zeros with its `size` is a good start. In numbers of readout and times, 0 stands for the scanner's
   value, and a number below 0 for none. */
struct iso_activity_scan {
	size_t size;                      /* size of this struct */
	const iso_scanner *scanner;       /* with a detector in its description */
	const struct iso_array *activity; /* on a grid, any scale: decays per volume */
	const struct iso_array *mu; /* attenuation of the object, 1/mm, on a grid of its own; NULL: none */
	bool rayleigh;              /* Rayleigh scatter in the object, too */
	double activity_bq;         /* at the start, of the whole image: decays a second, not positrons */
	double duration_s;          /* at most 1e5 */
	const char *isotope;        /* name, or a file that describes it; NULL: two photons a decay */
	double half_life_s;         /* without isotope: half-life of the activity; 0: it does not decay */
	bool positron_range;        /* positrons travel; needs an isotope */
	const char *range_table;    /* file: r in mm, share of positrons within r in water; NULL: the law */
	double acollinearity_deg;   /* FWHM in each of two axes; 0: none */
	const iso_real *eff; /* efficiency by crystal, at most 1: singles are kept with it; NULL: all */
	uint64_t seed;
	double window_kev[2],
		prompt_kev[2]; /* singles; singles that a prompt photon made, and that make no pairs */
	double resolution;     /* FWHM at 511 keV as a share of it */
	double trigger_kev, single_fwhm_ps, dead_ns, pileup_ns, coincidence_ns, delay_ns;
	const enum iso_dead_time *dead_time; /* NULL: the scanner's */
	enum iso_sorter_windows sorter;
	enum iso_multiples multiples;
	/* files of records, .npy; NULL: not wanted. */
	const char *truth, *singles_list, *triples;
	iso_real *singles; /* counts by crystal, to be added to; NULL: not wanted */
	const char *hits;  /* file of what photons left in crystals, on the CPU alone; NULL: not wanted */
	/* the object in place of `mu`: whole numbers on a grid, and the file that tells the matter of each, as
	   `struct iso_crystals` has them; NULL: none */
	const struct iso_array *labels;
	const char *materials;
};

/* What became of the decays, photons, pulses, singles and pairs of a scan. */
struct iso_activity_counts {
	size_t size; /* size of this struct, set by the caller */
	int64_t decays, positrons, escaped;
	int64_t photons, met, interacted;                 /* emitted; met a module; interacted in one */
	int64_t left, in_crystals, in_passive, in_object; /* where they ended; in_passive: cover, gap */
	int64_t joined;                                   /* photons with more deposits than are kept apart */
	int64_t pulses, piled, below_trigger, dead, inefficient, outside_window, singles, in_prompt_window;
	int64_t groups[4]; /* by singles in a window: 1, 2, 3, more */
	int64_t prompts, delayeds, triples;
	int64_t trues, scatters, randoms, with_prompt, piled_pairs; /* the prompts, by kind */
	double highest_kev;                                         /* energy of the photons of the isotope */
};

/* The whole scan, in memory that does not grow with it. `prompts` and `delayeds` (NULL: nobody) see the events piece by
   piece, with crystals and times, in the order in which their windows open; a failure of theirs ends the scan. The same
   seed gives the same events for every number of threads, and of ranks, which all make all of it, and on each device.
   `counts` may be NULL. */
ISO_CHECKED int iso_activity_scan(struct iso_activity_counts *counts, iso_ctx *ctx,
                                  const struct iso_activity_scan *p, iso_emit_fn prompts, void *prompts_arg,
                                  iso_emit_fn delayeds, void *delayeds_arg);

/* The memory that it takes. */
void iso_activity_scan_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_activity_scan *p);

ISO_END_C
#endif
