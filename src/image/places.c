/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of an image, and what a picture needs of its values. */
#include "places.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

int iso_measure_check(const struct iso_array *x, const char *who)
{
	int st;

	if (x->n_dim != 3 || !x->has_grid)
		return iso_fail(ISO_EARG, "%s: %d axes %s grid, must be an image of 3 axes with one", who,
		                x->n_dim, x->has_grid ? "with a" : "without");
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

/* ---- the volume of a picture, from an array ---- */

int iso_shown_of(struct iso_shown *vol, const struct iso_array *a, int64_t frame)
{
	struct iso_shown r = { .in_mm = a->has_grid };
	int64_t total, frames = a->n_dim == 4 ? a->dim[0] : 1;
	int st;

	if (a->n_dim < 2 || a->n_dim > 4)
		return iso_fail(ISO_EARG, "picture: an array of %d axes, must be 2 to 4", a->n_dim);
	if (!size_product(&total, a->n_dim, a->dim) || total < 1 || total != a->n || !a->v)
		return iso_fail(ISO_EARG, "picture: the array's values are not as many as its sizes say");
	if (frame < 0 || frame >= frames)
		return iso_fail(ISO_EARG, "picture: frame %" PRId64 " of an array with %" PRId64 ", from 0",
		                frame, frames);
	for (int i = 0; i < 3; i++) {
		int64_t n = i < a->n_dim ? a->dim[a->n_dim - 1 - i] : 1;

		if (a->has_grid && a->grid.n[i] != n)
			return iso_fail(ISO_EARG, "picture: the array does not fit its grid");
		r.grid.n[i] = n;
		r.grid.voxel[i] = 1; /* index i lies at coordinate i */
		r.grid.centre[i] = .5 * (double)(n - 1);
	}
	if (a->has_grid) r.grid = a->grid;
	if ((st = iso_grid_check(&r.grid))) return st;
	r.v = a->v + frame * (a->n / frames);
	*vol = r;
	return ISO_OK;
}

bool iso_shown_anatomic(const struct iso_array *a)
{
	return a->has_grid && strcmp(a->unit, "absorbed energy") != 0;
}

/* ---- planes ---- */

int iso_plane_axis(int axis, bool vertical)
{
	return vertical ? (axis == 2 ? 1 : 2) : (axis == 0 ? 1 : 0);
}

void iso_shown_slice(iso_real *plane, const struct iso_shown *vol, int axis, int64_t index)
{
	const int64_t *n = vol->grid.n, step[3] = { 1, n[0], n[0] * n[1] };
	int h = iso_plane_axis(axis, false), v = iso_plane_axis(axis, true);

	for (int64_t j = 0; j < n[v]; j++)
		for (int64_t i = 0; i < n[h]; i++)
			*plane++ = vol->v[index * step[axis] + j * step[v] + i * step[h]];
}

/* One pass in the order of memory; `to` says where the voxel lies on the plane. */
void iso_shown_max(iso_real *plane, const struct iso_shown *vol, int axis)
{
	const int64_t *n = vol->grid.n;
	const iso_real *value = vol->v;
	int h = iso_plane_axis(axis, false), v = iso_plane_axis(axis, true);
	int64_t to[3] = { 0 };

	to[h] = 1;
	to[v] = n[h];
	for (int64_t i = 0; i < n[h] * n[v]; i++) plane[i] = (iso_real)NAN;
	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++)
			for (int64_t x = 0; x < n[0]; x++, value++) {
				iso_real *most = &plane[x * to[0] + y * to[1] + z * to[2]];

				if (isfinite(*value) && !(*value <= *most)) *most = *value;
			}
}

/* ---- values ---- */

struct iso_range iso_shown_range(const struct iso_shown *vol)
{
	int64_t total = iso_grid_voxels(&vol->grid);
	struct iso_range r = { .min = INFINITY, .max = -INFINITY };

	for (int64_t i = 0; i < total; i++) {
		double v = vol->v[i];

		if (!isfinite(v)) {
			r.not_finite++;
			continue;
		}
		r.min = fmin(r.min, v);
		r.max = fmax(r.max, v);
	}
	if (r.not_finite == total) r.min = r.max = 0;
	return r;
}

/* Around (x, y, z), in units of 1/64; outside the volume lies 0. */
static double smoothed(const struct iso_shown *vol, int64_t x, int64_t y, int64_t z)
{
	static const double weight[] = { 1, 2, 1 };
	const int64_t *n = vol->grid.n;
	double sum = 0;

	for (int64_t k = z > 0 ? z - 1 : 0; k <= z + 1 && k < n[2]; k++)
		for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < n[1]; j++)
			for (int64_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < n[0]; i++) {
				double v = vol->v[(k * n[1] + j) * n[0] + i];

				if (isfinite(v))
					sum += weight[k - z + 1] * weight[j - y + 1] * weight[i - x + 1] * v;
			}
	return sum;
}

void iso_shown_hottest(int64_t voxel[3], const struct iso_shown *vol)
{
	const int64_t *n = vol->grid.n;
	double most = -INFINITY;

	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++)
			for (int64_t x = 0; x < n[0]; x++) {
				double v = smoothed(vol, x, y, z);

				if (v > most) {
					most = v;
					memcpy(voxel, (int64_t[]){ x, y, z }, 3 * sizeof *voxel);
				}
			}
}

/* Hoare's. */
iso_real iso_select_place(iso_real *a, int64_t n, int64_t k)
{
	int64_t left = 0, right = n - 1;

	while (left < right) {
		iso_real pivot = a[k];
		int64_t i = left, j = right;

		do {
			while (a[i] < pivot) i++;
			while (pivot < a[j]) j--;
			if (i <= j) {
				iso_real swap = a[i];

				a[i++] = a[j];
				a[j--] = swap;
			}
		} while (i <= j);
		if (j < k) left = i;
		if (k < i) right = j;
	}
	return a[k];
}

int iso_shown_percentiles(double value[2], const struct iso_shown *vol, const double percent[2])
{
	int64_t total = iso_grid_voxels(&vol->grid), n = 0;
	iso_real *finite = size_alloc(total, sizeof *finite);

	if (!finite) return iso_fail_memory("percentiles", total * (int64_t)sizeof *finite);
	for (int64_t i = 0; i < total; i++)
		if (isfinite(vol->v[i])) finite[n++] = vol->v[i];
	for (int i = 0; i < 2; i++)
		value[i] = n ? iso_select_place(finite, n, llround(percent[i] / 100 * (double)(n - 1))) : 0;
	free(finite);
	return ISO_OK;
}
