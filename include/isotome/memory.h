/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: plans of what a call will allocate, in bytes, and checks against what there is.

   Threads: a plan belongs to one thread at a time. */
#ifndef ISOTOME_MEMORY_H
#define ISOTOME_MEMORY_H

#include "isotome/context.h"

ISO_BEGIN_C

/* What a call will allocate, from sizes alone. */
struct iso_plan {
	struct iso_plan_line {
		const char *what;
		int64_t host, device; /* bytes */
	} line[32];
	int n;
};

/* ISO_ENOMEM, naming the sizes, if the plan exceeds the limit or what is free. */
int iso_plan_check(const struct iso_plan *plan, const iso_ctx *ctx);

/* ISO_ENOMEM, naming `what` and the sizes, if `bytes` more on the host exceed what is left of the
   limit: what the process has come to hold since the context was made counts, but for 4 MiB. Without
   a limit, or with NULL for the context: if they exceed what the machine has free. */
int iso_memory_check(const iso_ctx *ctx, const char *what, int64_t bytes);

ISO_END_C
#endif
