/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves, as tests see it. */
#ifndef ISO_RAY_SENS_MOVED_H
#define ISO_RAY_SENS_MOVED_H

#include "ray_sens.h"

/* iso_ray_sens_moved as a CUDA context has it: lines are back-projected by the operator of events. On any context. */
int iso_ray_sens_moved_by_op(iso_real *s, iso_ctx *ctx, const struct iso_ray_sens_moved *p);

/* Translations along z alone, ray_sens_along.c: whether these are the only ones among translations; and S by the rings. */
bool ray_sens_along_z(const struct iso_ray_sens_moved *p);
int ray_sens_along(iso_real *s, iso_ctx *ctx, const struct iso_ray_sens_moved *p);

#endif
