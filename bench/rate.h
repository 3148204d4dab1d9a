/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate at which a piece of work is done, by all threads of the CPU or by a function of the CUDA part. */
#ifndef ISO_BENCH_RATE_H
#define ISO_BENCH_RATE_H

#include "isotome.h"

/* `work`, which gives a number above 0 that depends on all of it, does so many units in each thread; `cuda`
   names the function that measures the same there. */
struct iso_rate {
	float (*work)(float start);
	double units;
	const char *cuda;
};

/* Units a second; on the CPU the best of three repeats. */
int iso_rate_measure(double *per_s, iso_ctx *ctx, const struct iso_rate *p);

#endif
