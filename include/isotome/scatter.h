/* SPDX-License-Identifier: BSD-3-Clause */
/* Scattered coincidences of PET rings: how many each pair of crystals is expected to see, by time of flight, from
   the activity image, the attenuation map and the scanner, in absolute counts. Lengths are mm, energies keV.

   The table holds h_i(u), the scattered coincidences of pair i per mm of u for crystals of efficiency 1;
   u = c (t1 - t2) / 2 is mm from the middle of the line towards end 2. Expected counts are eta_i g_i h_i(u): eta_i
   the efficiency of the pair, g_i = 1 where the scanner's pairs are weighted by solid angle, else 1 / W_i with the
   solid-angle weight W_i. docs/scatter.md has the formulas.

   Threads: a table serves several threads that read; an estimate uses its context's threads. */
#ifndef ISOTOME_SCATTER_H
#define ISOTOME_SCATTER_H

#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/memory.h"

#include "isotome/response.h"

ISO_BEGIN_C

enum iso_scatter_method {
	ISO_SCATTER_SSS_MC, /* single scatter by formula, multiple by Monte Carlo as a smooth ratio to it */
	ISO_SCATTER_SSS,    /* single scatter by formula alone (Watson 1996; with time of flight 2007) */
	ISO_SCATTER_MC,     /* all orders by Monte Carlo, smoothed as a ratio to the formula */
};

struct iso_scatter {
	size_t size; /* size of this struct */
	enum iso_scatter_method method;
	const iso_scanner *scanner;    /* whose crystals lie near a cylinder about z */
	const struct iso_array *image; /* f as model ray makes it: counts per mm of chord of the scan */
	const struct iso_array *mu;    /* 1/mm at 511 keV, on a grid of its own */
	double tof_fwhm_ps;            /* 0: without time of flight, h is the integral over u */
	double window_kev[2];          /* energy window; 0, 0: the scanner's */
	double resolution;             /* FWHM at 511 keV as a share of it; 0: the scanner's */
	double block_mm; /* side of a scatter point's block; 0: by object and time of flight, cut at the surface
   */
	int64_t detectors;   /* sample detectors per ring; 0: 60, or 30 for long scanners */
	double ring_step_mm; /* largest distance of sample rings; 0: 20, or 40 for long scanners */
	int64_t histories;   /* decays of the Monte Carlo; 0: as many as `error` needs */
	double error;        /* statistical error asked for, a share of the scatter; 0: 0.01 */
	bool extend;         /* the last planes of image and map go on beyond their ends */
	uint64_t seed;
	double beyond_mm; /* sample rings go on so far beyond the first and the last one, for lines of events that were
	                     moved; 0: to these rings */
	/* What the scanner's crystals make of photons by energy and direction, in place of an ideal surface whose efficiency
	   window_kev and resolution give; borrowed as long as the table lives. NULL: the surface. */
	const iso_response *response;
};

struct iso_scatter_info {
	size_t size;                             /* size of this struct */
	int64_t points, detectors, rings, cells; /* scatter points; samples a ring; sample rings; u cells */
	int64_t pairs;                           /* of sample detectors */
	int64_t histories;                       /* 0: no Monte Carlo */
	double error, worst_error; /* median and largest, of cells above a tenth of the maximum */
	double multiple;           /* scattered twice or more, over scattered once; 0: not known */
	double outside_matter;     /* share of the activity 9 mm or more from what the map has of matter */
	bool ends_active;          /* activity in the image's first or last plane */
	bool cut;                  /* matter at the transaxial edge of the map */
	double seconds_sss, seconds_mc;
	double block_mm; /* of the scatter points */
};

typedef struct iso_scatter_table iso_scatter_table;

/* The estimate, on the context's device. */
ISO_CHECKED int iso_scatter_create(iso_scatter_table **t, iso_ctx *ctx, const struct iso_scatter *p);
void iso_scatter_free(iso_scatter_table *t);
ISO_CHECKED int iso_scatter_describe(struct iso_scatter_info *info, const iso_scatter_table *t);
ISO_CHECKED int iso_scatter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_scatter *p);

/* h times a number, 0 or above: a balance of counts, a scale that was fitted. */
ISO_CHECKED int iso_scatter_scale(iso_scatter_table *t, iso_ctx *ctx, double by);

/* h of each event: per mm at its u, or, with bin_ps > 0, its integral over the bin of that width around dt_ps. Without
   time of flight the integral over all u. Ends off the cylinder are taken where their line meets it. Bad events: 0. */
ISO_CHECKED int iso_scatter_at(iso_real *h, iso_ctx *ctx, const iso_scatter_table *t,
                               const struct iso_events *e, double bin_ps);

/* Sum over the scanner's pairs of eta g times the integral of h over u: the scattered coincidences of a scan. eff
   has one value per crystal; NULL takes the scanner's, or 1. The sum uses a share of the pairs, 0 < share <= 1,
   evenly spread, by the seed. */
ISO_CHECKED int iso_scatter_sum(double *sum, iso_ctx *ctx, const iso_scatter_table *t, const iso_real *eff,
                                double share, uint64_t seed);

/* The single-scatter formula at the lines of the events themselves, without a table: slow, for tests and study. u: n_u
   places, mm, of every line; n_u = 0: one value a line, the integral. h: (n, max(n_u, 1)). */
ISO_CHECKED int iso_scatter_single(double *h, iso_ctx *ctx, const struct iso_scatter *p,
                                   const struct iso_events *e, const double *u, int64_t n_u);

/* Writes the table to an HDF5 file (.h5): h of every pair of sample detectors at every u, the detectors, their rings, and
   the values of u. ISO_EARG in a build without HDF5. */
ISO_CHECKED int iso_scatter_write(const char *path, const iso_scatter_table *t);

ISO_END_C
#endif
