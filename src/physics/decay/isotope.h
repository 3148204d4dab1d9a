/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotopes: half-life, positron branches, and what is emitted with them. */
#ifndef ISO_ISOTOPE_H
#define ISO_ISOTOPE_H

#include "decay_kern.h"

/* Positrons up to an endpoint, 0: electron capture; with it photons that leave at the same instant. */
struct isotope_branch {
	double share, endpoint_kev;
	double line_kev[DECAY_LINES]; /* up to the first 0 */
};

struct isotope {
	char name[16];
	double half_life_s;
	int z, a; /* daughter: atomic number, mass number */
	struct isotope_branch
		branch[DECAY_BRANCHES]; /* up to the first of share 0; what is left of 1 emits nothing */
	/* a photon of an isomer that lives for seconds: in no coincidence with its own decay but by chance */
	double later_share, later_kev;
};

/* NULL: not known. */
const struct isotope *iso_isotope_of(const char *name);

/* A name of the table, or a description: name, half_life_s, daughter, branches, later (docs/simulation.md). */
int iso_isotope_read(struct isotope *i, const char *name_or_file);

/* Positrons a decay. */
double iso_isotope_branching(const struct isotope *i);

/* Photons of this energy a decay, within 0.5 keV, later ones too. */
double iso_isotope_line(const struct isotope *i, double kev);

/* Table of decays of an isotope; NULL: of pairs alone, at rest. range: positrons travel; angle_deg: acollinearity, FWHM in each of two axes, 0: none. */
struct decay_setting {
	bool range;
	double angle_deg;
	const char
		*range_table; /* file of r in mm and share of positrons within r, in water; NULL: the law */
};

int iso_decay_make(struct decay_table *t, const struct isotope *i, const struct decay_setting *s);

/* Mean energy of the positrons of a branch, keV. */
double iso_decay_mean_kev(const struct decay_table *t, int branch);

#endif
