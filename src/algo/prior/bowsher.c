/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights from an anatomical image (Bowsher 2004): of the neighbours of a voxel those count that are most like it there. */
#include "prior_in.h"

/* The neighbours of voxel `at` that count, a bit each: b_nm. Ties go to the first in the order of prior_near. */
static uint32_t alike(const struct iso_grid *g, const iso_real *z, const int64_t at[3], int most)
{
	int64_t nx = g->n[0], ny = g->n[1];
	const iso_real *here = z + (at[2] * ny + at[1]) * nx + at[0];
	double far[PRIOR_NEAR];
	int which[PRIOR_NEAR], n = 0;
	uint32_t chosen = 0;

	for (int i = 0; i < PRIOR_NEAR; i++) {
		int d[3], inside = 1, k;

		prior_near(d, i);
		for (int a = 0; a < 3; a++) inside &= at[a] + d[a] >= 0 && at[a] + d[a] < g->n[a];
		if (!inside) continue;
		double away = fabs((double)here[0] - (double)here[(d[2] * ny + d[1]) * nx + d[0]]);

		if (n == most && !(away < far[n - 1])) continue;
		for (k = n < most ? n++ : n - 1; k > 0 && away < far[k - 1]; k--) {
			far[k] = far[k - 1];
			which[k] = which[k - 1];
		}
		far[k] = away;
		which[k] = i;
	}
	for (int k = 0; k < n; k++) chosen |= 1u << which[k];
	return chosen;
}

/* First the choice of each voxel, then, in place, b_nm + b_mn of the pairs in front: the choices of voxels behind have no
   more readers by then, as voxels are gone through from first to last, by planes. */
static uint32_t weights(const struct iso_grid *g, const uint32_t *chosen, const int64_t at[3])
{
	const uint32_t *here = chosen + (at[2] * g->n[1] + at[1]) * g->n[0] + at[0];
	uint32_t bits = 0;

	for (int i = 0; i < PRIOR_PAIRS; i++) {
		int d[3], inside = 1;

		prior_offset(d, i);
		for (int a = 0; a < 3; a++) inside &= at[a] + d[a] >= 0 && at[a] + d[a] < g->n[a];
		if (!inside) continue;
		uint32_t there = here[(d[2] * g->n[1] + d[1]) * g->n[0] + d[0]];

		/* seen from there, this voxel is neighbour 12 - i */
		bits |= ((here[0] >> (PRIOR_PAIRS + i) & 1) + (there >> (PRIOR_PAIRS - 1 - i) & 1)) << 2 * i;
	}
	return bits;
}

void iso_prior_bowsher(uint32_t *bits, const iso_ctx *ctx, const struct iso_grid *g, const iso_real *anatomy,
                       int neighbours)
{
	const int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];

#pragma omp parallel for collapse(2) num_threads(ctx->threads)
	for (int64_t iz = 0; iz < nz; iz++)
		for (int64_t iy = 0; iy < ny; iy++)
			for (int64_t ix = 0; ix < nx; ix++)
				bits[(iz * ny + iy) * nx + ix] =
					alike(g, anatomy, (const int64_t[]){ ix, iy, iz }, neighbours);
	for (int64_t iz = 0; iz < nz; iz++)
		for (int64_t iy = 0; iy < ny; iy++)
			for (int64_t ix = 0; ix < nx; ix++)
				bits[(iz * ny + iy) * nx + ix] =
					weights(g, bits, (const int64_t[]){ ix, iy, iz });
}
