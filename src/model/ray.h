/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray as both backends see it. */
#ifndef ISO_RAY_H
#define ISO_RAY_H

#include "core/op.h"
#include "ray_kern.h"

/* Data of the operator; on CUDA `e` is device memory. */
struct ray_model {
	struct ray_grid grid;
	struct ray_tof tof;
	int64_t n;
	struct iso_event *e;	/* in the operator's order: subset after subset */
};

#ifdef __cplusplus
extern "C" {
#endif

/* ISO_EARG if the grid has more voxels than 32-bit indices reach. */
int iso_ray_grid(struct ray_grid *r, const struct iso_grid *g);

/* No weight of one voxel exceeds this. */
double iso_ray_largest_weight(const struct ray_grid *g, const struct ray_tof *tof);

struct iso_rows iso_ray_rows(const iso_op *op, int sub);
int64_t iso_ray_file_row(const iso_op *op, int64_t row);

#ifdef __cplusplus
}
#endif

/* The ray of an event. */
ISO_HD struct ray ray_of_event(const struct ray_model *m, const struct iso_event *e)
{
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };

	return ray_setup(&m->grid, p1, p2, m->tof.sigma > 0 ? &m->tof : NULL, e->dt_ps);
}

#endif
