/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of an event by one warp, its lanes along the slices of the main axis: what bricks do not serve. The lines of a
   row come from its event, or, where events were ordered into packs and not kept, from there. */
#ifndef ISO_RAY_ROW_CUH
#define ISO_RAY_ROW_CUH

#include "core/loop/em.cuh"
#include "ray_brick.cuh"

/* ---- where lines come from ---- */

/* Rows of events. */
struct event_rows {
	struct ray_model m;
	struct iso_rows rows;

	/* Row i of n, as the caller numbers it. */
	__device__ int64_t n() const
	{
		return rows.n;
	}

	__device__ int64_t row(int64_t i) const
	{
		return rows.first + i;
	}

	__device__ struct ray line(int64_t i, int number) const
	{
		return ray_of_event(&m, m.e + ray_stored(&m) * (rows.first + i), number);
	}
};

/* The ray of a slot, as it was before it was packed. */
static __device__ struct ray ray_of_slot(const struct ray_model *m, const struct ray_pack *p, int64_t slot)
{
	int packet = (int)(slot / RAY_PACKET), axis = 0;
	struct ray r = ISO_ZERO;
	struct ray_line l = p->line[slot];

	while (axis < 3 && packet >= p->bundle[axis].packet + p->bundle[axis].packets) axis++;
	if (axis == 3 || l.x0 > l.x1) return r; /* it misses the grid */
	r.x0 = l.x0;
	r.x1 = l.x1;
	if (p->reach) {
		struct ray_reach reach = p->reach[slot];

		r.x0 = reach.x0;
		r.x1 = reach.x1;
		r.g0 = reach.g0;
		r.g1 = reach.g1;
	}
	r.b0 = l.b0;
	r.bx = l.bx;
	r.c0 = l.c0;
	r.cx = l.cx;
	r.u0 = l.u0;
	r.ux = l.ux;
	r.len = p->factor[slot]; /* where weights are lengths; others do not look at it */
	ray_complete(&r, &m->grid, axis);
	return r;
}

/* Rows of a pack, in the order of its slots if each has one line. */
struct pack_rows {
	struct ray_model m;
	struct ray_pack p;

	__device__ int64_t n() const
	{
		return p.lines == 1 ? p.slots : p.rows.n;
	}

	/* -1: an empty slot. */
	__device__ int64_t row(int64_t i) const
	{
		if (p.lines > 1) return p.rows.first + i;
		return p.ray[i] == RAY_NO_RAY ? -1 : p.rows.first + p.ray[i];
	}

	__device__ struct ray line(int64_t i, int number) const
	{
		return ray_of_slot(&m, &p, p.lines == 1 ? i : p.slot[i * p.lines + number]);
	}
};

/* for (each i of rows, a warp an i, of which `row` is the row) */
#define RAY_ROW_LOOP(i, rows)                                                                          \
	for (int64_t i = blockIdx.x * (int64_t)(ISO_THREADS / ISO_WARP) + threadIdx.x / ISO_WARP, row; \
	     i < (rows).n() && ((row = (rows).row(i)), true);                                          \
	     i += (int64_t)gridDim.x * (ISO_THREADS / ISO_WARP))                                       \
		if (row >= 0)

/* ---- a row ---- */

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

/* Row i times the image, in every lane. */
template <class ROWS> static __device__ float row_sum(const ROWS *rows, int64_t i, const iso_real *x)
{
	int lines = rows->m.spread.lines;
	float q = 0;

	for (int line = 0; line < lines; line++) {
		struct ray r = rows->line(i, line);

		q += sum_of_lane(&rows->m, &r, x);
	}
	return iso_warp_sum(q) / lines;
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

template <class ROWS, class TERMS>
static __device__ void row_add(struct iso_fixed_cuda acc, const ROWS *rows, int64_t i, const iso_real *x,
                               double factor, TERMS whole)
{
	int lines = rows->m.spread.lines;

	for (int line = 0; line < lines; line++) {
		struct ray r = rows->line(i, line);

		add_line(acc, &rows->m, &r, x, factor / lines, whole);
	}
}

#endif
