/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in an image, for the measures. */
#include "places.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>

int iso_measure_check(const struct iso_array *x, const char *who)
{
	int st;

	if (x->n_dim != 3 || !x->has_grid)
		return iso_fail(ISO_EARG,
		                "%s: got an array of %d axes %s grid, must be an image of 3 axes with one",
		                who, x->n_dim, x->has_grid ? "with a" : "without");
	if ((st = iso_grid_check(&x->grid))) return st;
	for (int a = 0; a < 3; a++)
		if (x->dim[2 - a] != x->grid.n[a])
			return iso_fail(ISO_EARG,
			                "%s: the image has %" PRId64 " voxels along %c, its grid %" PRId64,
			                who, x->dim[2 - a], "xyz"[a], x -> grid.n[a]);
	return ISO_OK;
}

double iso_measure_index(const struct iso_grid *g, int axis, double place)
{
	return (place - g->centre[axis]) / g->voxel[axis] + (double)(g->n[axis] - 1) / 2;
}

double iso_measure_place(const struct iso_grid *g, int axis, int64_t i)
{
	return g->centre[axis] + ((double)i - (double)(g->n[axis] - 1) / 2) * g->voxel[axis];
}

void iso_measure_range(int64_t *first, int64_t *last, const struct iso_grid *g, int axis, double low,
                       double high)
{
	double n = (double)g->n[axis];
	double from = ceil(iso_measure_index(g, axis, low) - MEASURE_TOLERANCE);
	double to = floor(iso_measure_index(g, axis, high) + MEASURE_TOLERANCE);

	*first = (int64_t)fmin(fmax(from, 0), n);
	*last = (int64_t)fmax(fmin(to, n - 1), -1);
}

double iso_measure_between(int64_t i[2], double at, int64_t n)
{
	double c = fmin(fmax(at, 0), (double)(n - 1));

	i[0] = (int64_t)c;
	i[1] = i[0] + 1 < n ? i[0] + 1 : i[0];
	return c - (double)i[0];
}

bool iso_measure_inside(const struct iso_grid *g, int axis, double place)
{
	double i = iso_measure_index(g, axis, place);

	return i >= -.5 - MEASURE_TOLERANCE && i <= (double)g->n[axis] - .5 + MEASURE_TOLERANCE;
}

struct iso_extent iso_measure_extent(const struct iso_grid *g)
{
	const double *c = g->centre;
	struct iso_extent e;
	double half[3];

	for (int a = 0; a < 3; a++) half[a] = (double)g->n[a] * g->voxel[a] / 2;
	iso_snprintf(e.text, sizeof e.text, "x %g to %g, y %g to %g, z %g to %g", c[0] - half[0],
	             c[0] + half[0], c[1] - half[1], c[1] + half[1], c[2] - half[2], c[2] + half[2]);
	return e;
}
