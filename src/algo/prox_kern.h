/* SPDX-License-Identifier: BSD-3-Clause */
/* Total variation, TV(x) = sum over voxels of |D x|, (D x)_n the differences to the next neighbours
   along x, y, z (0 at the far border), and its proximal map with a sign constraint by the dual
   (Chambolle 2004; Beck and Teboulle 2009):

	u = P(b - lambda D* p),   p <- p + D u / (12 lambda), cut to |p_n| <= 1

   P is max(., 0) or nothing; 12 bounds |D D*| in three dimensions. */
#ifndef ISO_PROX_H
#define ISO_PROX_H

#include "core/hd.h"

struct prox {
	int64_t n[3];
	double lambda;
	bool nonneg;
};

/* Steps between neighbours along the axes, in elements, and the voxel's indices. */
struct prox_place {
	int64_t at[3], step[3];
};

ISO_HD struct prox_place prox_place(const struct prox *p, int64_t v)
{
	struct prox_place q = { { v % p->n[0], v / p->n[0] % p->n[1], v / p->n[0] / p->n[1] },
		                { 1, p->n[0], p->n[0] * p->n[1] } };

	return q;
}

/* The difference along an axis. */
ISO_HD iso_real prox_slope(const struct prox *p, const struct prox_place *q, const iso_real *x, int64_t v,
                           int axis)
{
	return q->at[axis] < p->n[axis] - 1 ? x[v + q->step[axis]] - x[v] : 0;
}

/* |D x| at voxel v. */
ISO_HD iso_real prox_steepness(const struct prox *p, const iso_real *x, int64_t v)
{
	struct prox_place q = prox_place(p, v);
	iso_real sum = 0;

	for (int a = 0; a < 3; a++) {
		iso_real d = prox_slope(p, &q, x, v, a);

		sum += d * d;
	}
	return iso_sqrt(sum);
}

ISO_HD int64_t prox_voxels(const struct prox *p)
{
	return p->n[0] * p->n[1] * p->n[2];
}

/* u_v; dual holds the three fields of p, one after the other; without lambda it is not read. */
ISO_HD iso_real prox_image_at(const struct prox *p, const struct prox_place *q, const iso_real *b,
                              const iso_real *dual, int64_t v)
{
	iso_real sum = 0;

	for (int a = 0; p->lambda > 0 && a < 3; a++) {
		const iso_real *f = dual + a * prox_voxels(p) + v;

		sum += (q->at[a] > 0 ? f[-q->step[a]] : 0) - (q->at[a] < p->n[a] - 1 ? f[0] : 0);
	}
	iso_real u = b[v] - (iso_real)p->lambda * sum;

	return p->nonneg && u < 0 ? 0 : u;
}

ISO_HD iso_real prox_image(const struct prox *p, const iso_real *b, const iso_real *dual, int64_t v)
{
	struct prox_place q = prox_place(p, v);

	return prox_image_at(p, &q, b, dual, v);
}

/* A whole step of the dual at voxel v, from `dual` to `next`: u of the voxel and of the next along each axis is made
   from b on the way. */
ISO_HD void prox_dual_at(const struct prox *p, const struct prox_place *q, iso_real *next, const iso_real *b,
                         const iso_real *dual, int64_t v)
{
	iso_real u = prox_image_at(p, q, b, dual, v), f[3], size = 0;

	for (int a = 0; a < 3; a++) {
		struct prox_place far = *q;
		iso_real slope = 0;

		far.at[a]++;
		if (q->at[a] < p->n[a] - 1) slope = prox_image_at(p, &far, b, dual, v + q->step[a]) - u;
		f[a] = dual[a * prox_voxels(p) + v] + slope / (iso_real)(12 * p->lambda);
		size += f[a] * f[a];
	}
	size = size > 1 ? iso_sqrt(size) : 1;
	for (int a = 0; a < 3; a++) next[a * prox_voxels(p) + v] = f[a] / size;
}

ISO_HD void prox_dual(const struct prox *p, iso_real *dual, const iso_real *u, int64_t v)
{
	int64_t voxels = prox_voxels(p);
	struct prox_place q = prox_place(p, v);
	iso_real f[3], size = 0;

	for (int a = 0; a < 3; a++) {
		f[a] = dual[a * voxels + v] + prox_slope(p, &q, u, v, a) / (iso_real)(12 * p->lambda);
		size += f[a] * f[a];
	}
	size = size > 1 ? iso_sqrt(size) : 1;
	for (int a = 0; a < 3; a++) dual[a * voxels + v] = f[a] / size;
}

/* u = the map of b, by `steps` steps from the dual fields (3 images), which it goes on from. */
ISO_C int iso_prox_apply(iso_real *u, iso_ctx *ctx, const struct prox *p, int steps, iso_real *dual,
                         const iso_real *b);

/* y = |D x| */
ISO_C int iso_prox_steepness(iso_real *y, iso_ctx *ctx, const struct prox *p, const iso_real *x);

#endif
