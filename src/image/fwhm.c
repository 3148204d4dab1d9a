/* SPDX-License-Identifier: BSD-3-Clause */
/* Widths of a peak at half and at a tenth of its height, as NEMA NU 2 measures a point source. */
#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WINDOW 20 /* voxels */

/* Voxels of the window, and the highest of those in its middle half. */
struct window {
	int64_t first[3], last[3], top[3];
};

static double value(const struct iso_array *x, const int64_t i[3])
{
	return x->v[(i[2] * x->grid.n[1] + i[1]) * x->grid.n[0] + i[0]];
}

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

static int find_top(struct window *w, const struct iso_array *x, const struct iso_fwhm *p)
{
	double top = -INFINITY;
	int64_t first[3], last[3], i[3];
	int st = find_range(first, last, &x->grid, p, 4);

	if (st) return st;
	memcpy(w->top, first, sizeof first);
	for (i[2] = first[2]; i[2] <= last[2]; i[2]++)
		for (i[1] = first[1]; i[1] <= last[1]; i[1]++)
			for (i[0] = first[0]; i[0] <= last[0]; i[0]++)
				if (value(x, i) > top) {
					top = value(x, i);
					memcpy(w->top, i, sizeof i);
				}
	return ISO_OK;
}

/* A profile of the window through its highest voxel. */
struct line {
	const struct iso_array *x;
	const struct window *w;
	int axis;
	double background;
};

static double at(const struct line *l, int64_t i)
{
	int64_t index[3] = { l->w->top[0], l->w->top[1], l->w->top[2] };

	index[l->axis] = i;
	return value(l->x, index) - l->background;
}

/* Distance in voxels from the highest voxel to where the profile falls to `height`, in direction
   `step`; NaN if it does not. */
static double crossing(const struct line *l, int step, double height)
{
	int64_t top = l->w->top[l->axis];

	for (int64_t i = top;; i += step) {
		int64_t next = i + step;

		if (next < l->w->first[l->axis] || next > l->w->last[l->axis]) return NAN;
		double here = at(l, i), there = at(l, next);

		if (there <= height) return (double)llabs(i - top) + (here - height) / (here - there);
	}
}

static double width(const struct line *l, double height)
{
	return (crossing(l, -1, height) + crossing(l, 1, height)) * l->x->grid.voxel[l->axis];
}

static struct iso_width measure(const struct line *l)
{
	int64_t top = l->w->top[l->axis];
	struct iso_width r = { NAN, NAN, NAN, NAN };

	if (top == l->w->first[l->axis] || top == l->w->last[l->axis]) return r;
	/* v(t) = v0 + b t + c t^2 through t = -1, 0, 1; the top is at -b / (2 c) */
	double below = at(l, top - 1), v0 = at(l, top), above = at(l, top + 1);
	double b = (above - below) / 2, c = (above + below) / 2 - v0;
	double t = c < 0 ? -b / (2 * c) : 0;

	if (!(v0 >= below && v0 >= above)) return r; /* the slope of a higher peak, outside */
	r.centre = iso_measure_place(&l->x->grid, l->axis, top) + t * l->x->grid.voxel[l->axis];
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
	struct window window;
	int st;

	if ((st = iso_measure_check(x, "fwhm")) || (st = check(p)) ||
	    (st = find_range(window.first, window.last, &x->grid, p, 2)) || (st = find_top(&window, x, p)))
		return st;
	for (int a = 0; a < 3; a++) w[a] = measure(&(struct line){ x, &window, a, p->background });
	return ISO_OK;
}
