/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners: where crystals, strips, panels, transducers or barrels of strips are. Lengths are mm, times ps or ns as named.

   Threads: a scanner is not written after it was read; any number of threads may use it. */
#ifndef ISOTOME_SCANNER_H
#define ISOTOME_SCANNER_H

#include "isotome/grid.h"

ISO_BEGIN_C

typedef struct iso_scanner iso_scanner;

/* How well crystals count, and pairs of them: what a norm knows (iso_norm_factors), for those who ask. */
struct iso_pair_factors {
	size_t size;           /* size of this struct */
	const double *crystal; /* efficiency of each; NULL: 1 */
	double (*factor)(const void *arg, int64_t a,
	                 int64_t b); /* what a pair has besides its crystals; NULL: 1 */
	const void *arg;
	double most; /* no factor is above */
};

enum iso_scanner_kind { ISO_CYLINDER, ISO_DETECTORS, ISO_STRIPS, ISO_PANELS, ISO_TRANSDUCERS, ISO_BARREL };

/* From a YAML or JSON description, or a CASToR .hscan with its .lut beside it, or a CASToR .geom. */
ISO_CHECKED int iso_scanner_read(iso_scanner **s, const char *path);
void iso_scanner_free(iso_scanner *s);

/* What the description says; valid as long as the scanner. */
enum iso_scanner_kind iso_scanner_kind(const iso_scanner *s);
const char *iso_scanner_name(const iso_scanner *s);
const char *iso_scanner_note(const iso_scanner *s); /* what was taken otherwise than the file says; "" */
bool iso_scanner_assumed(const iso_scanner *s);     /* of no file: its name says what was assumed */
int64_t iso_scanner_crystals(const iso_scanner *s);
const double *iso_scanner_positions(const iso_scanner *s);  /* (crystals, 3), mm */
double iso_scanner_tof_fwhm_ps(const iso_scanner *s);       /* 0: no time of flight */
double iso_scanner_tof_bin_ps(const iso_scanner *s);        /* 0: times are not binned */
double iso_scanner_coincidence_ns(const iso_scanner *s);    /* tau of |t1 - t2| <= tau; 0: not said */
const double *iso_scanner_crystal_mm(const iso_scanner *s); /* tangential, axial, depth; NULL:
								   not said */
int64_t iso_scanner_pairs(const iso_scanner *s);            /* crystal pairs in coincidence */

/* Crystals a and b of pair number i, 0 <= i < iso_scanner_pairs. */
void iso_scanner_pair(int64_t *a, int64_t *b, const iso_scanner *s, int64_t i);

/* Nearest crystal to a point, and its distance; -1 of NULL. */
int64_t iso_scanner_nearest(double *distance, const iso_scanner *s, const double p[3]);

/* Weight of a pair besides efficiencies: 1, or the solid angle that the two faces share
   (description key pair_weight). */
double iso_scanner_pair_weight(const iso_scanner *s, const double p1[3], const double p2[3]);

/* The field of view as a grid, for an image without a given grid. Sizes and voxels of *g that are above 0
   stay. The function chooses sizes and voxels that are 0. Across, the grid is the square around the circle that
   crystal pairs see, less a tenth of the radius. Along z, it reaches from the first crystal to the last. Voxels
   are cubes of about half a crystal (one crystal for an assumed scanner), at most 400 across and 4e7 in all.
   For two heads it is the grid of the description. Its centre is the scanner's. ISO_EARG if there are no
   crystals. */
ISO_CHECKED int iso_scanner_grid(struct iso_grid *g, const iso_scanner *s);

ISO_END_C
#endif
