/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the simulation share. */
#ifndef ISO_SIMULATE_H
#define ISO_SIMULATE_H

#include "scan_time.h"
#include "scanner/scanner.h"

/* How far apart two photons may arrive: the longest flight path there is, |dt| <= window. */
double iso_simulate_window_ps(const iso_scanner *s);

/* Expected randoms over the scan of a pair of crystals of efficiency 1. */
int iso_simulate_randoms_per_pair(double *r, const struct iso_simulate *p);

/* The activity over the scan, or a power of it. Without a duration the scan lasts 1. */
struct scan_rate iso_simulate_rate(const struct iso_simulate *p, int power);

#endif
