/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a region of an image. */
#include "places.h"

#include <math.h>

/* The box around a region. */
struct bounds {
	double low[3], high[3];
};

static struct bounds bounds(const struct iso_roi *r)
{
	struct bounds b;

	for (int a = 0; a < 3; a++) {
		bool along = r->kind == ISO_ROI_CYLINDER && a == r->axis;
		double half = along ? r->length / 2 : r->radius;

		if (r->kind == ISO_ROI_MASK) half = INFINITY;
		b.low[a] = r->kind == ISO_ROI_BOX ? r->low[a] : r->centre[a] - half;
		b.high[a] = r->kind == ISO_ROI_BOX ? r->high[a] : r->centre[a] + half;
	}
	return b;
}

/* Whether a point of the box around it lies in a region, less the mask. */
static bool contains(const struct iso_roi *r, const double p[3], double tolerance)
{
	double s = 0;

	if (r->kind == ISO_ROI_BOX || r->kind == ISO_ROI_MASK) return true;
	for (int a = 0; a < 3; a++)
		if (r->kind == ISO_ROI_SPHERE || a != r->axis)
			s += (p[a] - r->centre[a]) * (p[a] - r->centre[a]);

	return sqrt(s) <= r->radius + tolerance;
}

static double smallest_voxel(const struct iso_grid *g)
{
	return fmin(g->voxel[0], fmin(g->voxel[1], g->voxel[2]));
}

/* Mean and sum of squared deviations, value by value (Welford). */
struct tally {
	int64_t n;
	double mean, squares, sum, min, max;
};

static void count(struct tally *t, double v)
{
	double d = v - t->mean;

	t->n++;
	t->mean += d / (double)t->n;
	t->squares += d * (v - t->mean);
	t->sum += v;
	t->min = fmin(t->min, v);
	t->max = fmax(t->max, v);
}

static struct tally tally(const struct iso_array *x, const struct iso_roi *r)
{
	const struct iso_grid *g = &x->grid;
	struct tally t = { .min = INFINITY, .max = -INFINITY };
	struct bounds b = bounds(r);
	double p[3], tolerance = MEASURE_TOLERANCE * smallest_voxel(g);
	int64_t first[3], last[3];

	for (int a = 0; a < 3; a++) iso_measure_range(&first[a], &last[a], g, a, b.low[a], b.high[a]);
	for (int64_t iz = first[2]; iz <= last[2]; iz++)
		for (int64_t iy = first[1]; iy <= last[1]; iy++) {
			p[1] = iso_measure_place(g, 1, iy);
			p[2] = iso_measure_place(g, 2, iz);
			for (int64_t ix = first[0]; ix <= last[0]; ix++) {
				int64_t i = (iz * g->n[1] + iy) * g->n[0] + ix;

				p[0] = iso_measure_place(g, 0, ix);
				if (contains(r, p, tolerance) &&
				    (r->kind != ISO_ROI_MASK || r->mask->v[i] != 0))
					count(&t, x->v[i]);
			}
		}
	return t;
}

static int check_box(const struct iso_roi *r)
{
	for (int a = 0; a < 3; a++)
		if (!isfinite(r->low[a]) || !isfinite(r->high[a]) || r->low[a] > r->high[a])
			return iso_fail(ISO_EARG,
			                "box: reaches from %g to %g mm along %c, the second must not be less",
			                r->low[a], r->high[a], "xyz"[a]);
	return ISO_OK;
}

static int check_round(const struct iso_roi *r)
{
	const char *who = r->kind == ISO_ROI_SPHERE ? "sphere" : "cylinder";

	for (int a = 0; a < 3; a++)
		if (!isfinite(r->centre[a]))
			return iso_fail(ISO_EARG, "%s: centre %c is %g mm, must be finite", who, "xyz"[a],
			                r -> centre[a]);
	if (!(r->radius > 0) || !isfinite(r->radius))
		return iso_fail(ISO_EARG, "%s: radius is %g mm, must be above 0", who, r->radius);
	if (r->kind == ISO_ROI_SPHERE) return ISO_OK;
	if (!(r->length > 0) || !isfinite(r->length))
		return iso_fail(ISO_EARG, "%s: length is %g mm, must be above 0", who, r->length);
	if (r->axis < 0 || r->axis > 2)
		return iso_fail(ISO_EARG, "%s: axis is %d, must be 0, 1 or 2", who, r->axis);
	return ISO_OK;
}

static int check_mask(const struct iso_roi *r, const struct iso_array *x)
{
	int st = iso_measure_check(r->mask, "mask");

	if (st) return st;
	if (!iso_grid_same(&r->mask->grid, &x->grid))
		return iso_fail(ISO_EARG, "mask: lies on another grid than the image");
	return ISO_OK;
}

static int check(const struct iso_roi *r, const struct iso_array *x)
{
	switch (r->kind) {
	case ISO_ROI_MASK:
		return check_mask(r, x);
	case ISO_ROI_BOX:
		return check_box(r);
	default:
		return check_round(r);
	}
}

static int no_voxels(const struct iso_roi *r, const struct iso_grid *g)
{
	static const char *const who[] = { "sphere", "cylinder", "box" };
	char extent[200];

	if (r->kind == ISO_ROI_MASK) return iso_fail(ISO_EINPUT, "mask: all voxels are 0, some must not be");
	iso_measure_extent(extent, sizeof extent, g);
	return iso_fail(ISO_EINPUT,
	                "%s: holds the centre of no voxel; the image reaches %s, with voxels of %g x %g x %g",
	                who[r->kind], extent, g->voxel[0], g->voxel[1], g->voxel[2]);
}

int iso_measure_roi(struct iso_roi_stats *s, const struct iso_array *x, const struct iso_roi *r)
{
	if (!s || !x || !r) return iso_fail_null(__func__);
	const double *voxel = x->grid.voxel;
	struct tally t;
	int st;

	if ((st = iso_measure_check(x, "region")) || (st = check(r, x))) return st;
	t = tally(x, r);
	if (t.n == 0) return no_voxels(r, &x->grid);
	*s = (struct iso_roi_stats){
		.voxels = t.n,
		.volume = (double)t.n * voxel[0] * voxel[1] * voxel[2],
		.mean = t.mean,
		.std = sqrt(t.squares / (double)t.n),
		.min = t.min,
		.max = t.max,
		.sum = t.sum,
	};
	s->pstd = s->mean != 0 ? 100 * s->std / s->mean : NAN;
	return ISO_OK;
}

int iso_measure_tbr(double *tbr, const struct iso_array *x, const struct iso_roi *tumour,
                    const struct iso_roi *background)
{
	if (!tbr || !x || !tumour || !background) return iso_fail_null(__func__);
	struct iso_roi_stats t, b;
	int st;

	if ((st = iso_measure_roi(&t, x, tumour)) || (st = iso_measure_roi(&b, x, background))) return st;
	if (b.mean == 0) return iso_fail(ISO_EINPUT, "tbr: the background is 0, must have activity");
	*tbr = t.mean / b.mean;
	return ISO_OK;
}
