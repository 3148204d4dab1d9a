/* SPDX-License-Identifier: BSD-3-Clause */
/* Integrals along lines, for whoever needs no operator. */
#ifndef ISO_RAY_INTEGRALS_H
#define ISO_RAY_INTEGRALS_H

#include "isotome/ray.h"

/* y = A x along the lines of e, in their order, as the operator of p over them would have it; p in full size, of one
   subset, without numbers. Each rank by itself. x, y: on the host. */
int iso_ray_integrals(iso_real *y, iso_ctx *ctx, const struct iso_ray *p, const iso_real *x,
                      const struct iso_events *e);

#endif
