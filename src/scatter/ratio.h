/* SPDX-License-Identifier: BSD-3-Clause */
/* Multiple scatter, or all of it, from the Monte Carlo as a smooth ratio to the single scatter of the formula. Noise in
   an additive term biases the image, so the count between patches must be smoothed; smoothed as it is, a steep
   distribution would lose its shape, which the formula lends:

	mc:      h = single K[W1] / K[S] + guide K[W2] / K[G]
	sss+mc:  h = single              + guide K[W2] / K[G]

   W1, W2: h of the patch pairs scattered once, and more often; S, G: those of the formula and of the guide, averaged over the
   same patches and cells of u; K: (1 2 1) / 4 along each of the five axes. The guide (sss_cosines.c) has the shape of
   multiple scatter, also on lines that single scatter does not reach: there the ratio to the latter has no limit, and a
   count that is smoothed as it is flows out from the object, to ten times what there is. */
#ifndef ISO_RATIO_H
#define ISO_RATIO_H

#include "patches.h"

/* h of the formula and of the guide, as tables on the same samples. */
struct ratio_single {
	const void *table, *guide;
	int64_t n_u;   /* places of u, an odd number, the middle one at 0; 1: no time of flight */
	double u_step; /* mm between them */
	/* s (pairs, cells): the mean of one over each pair of patches and cell of u. pair: as in struct patches, on the host */
	int (*over_patches)(double *s, iso_ctx *ctx, const void *table, const struct patches *p,
	                    const int32_t *pair);
};

struct ratio {
	struct patches patches; /* its pointers are not used */
	int32_t *
		place; /* (patches, patches): 2 x pair, + 1 where the pair has the ends the other way round */
	float *once, *more; /* (pairs, cells): h = once single + more guide */
	int64_t histories;
	double error,
		worst_error; /* statistical, of the total: median and largest of cells above a tenth of the maximum */
	double multiple; /* W2 over W1 */
	struct iso_room room;
};

/* Bytes of host memory for each pair and cell: sums of all ranks, what is made of them, and the ratio. */
enum { RATIO_BYTES = PATCH_SUMS * 8 + 7 * 8 + 2 * 4 };

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

/* h[0..n_u-1] of the single scatter becomes that of the method, with the guide's row. */
void iso_ratio_apply(float *h, const float *guide, const struct ratio *r, const struct ratio_single *single,
                     const double azimuth[2], const double z[2]);

#endif
