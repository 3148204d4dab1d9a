/* SPDX-License-Identifier: BSD-3-Clause */
/* Spectra that Isotome knows, and those of tables. */
#ifndef ISO_SPECTRA_H
#define ISO_SPECTRA_H

#include "isotome/unmix.h"

enum {
	SPECTRA_ROWS = 275,
	SPECTRA_COLUMNS = 4, /* HbO2, Hb, water, lipid */
	SPECTRA_FIRST_NM = 450,
	SPECTRA_STEP_NM = 2
};

extern const double spectra_table[SPECTRA_ROWS][SPECTRA_COLUMNS];

#endif
