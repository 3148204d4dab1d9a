/* SPDX-License-Identifier: BSD-3-Clause */
/* The response of a crystal to photons that fly along a line: how well it records them, by angle and energy, and how far its
   lines lie from its nominal point. Model ray lays several lines an event by it, and weighs pairs of crystals.

   Threads: a table is not written after it was made or read; any number of threads may use it. */
#ifndef ISOTOME_RESPONSE_H
#define ISOTOME_RESPONSE_H

#include "isotome/grid.h"
#include "isotome/memory.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* A table over the directions in which photons meet a module: phi from its normal round the axis, theta along the axis. */
typedef struct iso_response iso_response;

struct iso_response_info {
	size_t size;     /* size of this struct */
	int64_t photons; /* photons that made the table */
	int64_t records; /* photons that a crystal of the module recorded */
	double window_kev[2];
	double area_mm2; /* D_0: effective area of the mean crystal for photons along the normal */
	double depth_mm; /* mean depth of their first deposit; 0: not known */
	double chi2;     /* how well smooth curves fit the areas: chi-square over the degrees of freedom */
	int64_t joined; /* histograms of offsets that were joined with those of neighbours, having fewer than 400 counts */
	char scanner[17]; /* hash of the scanner's crystals */
};

/* From an HDF5 file, and into one. ISO_EARG where this build has no HDF5. sidecar: text of the .json beside it; NULL: none. */
ISO_CHECKED int iso_response_read(iso_response **r, const char *path);
ISO_CHECKED int iso_response_write(const char *path, const iso_response *r, const char *sidecar);
ISO_CHECKED int iso_response_write_check(const char *path, bool force); /* before it is computed */
void iso_response_free(iso_response *r);
ISO_CHECKED int iso_response_describe(struct iso_response_info *info, const iso_response *r);

/* ISO_EINPUT unless the table was made for a scanner with the same crystals. */
ISO_CHECKED int iso_response_fits(const iso_response *r, const iso_scanner *s);

/* Effective area of the mean crystal in mm^2, for photons of an energy (keV, 300 to 511) that fly in a direction (degrees);
   NaN of NULL. */
double iso_response_area(const iso_response *r, double kev, double phi_deg, double theta_deg);

/* Nodes of offsets, mm: means of p = 3, 5 or 7 equal shares of the offsets of a crystal across the line, along u (round the
   axis) or v (along it), for a direction with phi and theta of either sign. place: the
   crystal's place in its block, along t and z. layer: its layer. */
ISO_CHECKED int iso_response_nodes(double *u, double *v, const iso_response *r, int p, const int64_t place[2],
                                   int64_t layer, double phi_deg, double theta_deg);

/* The table of a scanner with a detector, by Monte Carlo: parallel photons on one module, all others in place, and what that module
   records. */
struct iso_response_make {
	size_t size; /* size of this struct */
	const iso_scanner *scanner;
	int64_t photons;  /* photons of 511 keV over all directions; 0: 2e8, on CUDA 2e9 */
	bool no_energies; /* 511 keV alone: not for scatter */
	uint64_t seed;
};

/* The same bits for any number of threads, and on both devices. Each rank makes its own. */
ISO_CHECKED int iso_response_create(iso_response **r, iso_ctx *ctx, const struct iso_response_make *p);
ISO_CHECKED int iso_response_plan(struct iso_plan *plan, const iso_ctx *ctx,
                                  const struct iso_response_make *p);

ISO_END_C
#endif
