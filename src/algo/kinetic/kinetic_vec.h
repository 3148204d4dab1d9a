/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of nested EM on the context's device. */
#ifndef ISO_KINETIC_VEC_H
#define ISO_KINETIC_VEC_H

#include "isotome/kinetics.h"

#include "kinetic_kern.h"

ISO_BEGIN_C

struct kinetic_vec {
	/* f = the images of `bins` bins from `first` on, one behind the other, from the coefficients x and p->mean */
	int (*form)(iso_ctx *ctx, iso_real *f, const iso_real *x, const struct kinetic_fit *p, int first,
	            int bins);
	/* x: the coefficients after the fit. */
	int (*fit)(iso_ctx *ctx, iso_real *x, const struct kinetic_fit *p);
};

/* The table of the context's device. */
int iso_kinetic_vec(const struct kinetic_vec **v, iso_ctx *ctx);

ISO_END_C
#endif
