/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that meet the same voxels, one after the other. */
#ifndef ISO_RAY_NEAR_H
#define ISO_RAY_NEAR_H

#include "ray.h"

struct ray_near_item {
	uint32_t key;
	uint32_t from; /* place in the piece */
};

/* Events that are ordered at a time, at most, and work space for each. */
#define ISO_RAY_NEAR_PIECE ((int64_t)1 << 22)
#define ISO_RAY_NEAR_BYTES (int64_t)(sizeof(struct iso_event) + 2 * sizeof(struct ray_near_item))

/* Fills m->e, in another order inside each subset, and sets m->row, n numbers. */
int iso_ray_near(struct ray_model *m, const iso_ctx *ctx);

#endif
