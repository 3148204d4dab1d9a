/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms of the dual-head papers, Meng 2019 and Chou 2012: y is normal to the heads. */
#include "phantom_rows.h"

#include <math.h>

int iso_shapes_add_all(struct iso_phantom *p, int n, const struct iso_shape *table)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) st = iso_shapes_add(p, &table[i]);
	return st;
}

/* ---- spheres ---- */

/* Radii 10 and 15 mm, centres 20 mm apart, as the paper prints it: they overlap. */
int iso_make_two_spheres(struct iso_phantom *p)
{
	static const struct iso_shape table[] = {
		BALL(0, 0, -12.5, 10, 1, WATER),
		BALL(0, 0, 7.5, 15, 1, WATER),
	};

	return iso_shapes_add_all(p, COUNT(table), table);
}

/* The same with 20 mm between the surfaces, centres 45 mm apart. */
int iso_make_two_spheres_apart(struct iso_phantom *p)
{
	static const struct iso_shape table[] = {
		BALL(0, 0, -25, 10, 1, WATER),
		BALL(0, 0, 20, 15, 1, WATER),
	};

	return iso_shapes_add_all(p, COUNT(table), table);
}

int iso_make_sphere(struct iso_phantom *p)
{
	const struct iso_shape s = BALL(0, 0, 0, 10, 1, WATER);

	return iso_shapes_add(p, &s);
}

/* ---- rods ---- */

static struct iso_shape along(int axis, double b, double c, double radius, double length, double activity)
{
	struct iso_shape s = ROW(SHAPE_CYLINDER, 0, 0, 0, radius, radius, radius, activity, WATER);

	s.axis = axis;
	s.half[axis] = length / 2;
	s.centre[(axis + 1) % 3] = b;
	s.centre[(axis + 2) % 3] = c;
	return s;
}

int iso_shapes_rods(struct iso_phantom *p, const struct iso_rod_sector *s)
{
	const double d = s->diameter;
	int st = ISO_OK;

	for (int m = 0; 2 * d + m * sqrt(3) * d + d / 2 <= s->reach; m++)
		for (int j = 0; j <= m && !st; j++) {
			double out = 2 * d + m * sqrt(3) * d, across = (2 * j - m) * d;
			const struct iso_shape rod =
				along(s->axis, out * cos(s->angle) - across * sin(s->angle),
			              out * sin(s->angle) + across * cos(s->angle), d / 2, s->length, 1);

			if (hypot(out, across) + d / 2 <= s->reach) st = iso_shapes_add(p, &rod);
		}
	return st;
}

/* Hot rods along y, in a cold disc. */
static int add_derenzo(struct iso_phantom *p, const double diameter[6], double radius, double length)
{
	const struct iso_shape body = along(1, 0, 0, radius, length, 0);
	int st = iso_shapes_add(p, &body);

	for (int i = 0; i < 6 && !st; i++)
		st = iso_shapes_rods(p, &(struct iso_rod_sector){ .axis = 1,
		                                                  .diameter = diameter[i],
		                                                  .angle = (i + .5) * M_PI / 3,
		                                                  .reach = radius,
		                                                  .length = length });
	return st;
}

/* 29.95 mm wide, 10 mm thick. */
int iso_make_derenzo_meng(struct iso_phantom *p)
{
	return add_derenzo(p, (const double[]){ .7, 1.0, 1.2, 1.6, 2.0, 2.4 }, 14.975, 10);
}

/* The paper tells neither width nor length; its profiles lie up to 11.7 mm from the middle. */
int iso_make_derenzo_chou(struct iso_phantom *p)
{
	return add_derenzo(p, (const double[]){ .75, 1.0, 1.35, 1.7, 2.0, 2.4 }, 15, 20);
}

/* ---- animals: surrogates of ellipsoids ---- */

/* Lies along z, nose at +z; a tracer that tumours, kidneys and bladder take up. The tumour, under
   the skin of a shoulder, has five times the activity of muscle. */
int iso_make_mouse(struct iso_phantom *p)
{
	static const struct iso_shape table[] = {
		ELLIPSOID(0, 0, -4, 12, 11, 26, 1, WATER),     /* trunk */
		ELLIPSOID(0, 1, 25, 7, 7, 9, 1, WATER),        /* head */
		ELLIPSOID(0, 1, 8, 7, 6, 7, .5, LUNG),         /* lungs */
		ELLIPSOID(1, 1, 6, 3, 3, 3.5, 2, WATER),       /* heart */
		ELLIPSOID(-2, 1, -3, 7, 5, 4, 1.8, WATER),     /* liver */
		ELLIPSOID(-5, -4, -11, 2.5, 2.5, 4, 4, WATER), /* kidneys */
		ELLIPSOID(5, -4, -12, 2.5, 2.5, 4, 4, WATER),
		ELLIPSOID(0, 3, -22, 2.5, 2.5, 3, 8, WATER), /* bladder */
		BALL(10, 0, 12, 3.5, 5, WATER),              /* tumour */
	};

	return iso_shapes_add_all(p, COUNT(table), table);
}

/* Lies along x, nose at +x; glucose in brain and heart, two tumours. */
int iso_make_rat(struct iso_phantom *p)
{
	static const struct iso_shape table[] = {
		ELLIPSOID(-8, 0, 0, 42, 17, 19, 1, WATER), /* trunk */
		ELLIPSOID(38, 0, 0, 15, 11, 11, 1, WATER), /* head */
		ELLIPSOID(38, 3, 0, 9, 4, 7, 4, WATER),    /* brain */
		ELLIPSOID(12, 1, 0, 11, 10, 12, .5, LUNG), /* lungs */
		ELLIPSOID(9, 0, 2, 6, 5, 5, 5, WATER),     /* heart wall, blood */
		ELLIPSOID(9, 0, 2, 3.5, 2.5, 2.5, 1.5, WATER),
		ELLIPSOID(-6, 0, -3, 6, 10, 12, 1.8, WATER), /* liver */
		ELLIPSOID(-22, 6, -9, 7, 4, 4, 3, WATER),    /* kidneys */
		ELLIPSOID(-24, 6, 9, 7, 4, 4, 3, WATER),
		ELLIPSOID(-41, -4, 0, 5, 4, 4, 12, WATER), /* bladder */
		BALL(0, -4, 14, 3, 6, WATER),              /* tumours */
		BALL(-30, -6, -11, 2, 6, WATER),
	};

	return iso_shapes_add_all(p, COUNT(table), table);
}
