/* SPDX-License-Identifier: BSD-3-Clause */
/* Telling the caller how far a long call is, and how long it will still take. */
#ifndef ISO_PROGRESS_H
#define ISO_PROGRESS_H

#include "isotome.h"

ISO_BEGIN_C

struct iso_clock {
	const iso_ctx *ctx;
	const char *stage;
	int64_t first, total; /* steps done before the clock started, and in all */
	double start_s;
};

/* Seconds of a clock that never jumps. */
double iso_now_s(void);

/* Tells that the stage begins. */
struct iso_clock iso_clock_start(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total);

/* `done` steps of the total are behind us; `note` may be NULL. */
void iso_clock_step(const struct iso_clock *c, int64_t done, const char *note);

ISO_END_C
#endif
