/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a plan of memory. */
#ifndef ISO_PLAN_H
#define ISO_PLAN_H

#include "isotome.h"

/* One line: `count` items of `item` bytes on the context's device, or on the host. Too large for
   64 bits counts as INT64_MAX. */
void iso_plan_add(struct iso_plan *plan, const char *what, int64_t count, int64_t item, bool on_device);

/* Bytes of all lines together; too many for 64 bits count as INT64_MAX. */
void iso_plan_total(const struct iso_plan *plan, int64_t *host, int64_t *device);

#endif
