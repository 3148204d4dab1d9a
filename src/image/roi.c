/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a region of an image. */
#include "core/sized.h"
#include "places.h"

#include <math.h>

/* The voxels of the box around a region. */
static void find_box(int64_t first[3], int64_t last[3], const struct iso_roi *r, const struct iso_grid *g)
{
	for (int a = 0; a < 3; a++) {
		bool box = r->kind == ISO_ROI_BOX, along = r->kind == ISO_ROI_CYLINDER && a == r->axis;
		double half = r->kind == ISO_ROI_MASK ? INFINITY : along ? r->length / 2 : r->radius;

		iso_measure_range(&first[a], &last[a], g, a, box ? r->low[a] : r->centre[a] - half,
		                  box ? r->high[a] : r->centre[a] + half);
	}
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

/* Mean and sum of squared deviations, value by value (Welford). */
static void count(struct iso_roi_stats *s, double *squares, double v)
{
	double d = v - s->mean;

	s->voxels++;
	s->mean += d / (double)s->voxels;
	*squares += d * (v - s->mean);
	s->sum += v;
	s->min = fmin(s->min, v);
	s->max = fmax(s->max, v);
}

static struct iso_roi_stats add_up(const struct iso_array *x, const struct iso_roi *r)
{
	const struct iso_grid *g = &x->grid;
	const double *voxel = g->voxel,
		     tolerance = MEASURE_TOLERANCE * fmin(voxel[0], fmin(voxel[1], voxel[2]));
	struct iso_roi_stats s = { .min = INFINITY, .max = -INFINITY };
	double p[3], squares = 0;
	int64_t first[3], last[3];

	find_box(first, last, r, g);
	for (int64_t iz = first[2]; iz <= last[2]; iz++)
		for (int64_t iy = first[1]; iy <= last[1]; iy++) {
			p[1] = iso_measure_place(g, 1, iy);
			p[2] = iso_measure_place(g, 2, iz);
			for (int64_t ix = first[0]; ix <= last[0]; ix++) {
				int64_t i = (iz * g->n[1] + iy) * g->n[0] + ix;

				p[0] = iso_measure_place(g, 0, ix);
				if (contains(r, p, tolerance) &&
				    (r->kind != ISO_ROI_MASK || r->mask->v[i] != 0))
					count(&s, &squares, x->v[i]);
			}
		}
	s.volume = (double)s.voxels * voxel[0] * voxel[1] * voxel[2];
	s.std = sqrt(squares / (double)s.voxels);
	s.pstd = s.mean != 0 ? 100 * s.std / s.mean : NAN;
	return s;
}

static int check_box(const struct iso_roi *r)
{
	for (int a = 0; a < 3; a++)
		if (!isfinite(r->low[a]) || !isfinite(r->high[a]) || r->low[a] > r->high[a])
			return iso_fail(ISO_EARG, "box: from %g to %g mm along %c, must be finite and rise",
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

static int check(const struct iso_roi *r, const struct iso_array *x)
{
	if (r->kind != ISO_ROI_MASK) return r->kind == ISO_ROI_BOX ? check_box(r) : check_round(r);
	int st = iso_measure_check(r->mask, "mask");

	if (st || iso_grid_same(&r->mask->grid, &x->grid)) return st;
	return iso_fail(ISO_EARG, "mask: lies on another grid than the image");
}

static int no_voxels(const struct iso_roi *r, const struct iso_grid *g)
{
	static const char *const who[] = { "sphere", "cylinder", "box" };

	if (r->kind == ISO_ROI_MASK) return iso_fail(ISO_EINPUT, "mask: all voxels are 0, some must not be");
	return iso_fail(ISO_EINPUT,
	                "%s: holds the centre of no voxel (%g x %g x %g); the image reaches %s mm",
	                who[r->kind], g->voxel[0], g->voxel[1], g->voxel[2], iso_measure_extent(g).text);
}

int iso_measure_roi(struct iso_roi_stats *s, const struct iso_array *x, const struct iso_roi *r)
{
	if (!s || !x || !r) return iso_fail_null(__func__);
	struct iso_roi_stats got;
	int st;

	if ((st = iso_measure_check(x, "region")) || (st = check(r, x))) return st;
	got = add_up(x, r);
	if (got.voxels == 0) return no_voxels(r, &x->grid);
	return iso_sized_put(s, "iso_roi_stats", sizeof got, &got);
}

int iso_measure_tbr(double *tbr, const struct iso_array *x, const struct iso_roi *tumour,
                    const struct iso_roi *background)
{
	if (!tbr || !x || !tumour || !background) return iso_fail_null(__func__);
	struct iso_roi_stats t = { .size = sizeof t }, b = { .size = sizeof b };
	int st;

	if ((st = iso_measure_roi(&t, x, tumour)) || (st = iso_measure_roi(&b, x, background))) return st;
	if (b.mean == 0) return iso_fail(ISO_EINPUT, "tbr: the background is 0, must have activity");
	*tbr = t.mean / b.mean;
	return ISO_OK;
}
