/* SPDX-License-Identifier: BSD-3-Clause */
/* Two panels: dual-head PET, its geometry, LORs, attenuation and randoms. Lengths are mm, energies keV,
   times ns. */
#ifndef ISOTOME_PANELS_H
#define ISOTOME_PANELS_H

#include "isotome/array.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* Which deposits are summed before the energy window: those in a head, a block, or a crystal. */
enum iso_readout { ISO_READ_HEAD, ISO_READ_BLOCK, ISO_READ_CRYSTAL };

/* Two alike heads that face each other: y is normal to them, the upper one at +y; x and z lie in
   the head. A crystal is centred in its pitch cell. Layer 0 faces the object. */
struct iso_panels {
	int crystals[2];   /* x, z of each head */
	double pitch[2];   /* mm: x, z */
	double crystal[3]; /* mm: x, z, and the depth of the whole head, shared by the layers */
	double gap;        /* mm, face to face */
	int layers;
	int block;                     /* crystals an axis of a readout block */
	char formula[64];              /* of the crystal */
	double density;                /* g/cm^3 */
	double resolution;             /* FWHM at 511 keV, as a share of it */
	double window[2];              /* keV */
	double time_fwhm, coincidence; /* ns */
	enum iso_readout readout;
	int per_pitch[2]; /* voxels: x, z */
	int planes;       /* planes of voxels along y; the stack is centred */
	double plane;     /* mm: thickness of one */
};

/* The panels of a scanner of the kind ISO_PANELS; NULL for another kind. */
const struct iso_panels *iso_scanner_panels(const iso_scanner *s);

/* Its image: crystals * per_pitch voxels in x and z, `planes` in y. */
void iso_panels_grid(struct iso_grid *g, const struct iso_panels *p);

/* LORs: layers^2 crystals^4, index ((((a L + b) Ncx + ux) Ncz + uz) Ncx + lx) Ncz + lz, upper
   crystal first; a, b are the layers of the upper and the lower one. */
int64_t iso_panels_lors(const struct iso_panels *p);

/* Photon transport between two panels, for matrices and simulated scans; all zero is the default. */
struct iso_transport_options {
	int extended[2];  /* crystals an axis, x and z, of larger heads; 0: the scanner's */
	bool centroid;    /* a hit's crystal holds the mean of the deposits, weighted by energy;
				   else it has the largest */
	bool first_layer; /* a hit's layer is that of the first interaction */
	bool no_rayleigh, no_reentry;
	bool acollinearity;   /* 0.5 degrees FWHM */
	const char *positron; /* with the range in water of F-18, C-11, O-15 or Ga-68; NULL: none */
	uint64_t seed;
};

/* Attenuation of each LOR: exp(-sum of chord x mu) between the middles of its crystals. */
ISO_CHECKED int iso_panels_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_panels *p,
                                       const struct iso_array *mu);

/* Mean randoms of each LOR from its delayed coincidences d, as a product of crystal rates (the most
   likely one), for each pair of layers: (sum over l of d_ul) (sum over u of d_ul) / sum of d. */
ISO_CHECKED int iso_panels_randoms(iso_real *r, const struct iso_panels *p, const iso_real *delayed);

/* ---- normalisation ---- */

/* What each LOR measured of a flat source over what an ideal scanner would have, as plain ratios or as a
   product of crystal efficiencies. */

#define ISO_NORM_FEW 1000 /* counts of a crystal: its efficiency is known to 3 % */

struct iso_norm_options {
	size_t size;     /* size of this struct */
	bool per_lor;    /* plain ratios, each as noisy as its counts */
	bool directions; /* with the crystals, a factor for each |l - u| of each two layers */
	bool relative;   /* the expected counts have no scale: over the living LORs, weighted
				   by them, n is 1 on average */
};

/* `mean` to `noise` are of living crystals' efficiencies or, per LOR, of n above 0. */
struct iso_norm_figures {
	size_t size;                      /* size of this struct, set by the caller */
	double counts, expected;          /* sums over all LORs */
	double stray;                     /* counts in LORs or crystals without expected counts */
	int64_t dead[2];                  /* crystals of the upper and lower head with c = 0 */
	int64_t unseen[2];                /* dead ones without expected counts: not known */
	int64_t few;                      /* living crystals with less than ISO_NORM_FEW counts */
	double fewest;                    /* counts of a living crystal */
	int64_t dead_lors;                /* n = 0 */
	double mean, spread, least, most; /* spread: standard deviation over mean */
	double noise;                     /* the part of the spread that counts alone explain */
	double misfit;                    /* chi-square over its degrees of freedom; 0: not known */
	int iterations;
};

/* n of each LOR (iso_panels_lors), from measured counts y and expected ones e; n may be y. What
   expects nothing has n = 0: per LOR the LOR, else the crystal, since expected counts from a
   simulation may well miss single LORs. `efficiency`: one a crystal, in the order of their ids
   (both heads have the same mean), or NULL. ISO_EINPUT: negative or not finite values, no counts, or more
   than 1 % of them stray. */
ISO_CHECKED int iso_panel_norm(iso_real *n, double *efficiency, struct iso_norm_figures *f, iso_ctx *ctx,
                               const struct iso_panels *p, const iso_real *y, const iso_real *e,
                               const struct iso_norm_options *o);

ISO_END_C
#endif
