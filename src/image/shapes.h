/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes that phantoms are made of. */
#ifndef ISO_SHAPES_H
#define ISO_SHAPES_H

#include "shapes_kern.h"

struct iso_phantom {
	int n, room, status;     /* status: ISO_OK, or the failure of iso_shapes_add */
	struct iso_shape *shape; /* later ones lie on top */
	struct iso_grid grid;
	double fwhm; /* of a Gaussian that smooths it: spheres alone; 0: none */
	bool adds;   /* activities of shapes that overlap add up: none covers another */
	bool flat;   /* all of it is of the plane: points have activity per area */
};

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
