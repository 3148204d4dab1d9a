/* SPDX-License-Identifier: BSD-3-Clause */
/* A brick of voxels, and where a ray crosses it. */
#ifndef ISO_RAY_CELL_CUH
#define ISO_RAY_CELL_CUH

#include "ray_brick.cuh"

#define HALO 2 /* voxels around a brick: rounding may step out of it, once at a face */

/* A brick, in voxels of the grid. */
struct cell {
	float k0, k1, b0, b1, c0, c1;

	/* Along b and c. */
	__device__ struct cell wider(float by) const
	{
		return { k0, k1, b0 - by, b1 + by, c0 - by, c1 + by };
	}
};

static __device__ float reciprocal(float v)
{
	float r;

	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
	return r;
}

/* ---- which rays cross a brick ---- */

/* Narrows [t0, t1], shares of a slab, to where a coordinate that runs from v0 to v1 lies in
   [lo, hi). Neighbouring bricks compute their common face alike: no piece is lost or doubled. */
static __device__ void narrow(float v0, float v1, float lo, float hi, float *t0, float *t1)
{
	if (v0 == v1) {
		*t1 = v0 >= lo && v0 < hi ? *t1 : -1;
		return;
	}
	float r = reciprocal(v1 - v0), ta = (lo - v0) * r, tb = (hi - v0) * r;

	*t0 = fmaxf(*t0, fminf(ta, tb));
	*t1 = fminf(*t1, fmaxf(ta, tb));
}

/* The stretch [x0, x1] of a ray inside a brick of K slices, from its first slice on. */
template <int K>
static __device__ bool clip(const struct ray_line *l, const struct cell *c, float *x0, float *x1)
{
	float t0 = 0, t1 = 1;

	narrow(fmaf(l->bx, c->k0, l->b0), fmaf(l->bx, c->k0 + K, l->b0), c->b0, c->b1, &t0, &t1);
	narrow(fmaf(l->cx, c->k0, l->c0), fmaf(l->cx, c->k0 + K, l->c0), c->c0, c->c1, &t0, &t1);
	*x0 = fmaxf(l->x0 - c->k0, t0 * K);
	*x1 = fminf(l->x1 - c->k0, t1 * K);
	return *x1 > *x0;
}

/* ---- a block's brick ---- */

/* The brick in shared memory: (k, c, b), b fastest, with a halo along b and c. */
template <int K> struct brick {
	const struct ray_bricks *g;
	struct cell cell;
	int k0, b0, c0;    /* its first voxel, without and with halo */
	int nb, nc, plane; /* with halo */

	__device__ brick(const struct ray_wall *w, int number)
	{
		int i = w->n - 1;

		while (number < w->b[i].first) i--;
		g = w->b + i;
		number -= g->first;
		int ic = number % g->nc, ib = number / g->nc % g->nb, slab = number / g->nc / g->nb;

		k0 = slab * K;
		b0 = ib * g->wb;
		c0 = ic * g->wc;
		cell = { (float)k0, (float)min(k0 + K, g->n[0]), (float)b0, (float)(b0 + g->wb),
			 (float)c0, (float)(c0 + g->wc) };
		b0 -= HALO;
		c0 -= HALO;
		nb = g->wb + 2 * HALO;
		nc = g->wc + 2 * HALO;
		plane = nb * nc;
	}

	__device__ bool in_grid(int k, int b, int c) const
	{
		return k < g->n[0] && (unsigned)b < (unsigned)g->n[1] && (unsigned)c < (unsigned)g->n[2];
	}

	__device__ long long voxel(int k, int b, int c) const
	{
		return k * g->stride[0] + b * g->stride[1] + c * g->stride[2];
	}

	/* do_it(index in the brick, voxel of the grid or -1) for all, neighbours in the grid by
	   neighbouring lanes: along k if that is x, else along b, which then is. */
	template <class F> __device__ void each(F do_it) const
	{
		int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
		int lanes_k = g->axis == 0 ? K : 1, lanes_b = ISO_WARP / lanes_k;
		int warps_k = K / lanes_k, k = lane % lanes_k + warp % warps_k;

		for (int c = warp / warps_k; c < nc; c += blockDim.x / ISO_WARP / warps_k) {
			bool row = k0 + k < g->n[0] && (unsigned)(c0 + c) < (unsigned)g->n[2];
			long long at = voxel(k0 + k, b0 + lane / lanes_k, c0 + c);
			long long step = lanes_b * g->stride[1];

			for (int b = lane / lanes_k; b < nb; b += lanes_b, at += step)
				do_it((k * nc + c) * nb + b,
				      row && (unsigned)(b0 + b) < (unsigned)g->n[1] ? at : -1);
		}
	}
};

#endif
