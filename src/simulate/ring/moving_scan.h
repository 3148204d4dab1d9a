/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays of an object that moves on CUDA: their tables there, and the hits of blocks. */
#ifndef ISO_MOVING_SCAN_H
#define ISO_MOVING_SCAN_H

#include "history_scan.h"
#include "moving.h"

struct iso_moving_scan {
	struct moving_object device; /* with pointers of the context's device */
	struct iso_room room;
};

/* Copies of the tables of m on the context's device, which must be CUDA. */
int iso_moving_scan_create(struct iso_moving_scan *scan, iso_ctx *ctx, const struct iso_moving *m);
void iso_moving_scan_free(struct iso_moving_scan *scan);

/* The histories of a block, on the host: number i is at place[of[i]]. */
struct moving_list {
	const struct moving_place *place;
	const uint32_t *of;
	int64_t block, n, places;
};

/* Function of libisotome_cuda.so: the events of a list, in the order of the histories, whose numbers in the list they have. */
#define ISO_MOVING_EVENTS_CUDA "iso_moving_events_cuda"
typedef int iso_moving_events_fn(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                                 const struct moving_object *object, enum iso_history_kind kind,
                                 const struct moving_list *list);

/* The decays of one kind of a simulation. */
struct moving_decays {
	const struct iso_moving *moving;
	const struct iso_moving_scan *scan;
	const struct iso_history_scan *histories;
	enum iso_history_kind kind;
	/* times in order of the h->limit decays of block h->block */
	void (*times)(double *t, const void *arg, int kind, const struct photon_hits *h);
	const void *arg;
};

/* All hits of blocks h[0..n-1], with their times, by the device. */
int iso_moving_hits_device(struct photon_hits *h, int n, iso_ctx *ctx, const struct moving_decays *d);

/* *array, of items of that size, with room for n. false: there is no memory, and nothing has changed. */
bool iso_scan_grow(void *array, size_t item, int64_t n);

/* One more hit. false: there is no memory. */
bool iso_moving_add(struct photon_hits *h, const struct iso_hit *hit, double time_s);

#endif
