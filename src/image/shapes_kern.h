/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry of shapes. Volumes lie along the axes and are symmetric about their centre, so what
   counts is |u|, u = (p - centre) / half: a box lies inside if its farthest corner does, and
   outside if its nearest point does. Flat shapes may be turned: a box lies inside if its four
   corners do, and outside if a box along the shape's axes does that holds it.

   Sums, products and quotients in double alone: every device that does not fuse them has the same bits. */
#ifndef ISO_SHAPES_KERN_H
#define ISO_SHAPES_KERN_H

#include "core/hd.h"

/* Ellipses and rectangles are of the plane x, y, alike at every z. */
enum shape_type {
	SHAPE_ELLIPSOID,
	SHAPE_CYLINDER,
	SHAPE_BOX,
	SHAPE_ELLIPSE,
	SHAPE_RECTANGLE,
	SHAPE_POINT,
	SHAPE_LINE
};

enum shape_quantity { SHAPE_ACTIVITY, SHAPE_MU };

/* Volumes have activity per volume and mu per mm; the last volume of a phantom that contains a
   point gives its value there. Points (total activity) and lines (activity per mm) add to that. */
struct iso_shape {
	enum shape_type type;
	double centre[3]; /* mm; of a line: where it begins */
	double half[3];   /* mm: semi-axes, half lengths; of a line: begin to end */
	bool sets[2];     /* by enum shape_quantity; a quantity not set shines through */
	double value[2];
	double turn[2]; /* of a flat shape: cosine and sine of the angle from x to half[0] */
	int axis;       /* of a cylinder: 0, 1, 2; of a flat shape: 2 */
};

ISO_HD bool shape_is_volume(const struct iso_shape *s)
{
	return s->type <= SHAPE_RECTANGLE;
}

ISO_HD bool shape_is_flat(const struct iso_shape *s)
{
	return s->type == SHAPE_ELLIPSE || s->type == SHAPE_RECTANGLE;
}

/* A box around `mid`, `half` wide to either side. */
struct shape_box {
	double mid[3], half[3];
};

enum shape_relation { SHAPE_OUTSIDE, SHAPE_CROSSES, SHAPE_CONTAINS };

/* u: each coordinate at least 0. */
ISO_HD bool shape_inside(const struct iso_shape *s, const double u[3])
{
	double r2 = 0, along = 0;

	if (s->type == SHAPE_BOX || s->type == SHAPE_RECTANGLE) return u[0] <= 1 && u[1] <= 1 && u[2] <= 1;
	for (int a = 0; a < 3; a++)
		if (s->type == SHAPE_ELLIPSOID || a != s->axis)
			r2 += u[a] * u[a];
		else
			along = u[a];
	return r2 <= 1 && along <= 1;
}

/* A step (x, y) mm from the centre of a flat shape, along its half axes and in units of their lengths. */
ISO_HD void shape_turned(double u[3], const struct iso_shape *s, double x, double y)
{
	u[0] = fabs(x * s->turn[0] + y * s->turn[1]) / s->half[0];
	u[1] = fabs(y * s->turn[0] - x * s->turn[1]) / s->half[1];
	u[2] = 0;
}

/* Whether a volume contains a point. */
ISO_HD bool shape_has(const struct iso_shape *s, const double p[3])
{
	double u[3];

	if (shape_is_flat(s))
		shape_turned(u, s, p[0] - s->centre[0], p[1] - s->centre[1]);
	else
		for (int a = 0; a < 3; a++) u[a] = fabs(p[a] - s->centre[a]) / s->half[a];
	return shape_inside(s, u);
}

ISO_HD enum shape_relation shape_flat_relation(const struct iso_shape *s, const struct shape_box *b)
{
	double x = b->mid[0] - s->centre[0], y = b->mid[1] - s->centre[1], u[3];
	double c = fabs(s->turn[0]), d = fabs(s->turn[1]);
	int corners = 0;

	shape_turned(u, s, x, y);
	u[0] = fmax(0., u[0] - (c * b->half[0] + d * b->half[1]) / s->half[0]);
	u[1] = fmax(0., u[1] - (d * b->half[0] + c * b->half[1]) / s->half[1]);
	if (!shape_inside(s, u)) return SHAPE_OUTSIDE;
	for (int i = 0; i < 4; i++) {
		shape_turned(u, s, x + (i & 1 ? 1 : -1) * b->half[0], y + (i & 2 ? 1 : -1) * b->half[1]);
		corners += shape_inside(s, u);
	}
	return corners == 4 ? SHAPE_CONTAINS : SHAPE_CROSSES;
}

/* How a volume lies to a whole box. */
ISO_HD enum shape_relation shape_meets(const struct iso_shape *s, const struct shape_box *b)
{
	double near[3], far[3];

	if (shape_is_flat(s)) return shape_flat_relation(s, b);
	for (int a = 0; a < 3; a++) {
		double d = fabs(b->mid[a] - s->centre[a]);

		near[a] = fmax(0., d - b->half[a]) / s->half[a];
		far[a] = (d + b->half[a]) / s->half[a];
	}
	if (!shape_inside(s, near)) return SHAPE_OUTSIDE;
	return shape_inside(s, far) ? SHAPE_CONTAINS : SHAPE_CROSSES;
}

#endif
