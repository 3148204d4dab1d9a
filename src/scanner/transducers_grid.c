/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an array of transducers looks, and a grid there. */
#include "scanner.h"
#include "core/status.h"

#define FLAT 1e-3 /* of the radius, and of a unit normal: a plane but for rounding */
#define SIDE .625 /* of the radius: 25 mm in a small-animal ring of 40.5 mm */

enum { VOXELS = 256, VOXELS_MOST = 1000000 };

/* The axis across which all transducers lie in a plane, and look along it; -1: none, or a line of
   them, which has two. */
static int flat_axis(const struct iso_transducers *t)
{
	int found = -1, n = 0;

	for (int a = 0; a < 3; a++) {
		bool flat = true;

		for (int64_t q = 0; q < t->n && flat; q++)
			flat = fabs(t->pos[3 * q + a] - t->pos[a]) <= FLAT * t->radius &&
			       fabs(t->normal[3 * q + a]) <= FLAT;
		n += flat;
		found = flat ? a : found;
	}
	return n == 1 ? found : -1;
}

void iso_transducers_field(double field[6], const struct iso_transducers *t)
{
	int flat = flat_axis(t);

	for (int a = 0; a < 3; a++) {
		double half = a == flat ? 0 : SIDE / 2 * t->radius;
		double middle = a == flat ? t->pos[a] : t->centre[a];

		field[2 * a] = middle - half;
		field[2 * a + 1] = middle + half;
	}
}

static int set_voxel(struct iso_grid *g, const double side[3], int thin)
{
	double voxel = 0;

	if (g->voxel[0] > 0) return ISO_OK;
	if (g->n[0] < 1 && thin < 0)
		return iso_fail(ISO_EARG, "grid: the size of its voxels is missing, or their number");
	for (int a = 0; a < 3; a++)
		if (a != thin) voxel = fmax(voxel, side[a] / (g->n[0] > 0 ? (double)g->n[a] : VOXELS));
	if (!(voxel > 0))
		return iso_fail(ISO_EARG, "grid: the size of its voxels is missing: its field has no width");
	for (int a = 0; a < 3; a++) g->voxel[a] = voxel;
	return ISO_OK;
}

static int set_sizes(struct iso_grid *g, const double side[3])
{
	for (int a = 0; a < 3 && g->n[a] < 1; a++) {
		double n = ceil(side[a] / g->voxel[a] - 1e-6);

		if (!(n <= VOXELS_MOST))
			return iso_fail(ISO_EARG, "grid: the number of its voxels is missing: %g of them fit",
			                n);
		g->n[a] = n > 1 ? (int64_t)n : 1;
	}
	return ISO_OK;
}

int iso_transducers_grid(struct iso_grid *g, const struct iso_transducers *t, const double *field)
{
	if (!g || !t) return iso_fail_null(__func__);
	int thin = flat_axis(t), st;
	double see[6], side[3];

	if (!field && thin < 0)
		return iso_fail(ISO_EARG, "grid: the %s of its voxels is missing",
		                g->n[0] > 0 ? "size" : "number");
	iso_transducers_field(see, t);
	for (int a = 0; a < 3; a++) {
		const double *f = field && a != thin ? field : see;

		side[a] = f[2 * a + 1] - f[2 * a];
		g->centre[a] = (f[2 * a] + f[2 * a + 1]) / 2;
		thin = thin < 0 && side[a] == 0 ? a : thin;
	}
	if ((st = set_voxel(g, side, thin))) return st;
	return set_sizes(g, side);
}
