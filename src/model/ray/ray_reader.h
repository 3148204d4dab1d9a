/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a subset's events, read ahead of their use by a thread. */
#ifndef ISO_RAY_READER_H
#define ISO_RAY_READER_H

#include "ray.h"

struct iso_ray_reader;

/* Host bytes of each event of a block: its event and data. */
int64_t iso_ray_source_bytes(const struct iso_ray_source *s);

/* A block with the arrays that the source fills; free with iso_events_free. */
int iso_ray_source_block(struct iso_events *block, const struct iso_ray_source *s, int64_t n);

int64_t iso_ray_blocks(const struct iso_order *o, int sub, int64_t block);

/* Borrows the source. */
int iso_ray_reader_create(struct iso_ray_reader **r, const struct iso_ray_source *s,
                          const struct iso_order *o, int64_t block);
void iso_ray_reader_free(struct iso_ray_reader *r);

/* Host bytes that it takes. */
void iso_ray_reader_plan(struct iso_plan *plan, const struct iso_ray_source *s, const struct iso_order *o,
                         int64_t block);

/* Begins to read blocks `first` ... of a subset, in order; each `next` waits for one, each `done`
   gives its room back; end with `stop`, at any time. Blocks before the first were read before. */
int iso_ray_reader_start(struct iso_ray_reader *r, int sub, int64_t first);
int iso_ray_reader_next(struct iso_ray_reader *r, struct iso_events **block);
void iso_ray_reader_done(struct iso_ray_reader *r);
void iso_ray_reader_stop(struct iso_ray_reader *r);

#endif
