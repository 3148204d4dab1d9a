/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry of shapes. Volumes lie along the axes and are symmetric about their centre, so what
   counts is |u|, u = (p - centre) / half: a box lies inside if its farthest corner does, and
   outside if its nearest point does. */
#include "core/status.h"
#include "shapes.h"

#include <math.h>
#include <stdlib.h>

/* u: each coordinate at least 0. */
static bool inside(const struct iso_shape *s, const double u[3])
{
	double r2 = 0;

	if (s->type == SHAPE_BOX)
		return u[0] <= 1 && u[1] <= 1 && u[2] <= 1;
	for (int a = 0; a < 3; a++)
		if (s->type == SHAPE_ELLIPSOID || a != s->axis)
			r2 += u[a] * u[a];

	return r2 <= 1 && (s->type == SHAPE_ELLIPSOID || u[s->axis] <= 1);
}

bool iso_shape_has(const struct iso_shape *s, const double p[3])
{
	double u[3];

	for (int a = 0; a < 3; a++)
		u[a] = fabs(p[a] - s->centre[a]) / s->half[a];
	return inside(s, u);
}

enum shape_relation iso_shape_relation(const struct iso_shape *s, const struct shape_box *b)
{
	double near[3], far[3];

	for (int a = 0; a < 3; a++) {
		double d = fabs(b->mid[a] - s->centre[a]);

		near[a] = fmax(0, d - b->half[a]) / s->half[a];
		far[a] = (d + b->half[a]) / s->half[a];
	}
	if (!inside(s, near))
		return SHAPE_OUTSIDE;
	return inside(s, far) ? SHAPE_CONTAINS : SHAPE_CROSSES;
}

/* From and to along one axis. */
static void extent(double *lo, double *hi, const struct iso_shape *s, int a)
{
	double begin = s->centre[a], end = s->centre[a];

	if (s->type == SHAPE_LINE)
		end += s->half[a];
	if (shape_is_volume(s)) {
		begin -= s->half[a];
		end += s->half[a];
	}
	*lo = fmin(begin, end);
	*hi = fmax(begin, end);
}

void iso_shapes_bounds(double lo[3], double hi[3], const struct iso_phantom *p)
{
	for (int a = 0; a < 3; a++) {
		lo[a] = INFINITY;
		hi[a] = -INFINITY;
		for (int i = 0; i < p->n; i++) {
			double from, to;

			extent(&from, &to, &p->shape[i], a);
			lo[a] = fmin(lo[a], from);
			hi[a] = fmax(hi[a], to);
		}
	}
}

void iso_shapes_cover(struct iso_grid *g, const struct iso_phantom *p)
{
	double lo[3], hi[3];

	iso_shapes_bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) {
		double half = fmax(hi[a] - g->centre[a], g->centre[a] - lo[a]);

		g->n[a] = 4 + (int64_t)ceil(2 * half / g->voxel[a]);
	}
}

int iso_shapes_add(struct iso_phantom *p, const struct iso_shape *s)
{
	if (p->n == p->room) {
		int room = 2 * p->room + 16;
		struct iso_shape *shape = realloc(p->shape, (size_t)room * sizeof *shape);

		if (!shape)
			return iso_fail_memory("phantom", room * (int64_t)sizeof *shape);
		p->shape = shape;
		p->room = room;
	}
	p->shape[p->n++] = *s;
	return ISO_OK;
}
