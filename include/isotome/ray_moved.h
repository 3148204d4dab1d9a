/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray: several lines an event of an object that moves.

   Threads: operators as in isotome/op.h. */
#ifndef ISOTOME_RAY_MOVED_H
#define ISOTOME_RAY_MOVED_H

#include "isotome/motion.h"
#include "isotome/ray.h"

ISO_BEGIN_C

/* iso_ray_create over events whose ends iso_motion_events has moved, with m and e->time_ms as they were given to it. With
   p->rays above 1 the lines are laid over the faces of the two crystals where these are, and then moved as the event was.
   Takes memory for the events once a line. */
ISO_CHECKED int iso_ray_create_moved(iso_op **op, iso_ctx *ctx, const struct iso_ray *p,
                                     const struct iso_events *e, const iso_motion *m);
/* What that takes for n events. */
void iso_ray_moved_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);

ISO_END_C
#endif
