/* SPDX-License-Identifier: BSD-3-Clause */
/* Several lines an event of an object that moves, from a source of events. */
#ifndef ISO_RAY_MOVED_STREAM_H
#define ISO_RAY_MOVED_STREAM_H

#include "isotome/ray_moved.h"

/* iso_ray_stream_create over a source that moves its events by m. With p->rays above 1, on the CPU, it has their times.
   NULL: nothing moves. */
int iso_ray_moved_stream(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                         int64_t block, const iso_motion *m);
/* Host bytes that an event takes besides with several lines: kept, or for a while. */
int64_t iso_ray_moved_bytes(const struct iso_ray *p, bool for_a_while);

#endif
