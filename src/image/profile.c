/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of an image along a line. */
#include "places.h"

#include <math.h>

static bool inside(const struct iso_grid *g, const double p[3])
{
	return iso_measure_inside(g, 0, p[0]) && iso_measure_inside(g, 1, p[1]) &&
	       iso_measure_inside(g, 2, p[2]);
}

/* Trilinear; between the outermost centres and the border, the outermost value. */
static double value_at(const struct iso_array *x, const double p[3])
{
	const struct iso_grid *g = &x->grid;
	const int64_t step[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	double part[3], sum = 0;
	int64_t at[3][2];

	for (int a = 0; a < 3; a++)
		part[a] = iso_measure_between(at[a], iso_measure_index(g, a, p[a]), g->n[a]);
	for (int corner = 0; corner < 8; corner++) {
		double w = 1;
		int64_t i = 0;

		for (int a = 0; a < 3; a++) {
			bool far = corner >> a & 1;

			w *= far ? part[a] : 1 - part[a];
			i += at[a][far] * step[a];
		}
		if (w > 0) sum += w * x->v[i];
	}
	return sum;
}

static double length(const double d[3])
{
	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Two directions across d, each of length 1: along grid axes where d is. */
static void across(double u[3], double v[3], const double d[3])
{
	int least = 0;

	for (int a = 1; a < 3; a++)
		if (fabs(d[a]) < fabs(d[least])) least = a;
	int b = (least + 1) % 3, c = (least + 2) % 3;
	double in_plane = hypot(d[b], d[c]), whole = length(d);

	/* u = e x d, v = d x u, with e the axis that d is least along */
	u[least] = 0;
	u[b] = -d[c] / in_plane;
	u[c] = d[b] / in_plane;
	for (int a = 0; a < 3; a++)
		v[a] = (d[(a + 1) % 3] * u[(a + 2) % 3] - d[(a + 2) % 3] * u[(a + 1) % 3]) / whole;
}

/* Mean over points half a voxel apart, or less, on the part of the disc that is in the image. */
static double disc_mean(const struct iso_array *x, const double p[3], const double u[3], const double v[3],
                        double width)
{
	const double *voxel = x->grid.voxel;
	double half_voxel = fmin(voxel[0], fmin(voxel[1], voxel[2])) / 2, sum = 0;
	int64_t n = (int64_t)ceil(width / half_voxel), used = 0;

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double s = (((double)i + .5) / (double)n - .5) * width, q[3];
			double t = (((double)j + .5) / (double)n - .5) * width;

			for (int a = 0; a < 3; a++) q[a] = p[a] + s * u[a] + t * v[a];
			if (hypot(s, t) <= width / 2 && inside(&x->grid, q)) {
				sum += value_at(x, q);
				used++;
			}
		}
	return used > 0 ? sum / (double)used : value_at(x, p);
}

static int check_end(const struct iso_grid *g, const double p[3], const char *name)
{
	if (inside(g, p)) return ISO_OK;
	return iso_fail(ISO_EINPUT, "profile: its %s (%g, %g, %g) is outside the image, which reaches %s mm",
	                name, p[0], p[1], p[2], iso_measure_extent(g).text);
}

/* d: from the beginning to the end. */
static int check(double d[3], const struct iso_grid *g, const struct iso_profile *p)
{
	double size[3];
	int st;

	if (p->samples < 2)
		return iso_fail(ISO_EARG, "profile: samples is %" PRId64 ", must be at least 2", p->samples);
	if ((st = check_end(g, p->from, "beginning")) || (st = check_end(g, p->to, "end"))) return st;
	for (int a = 0; a < 3; a++) {
		size[a] = (double)g->n[a] * g->voxel[a];
		d[a] = p->to[a] - p->from[a];
	}
	if (!(length(d) > 0))
		return iso_fail(ISO_EARG, "profile: begins and ends in the same place (%g, %g, %g)",
		                p->from[0], p->from[1], p->from[2]);
	if (!(p->width >= 0) || p->width > length(size))
		return iso_fail(ISO_EARG, "profile: width is %g mm, must be in [0, %g], the image's diagonal",
		                p->width, length(size));
	return ISO_OK;
}

int iso_measure_profile(double *value, const struct iso_array *x, const struct iso_profile *p)
{
	if (!value || !x || !p) return iso_fail_null(__func__);
	double d[3], u[3], v[3], q[3];
	int st;

	if ((st = iso_measure_check(x, "profile")) || (st = check(d, &x->grid, p))) return st;
	across(u, v, d);
	for (int64_t i = 0; i < p->samples; i++) {
		for (int a = 0; a < 3; a++) q[a] = p->from[a] + (double)i / (double)(p->samples - 1) * d[a];
		value[i] = p->width > 0 ? disc_mean(x, q, u, v, p->width) : value_at(x, q);
	}
	return ISO_OK;
}
