/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays of an object that moves during the scan. A decay has its time first, then its place in the object; the pose at
   the millisecond of that time takes both photons into the scanner. So a reconstruction, which knows the millisecond,
   uses the very pose. */
#ifndef ISO_MOVING_H
#define ISO_MOVING_H

#include "isotome/simulate.h"
#include "motion/motion.h"
#include "photon_history.h"
#include "moving_kern.h"
#include "photon_scan.h"
#include "states.h"

struct iso_moving {
	iso_motion *motion;        /* NULL: the object is at rest */
	int64_t *known[MOVES];     /* of each row: the row whose pose holds; NULL: each its own */
	struct iso_woodcock fixed; /* in lab axes */
	struct iso_states states;
	iso_poses *still; /* of an object that changes its shape alone; else NULL */
};

/* Where the object is at a millisecond. */
struct moving_pose {
	int64_t ms; /* -1: none yet */
	struct moving_place place;
	struct motion_rows rows;
};

/* Tables that are the identity at all times are no motion: then m->motion is NULL, unless there is a fixed map.
   ISO_EINPUT if a table has no known row. `p->motion` may be NULL. */
int iso_moving_create(struct iso_moving *m, iso_ctx *ctx, const struct iso_simulate *p, double radius,
                      double half);
void iso_moving_free(struct iso_moving *m);

/* The pose at the millisecond of a time; what `at` has already is not looked up again. */
void iso_moving_at(struct moving_pose *at, const struct iso_moving *m, double time_s);

/* What histories run in, with pointers of the host. */
struct moving_object iso_moving_object(const struct iso_moving *m);

/* One history of a kind that is a decay. true: it has an event. */
bool iso_moving_run(struct iso_hit *hit, const struct iso_histories *h, const struct iso_moving *m,
                    const struct moving_pose *at, enum iso_history_kind kind, uint64_t history);

/* The same by photons, whose histories have their kind in their number. */
bool iso_moving_photons(struct photon_event *e, const struct photon_scan *s, const struct moving_pose *at,
                        uint64_t history);

/* One kind of histories, without physics or with it. */
struct moving_kind {
	const struct iso_moving *moving;
	struct scan_rate rate;
	const struct iso_histories *histories; /* NULL: with physics */
	enum iso_history_kind kind;
	const struct photon_scan *photons;
	enum photon_kind pilot;
};

/* Histories that it takes to find `want` events at any time of the scan; histories / want is expected to be
   histories / event, exactly (inverse binomial sampling, Haldane 1945). ISO_EINPUT if `hopeless` of them give none. */
int iso_moving_pilot(int64_t *histories, iso_ctx *ctx, const struct moving_kind *k, int64_t want,
                     int64_t hopeless);

#endif
