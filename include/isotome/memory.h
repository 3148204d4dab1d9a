/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: plans of the bytes that a call will allocate, and checks against the free memory.

   Threads: a plan belongs to one thread at a time. */
#ifndef ISOTOME_MEMORY_H
#define ISOTOME_MEMORY_H

#include "isotome/context.h"

ISO_BEGIN_C

/* A plan lists the memory that a call will allocate, from sizes alone. The functions iso_..._plan add lines. A
   plan begins as { 0 } and ends with iso_plan_free. If there is no memory for a line, iso_plan_check fails. */
struct iso_plan {
	struct iso_plan_lines *lines; /* NULL: none yet */
};

struct iso_plan_line {
	const char *what;     /* belongs to the plan; valid until the plan changes */
	int64_t host, device; /* bytes */
};

/* One line: `count` items of `item` bytes on the context's device, or on the host. Too large for 64 bits
   counts as INT64_MAX. Copies `what`, up to 95 bytes. */
void iso_plan_add(struct iso_plan *plan, const char *what, int64_t count, int64_t item, bool on_device);

/* The number of lines, and line i, from 0. */
int iso_plan_size(const struct iso_plan *plan);
struct iso_plan_line iso_plan_line(const struct iso_plan *plan, int i);

/* Bytes of all lines together; too many for 64 bits count as INT64_MAX. */
void iso_plan_total(int64_t *host, int64_t *device, const struct iso_plan *plan);

void iso_plan_free(struct iso_plan *plan); /* its lines; it is { 0 } again */

/* ISO_ENOMEM, naming the sizes, if the plan exceeds the limit or the free memory. */
ISO_CHECKED int iso_plan_check(const iso_ctx *ctx, const struct iso_plan *plan);

/* ISO_ENOMEM, naming `what` and the sizes, if `bytes` more on the host exceed the rest of the limit. Memory
   that the process has taken since the context was made counts, except 4 MiB. Without a limit, or with NULL for
   the context: if they exceed the free memory of the machine. */
ISO_CHECKED int iso_memory_check(const iso_ctx *ctx, const char *what, int64_t bytes);

ISO_END_C
#endif
