/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of an event by one warp, its lanes along the slices of the main axis: what bricks do not serve. */
#ifndef ISO_RAY_ROW_CUH
#define ISO_RAY_ROW_CUH

#include "core/loop/fixed.cuh"
#include "core/loop/em.cuh"
#include "model/ray/ray.h"

/* Sum of weight x image over this lane's slices of one line. */
static __device__ float sum_of_lane(const struct ray_model *m, const struct ray *r, const iso_real *x)
{
	struct ray_piece piece[RAY_PIECES];
	float q = 0;

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		int n = ray_pieces(piece, m->projector, r, &m->tof, k);

		for (int i = 0; i < n; i++) q += piece[i].w * x[piece[i].voxel];
	}
	return q;
}

/* The row of an event times the image, in every lane. */
static __device__ float row_sum(const struct ray_model *m, const struct iso_event *e, const iso_real *x)
{
	float q = 0;

	for (int line = 0; line < m->spread.lines; line++) {
		struct ray r = ray_of_event(m, e, line);

		q += sum_of_lane(m, &r, x);
	}
	return iso_warp_sum(q) / m->spread.lines;
}

/* acc += factor * weight (* x, if given) along one line. */
template <class TERMS>
static __device__ void add_line(struct iso_fixed_cuda acc, const struct ray_model *m, const struct ray *r,
                                const iso_real *x, double factor, TERMS whole)
{
	struct ray_piece piece[RAY_PIECES];

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		int n = ray_pieces(piece, m->projector, r, &m->tof, k);

		for (int i = 0; i < n; i++) {
			float term = piece[i].w * (x ? x[piece[i].voxel] : 1);

			if (term != 0) iso_fixed_add(acc, piece[i].voxel, whole(term * factor));
		}
	}
}

template <class TERMS>
static __device__ void row_add(struct iso_fixed_cuda acc, const struct ray_model *m,
                               const struct iso_event *e, const iso_real *x, double factor, TERMS whole)
{
	for (int line = 0; line < m->spread.lines; line++) {
		struct ray r = ray_of_event(m, e, line);

		add_line(acc, m, &r, x, factor / m->spread.lines, whole);
	}
}

#endif
