/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms of spheres, for optoacoustics: the nine of our numerical study, and the way from shapes
   to spheres. */
#include "core/status.h"
#include "phantom_rows.h"

#include <math.h>

/* In the cuboid of Wang 2013, section IV, which does not list its own. FWHM 0.77 mm is 0.5 us. */
int iso_make_nine_spheres(struct iso_phantom *p)
{
	static const double table[][5] = {
		/* x, y, z, radius, absorbed energy */
		{ -6.58, 0, -21, 3, 1 }, { -6.58, 0, -7, 2, .8 }, { -6.58, 0, 7, 1, 1 },
		{ -6.58, 0, 21, 4, .5 }, { 6.58, 0, -18, 4, .6 }, { 6.58, 0, 0, 3, 1 },
		{ 6.58, 0, 16, 2, .9 },  { 0, 7, -14, 2.5, .7 },  { 0, -7, 12, 2.5, .7 },
	};
	int st = ISO_OK;

	p->fwhm = .77;
	for (int i = 0; i < COUNT(table) && !st; i++) {
		const double *t = table[i];
		const struct iso_shape s = {
			.type = SHAPE_ELLIPSOID,
			.axis = 2,
			.centre = { t[0], t[1], t[2] },
			.half = { t[3], t[3], t[3] },
			.sets = { true, false },
			.value = { t[4], 0 },
			.turn = { 1, 0 },
		};

		st = iso_shapes_add(p, &s);
	}
	return st;
}

static bool apart(const struct iso_sphere *a, const struct iso_sphere *b)
{
	double d = hypot(hypot(a->centre[0] - b->centre[0], a->centre[1] - b->centre[1]),
	                 a->centre[2] - b->centre[2]);

	return d >= a->radius + b->radius;
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
			                "phantom: shape %d of %d is no sphere with a value; what is heard "
			                "must be of spheres alone",
			                i + 1, p->n);
		v[i] = (struct iso_sphere){ { s->centre[0], s->centre[1], s->centre[2] },
			                    s->half[0],
			                    s->value[SHAPE_ACTIVITY] };
		for (int j = 0; j < i && !p->adds; j++)
			if (!apart(&v[i], &v[j]))
				return iso_fail(
					ISO_EARG,
					"phantom: spheres %d and %d overlap; what is heard must be apart",
					j + 1, i + 1);
	}
	*fwhm = p->fwhm;
	return ISO_OK;
}
