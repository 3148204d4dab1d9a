/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids: a box of voxels in mm. */
#include "core/size.h"
#include "core/status.h"

#include <math.h>

int iso_grid_check(const struct iso_grid *g)
{
	if (!g) return iso_fail_null(__func__);
	int64_t n;

	for (int a = 0; a < 3; a++) {
		if (g->n[a] < 1)
			return iso_fail(ISO_EARG, "grid: size %c is %" PRId64 ", must be at least 1",
			                "xyz"[a], g -> n[a]);
		if (!(g->voxel[a] > 0) || !isfinite(g->voxel[a]))
			return iso_fail(ISO_EARG, "grid: voxel size %c is %g mm, must be above 0", "xyz"[a],
			                g -> voxel[a]);
		if (!isfinite(g->centre[a]))
			return iso_fail(ISO_EARG, "grid: centre %c is %g mm, must be finite", "xyz"[a],
			                g -> centre[a]);
	}
	if (!size_product(&n, 3, g->n) || !size_mul(&n, n, 16))
		return iso_fail(ISO_EARG,
		                "grid: %" PRId64 " x %" PRId64 " x %" PRId64
		                " voxels are more than 64-bit sizes hold",
		                g->n[0], g->n[1], g->n[2]);
	return ISO_OK;
}

int64_t iso_grid_voxels(const struct iso_grid *g)
{
	return g ? g->n[0] * g->n[1] * g->n[2] : 0;
}

bool iso_grid_same(const struct iso_grid *a, const struct iso_grid *b)
{
	if (!a || !b) return false;
	for (int i = 0; i < 3; i++) {
		double tol = 1e-4 * a->voxel[i];

		if (a->n[i] != b->n[i] || fabs(a->centre[i] - b->centre[i]) > tol ||
		    fabs(a->voxel[i] - b->voxel[i]) * (double)a->n[i] > tol)
			return false;
	}
	return true;
}
