/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories of a simulation without photon physics on the host: their tables, times and loops. */
#ifndef ISO_HISTORY_H
#define ISO_HISTORY_H

#include "history_kern.h"

/* ---- when events happen, while the activity decays ---- */

/* A rate exp(-lambda t) over 0 <= t <= duration; lambda 0: constant. Units are the caller's. */
struct scan_rate {
	double lambda, duration;
};

/* Share of the events before t, and the time before which a share u comes. */
double iso_scan_share(const struct scan_rate *r, double t);
double iso_scan_when(const struct scan_rate *r, double u);

/* The millisecond of a time, as events have it. */
static inline uint32_t scan_ms(double time_s)
{
	return (uint32_t)(1e3 * time_s);
}

/* n times between `from` and `to`, in order, as many independent ones would be. */
void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw);

/* mean of rate^2 / (mean rate)^2 over the scan: randoms over those of a constant rate. */
double iso_scan_pile_up(const struct scan_rate *r);

/* ---- what histories draw from ---- */

/* mu NULL: nothing attenuates. ISO_EINPUT if a value is negative or not finite. */
int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu);

#define HISTORY_BATCH 64

/* Histories first, first + 1, ... until `want` >= 1 of them gave an event, or HISTORY_BATCH ran: how many events,
   in order, and *run, how many histories. */
int64_t iso_history_batch(struct iso_hit *hit, int64_t want, const struct iso_histories *h,
                          enum iso_history_kind kind, uint64_t first, int64_t *run);

#endif
