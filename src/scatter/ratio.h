/* SPDX-License-Identifier: BSD-3-Clause */
/* Multiple scatter, or all of it, from the Monte Carlo as a smooth ratio to the single scatter of the formula. Noise in
   an additive term biases the image, so the count between patches must be smoothed; smoothed as it is, a steep
   distribution would lose its shape, which the formula lends:

	mc:      h = single K[W1 + W2] / K[S]
	sss+mc:  h = single (1 + K[W2] / K[S])

   W1, W2: h of the patch pairs scattered once, and more often; S: that of the formula, averaged over the same patches
   and cells of u; K: (1 2 1) / 4 along each of the five axes. Where K[S] is below 0.5 % of its maximum, h = K[W1 + W2]. */
#ifndef ISO_RATIO_H
#define ISO_RATIO_H

#include "patches.h"

/* The formula's h, as a table. */
struct ratio_single {
	const void *table;
	int64_t n_u;   /* places of u, an odd number, the middle one at 0; 1: no time of flight */
	double u_step; /* mm between them */
	/* s (pairs, cells): its mean over each pair of patches and cell of u. pair: as in struct patches, on the host */
	int (*over_patches)(double *s, iso_ctx *ctx, const void *table, const struct patches *p,
	                    const int32_t *pair);
};

struct ratio {
	struct patches patches; /* its pointers are not used */
	int32_t *
		place; /* (patches, patches): 2 x pair, + 1 where the pair has the ends the other way round */
	float *factor, *plain; /* (pairs, cells): h = factor single + plain */
	int64_t histories;
	double error,
		worst_error; /* statistical, of the total: median and largest of cells above a tenth of the maximum */
	double multiple; /* W2 over W1 */
	struct iso_room room;
};

/* Bytes of host memory for each pair and cell: sums of all ranks, what is made of them, and the ratio. */
enum { RATIO_BYTES = PATCH_SUMS * 8 + 6 * 8 + 2 * 4 };

struct ratio_setting {
	bool all;          /* mc; false: sss+mc */
	int64_t histories; /* 0: as many as `error` takes */
	double error;      /* asked for; 0: 0.01 */
	uint64_t seed;
};

/* Counts until the error is reached; on failure there is nothing to free. Collective, see core/comm.h. */
int iso_ratio_create(struct ratio *r, iso_ctx *ctx, const struct scene *s, const struct ratio_single *single,
                     const struct ratio_setting *set);
void iso_ratio_free(struct ratio *r);

/* h[0..n_u-1] of the single scatter becomes that of the method. */
void iso_ratio_apply(float *h, const struct ratio *r, const struct ratio_single *single,
                     const double azimuth[2], const double z[2]);

#endif
