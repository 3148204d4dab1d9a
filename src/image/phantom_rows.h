/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows for tables of shapes, and the phantoms of the dual-head papers. */
#ifndef ISO_PHANTOM_ROWS_H
#define ISO_PHANTOM_ROWS_H

#include "core/status.h"
#include "shapes.h"

/* mu at 511 keV, 1/mm */
#define WATER .0096
#define LUNG .0027
#define BONE .0165

/* Rows of the tables: centre, half sizes (mm), activity per volume, mu. */
#define ROW(type, x, y, z, a, b, c, activity, mu)                                    \
	{                                                                            \
		type, 2, { x, y, z }, { a, b, c }, { true, true }, { activity, mu }, \
		{                                                                    \
			1, 0                                                         \
		}                                                                    \
	}
#define ELLIPSOID(x, y, z, a, b, c, activity, mu) ROW(SHAPE_ELLIPSOID, x, y, z, a, b, c, activity, mu)
#define BALL(x, y, z, r, activity, mu) ROW(SHAPE_ELLIPSOID, x, y, z, r, r, r, activity, mu)
#define CYLINDER(x, y, z, a, b, length, activity, mu) \
	ROW(SHAPE_CYLINDER, x, y, z, a, b, (length) / 2., activity, mu)

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int iso_shapes_add_all(struct iso_phantom *p, int n, const struct iso_shape *table);

/* Rods of one diameter d, 2 d from centre to centre, in a sector of 60 degrees around `angle`:
   row m holds m + 1 rods, and those that reach beyond `reach` from the axis are left out. The angle runs
   from the axis after `axis` to the one after that. */
struct iso_rod_sector {
	int axis;                              /* along the rods: 0, 1, 2 */
	double diameter, angle, reach, length; /* mm, radians */
};

int iso_shapes_rods(struct iso_phantom *p, const struct iso_rod_sector *s);

int iso_make_two_spheres(struct iso_phantom *p);
int iso_make_two_spheres_apart(struct iso_phantom *p);
int iso_make_sphere(struct iso_phantom *p);
int iso_make_derenzo_meng(struct iso_phantom *p);
int iso_make_derenzo_chou(struct iso_phantom *p);
int iso_make_mouse(struct iso_phantom *p);
int iso_make_rat(struct iso_phantom *p);
int iso_make_nine_spheres(struct iso_phantom *p); /* optoacoustic */
int iso_make_vessel_tree(struct iso_phantom *p);

#endif
