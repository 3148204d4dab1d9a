/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms: objects of simple shapes, as images of activity and attenuation (1/mm). Lengths are mm.

   Threads: a phantom is not written after it was made; any number of threads may use it. */
#ifndef ISOTOME_PHANTOM_H
#define ISOTOME_PHANTOM_H

#include "isotome/context.h"
#include "isotome/grid.h"

ISO_BEGIN_C

typedef struct iso_phantom iso_phantom;

/* A built-in name (iso_phantom_names) or a file of shapes: YAML, JSON, or .txt, whose lines
   `ellipse x y a b phi rho` (mm, degrees), `rectangle x y a b rho` or `point x y rho` go from the topmost
   down. `at`: for `point`, its place. */
ISO_CHECKED int iso_phantom_create(iso_phantom **p, const char *name_or_file, const double at[3]);
void iso_phantom_free(iso_phantom *p);
const char *const *iso_phantom_names(void); /* ends with NULL */

/* The grid that suits it when the user names none. */
void iso_phantom_grid(struct iso_grid *g, const iso_phantom *p);

/* Mean activity, and mean attenuation in 1/mm, over each voxel, from samples^3 points in voxels
   that a surface crosses; on the context's device, with the same bits on each (smoothed spheres: but for rounding). The
   images are host memory. Either may be NULL, and ctx. */
ISO_CHECKED int iso_phantom_raster(iso_real *activity, iso_real *mu, iso_ctx *ctx, const iso_phantom *p,
                                   const struct iso_grid *g, int samples);

enum iso_flat { ISO_FLAT_ELLIPSE, ISO_FLAT_RECTANGLE, ISO_FLAT_POINT };

/* An ellipse of the plane: x is z of the strips; half axis a turned by phi from x towards y. Or a rectangle of half
   sides a and b, or a point, whose a and b are 0. */
struct iso_ellipse {
	double x, y, a, b; /* mm */
	double cos_phi, sin_phi;
	double rho; /* activity per area; for a point the total activity */
	enum iso_flat kind;
};

/* Shapes of the phantom, and number i from the top, which must be one of these (ISO_EARG). Whether activities of
   shapes that overlap add up; else the topmost decides. */
int iso_phantom_shapes(const iso_phantom *p);
ISO_CHECKED int iso_phantom_ellipse(struct iso_ellipse *e, const iso_phantom *p, int i);
bool iso_phantom_adds(const iso_phantom *p);

ISO_END_C
#endif
