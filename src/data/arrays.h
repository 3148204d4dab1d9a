/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory, for those who fill them, and events: an array for each thing that is known of them. */
#ifndef ISO_ARRAYS_H
#define ISO_ARRAYS_H

#include "core/loop/deal.h"
#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/strip.h"

/* iso_array_create, with `who` in its messages; memory only with `values`. */
int iso_array_make(struct iso_array *a, const char *who, int n_dim, const int64_t *dim, bool values);

enum { ISO_EVENT_ARRAYS = 7 };

/* Which arrays there are: v, time_ms, count, mult, add, crystal, fwhm_ps. */
struct iso_event_arrays {
	bool wanted[ISO_EVENT_ARRAYS];
};

/* New ones for n events, NULL those that are not wanted. False: no memory, and none is there. */
bool iso_event_arrays_make(struct iso_events *e, int64_t n, struct iso_event_arrays w);

/* Bytes of an event in them. */
int64_t iso_event_arrays_bytes(struct iso_event_arrays w);

/* Event `at` of the arrays of e, as the first. */
struct iso_events iso_events_from(const struct iso_events *e, int64_t at);

/* A copy of the events that a rank has of a list that is dealt to several. */
int iso_events_share(struct iso_events *to, const struct iso_events *from, const struct iso_deal *d);

/* All that `from` holds, to be freed with iso_events_free or iso_strip_events_free. */
int iso_events_copy(struct iso_events *to, const struct iso_events *from);

/* Adds the events of `more` behind those of *e; both have the same arrays, else ISO_EINPUT. Values of the whole file stay
   those of *e. */
int iso_events_append(struct iso_events *e, const struct iso_events *more);
int iso_strip_events_copy(struct iso_strip_events *to, const struct iso_strip_events *from);

#endif
