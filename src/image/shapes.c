/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry of shapes. Volumes lie along the axes and are symmetric about their centre, so what
   counts is |u|, u = (p - centre) / half: a box lies inside if its farthest corner does, and
   outside if its nearest point does. An ellipse alone may be turned: a box lies inside if its four
   corners do, and outside if a box along the ellipse's axes does that holds it. */
#include "core/status.h"
#include "shapes.h"

#include <math.h>
#include <stdlib.h>

/* u: each coordinate at least 0. */
static bool inside(const struct iso_shape *s, const double u[3])
{
	double r2 = 0;

	if (s->type == SHAPE_BOX) return u[0] <= 1 && u[1] <= 1 && u[2] <= 1;
	for (int a = 0; a < 3; a++)
		if (s->type == SHAPE_ELLIPSOID || a != s->axis) r2 += u[a] * u[a];

	return r2 <= 1 && (s->type == SHAPE_ELLIPSOID || u[s->axis] <= 1);
}

/* A step (x, y) mm from the centre of an ellipse, along its half axes and in units of their lengths. */
static void turned(double u[3], const struct iso_shape *s, double x, double y)
{
	u[0] = fabs(x * s->turn[0] + y * s->turn[1]) / s->half[0];
	u[1] = fabs(y * s->turn[0] - x * s->turn[1]) / s->half[1];
	u[2] = 0;
}

bool iso_shape_has(const struct iso_shape *s, const double p[3])
{
	double u[3];

	if (s->type == SHAPE_ELLIPSE) {
		turned(u, s, p[0] - s->centre[0], p[1] - s->centre[1]);
		return inside(s, u);
	}
	for (int a = 0; a < 3; a++) u[a] = fabs(p[a] - s->centre[a]) / s->half[a];
	return inside(s, u);
}

static enum shape_relation ellipse_relation(const struct iso_shape *s, const struct shape_box *b)
{
	double x = b->mid[0] - s->centre[0], y = b->mid[1] - s->centre[1], u[3];
	double c = fabs(s->turn[0]), d = fabs(s->turn[1]);
	int corners = 0;

	turned(u, s, x, y);
	u[0] = fmax(0, u[0] - (c * b->half[0] + d * b->half[1]) / s->half[0]);
	u[1] = fmax(0, u[1] - (d * b->half[0] + c * b->half[1]) / s->half[1]);
	if (!inside(s, u)) return SHAPE_OUTSIDE;
	for (int i = 0; i < 4; i++) {
		turned(u, s, x + (i & 1 ? 1 : -1) * b->half[0], y + (i & 2 ? 1 : -1) * b->half[1]);
		corners += inside(s, u);
	}
	return corners == 4 ? SHAPE_CONTAINS : SHAPE_CROSSES;
}

enum shape_relation iso_shape_relation(const struct iso_shape *s, const struct shape_box *b)
{
	double near[3], far[3];

	if (s->type == SHAPE_ELLIPSE) return ellipse_relation(s, b);

	for (int a = 0; a < 3; a++) {
		double d = fabs(b->mid[a] - s->centre[a]);

		near[a] = fmax(0, d - b->half[a]) / s->half[a];
		far[a] = (d + b->half[a]) / s->half[a];
	}
	if (!inside(s, near)) return SHAPE_OUTSIDE;
	return inside(s, far) ? SHAPE_CONTAINS : SHAPE_CROSSES;
}

/* Of the box around an ellipse: the greatest x is sqrt((a cos)^2 + (b sin)^2). */
static double ellipse_half(const struct iso_shape *s, int a)
{
	if (a == 2) return 0;
	return hypot(s->half[a] * s->turn[0], s->half[1 - a] * s->turn[1]);
}

/* From and to along one axis. */
static void extent(double *lo, double *hi, const struct iso_shape *s, int a)
{
	double begin = s->centre[a], end = s->centre[a];

	if (s->type == SHAPE_LINE) end += s->half[a];
	if (shape_is_volume(s)) {
		double half = s->type == SHAPE_ELLIPSE ? ellipse_half(s, a) : s->half[a];

		begin -= half;
		end += half;
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

static bool is_flat(const struct iso_phantom *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->shape[i].type != SHAPE_ELLIPSE) return false;
	return true;
}

void iso_shapes_cover(struct iso_grid *g, const struct iso_phantom *p)
{
	double lo[3], hi[3];

	iso_shapes_bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) {
		double half = fmax(hi[a] - g->centre[a], g->centre[a] - lo[a]);

		g->n[a] = 4 + (int64_t)ceil(2 * half / g->voxel[a]);
	}
	if (is_flat(p)) g->n[2] = 1;
}

int iso_shapes_add(struct iso_phantom *p, const struct iso_shape *s)
{
	if (p->n == p->room) {
		int room = 2 * p->room + 16;
		struct iso_shape *shape = realloc(p->shape, (size_t)room * sizeof *shape);

		if (!shape) return iso_fail_memory("phantom", room * (int64_t)sizeof *shape);
		p->shape = shape;
		p->room = room;
	}
	p->shape[p->n++] = *s;
	return ISO_OK;
}

struct iso_shape iso_shape_ellipse(double x, double y, double a, double b, double phi, double rho)
{
	return (struct iso_shape){
		.type = SHAPE_ELLIPSE,
		.axis = 2,
		.centre = { x, y, 0 },
		.half = { a, b, 0 },
		.sets = { true, false },
		.value = { rho, 0 },
		.turn = { cos(phi * M_PI / 180), sin(phi * M_PI / 180) },
	};
}
