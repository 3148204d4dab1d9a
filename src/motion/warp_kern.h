/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields: what the loops of all devices share. Places are in voxels from the centre of the first, in double:
   a float at the 500th voxel has steps of 6e-5. */
#ifndef ISO_WARP_KERN_H
#define ISO_WARP_KERN_H

#include "core/hd.h"

struct warp {
	struct iso_grid grid;
	const iso_real *u; /* (nz, ny, nx, 3) mm on `grid`; NULL: W = 1, or rigid */
	bool rigid;
	double turn[12]; /* of rigid: the place of voxel (ix, iy, iz) is turn (ix, iy, iz, 1), row by row */
	bool mass;
};

/* Whether W is 1 exactly. */
ISO_HD bool warp_is_one(const struct warp *w)
{
	return !w->u && !w->rigid;
}

/* Two neighbours along an axis and the weight of the upper one. */
struct warp_pair {
	int64_t lower, upper;
	double share;
};

/* `at` in voxels, within 0 ... n - 1 after the border voxel has been repeated. */
ISO_HD struct warp_pair warp_pair_of(double at, int64_t n)
{
	const double most = (double)(n - 1), held = at < 0 ? 0 : at > most ? most : at, lower = floor(held);
	struct warp_pair p = { (int64_t)lower, (int64_t)lower + 1 < n ? (int64_t)lower + 1 : n - 1,
		               held - lower };

	return p;
}

/* The eight voxels around a place, x fastest, and their weights. */
struct warp_cell {
	int64_t voxel[8];
	double weight[8];
};

ISO_HD struct warp_cell warp_cell_of(const double at[3], const int64_t n[3])
{
	const struct warp_pair x = warp_pair_of(at[0], n[0]), y = warp_pair_of(at[1], n[1]),
			       z = warp_pair_of(at[2], n[2]);
	struct warp_cell c;

	for (int k = 0; k < 8; k++) {
		const int64_t ix = k & 1 ? x.upper : x.lower, iy = k & 2 ? y.upper : y.lower,
			      iz = k & 4 ? z.upper : z.lower;

		c.voxel[k] = (iz * n[1] + iy) * n[0] + ix;
		c.weight[k] = (k & 1 ? x.share : 1 - x.share) * (k & 2 ? y.share : 1 - y.share) *
		              (k & 4 ? z.share : 1 - z.share);
	}
	return c;
}

/* Within the box of n voxels, the lower faces of which belong to it. */
ISO_HD bool warp_inside(const double at[3], const int64_t n[3])
{
	for (int a = 0; a < 3; a++)
		if (!(at[a] >= -.5 && at[a] < (double)n[a] - .5)) return false;
	return true;
}

ISO_HD void warp_index(int64_t i[3], const int64_t n[3], int64_t voxel)
{
	i[0] = voxel % n[0];
	i[1] = voxel / n[0] % n[1];
	i[2] = voxel / n[0] / n[1];
}

/* Where x + u(x) of a voxel lies, of index i along x y z. False: beyond the box, where the image is 0. */
ISO_HD bool warp_target(double at[3], const struct warp *w, const int64_t i[3], int64_t voxel)
{
	for (int a = 0; a < 3; a++) {
		const double *row = w->turn + 4 * a;

		at[a] = w->rigid ? row[0] * (double)i[0] + row[1] * (double)i[1] + row[2] * (double)i[2] +
		                           row[3]
		                 : (double)i[a] + (double)w->u[3 * voxel + a] / w->grid.voxel[a];
	}
	return warp_inside(at, w->grid.n);
}

/* d u[component] / d x[axis] at a voxel. */
ISO_HD double warp_slope(const struct warp *w, int64_t voxel, const int64_t i[3], int component, int axis)
{
	const int64_t n = w->grid.n[axis];
	const int64_t step = axis == 0 ? 1 : axis == 1 ? w->grid.n[0] : w->grid.n[0] * w->grid.n[1];
	const int64_t up = i[axis] + 1 < n ? 1 : 0, down = i[axis] > 0 ? 1 : 0;

	if (n == 1) return 0;
	return ((double)w->u[3 * (voxel + up * step) + component] -
	        (double)w->u[3 * (voxel - down * step) + component]) /
	       ((double)(up + down) * w->grid.voxel[axis]);
}

/* det(1 + du/dx) at a voxel. */
ISO_HD double warp_jacobian(const struct warp *w, const int64_t i[3], int64_t voxel)
{
	double m[3][3];

	for (int c = 0; c < 3; c++)
		for (int a = 0; a < 3; a++) m[c][a] = (c == a) + warp_slope(w, voxel, i, c, a);
	return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	       m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* What each of the eight weights of a voxel is multiplied by. */
ISO_HD double warp_factor(const struct warp *w, const int64_t i[3], int64_t voxel)
{
	return w->mass && w->u ? warp_jacobian(w, i, voxel) : 1; /* a rotation keeps volumes */
}

/* |factor| as a float that is not below it. */
ISO_HD float warp_factor_bound(const struct warp *w, const int64_t i[3], int64_t voxel)
{
	return (float)(fabs(warp_factor(w, i, voxel)) * (1 + 1e-6));
}

/* (W f) at a voxel. */
ISO_HD double warp_sample(const struct warp *w, const int64_t i[3], int64_t voxel, const iso_real *f)
{
	double at[3], sum = 0;

	if (!warp_target(at, w, i, voxel)) return 0;
	const struct warp_cell c = warp_cell_of(at, w->grid.n);

	for (int k = 0; k < 8; k++) sum += c.weight[k] * (double)f[c.voxel[k]];
	return sum * warp_factor(w, i, voxel);
}

/* Component c of a field at a place of its own grid; beyond the box that of the border. */
ISO_HD double warp_component(const iso_real *field, const int64_t n[3], const double at[3], int component)
{
	const struct warp_cell c = warp_cell_of(at, n);
	double sum = 0;

	for (int k = 0; k < 8; k++) sum += c.weight[k] * (double)field[3 * c.voxel[k] + component];
	return sum;
}

#endif
