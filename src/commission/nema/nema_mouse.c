/* SPDX-License-Identifier: BSD-3-Clause */
/* Image quality after NEMA NU 4: voxels belong to a region by their centres. */
#include "nema_mouse.h"

#include "base/fail.h"
#include "image/places.h"

#include <math.h>

/* Mean, standard deviation (of the population) and ends of values. */
struct sum {
	int64_t n;
	double mean, squares, most, least;
};

static void add(struct sum *s, double v)
{
	double e = v - s->mean;

	s->most = s->n ? fmax(s->most, v) : v;
	s->least = s->n ? fmin(s->least, v) : v;
	s->n++;
	s->mean += e / (double)s->n;
	s->squares += e * (v - s->mean);
}

static double deviation(const struct sum *s)
{
	return sqrt(s->squares / (double)s->n);
}

/* A cylinder along z. */
struct region {
	const char *what;
	double x, y, z, radius, length;
};

struct span {
	int64_t first[3], last[3];
};

static int span_of(struct span *s, const struct iso_grid *g, const struct region *r)
{
	const double middle[3] = { r->x, r->y, r->z }, half[3] = { r->radius, r->radius, r->length / 2 };

	for (int a = 0; a < 3; a++) {
		double slack = MEASURE_TOLERANCE * g->voxel[a];

		if (!iso_measure_inside(g, a, middle[a] - half[a]) ||
		    !iso_measure_inside(g, a, middle[a] + half[a]))
			return iso_fail(ISO_EINPUT,
			                "nema: %s at (%g, %g, %g) mm leaves the image, which reaches %s mm",
			                r->what, r->x, r->y, r->z, iso_measure_extent(g).text);
		iso_measure_range(&s->first[a], &s->last[a], g, a, middle[a] - half[a] - slack,
		                  middle[a] + half[a] + slack);
		if (s->first[a] > s->last[a])
			return iso_fail(ISO_EINPUT, "nema: no voxel has its centre in %s at (%g, %g, %g) mm",
			                r->what, r->x, r->y, r->z);
	}
	return ISO_OK;
}

static bool in_disc(const struct iso_grid *g, const struct region *r, int64_t ix, int64_t iy)
{
	double x = iso_measure_place(g, 0, ix) - r->x, y = iso_measure_place(g, 1, iy) - r->y;
	double radius = r->radius + MEASURE_TOLERANCE * fmin(g->voxel[0], g->voxel[1]);

	return x * x + y * y <= radius * radius;
}

static int add_cylinder(struct sum *s, const struct iso_array *x, const struct region *r)
{
	const struct iso_grid *g = &x->grid;
	struct span p;
	int st = span_of(&p, g, r);

	*s = (struct sum){ 0 };
	if (st) return st;
	for (int64_t iz = p.first[2]; iz <= p.last[2]; iz++)
		for (int64_t iy = p.first[1]; iy <= p.last[1]; iy++)
			for (int64_t ix = p.first[0]; ix <= p.last[0]; ix++)
				if (in_disc(g, r, ix, iy)) add(s, x->v[(iz * g->n[1] + iy) * g->n[0] + ix]);
	if (s->n == 0)
		return iso_fail(ISO_EINPUT, "nema: no voxel has its centre in %s at (%g, %g, %g) mm", r->what,
		                r->x, r->y, r->z);
	return ISO_OK;
}

static struct sum line_of(const struct iso_array *x, const struct span *p, int64_t ix, int64_t iy)
{
	struct sum s = { 0 };

	for (int64_t iz = p->first[2]; iz <= p->last[2]; iz++)
		add(&s, x->v[(iz * x->grid.n[1] + iy) * x->grid.n[0] + ix]);
	return s;
}

/* 100 sqrt((s/m)^2 + (s/m)^2 of the uniform region); NaN where m is 0. */
static double std_percent(const struct sum *s, const struct sum *uniform)
{
	double a = deviation(s) / s->mean, b = deviation(uniform) / uniform->mean;

	return s->mean != 0 ? 100 * sqrt(a * a + b * b) : NAN;
}

/* The largest pixel of the mean over the slices, within a circle of twice the rod's diameter; the line along z there. */
static int measure_rod(struct nema_mouse_result *r, int i, const struct iso_array *x,
                       const struct nema_mouse *q, const struct sum *uniform)
{
	const struct region region = { "a rod",   q->rod[i][0], q->rod[i][1],
		                       q->rods_z, q->rod[i][2], q->rods_mm };
	struct sum best = { 0 }, nearest = { 0 };
	double least = INFINITY;
	struct span p;
	int st = span_of(&p, &x->grid, &region);

	if (st) return st;
	for (int64_t iy = p.first[1]; iy <= p.last[1]; iy++)
		for (int64_t ix = p.first[0]; ix <= p.last[0]; ix++) {
			double dx = iso_measure_place(&x->grid, 0, ix) - region.x;
			double dy = iso_measure_place(&x->grid, 1, iy) - region.y;
			struct sum s = line_of(x, &p, ix, iy);

			if (dx * dx + dy * dy < least) {
				least = dx * dx + dy * dy;
				nearest = s;
			}
			if (in_disc(&x->grid, &region, ix, iy) && (best.n == 0 || s.mean > best.mean))
				best = s;
		}
	if (best.n == 0)
		return iso_fail(ISO_EINPUT, "nema: no voxel has its centre in a rod at (%g, %g) mm", region.x,
		                region.y);
	r->rc[i] = best.mean / uniform->mean;
	r->rc_middle[i] = nearest.mean / uniform->mean;
	r->rod_std_percent[i] = std_percent(&best, uniform);
	return ISO_OK;
}

static int measure_cold(struct nema_mouse_result *r, int i, const struct iso_array *x,
                        const struct nema_mouse *q, const struct sum *uniform)
{
	const struct region region = { "a cold chamber", q->cold[i][0],     q->cold[i][1],
		                       q->cold_z,        q->cold_mm[0] / 2, q->cold_mm[1] };
	struct sum s;
	int st = add_cylinder(&s, x, &region);

	if (st) return st;
	r->sor[i] = s.mean / uniform->mean;
	r->cold_std_percent[i] = std_percent(&s, uniform);
	return ISO_OK;
}

int iso_nema_mouse(struct nema_mouse_result *r, const struct iso_array *x, const struct nema_mouse *q)
{
	const struct region region = { "the uniform region", q->uniform[0],        q->uniform[1],
		                       q->uniform[2],        q->uniform_mm[0] / 2, q->uniform_mm[1] };
	struct sum uniform;
	int st;

	if ((st = iso_measure_check(x, "nema")) || (st = add_cylinder(&uniform, x, &region))) return st;
	if (!(uniform.mean > 0))
		return iso_fail(ISO_EINPUT, "nema: the mean of the uniform region is %g, must be above 0",
		                uniform.mean);
	*r = (struct nema_mouse_result){ .mean = uniform.mean, .most = uniform.most, .least = uniform.least };
	r->std_percent = 100 * deviation(&uniform) / uniform.mean;
	for (int i = 0; i < q->n_rods; i++)
		if ((st = measure_rod(r, i, x, q, &uniform))) return st;
	for (int i = 0; i < q->n_cold; i++)
		if ((st = measure_cold(r, i, x, q, &uniform))) return st;
	return ISO_OK;
}
