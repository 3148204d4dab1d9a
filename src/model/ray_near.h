/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that meet the same voxels, one after the other. */
#ifndef ISO_RAY_NEAR_H
#define ISO_RAY_NEAR_H

#include "ray.h"

/* Reorders m->e inside each subset and makes m->row. */
int iso_ray_near(struct ray_model *m, const iso_ctx *ctx);

#endif
