/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms of shapes: adding to them, the box and the grid around them. */
#include "core/status.h"
#include "shapes.h"

#include <stdlib.h>

/* Half of the box around a volume: the greatest x of an ellipse is sqrt((a cos)^2 + (b sin)^2), as it is of a rectangle
   along the axes. */
static double half_extent(const struct iso_shape *s, int a)
{
	if (!shape_is_flat(s)) return s->half[a];
	return a == 2 ? 0 : hypot(s->half[a] * s->turn[0], s->half[1 - a] * s->turn[1]);
}

/* The box around all shapes. */
static void bounds(double lo[3], double hi[3], const struct iso_phantom *p)
{
	for (int a = 0; a < 3; a++) {
		lo[a] = INFINITY;
		hi[a] = -INFINITY;
		for (int i = 0; i < p->n; i++) {
			const struct iso_shape *s = &p->shape[i];
			double half = shape_is_volume(s) ? half_extent(s, a) : 0;
			double end = s->centre[a] + (s->type == SHAPE_LINE ? s->half[a] : half);

			lo[a] = fmin(lo[a], fmin(s->centre[a] - half, end));
			hi[a] = fmax(hi[a], fmax(s->centre[a] - half, end));
		}
	}
}

void iso_shapes_cover(struct iso_phantom *p)
{
	struct iso_grid *g = &p->grid;
	double lo[3], hi[3];
	bool flat = true;

	bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) {
		double half = fmax(hi[a] - g->centre[a], g->centre[a] - lo[a]);

		g->n[a] = 4 + (int64_t)ceil(2 * half / g->voxel[a]);
	}
	for (int i = 0; i < p->n; i++) flat = flat && shape_is_flat(&p->shape[i]);
	if (flat || p->flat) g->n[2] = 1;
}

/* Up to the next of 1, 2, 5, 10, 20, ... */
static double round_up(double x)
{
	double power = pow(10, floor(log10(x))), digit = x / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

void iso_shapes_grid(struct iso_phantom *p, double voxel)
{
	double lo[3], hi[3], longest = 0;

	bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) longest = fmax(longest, hi[a] - lo[a]);
	if (voxel == 0) voxel = longest > 0 ? round_up(longest / 100) : 1;
	for (int a = 0; a < 3; a++) {
		p->grid.voxel[a] = voxel;
		p->grid.centre[a] = (lo[a] + hi[a]) / 2;
	}
	iso_shapes_cover(p);
}

void iso_shapes_add(struct iso_phantom *p, const struct iso_shape *s)
{
	if (p->n == p->room) {
		int room = 2 * p->room + 16;
		struct iso_shape *shape = realloc(p->shape, (size_t)room * sizeof *shape);

		if (!shape) p->status = iso_fail_memory("phantom", room * (int64_t)sizeof *shape);
		if (!shape) return;
		p->shape = shape;
		p->room = room;
	}
	p->shape[p->n++] = *s;
}

struct iso_shape iso_shape_ellipse(const double row[6])
{
	return (struct iso_shape){
		.type = SHAPE_ELLIPSE,
		.centre = { row[0], row[1], 0 },
		.half = { row[2], row[3], 0 },
		.sets = { true, false },
		.value = { row[5], 0 },
		.turn = { cos(row[4] * M_PI / 180), sin(row[4] * M_PI / 180) },
		.axis = 2,
	};
}

/* ---- shapes for those who compute with them ---- */

int iso_phantom_ellipse(struct iso_ellipse *e, const iso_phantom *p, int i)
{
	if (!e || !p) return iso_fail_null(__func__);
	if (i < 0 || i >= p->n) return iso_fail(ISO_EARG, "phantom: shape %d of %d", i, p->n);

	const struct iso_shape *s = &p->shape[p->n - 1 - i];

	if (!(shape_is_flat(s) || s->type == SHAPE_POINT) || !s->sets[SHAPE_ACTIVITY])
		return iso_fail(
			ISO_EARG,
			"phantom: shape %d from the top is no ellipse, rectangle or point with activity",
			i + 1);
	*e = (struct iso_ellipse){ s->centre[0],
		                   s->centre[1],
		                   s->half[0],
		                   s->half[1],
		                   s->turn[0],
		                   s->turn[1],
		                   s->value[SHAPE_ACTIVITY],
		                   s->type == SHAPE_ELLIPSE     ? ISO_FLAT_ELLIPSE
		                   : s->type == SHAPE_RECTANGLE ? ISO_FLAT_RECTANGLE
		                                                : ISO_FLAT_POINT };
	return ISO_OK;
}

bool iso_phantom_adds(const iso_phantom *p)
{
	return p && p->adds;
}

/* Shapes cover each other, spheres add up: the same only where they do not overlap, unless the
   phantom means it so. */
int iso_phantom_spheres(struct iso_sphere *v, double *fwhm, const iso_phantom *p)
{
	if (!v || !fwhm || !p) return iso_fail_null(__func__);
	for (int i = 0; i < p->n; i++) {
		const struct iso_shape *s = &p->shape[i];

		if (s->type != SHAPE_ELLIPSOID || s->half[0] != s->half[1] || s->half[0] != s->half[2] ||
		    !s->sets[SHAPE_ACTIVITY])
			return iso_fail(ISO_EARG,
			                "phantom: shape %d of %d is no sphere with a value, as all that "
			                "is heard must be",
			                i + 1, p->n);
		v[i] = (struct iso_sphere){ { s->centre[0], s->centre[1], s->centre[2] },
			                    s->half[0],
			                    s->value[SHAPE_ACTIVITY] };
		for (int j = 0; j < i && !p->adds; j++) {
			const double *a = v[i].centre, *b = v[j].centre;

			if (!(hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]) >=
			      v[i].radius + v[j].radius))
				return iso_fail(ISO_EARG, "phantom: spheres %d and %d overlap, must be apart",
				                j + 1, i + 1);
		}
	}
	*fwhm = p->fwhm;
	return ISO_OK;
}
