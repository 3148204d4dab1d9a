/* SPDX-License-Identifier: BSD-3-Clause */
/* The strip rule of NEMA NU 2 and NU 4: trues of a line source in a phantom, from the sinogram of one slice. */
#ifndef ISO_NEMA_STRIP_H
#define ISO_NEMA_STRIP_H

#include "ssrb.h"

struct nema_rule {
	double cut_mm;  /* bins farther from the axis count nothing */
	double half_mm; /* half of the strip about the line */
};

/* Counts of one slice. With the rows moved onto each other and added up, C(x), the background is C outside the strip
   |x| <= h and the mean of C(-h) and C(h) inside:
     rest = sum C (1 - share of the bin in the strip) + (C(-h) + C(h)) / 2 x 2 h / bin,   trues = total - rest. */
struct nema_slice {
	double total, rest;
	double variance; /* of the trues: sum of a^2 C, where the trues are sum a C */
	double delayed;  /* randoms: delayeds with |s| <= cut */
};

/* The prompts' part; `angles` rows of `bins`. profile: 2 bins - 1 sums C(x), to which the slice's are added; NULL: not
   wanted. row: work, 4 bins - 2 values. */
void iso_nema_slice(struct nema_slice *s, double *profile, double *row, const int32_t *cells,
                    const struct ssrb *g, const struct nema_rule *rule);

/* The largest bin of a row with |s| <= cut, the lowest of equals. */
int64_t iso_nema_top(const int32_t *row, const struct ssrb *g, double cut);

/* The bins with |s| <= cut. */
double iso_nema_within(const int32_t *cells, const struct ssrb *g, double cut_mm);

/* Weight of sample x of a profile, `step` wide, in the sum within the strip less its background. C(+-h) lies between the
   middles of two samples. */
void iso_nema_weights(double *a, int64_t n, double first, double step, double half);

#endif
