/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree of vessels for optoacoustics: an artery along z, branches of it, and twigs of those.

   Vessels are spheres on a string, SPACING radii apart, whose values add up: at any place of the axis
   2/SPACING of them, a whole number, so each has SPACING/2 of the vessel's value, which is 1. A sum of smoothed
   spheres has image and sound in closed form. */
#include "core/philox.h"
#include "shapes.h"

#define SEED 13
#define SPACING .5
#define FWHM .5         /* mm */
#define GOLDEN 2.399963 /* angle between one branch and the next, round the vessel */

/* The cuboid of Wang 2013 is 29.4 x 29.4 x 61.6 mm; what would leave this part of it ends. */
static const double room[3] = { 13.2, 13.2, 29.2 };

static const struct {
	double radius, length; /* mm */
	double gap;            /* mm between branches */
	double lean;           /* rad, between a vessel and its branches */
	double bend;           /* rad, the most that it turns along its way */
} level[] = {
	{ 1.2, 57, 6.5, 1.1, .25 },
	{ .7, 15, 4.5, .9, .9 },
	{ .42, 7, 1e3, 0, 1.2 },
};

enum { LEVELS = sizeof level / sizeof *level };

struct vessel {
	double at[3], along[3];
	int level;
};

/* A unit vector across `along`, `angle` round it from wherever. */
static void across(double v[3], const double along[3], double angle)
{
	double ex[3], ey[3];

	iso_transducer_frame(ex, ey, along);
	for (int a = 0; a < 3; a++) v[a] = cos(angle) * ex[a] + sin(angle) * ey[a];
}

static bool has_room(const double at[3], double radius)
{
	for (int a = 0; a < 3; a++)
		if (fabs(at[a]) + radius > room[a]) return false;
	return true;
}

static void add_sphere(struct iso_phantom *p, const double at[3], double radius)
{
	iso_shapes_add(p, &(struct iso_shape){ .type = SHAPE_ELLIPSOID,
	                                       .centre = { at[0], at[1], at[2] },
	                                       .half = { radius, radius, radius },
	                                       .sets = { true, false },
	                                       .value = { SPACING / 2, 0 } });
}

static struct vessel branch(const struct vessel *v, double angle)
{
	struct vessel b = *v;
	double out[3], lean = level[v->level].lean;

	b.level++;
	across(out, v->along, angle);
	for (int a = 0; a < 3; a++) {
		b.along[a] = cos(lean) * v->along[a] + sin(lean) * out[a];
		b.at[a] += level[v->level].radius * b.along[a];
	}
	return b;
}

/* Along an arc; every `gap` a branch leaves. *vessels: how many there are so far, the number of the next
   one's random numbers. */
static void grow(struct iso_phantom *p, uint64_t *vessels, struct vessel v)
{
	struct philox w = philox_draw(SEED, (*vessels)++, 0);
	double radius = level[v.level].radius, length = level[v.level].length;
	double step = SPACING * radius, angle = 2 * M_PI * philox_unit(w.w[0]);
	double next = (.5 + .5 * philox_unit(w.w[1])) * level[v.level].gap;
	double turn = philox_unit(w.w[2]) * level[v.level].bend / length * step, side[3];

	across(side, v.along, 2 * M_PI * philox_unit(w.w[3]));
	for (double way = 0; way < length && has_room(v.at, radius); way += step) {
		add_sphere(p, v.at, radius);
		if (way >= next && v.level + 1 < LEVELS) {
			grow(p, vessels, branch(&v, angle));
			next += level[v.level].gap;
			angle += GOLDEN;
		}
		for (int a = 0; a < 3; a++) {
			v.at[a] += step * v.along[a];
			v.along[a] += turn * side[a];
		}
		const double *d = v.along, size = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);

		for (int a = 0; a < 3; a++) v.along[a] /= size;
	}
}

void iso_shapes_vessel_tree(struct iso_phantom *p)
{
	uint64_t vessels = 0;

	p->fwhm = FWHM;
	p->adds = true;
	grow(p, &vessels, (struct vessel){ .at = { 2, 0, -27.9 }, .along = { 0, 0, 1 } });
}
