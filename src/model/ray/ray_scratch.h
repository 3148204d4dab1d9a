/* SPDX-License-Identifier: BSD-3-Clause */
/* What the inside of the library knows of events that may not fit memory, besides isotome/ray.h. */
#ifndef ISO_RAY_SCRATCH_H
#define ISO_RAY_SCRATCH_H

#include "isotome/ray.h"

ISO_BEGIN_C

/* Bytes of each event of an operator, of the device where there is one, besides what does not grow with the events. */
int64_t iso_ray_event_bytes(const iso_ctx *ctx, const struct iso_ray *p);

/* Host bytes of each event of a block that the host holds, as a device ordered it, besides its data. */
int64_t iso_ray_held_bytes(const struct iso_ray *p);

/* Seconds that the device takes to fetch so many bytes from the host's memory, by a short trial. */
int iso_ray_send_s(double *seconds, iso_ctx *ctx, double bytes);

/* Host bytes of each event of a block, and of a scratch file: its event and data. */
int64_t iso_ray_source_bytes(const struct iso_ray_source *s);

/* Whether a scratch file that nobody asked for may lie in the folder: files can be made there, on a disk that is not
   memory, and so many bytes leave 1/20 of the disk free. Nothing stays of the attempt. */
bool iso_ray_scratch_fits(const char *folder, int64_t bytes);

/* Host bytes that writing one takes. */
void iso_ray_scratch_plan(struct iso_plan *plan, const struct iso_ray_source *s);

/* Bytes that steps have read so far; NULL: none. */
int64_t iso_ray_scratch_bytes_read(const iso_ray_scratch *s);

/* Whether the source is a scratch file: reading one has no state, so that a thread may go on between steps. */
bool iso_ray_scratch_is(const struct iso_ray_source *s);

ISO_END_C

#endif
