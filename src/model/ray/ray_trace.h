/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of an event as the CPU handles it: a list of voxels and weights. */
#ifndef ISO_RAY_TRACE_H
#define ISO_RAY_TRACE_H

#include "ray_cut.h"

struct ray_list {
	int n;                /* up to the next multiple of four, more follow whose weight is 0 */
	int *voxel;           /* may repeat */
	iso_real *w;          /* some are 0 */
	double *term;         /* for the caller's products with them */
	struct ray_cuts cuts; /* work space */
};

/* Bytes of a list long enough for any row, and the list in such memory. */
int64_t iso_ray_list_bytes(const struct ray_grid *g, const struct ray_spread *s);
struct ray_list iso_ray_list(void *memory, const struct ray_grid *g, const struct ray_spread *s);

void iso_ray_trace(struct ray_list *l, const struct ray_model *m, const struct iso_event *e);

#endif
