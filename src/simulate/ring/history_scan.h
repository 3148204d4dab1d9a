/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories without photon physics on CUDA: their tables there, and their events. */
#ifndef ISO_HISTORY_SCAN_H
#define ISO_HISTORY_SCAN_H

#include "history_kern.h"
#include "photon_scan.h"

struct iso_history_scan {
	struct iso_histories device; /* with pointers of the context's device */
	iso_ctx *ctx;                /* NULL: there is no scan */
	struct iso_room room;
	struct photon_event *made, *kept; /* PHOTON_PIECE of them on the device, for those in the making */
};

/* Copies of the tables of h, of a ring of so many crystals, on the context's device, which must be CUDA. */
ISO_C int iso_history_scan_create(struct iso_history_scan *scan, iso_ctx *ctx, const struct iso_histories *h,
                                  int64_t crystals);
ISO_C void iso_history_scan_free(struct iso_history_scan *scan);

/* As iso_photon_scan_events. */
ISO_C int iso_history_scan_events(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                                  enum iso_history_kind kind, int64_t block, int64_t blocks, int64_t first,
                                  int64_t n);

/* Bytes that a scan takes on the device. */
ISO_C void iso_history_scan_plan(struct iso_plan *plan, const struct iso_simulate *p);

#endif
