/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated scans: events of an image in a scanner. Lengths are mm, times ps and s as named.

   Threads: a simulation uses its context's threads; `emit` is called on the caller's. */
#ifndef ISOTOME_SIMULATE_H
#define ISOTOME_SIMULATE_H

#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/memory.h"
#include "isotome/gates.h"
#include "isotome/motion.h"
#include "isotome/warp.h"
#include "isotome/panels.h"
#include "isotome/rates.h"

ISO_BEGIN_C

enum { ISO_ORDER_RANDOM = 255, ISO_ORDERS = 8 };

/* What events are: `order` has for each of the n that `emit` sees next how often both photons together were scattered;
   ISO_ORDER_RANDOM: a random. A failure ends the simulation. */
typedef int (*iso_truth_fn)(void *arg, const uint8_t *order, int64_t n);

/* What a simulation by photons found. */
struct iso_simulated_photons {
	size_t size;                        /* size of this struct */
	int64_t by_order[ISO_ORDERS];       /* events by scatters; the last: as many or more */
	double decays_per_s, singles_per_s; /* with by_rate: rates of the scan, and of all crystals */
	double randoms_expected;            /* with by_rate */
};

struct iso_simulate {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	const struct iso_array *activity; /* any scale: decays per volume */
	const struct iso_array *mu;       /* NULL: no attenuation */
	const iso_real *eff;              /* efficiency per crystal, any scale; NULL: all alike */
	double counts;                    /* expected prompts */
	bool exact_counts;                /* exactly that many instead of a Poisson number */
	double randoms;                   /* share of the prompts */
	double bent;         /* share of them with one photon deflected: a stand-in for scatter */
	bool delayed;        /* delayed coincidences instead of prompts: as many as the
					   prompts have randoms, independent of them */
	double tof_fwhm_ps;  /* 0: dt is written as 0 */
	double duration_s;   /* 0: events have no times */
	double half_life_s;  /* of the activity over the scan; 0: it does not decay */
	const char *isotope; /* for the events to tell; NULL: not said */
	uint64_t seed;
	bool physics; /* follow photons through the object, which `mu` describes, and count them by energy, so that
				   scatter is included */
	double decays; /* with physics: expected decays instead of counts; exact_counts: exactly; 0: counts */
	bool by_rate;  /* with physics: randoms from the rate of singles, instead of a share of the prompts;
				   needs duration_s and the scanner's coincidence window */
	double window_kev[2]; /* energy window; 0, 0: the scanner's */
	double resolution;    /* FWHM at 511 keV as a share of it; 0: the scanner's */
	bool rayleigh;        /* with physics: also Rayleigh scatter */
	iso_truth_fn truth;   /* NULL: nobody asks */
	void *truth_arg;
	struct iso_simulated_photons *photons; /* filled at the end; NULL: nobody asks */
	/* How the object moves; NULL: it is at rest. `activity` and `mu` are those of the object, in its own axes. The
	   number of decays a second is that of an object at rest, and the number of events follows the pose. Where a
	   pose is not known the last known one holds. It needs duration_s, runs with `physics` on the CPU alone, and
	   does not go with exact_counts. */
	const struct iso_motion_parts *motion;
	const struct iso_array
		*mu_fixed; /* with motion, without physics: attenuation in place, 1/mm; NULL: none */
	/* How the object changes its shape; NULL: it keeps it. In gate g it is W_g activity and W_g mu, at times of no gate
	   the object itself. `warp` has one per gate. The number of events follows the activity of the gate. It needs
	   duration_s, runs on the CPU alone, and does not go with physics and exact_counts. */
	const iso_gates *gates;
	const struct iso_warp *warp;
	const double *time_offset_ps; /* of each crystal: o_1 - o_2 is added to every t1 - t2; NULL: none */
	const double *
		crystal_fwhm_ps; /* resolution of two crystals like this one, in place of tof_fwhm_ps; NULL */
	/* Coincidences of all kinds within this time of the last one that was counted (ISO_PARALYSABLE: of the last one) are
	   lost. Delayeds are lost where the prompts' dead time is on, and cause none. It needs duration_s; `counts` are
	   those before the loss. 0: none */
	double dead_time_s;
	enum iso_dead_time dead_time;
	/* Events of all kinds are thinned by its factors, over the largest, before the dead time; its efficiencies are not
	   looked at: they are `eff`. `counts` are those before. It is asked on the caller's thread. NULL: none */
	const struct iso_pair_factors *pairs;
};

struct iso_simulated {
	size_t size;                      /* size of this struct, set by the caller */
	int64_t trues, scatters, randoms; /* scatters: bent, or by physics */
	double decays;                    /* that gave the trues and scatters, and all that no crystal saw */
	double window_ps;                 /* randoms are uniform over |dt| <= window */
	double randoms_per_pair;          /* expected, for --additive without TOF; with efficiencies and
					   factors of pairs, of a pair that has 1 of both: others have as many times that */
	double randoms_per_pair_mm;       /* and with unbinned TOF */
	int64_t lost;    /* to the dead time; trues, scatters and randoms are those before the loss */
	int64_t thinned; /* by the factors of pairs; trues, scatters and randoms are those before */
};

/* Emission points from the image, isotropic directions, photons binned into crystals; events have
   crystal numbers, and with a duration their times, in order. The same seed gives the same events
   for every number of threads, and of ranks, which share the work and get all events each, on the context's device,
   the same events on each. */
ISO_CHECKED int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx,
                             const struct iso_simulate *p);

/* The same list piece by piece, in memory that does not grow with it: `emit` sees each piece in
   turn, on the calling thread, and stops the simulation by returning a failure. */
typedef int (*iso_emit_fn)(void *arg, const struct iso_events *piece);
ISO_CHECKED int iso_simulate_blocks(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p,
                                    iso_emit_fn emit, void *arg);

/* The memory that it takes, without the list of iso_simulate. */
void iso_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_simulate *p);

/* Singles per crystal over the scan that give these randoms within window_ps, Poisson numbers. */
ISO_CHECKED int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p);

/* ---- two panels, by photon transport ---- */

struct iso_panel_simulate {
	size_t size;                            /* size of this struct */
	const iso_scanner *scanner;             /* of two panels */
	const struct iso_array *activity;       /* on a grid, any scale: decays per volume */
	struct iso_transport_options transport; /* and the seed */
	double counts;                          /* expected events, randoms among them */
	double decays;                          /* expected decays instead; 0: as many as the counts need */
	bool exact;                             /* exactly these numbers, instead of Poisson numbers */
	double randoms;                         /* share of the events, below 1 */
	bool by_rate;                           /* randoms from the rates instead: needs duration_s and the
						   scanner's coincidence window */
	double duration_s;
	const struct iso_array *mu; /* attenuation of the object, 1/mm, on a grid of its own; NULL: none */
	bool rayleigh;              /* Rayleigh scatter in the object, too */
	iso_truth_fn
		truth; /* gets the number of scatters in the object of each event that `emit` sees; NULL: not
   wanted */
	void *truth_arg;
	/* An object, a bed or heads that move; NULL: all is at rest. On the CPU alone. It needs duration_s, and excludes
	   `exact` and randoms; events have times then. While a row of the gantry is not known nothing is measured. */
	const struct iso_motion_parts *motion;
	double half_life_s; /* with `motion`: decay over the scan; 0: none */
};

struct iso_panel_simulated {
	size_t size;                    /* size of this struct, as the library has it */
	int64_t expected;               /* events to come, before they are made; 0: decays decide */
	int64_t trues, randoms, decays; /* made so far */
	double share;                   /* of randoms among the events */
	double decays_per_s, singles_upper_per_s, singles_lower_per_s; /* with by_rate */
	int64_t histograms; /* that iso_panel_simulate_events fills, one behind the other: known rows of the gantry */
};

typedef struct iso_panel_scan_run iso_panel_scan_run;

/* The tables of a scan, and how many events of each kind it will have; copies the activity. */
ISO_CHECKED int iso_panel_simulate_open(iso_panel_scan_run **run, iso_ctx *ctx,
                                        const struct iso_panel_simulate *p);
void iso_panel_simulate_free(iso_panel_scan_run *run);
const struct iso_panel_simulated *iso_panel_simulate_info(const iso_panel_scan_run *run);

/* Coincidences of one decay so far, by the scatters of both photons in the object; the last: as many or more. */
ISO_CHECKED int iso_panel_simulate_orders(int64_t by_order[ISO_ORDERS], const iso_panel_scan_run *run);
void iso_panel_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_panels *p,
                             int64_t voxels, bool list);

/* Adds the events to a histogram (iso_panels_lors), with a gantry to that of the row at their time, and sends them to `emit` (NULL: to nobody), as
   iso_simulate_blocks does: crystals and their places, trues with randoms evenly between them. With several
   ranks each rank simulates its share of the decays, and gets and sends all events. */
ISO_CHECKED int iso_panel_simulate_events(iso_real *lors, iso_panel_scan_run *run, iso_emit_fn emit,
                                          void *arg);

/* After them, as many delayed coincidences as there are randoms (a Poisson number of the same mean
   unless `exact`), independent of them. */
ISO_CHECKED int iso_panel_simulate_delayed(iso_real *lors, int64_t *n, iso_panel_scan_run *run);

/* A zeroed histogram of LORs: (Ncx, Ncz, Ncx, Ncz), upper crystal first; with layers two axes more. */
ISO_CHECKED int iso_panel_histogram(struct iso_array *lors, const struct iso_panels *p);

/* Absolute sensitivity: the share of the decays at a point that a readout and window record. */
struct iso_panel_reading {
	enum iso_readout readout;
	double window[2]; /* keV */
	double share,
		error; /* set by iso_panel_sensitivity: the share of `pairs` decays, and its standard error */
};

enum { ISO_PANEL_READINGS = 16 };

/* All readings of the same photons; at most ISO_PANEL_READINGS. o may be NULL: the usual. */
ISO_CHECKED int iso_panel_sensitivity(struct iso_panel_reading *r, int n, iso_ctx *ctx,
                                      const struct iso_panels *p, const struct iso_transport_options *o,
                                      const double at[3], int64_t pairs);
void iso_panel_sensitivity_plan(struct iso_plan *plan, const iso_ctx *ctx);

/* Decays in an ideal ring, for benchmarks: a uniform cylinder of radius 150 mm along the whole
   ring has 70 %, each of three lines along z, 60 mm off the axis and 120 degrees apart, 10 %. */
struct iso_ring {
	double radius, length; /* mm; radius at least 160 */
	double tof_fwhm_ps;    /* 0: exact times */
	uint64_t seed;
};

/* Events first to first + n - 1 with both ends on the ring, into host memory. Event i depends on
   the seed and i alone: any split gives the same events. */
ISO_CHECKED int iso_ring_events(struct iso_event *e, iso_ctx *ctx, const struct iso_ring *p, int64_t first,
                                int64_t n);

ISO_END_C
#endif
