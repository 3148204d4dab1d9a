/* SPDX-License-Identifier: BSD-3-Clause */
/* An image that many threads add to, in 64-bit fixed point. Integers add up to the same bits in
   every order, so the result depends neither on the number of threads nor on how the work was
   dealt to them. */
#ifndef ISO_FIXED_H
#define ISO_FIXED_H

#include "core/comm.h"
#include "core/hd.h"

struct iso_fixed {
	int64_t n;
	int copies;  /* one per thread, or one that all share */
	bool atomic; /* one that several threads share */
	int64_t *v;  /* copies * n sums, times the scale */
	bool added;  /* the first has the sum of all */
	double scale;
};

/* Copies of n sums for a step with that many additions: one per thread if these fit a quarter of the
   context's host memory, and if the additions are worth clearing and adding up the copies; else one. */
int iso_fixed_copies(const iso_ctx *ctx, int64_t n, double additions);
int iso_fixed_create(struct iso_fixed *f, const iso_ctx *ctx, int64_t n, double additions);
void iso_fixed_free(struct iso_fixed *f);

/* Zeroes all copies, and takes the scale for sums of magnitude at most `bound`. */
void iso_fixed_begin(struct iso_fixed *f, const iso_ctx *ctx, double bound);

/* Adds to sum i; `value` is already times the scale. */
static inline void iso_fixed_add(const struct iso_fixed *f, int thread, int64_t i, double value)
{
	if (f->atomic)
		__atomic_fetch_add(f->v + i, llrint(value), __ATOMIC_RELAXED);
	else
		f->v[thread * f->n + i] += llrint(value);
}

/* The n sums that a thread adds to, by atomics where f->atomic. */
static inline int64_t *iso_fixed_of(const struct iso_fixed *f, int thread)
{
	return f->v + (f->atomic ? 0 : thread * f->n);
}

/* The sum of the copies of this rank becomes that of all ranks; collective, see comm.h. */
int iso_fixed_sum(struct iso_fixed *f, iso_ctx *ctx, int st);

/* x[0..n-1] = the sum of the copies over the scale. */
void iso_fixed_end(iso_real *x, struct iso_fixed *f, const iso_ctx *ctx);

/* The same over u[i], which was in every term; 0 where that is not above 0. */
void iso_fixed_end_over(iso_real *x, struct iso_fixed *f, const iso_ctx *ctx, const iso_real *u);

#endif
