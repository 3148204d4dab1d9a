/* SPDX-License-Identifier: BSD-3-Clause */
/* The proximal map of total variation and sign, on both devices. */
#ifndef ISO_PROX_H
#define ISO_PROX_H

#include "prox_kern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* u = the map of b, by `steps` steps from the dual fields (3 images), which it goes on from. */
int iso_prox_apply(iso_real *u, iso_ctx *ctx, const struct prox *p, int steps, iso_real *dual,
                   const iso_real *b);

/* y = |D x| */
int iso_prox_steepness(iso_real *y, iso_ctx *ctx, const struct prox *p, const iso_real *x);

/* The same in libisotome_cuda.so. */
int iso_prox_apply_cuda(iso_real *u, iso_ctx *ctx, const struct prox *p, int steps, iso_real *dual,
                        const iso_real *b);
int iso_prox_steepness_cuda(iso_real *y, iso_ctx *ctx, const struct prox *p, const iso_real *x);

#ifdef __cplusplus
}
#endif
#endif
