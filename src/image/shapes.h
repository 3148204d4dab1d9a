/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes that phantoms are made of. */
#ifndef ISO_SHAPES_H
#define ISO_SHAPES_H

#include "isotome.h"

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

struct iso_phantom {
	int n, room, status;     /* status: ISO_OK, or the failure of iso_shapes_add */
	struct iso_shape *shape; /* later ones lie on top */
	struct iso_grid grid;
	double fwhm; /* of a Gaussian that smooths it: spheres alone; 0: none */
	bool adds;   /* activities of shapes that overlap add up: none covers another */
	bool flat;   /* all of it is of the plane: points have activity per area */
};

static inline bool shape_is_volume(const struct iso_shape *s)
{
	return s->type <= SHAPE_RECTANGLE;
}

static inline bool shape_is_flat(const struct iso_shape *s)
{
	return s->type == SHAPE_ELLIPSE || s->type == SHAPE_RECTANGLE;
}

/* A box around `mid`, `half` wide to either side. */
struct shape_box {
	double mid[3], half[3];
};

enum shape_relation { SHAPE_OUTSIDE, SHAPE_CROSSES, SHAPE_CONTAINS };

/* Whether a volume contains a point; a whole box. */
bool iso_shape_has(const struct iso_shape *s, const double p[3]);
enum shape_relation iso_shape_relation(const struct iso_shape *s, const struct shape_box *b);

/* Puts a copy of the shape on top; without memory it sets p->status. */
void iso_shapes_add(struct iso_phantom *p, const struct iso_shape *s);

/* An ellipse of activity: x, y, a, b in mm, phi in degrees, rho. */
struct iso_shape iso_shape_ellipse(const double row[6]);

/* A tree of vessels, of spheres that add up. */
void iso_shapes_vessel_tree(struct iso_phantom *p);

/* The grid round the middle of the shapes, of voxels `voxel` mm wide; 0: such that about a hundred lie
   along the longest side. */
void iso_shapes_grid(struct iso_phantom *p, double voxel);

/* Sets the grid's n so that, by its voxel size and centre, it covers all shapes, with two voxels more at
   each end; one plane for flat shapes alone. */
void iso_shapes_cover(struct iso_phantom *p);

/* Shapes and grid from a description file; flat ones from a text file. */
int iso_shapes_read(struct iso_phantom *p, const char *path);
int iso_flat_shapes_read(struct iso_phantom *p, const char *path);

#endif
