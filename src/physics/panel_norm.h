/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation of two panels: what each LOR measured of a flat source over what an ideal scanner
   would have, as plain ratios or as a product of crystal efficiencies. */
#ifndef ISO_PANEL_NORM_H
#define ISO_PANEL_NORM_H

#include "isotome.h"

#define ISO_NORM_FEW 1000 /* counts of a crystal: its efficiency is known to 3 % */

struct iso_norm_options {
	bool per_lor;    /* plain ratios, each as noisy as its counts */
	bool directions; /* with the crystals, a factor for each |l - u| of each two layers */
	bool relative;   /* the expected counts have no scale: over the living LORs, weighted
				   by them, n is 1 on average */
};

/* `mean` to `noise` are of living crystals' efficiencies or, per LOR, of n above 0. */
struct iso_norm_figures {
	double counts, expected;          /* sums over all LORs */
	double stray;                     /* counts where none are expected: of LORs, or of crystals */
	int64_t dead[2];                  /* crystals of the upper and lower head with c = 0 */
	int64_t unseen[2];                /* of these, without expected counts: not known */
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
int iso_panel_norm(iso_real *n, double *efficiency, struct iso_norm_figures *f, iso_ctx *ctx,
                   const struct iso_panels *p, const iso_real *y, const iso_real *e,
                   const struct iso_norm_options *o);

#endif
