/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of counts, measured or expected, over the lines of all ranks. They are integers, whole counts and parts of 2^-30
   apart, and so have the same bits in every order: 2^63 counts, and 2^33 lines of which each may expect 1e-9 of one. */
#ifndef ISO_RAY_SUM_H
#define ISO_RAY_SUM_H

#include "core/comm.h"

#include <math.h>

#define RAY_SUM_PART 0x1p30

struct ray_sum {
	int64_t whole, part;
};

/* counts >= 0. */
static inline void ray_sum_add(struct ray_sum *s, double counts)
{
	double whole = floor(counts);

	s->whole += (int64_t)whole;
	s->part += llrint((counts - whole) * RAY_SUM_PART);
}

static inline double ray_sum_value(const struct ray_sum *s)
{
	return (double)s->whole + (double)s->part / RAY_SUM_PART;
}

/* n sums of this rank become those of all; collective, see core/comm.h. */
static inline int ray_sum_ranks(struct ray_sum *s, int64_t n, iso_ctx *ctx, int st)
{
	return iso_comm_sum(ctx, st, &s->whole, 2 * n);
}

#endif
