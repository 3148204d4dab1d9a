/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of voxels as a transducer hears them, and the blocks of rows that the adjoint works on. */
#include "svoxel_cpu.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define REAL(x) ((iso_real)(x))
#define OVER_2_PI REAL(SVOXEL_OVER_2_PI)

/* What tissue does: to delays, and to how loud a voxel is; a voxel is heard with its own speed. */
static void add_tissue(struct svoxel_row *row, const struct svoxel *p, int64_t q, const double at[3],
                       const double first[3], const iso_real *ratio)
{
	iso_real late[SVOXEL_ROW], loud[SVOXEL_ROW], per_us = REAL(p->bins_per_us);

	iso_sound_row(late, loud, &p->sound, q, p->pos + 3 * q, at, first, p->ds, row->n);
	for (int i = 0; i < row->n; i++) {
		row->u[i] += late[i] * per_us;
		row->amplitude[i] *= loud[i] * ratio[i] * ratio[i];
	}
}

int64_t iso_svoxel_find_row(struct svoxel_row *row, const struct svoxel *p, int64_t q, const double at[3],
                            double weight, int64_t ix, int64_t iy, int64_t iz)
{
	const double middle = (row->n - 1) / 2.;
	const double from[3] = { p->first[0] + ((double)ix + middle) * p->ds,
		                 p->first[1] + (double)iy * p->ds, p->first[2] + (double)iz * p->ds };
	const struct svoxel_view v = svoxel_view(p, q, at, from);
	const iso_real per_mm = REAL(p->bins_per_mm), ds = REAL(p->ds), o = REAL(-middle * p->ds);
	const iso_real a = REAL(weight) * OVER_2_PI, two_pi = 1 / OVER_2_PI, least = REAL(p->least);

	for (int i = 0; i < row->n; i++) {
		iso_real ox = o + ds * REAL(i), d;

		row->u[i] = svoxel_delay(&v, per_mm, ox * (ox + v.r2[0]), &d);
		row->amplitude[i] = a / d;
	}
	/* tx = a |x'| / (c d), ty likewise: not below the guard; the amplitude is over tx ty */
	for (int i = 0; p->sir == ISO_SIR_RECT && i < row->n; i++) {
		iso_real ox = o + ds * REAL(i), over_d = two_pi * row->amplitude[i];
		iso_real x = v.x + ox * v.ex[0], y = v.y + ox * v.ey[0];
		iso_real tx = iso_fmax((x < 0 ? -x : x) * v.side_x * over_d, least);
		iso_real ty = iso_fmax((y < 0 ? -y : y) * v.side_y * over_d, least);

		row->half_x[i] = tx / 2;
		row->half_y[i] = ty / 2;
		row->amplitude[i] /= tx * ty;
	}
	if (p->delays) {
		const double first[3] = { p->first[0] + (double)ix * p->ds, from[1], from[2] };

		add_tissue(row, p, q, at, first, p->sound.ratio + (iz * p->n[1] + iy) * p->n[0] + ix);
	}
	return v.bin - p->low;
}

iso_real iso_svoxel_find_bins(struct svoxel_row *row, const struct svoxel *p, int k)
{
	iso_real sx = k & 1 ? 1 : -1, sy = k & 2 ? 1 : -1, corner[SVOXEL_ROW];
	const iso_real *u = svoxel_impulses(p) > 1 ? corner : row->u;

	for (int i = 0; u == corner && i < row->n; i++)
		corner[i] = row->u[i] + (sx * row->half_x[i] + sy * row->half_y[i]);
#pragma omp simd
	for (int i = 0; i < row->n; i++) row->first[i] = svoxel_first(u[i], &row->s[i]);
	return sx * sy;
}

/* ---- blocks ---- */

/* Voxels of a block of the adjoint. */
static const int block_size[3] = { SVOXEL_ROW, SVOXEL_ROWS_Y, SVOXEL_ROWS_Z };

static int64_t blocks_along(const struct svoxel *p, int axis)
{
	return (p->n[axis] + block_size[axis] - 1) / block_size[axis];
}

/* `row`, as a number of rows from the block's first in plane z, cut to 0 ... n[1]. */
static int row_in(const struct svoxel *p, const struct svoxel_block *k, int z, int64_t row)
{
	row -= (k->first[2] + z) * p->n[1] + k->first[1];
	return (int)(row < 0 ? 0 : MIN(row, k->n[1]));
}

struct svoxel_block iso_svoxel_block(const struct svoxel *p, int64_t b, struct iso_rows own)
{
	struct svoxel_block k;

	for (int a = 0; a < 3; b /= blocks_along(p, a++)) {
		k.first[a] = b % blocks_along(p, a) * block_size[a];
		k.n[a] = (int)MIN(block_size[a], p->n[a] - k.first[a]);
	}
	for (int z = 0; z < k.n[2]; z++) {
		k.from[z] = row_in(p, &k, z, own.first);
		k.to[z] = row_in(p, &k, z, own.first + own.n);
	}
	return k;
}

struct iso_rows iso_svoxel_blocks(const struct svoxel *p, struct iso_rows own)
{
	int64_t layer = blocks_along(p, 0) * blocks_along(p, 1), rows = p->n[1] * SVOXEL_ROWS_Z;
	int64_t first = own.first / rows, end = (own.first + own.n + rows - 1) / rows;

	return (struct iso_rows){ first * layer, own.n > 0 ? (end - first) * layer : 0 };
}
