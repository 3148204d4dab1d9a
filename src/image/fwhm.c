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

/* A profile: v[i], i = 0 ... n - 1, less the background; `voxel` mm apart. */
struct line {
	const double *v;
	int64_t n;
	double background, voxel;
};

static double at(const struct line *l, int64_t i)
{
	return l->v[i] - l->background;
}

/* Distance in voxels from voxel `top` to where the profile falls to `height`, in direction `step`; NaN if it does not. */
static double crossing(const struct line *l, int64_t top, int step, double height)
{
	for (int64_t i = top; i + step >= 0 && i + step < l->n; i += step) {
		double here = at(l, i), there = at(l, i + step);

		if (there <= height) return (double)llabs(i - top) + (here - height) / (here - there);
	}
	return NAN;
}

static double width(const struct line *l, int64_t top, double height)
{
	return (crossing(l, top, -1, height) + crossing(l, top, 1, height)) * l->voxel;
}

static struct iso_width measure(const struct line *l, int64_t top)
{
	struct iso_width r = { NAN, NAN, NAN, NAN };

	if (top <= 0 || top >= l->n - 1) return r;
	/* v(t) = v0 + b t + c t^2 through t = -1, 0, 1; the top is at -b / (2 c) */
	double below = at(l, top - 1), v0 = at(l, top), above = at(l, top + 1);
	double b = (above - below) / 2, c = (above + below) / 2 - v0;
	double t = c < 0 ? -b / (2 * c) : 0;

	if (!(v0 >= below && v0 >= above)) return r; /* the slope of a higher peak, outside */
	r.centre = t * l->voxel;
	r.height = v0 + b * t / 2;
	if (v0 > 0) {
		r.fwhm = width(l, top, r.height / 2);
		r.fwtm = width(l, top, r.height / 10);
	}
	return r;
}

struct iso_width iso_width_of(const double *v, int64_t n, double step, double first)
{
	const struct line l = { v, n, 0, step };
	int64_t top = 0;

	for (int64_t i = 1; i < n; i++) top = v[i] > v[top] ? i : top;
	struct iso_width r = measure(&l, top);

	r.centre += first + (double)top * step;
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

/* The box whose profiles are measured: its voxels, those of its middle half, and the highest of these. */
struct box {
	int64_t first[3], last[3], low[3], high[3], top[3];
};

/* v[i], i = first ... last along `axis`: sums over the voxels whose centres lie within `half` (mm) of the top's along the
   two other axes. Returns the number of voxels in a sum. */
static double add_profile(double *v, const struct iso_array *x, const struct box *b, int axis,
                          const double half[3])
{
	const int64_t *n = x->grid.n, stride[3] = { 1, n[0], n[0] * n[1] };
	int64_t from[3], to[3], i[3];

	for (int a = 0; a < 3; a++) {
		int64_t reach =
			a == axis ? 0 : (int64_t)floor(half[a] / x->grid.voxel[a] + MEASURE_TOLERANCE);

		from[a] = b->top[a] > reach ? b->top[a] - reach : 0;
		to[a] = b->top[a] + reach < n[a] ? b->top[a] + reach : n[a] - 1;
	}
	from[axis] = b->first[axis];
	to[axis] = b->last[axis];
	for (i[2] = from[2]; i[2] <= to[2]; i[2]++)
		for (i[1] = from[1]; i[1] <= to[1]; i[1]++)
			for (i[0] = from[0]; i[0] <= to[0]; i[0]++)
				v[i[axis] - from[axis]] += x->v[i[2] * stride[2] + i[1] * stride[1] + i[0]];
	double voxels = 1;

	for (int a = 0; a < 3; a++)
		if (a != axis) voxels *= (double)(to[a] - from[a] + 1);
	return voxels;
}

/* The largest sample of the middle half, and the widths about it. */
static struct iso_width measure_profile(const double *v, const struct box *b, int axis,
                                        const struct iso_grid *g, double background)
{
	const struct line l = { v, b->last[axis] - b->first[axis] + 1, background, g->voxel[axis] };
	int64_t top = b->low[axis] - b->first[axis];

	for (int64_t i = top; i <= b->high[axis] - b->first[axis]; i++) top = v[i] > v[top] ? i : top;
	struct iso_width r = measure(&l, top);

	r.centre += iso_measure_place(g, axis, top + b->first[axis]);
	return r;
}

/* One round: `half` of the windows, mm; 0: one voxel wide. */
static int measure_axes(struct iso_width w[3], const struct iso_array *x, const struct box *b,
                        const double half[3], double background)
{
	for (int a = 0; a < 3; a++) {
		double *v = calloc((size_t)(b->last[a] - b->first[a] + 1), sizeof *v);

		if (!v) return iso_fail_memory("fwhm", (b->last[a] - b->first[a] + 1) * (int64_t)sizeof *v);
		double voxels = add_profile(v, x, b, a, half);

		w[a] = measure_profile(v, b, a, &x->grid, background * voxels);
		free(v);
	}
	return ISO_OK;
}

int iso_measure_fwhm(struct iso_width w[3], const struct iso_array *x, const struct iso_fwhm *p)
{
	return iso_measure_fwhm_window(w, x, p, 0);
}

int iso_measure_fwhm_window(struct iso_width w[3], const struct iso_array *x, const struct iso_fwhm *p,
                            double window_fwhm)
{
	if (!w || !x || !p) return iso_fail_null(__func__);
	struct iso_width got[3] = { 0 };
	double half[3] = { 0 };
	struct box b;
	int st;

	if (!(window_fwhm >= 0 && window_fwhm <= 100))
		return iso_fail(ISO_EARG, "fwhm: window is %g FWHM, must be 0 to 100", window_fwhm);
	if ((st = iso_measure_check(x, "fwhm")) || (st = check(p)) ||
	    (st = find_range(b.first, b.last, &x->grid, p, 2)) ||
	    (st = find_range(b.low, b.high, &x->grid, p, 4)))
		return st;
	find_top(b.top, x, b.low, b.high);
	for (int round = 0; round < (window_fwhm > 0 ? 3 : 1); round++) {
		if ((st = measure_axes(got, x, &b, half, p->background))) return st;
		for (int a = 0; a < 3; a++)
			half[a] = isfinite(got[a].fwhm) ? window_fwhm * got[a].fwhm / 2 : half[a];
	}
	memcpy(w, got, sizeof got);
	return ISO_OK;
}
