/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves, along z. */
#ifndef ISO_RAY_SENS_MOVED_H
#define ISO_RAY_SENS_MOVED_H

#include "ray_sens.h"

/* Translations along z alone, ray_sens_along.c: whether these are the only ones among translations; and S by the rings. */
bool ray_sens_along_z(const struct iso_ray_sens_moved *p);
int ray_sens_along(iso_real *s, iso_ctx *ctx, const struct iso_ray_sens_moved *p);

#endif
