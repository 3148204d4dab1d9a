/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program uses of a ring's scan beside the public functions. */
#ifndef ISO_RING_SCAN_H
#define ISO_RING_SCAN_H

#include "isotome.h"

/* iso_simulate_singles for randoms that a scan told: randoms_per_pair of struct iso_simulated. */
int iso_simulate_singles_of(iso_real *singles, const struct iso_simulate *p, double randoms_per_pair);

#endif
