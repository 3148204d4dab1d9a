/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity by the fast passes. */
#ifndef ISO_RAY_SENS_BRICK_CUH
#define ISO_RAY_SENS_BRICK_CUH

#include "ray_brick.cuh"
#include "model/ray/ray_sens.h"

/* acc = sum over n samples of weight x attenuation x chord, with a scale of its own. q: tables on
   the device. */
int iso_ray_sens_bricks(struct iso_fixed_cuda *acc, iso_ctx *ctx, const struct ray_sens *q, int64_t n,
                        int half);

#endif
