/* SPDX-License-Identifier: BSD-3-Clause */
/* When events of a scan happen, while the activity decays. */
#ifndef ISO_SCAN_TIME_H
#define ISO_SCAN_TIME_H

#include "core/philox.h"

/* A rate exp(-lambda t) over 0 <= t <= duration; lambda 0: constant. Units are the caller's. */
struct scan_rate {
	double lambda, duration;
};

/* Share of the events before t, and the time before which a share u comes. */
double iso_scan_share(const struct scan_rate *r, double t);
double iso_scan_when(const struct scan_rate *r, double u);

/* n times between `from` and `to`, in order, as many independent ones would be. */
void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw);

/* mean of rate^2 / (mean rate)^2 over the scan: randoms over those of a constant rate. */
double iso_scan_pile_up(const struct scan_rate *r);

#endif
