/* SPDX-License-Identifier: BSD-3-Clause */
/* A norm where a scanner is used: in reconstruction and simulation. */
#ifndef ISO_NORM_SCANNER_H
#define ISO_NORM_SCANNER_H

#include "isotome/norm.h"

/* Efficiencies of crystals, and factors of pairs as the scanner's own, whose place they take; none where all are 1. */
int iso_norm_to_scanner(iso_real *eff, iso_scanner *s, const iso_norm *n);

#endif
