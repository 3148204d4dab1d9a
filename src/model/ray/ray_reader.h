/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a subset's events, of those that this rank has, read ahead of their use by a thread. */
#ifndef ISO_RAY_READER_H
#define ISO_RAY_READER_H

#include "core/loop/deal.h"
#include "ray.h"
#include "ray_scratch.h"

struct iso_ray_reader;

/* What a rank has of a source: its chunks, one behind the other. */
struct ray_share {
	struct iso_ray_source s;
	struct iso_order order; /* of all events */
	struct iso_deal deal;
	struct iso_rows
		*rows; /* of each subset: n here; where subsets are consecutive events, the first here */
};

/* In the room. Numbers of subsets that are not consecutive are counted. */
int iso_ray_share(struct ray_share *h, struct iso_room *room, iso_ctx *ctx, const struct iso_ray_source *s,
                  const struct iso_order *o);

/* A block with the arrays that the source fills; free with iso_events_free. */
int iso_ray_source_block(struct iso_events *block, const struct iso_ray_source *s, int64_t n);

int64_t iso_ray_blocks(const struct ray_share *h, int sub, int64_t block);

/* Borrows the share. */
int iso_ray_reader_create(struct iso_ray_reader **r, const struct ray_share *h, int64_t block);
void iso_ray_reader_free(struct iso_ray_reader *r);

/* The places that blocks are read into, from 0; NULL: there is none of that number. */
const struct iso_events *iso_ray_reader_slot(const struct iso_ray_reader *r, int i);

/* Host bytes that it takes; o: of the events of a rank. */
void iso_ray_reader_plan(struct iso_plan *plan, const struct iso_ray_source *s, const struct iso_order *o,
                         int64_t block);

/* Begins to read blocks `first` ... of a subset, in order; each `next` waits for one, each `done`
   gives its room back; end with `stop`, at any time. Blocks before the first were read before. A `start` of what is
   being read already, ahead of its use, goes on with it. */
int iso_ray_reader_start(struct iso_ray_reader *r, int sub, int64_t first);
int iso_ray_reader_next(struct iso_ray_reader *r, const iso_ctx *ctx, struct iso_events **block);
void iso_ray_reader_done(struct iso_ray_reader *r);
void iso_ray_reader_stop(struct iso_ray_reader *r);

#endif
