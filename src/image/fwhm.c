/* SPDX-License-Identifier: BSD-3-Clause */
/* Widths of a peak at half and at a tenth of its height, as NEMA NU 2 measures a point source. */
#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WINDOW 20 /* voxels */

/* Voxels within window / `parts` of the place, and at least the one that it lies in. */
static int find_range(int64_t first[3], int64_t last[3], const struct iso_grid *g, const struct iso_fwhm *p,
                      double parts)
{
	for (int a = 0; a < 3; a++) {
		double window = p->window > 0 ? p->window : DEFAULT_WINDOW * g->voxel[a];
		double half = fmax(window / parts, g->voxel[a] / 2);

		iso_measure_range(&first[a], &last[a], g, a, p->at[a] - half, p->at[a] + half);
		if (first[a] > last[a])
			return iso_fail(ISO_EINPUT,
			                "fwhm: no voxel within %g mm of %c = %g; the image reaches %s mm",
			                half, "xyz"[a], p -> at[a], iso_measure_extent(g).text);
	}
	return ISO_OK;
}

/* The highest of the voxels first ... last. */
static void find_top(int64_t top[3], const struct iso_array *x, const int64_t first[3], const int64_t last[3])
{
	const int64_t *n = x->grid.n;
	double most = -INFINITY;

	memcpy(top, first, 3 * sizeof *top);
	for (int64_t k = first[2]; k <= last[2]; k++)
		for (int64_t j = first[1]; j <= last[1]; j++)
			for (int64_t i = first[0]; i <= last[0]; i++) {
				double v = x->v[(k * n[1] + j) * n[0] + i];

				if (v > most) memcpy(top, (int64_t[]){ i, j, k }, 3 * sizeof *top);
				most = fmax(most, v);
			}
}

/* A profile through the highest voxel: v[i * stride], i = first ... last voxels from there. */
struct line {
	const iso_real *v;
	int64_t stride, first, last;
	double background, voxel; /* voxel: mm */
};

static double at(const struct line *l, int64_t i)
{
	return l->v[i * l->stride] - l->background;
}

/* Distance in voxels from the highest voxel to where the profile falls to `height`, in direction
   `step`; NaN if it does not. */
static double crossing(const struct line *l, int step, double height)
{
	for (int64_t i = 0; i + step >= l->first && i + step <= l->last; i += step) {
		double here = at(l, i), there = at(l, i + step);

		if (there <= height) return (double)llabs(i) + (here - height) / (here - there);
	}
	return NAN;
}

static double width(const struct line *l, double height)
{
	return (crossing(l, -1, height) + crossing(l, 1, height)) * l->voxel;
}

/* top: place of the highest voxel, mm. */
static struct iso_width measure(const struct line *l, double top)
{
	struct iso_width r = { NAN, NAN, NAN, NAN };

	if (l->first == 0 || l->last == 0) return r;
	/* v(t) = v0 + b t + c t^2 through t = -1, 0, 1; the top is at -b / (2 c) */
	double below = at(l, -1), v0 = at(l, 0), above = at(l, 1);
	double b = (above - below) / 2, c = (above + below) / 2 - v0;
	double t = c < 0 ? -b / (2 * c) : 0;

	if (!(v0 >= below && v0 >= above)) return r; /* the slope of a higher peak, outside */
	r.centre = top + t * l->voxel;
	r.height = v0 + b * t / 2;
	if (v0 > 0) {
		r.fwhm = width(l, r.height / 2);
		r.fwtm = width(l, r.height / 10);
	}
	return r;
}

static int check(const struct iso_fwhm *p)
{
	for (int a = 0; a < 3; a++)
		if (!isfinite(p->at[a]))
			return iso_fail(ISO_EARG, "fwhm: place %c is %g mm, must be finite", "xyz"[a],
			                p -> at[a]);
	if (!(p->window >= 0) || !isfinite(p->window))
		return iso_fail(ISO_EARG, "fwhm: window is %g mm, must be 0 or above", p->window);
	if (!isfinite(p->background))
		return iso_fail(ISO_EARG, "fwhm: background is %g, must be finite", p->background);
	return ISO_OK;
}

int iso_measure_fwhm(struct iso_width w[3], const struct iso_array *x, const struct iso_fwhm *p)
{
	if (!w || !x || !p) return iso_fail_null(__func__);
	const struct iso_grid *g = &x->grid;
	const int64_t stride[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	int64_t first[3], last[3], low[3], high[3], top[3]; /* of the window; of its middle half */
	const iso_real *v = x->v;
	int st;

	if ((st = iso_measure_check(x, "fwhm")) || (st = check(p)) ||
	    (st = find_range(first, last, g, p, 2)) || (st = find_range(low, high, g, p, 4)))
		return st;
	find_top(top, x, low, high);
	for (int a = 0; a < 3; a++) v += top[a] * stride[a];
	for (int a = 0; a < 3; a++) {
		struct line l = { v,          stride[a], first[a] - top[a], last[a] - top[a], p->background,
			          g->voxel[a] };

		w[a] = measure(&l, iso_measure_place(g, a, top[a]));
	}
	return ISO_OK;
}
