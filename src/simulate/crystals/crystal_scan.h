/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays through the crystals of a scanner: their coincidences, or all their deposits. */
#ifndef ISO_CRYSTAL_SCAN_H
#define ISO_CRYSTAL_SCAN_H

#include "crystal_scan_kern.h"
#include "physics/transport/crystal.h"

enum {
	CRYSTAL_PIECE = 1 << 23, /* decays of a launch on CUDA; a round of the CPU has 1/16 of it */
	CRYSTAL_ROOM = 1 << 21,  /* coincidences of a launch; a piece that has more is halved */
};

struct iso_crystal_scan {
	struct crystal_scan device; /* with pointers of the context's device */
	iso_ctx *ctx;
	struct iso_room room;
	struct crystal_scan *on_device; /* on CUDA: room for the same */
	/* on CUDA: events as they come, their numbers, the same in order */
	struct crystal_event *made, *kept;
	uint32_t *number, *slot;
	uint32_t *may; /* decays of a launch of a lazy scan that may have one */
	void *temp;
	int64_t temp_bytes;
	int64_t *
		count; /* (2 + CRYSTAL_COUNTS): events, decays of `may`, and what crystal_scan_kern.h counts */
};

/* For decays of s->activity, or of the point `at` where there is none, with one photon of prompt_kev more (0: none). */
ISO_C int iso_crystal_scan_create(struct iso_crystal_scan *scan, iso_ctx *ctx,
                                  const struct crystal_setting *s, const double at[3], double prompt_kev);
ISO_C void iso_crystal_scan_free(struct iso_crystal_scan *scan);
ISO_C void iso_crystal_scan_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct crystal_setting *s);

/* Follows the second photon only where a pair may come of it: the same pairs; photons, singles and
   fates are not counted then. */
ISO_C void iso_crystal_scan_lazy(struct iso_crystal_scan *scan, const struct iso_modules *m);

/* Coincidences of decays first to first + n - 1, n <= CRYSTAL_PIECE, in their order; e has room for n. count[] is added to.
   This process alone: ranks call it for decays of their own. */
ISO_C int iso_crystal_scan_events(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                                  const struct iso_crystal_scan *scan, uint64_t first, int64_t n);

/* The same of the ranks together: all get all events. */
ISO_C int iso_crystal_scan_round(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                                 const struct iso_crystal_scan *scan, uint64_t first, int64_t n);

/* All deposits of decays first to first + n - 1, in their order, in memory that is grown: free *d. On the CPU. */
ISO_C int iso_crystal_scan_deposits(struct deposit **d, int64_t *found, int64_t *room,
                                    int64_t count[CRYSTAL_COUNTS], const struct iso_crystal_scan *scan,
                                    uint64_t first, int64_t n);

/* Units and places of the crystals, in the room. */
ISO_C int iso_crystal_map(struct pulse_map *map, struct iso_room *room, const struct iso_modules *m);

#endif
