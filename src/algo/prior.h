/* SPDX-License-Identifier: BSD-3-Clause */
/* What algorithms use of a prior besides iso_prior_eval. */
#ifndef ISO_PRIOR_H
#define ISO_PRIOR_H

#include "isotome.h"

ISO_BEGIN_C

/* How far a step goes: p (scale z + g - beta grad R(x)) times `step`, and to at most grow (x + off). */
struct prior_length {
	double scale, beta, step;
	double grow, off; /* grow: INFINITY for no such bound; off > 0 */
};

/* to = [x + step p (scale z + g - beta grad R(x))]+ or grow (x + off), whichever is less, and z = 0. `to` is not x; r NULL:
   without R. */
int iso_prior_step(iso_prior *r, iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, iso_real *z,
                   const iso_real *g, const iso_real *p, const struct prior_length *length);

/* to = the Hessian of R at x, times v; `to` is neither. ISO_EARG for tv. Images in memory of the context's device. */
int iso_prior_product(iso_real *to, iso_prior *r, const iso_real *x, const iso_real *v);

ISO_END_C
#endif
