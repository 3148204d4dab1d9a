/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of an event as the CPU handles it: a list of voxels and weights. */
#ifndef ISO_RAY_TRACE_H
#define ISO_RAY_TRACE_H

#include "ray.h"

struct ray_list {
	int n;
	int *voxel;  /* may repeat */
	iso_real *w; /* a few may be 0 */
	iso_real *x; /* work space */
};

/* Bytes of a list long enough for any row, and the list in such memory. */
int64_t iso_ray_list_bytes(const struct ray_grid *g, const struct ray_spread *s);
struct ray_list iso_ray_list(void *memory, const struct ray_grid *g, const struct ray_spread *s);

void iso_ray_trace(struct ray_list *l, const struct ray_model *m, const struct iso_event *e);

#endif
