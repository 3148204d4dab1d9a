/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms: those built in, as tables of shapes, and those from files. */
#include "text/nearest.h"
#include "core/status.h"
#include "file/suffix.h"
#include "phantom_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_cylinder(struct iso_phantom *p)
{
	const struct iso_shape s = CYLINDER(0, 0, 0, 100, 100, 200, 1, WATER);

	return iso_shapes_add(p, &s);
}

/* Three axial lines, each with a tenth of the activity, in a cylinder with the rest. */
static int make_lines(struct iso_phantom *p)
{
	const struct iso_shape cylinder = CYLINDER(0, 0, 0, 150, 150, 200, 1, WATER);
	int st = iso_shapes_add(p, &cylinder);

	for (int i = 0; i < 3 && !st; i++) {
		double t = (15 + 120 * i) * M_PI / 180;
		const struct iso_shape line = {
			.type = SHAPE_LINE,
			.centre = { 60 * cos(t), 60 * sin(t), -100 },
			.half = { 0, 0, 200 },
			.sets = { true, false },
			.value = { M_PI * 150 * 150 / 7, 0 },
		};

		st = iso_shapes_add(p, &line);
	}
	return st;
}

/* A million decays in one point, in air. */
static int make_point(struct iso_phantom *p)
{
	const struct iso_shape s = {
		.type = SHAPE_POINT,
		.sets = { true, false },
		.value = { 1e6, 0 },
	};

	return iso_shapes_add(p, &s);
}

static int move_point(struct iso_phantom *p, const double at[3])
{
	for (int a = 0; a < 3; a++) {
		if (!(fabs(at[a]) <= 1e5))
			return iso_fail(ISO_EARG, "phantom point: %c is %g mm, must be in [-100000, 100000]",
			                "xyz"[a], at[a]);
		p->shape[0].centre[a] = at[a];
	}
	return ISO_OK;
}

/* After the NEMA image quality phantom: hot spheres of 10 to 37 mm on a circle of radius 57.2 mm
   in a warm body, around a cold cylinder that weighs as little as lung. */
static int make_spheres(struct iso_phantom *p)
{
	static const struct iso_shape body[] = {
		CYLINDER(0, 0, 0, 150, 115, 180, 1, WATER),
		CYLINDER(0, 0, 0, 25, 25, 180, 0, .003),
	};
	static const double diameter[] = { 10, 13, 17, 22, 28, 37 };
	int st = iso_shapes_add_all(p, COUNT(body), body);

	for (int i = 0; i < COUNT(diameter) && !st; i++) {
		double t = i * M_PI / 3, r = diameter[i] / 2;
		const struct iso_shape ball = BALL(57.2 * cos(t), 57.2 * sin(t), 0, r, 4, WATER);

		st = iso_shapes_add(p, &ball);
	}
	return st;
}

/* For small animals: hot rods in a cold cylinder, 45 mm wide. */
static int make_derenzo(struct iso_phantom *p)
{
	const struct iso_shape body = CYLINDER(0, 0, 0, 22.5, 22.5, 40, 0, WATER);
	static const double diameter[] = { 1.2, 1.6, 2.4, 3.2, 4.0, 4.8 };
	int st = iso_shapes_add(p, &body);

	for (int i = 0; i < COUNT(diameter) && !st; i++)
		st = iso_shapes_rods(p, &(struct iso_rod_sector){ .axis = 2,
		                                                  .diameter = diameter[i],
		                                                  .angle = (i + .5) * M_PI / 3,
		                                                  .reach = 21.5,
		                                                  .length = 30 });
	return st;
}

/* Head to thighs after an FDG injection, in units of the mean uptake: x to the left, y to the
   front, z to the head. */
static int make_body(struct iso_phantom *p)
{
	static const struct iso_shape table[] = {
		CYLINDER(-95, 0, -450, 80, 80, 200, .8, WATER), /* thighs */
		CYLINDER(95, 0, -450, 80, 80, 200, .8, WATER),
		CYLINDER(-95, 0, -450, 15, 15, 200, .5, BONE),
		CYLINDER(95, 0, -450, 15, 15, 200, .5, BONE),
		CYLINDER(0, -10, 290, 60, 60, 100, 1, WATER), /* neck */
		ELLIPSOID(0, 0, 430, 75, 95, 120, 1, WATER),  /* head */
		ELLIPSOID(0, 0, 430, 71, 91, 116, .5, BONE),
		ELLIPSOID(0, 0, 430, 65, 85, 110, 7, WATER),
		CYLINDER(0, 0, -50, 200, 125, 600, 1, WATER), /* torso */
		ELLIPSOID(-90, 5, 130, 65, 80, 115, .5, LUNG),
		ELLIPSOID(90, 5, 130, 65, 80, 115, .5, LUNG),
		ELLIPSOID(30, 40, 95, 45, 40, 45, 5, WATER), /* heart wall, blood */
		ELLIPSOID(30, 40, 95, 33, 28, 33, 1.6, WATER),
		ELLIPSOID(-75, 10, -40, 95, 85, 75, 2.2, WATER), /* liver */
		ELLIPSOID(115, -30, -40, 40, 45, 50, 2, WATER),  /* spleen */
		ELLIPSOID(-60, -55, -140, 28, 25, 55, 4, WATER), /* kidneys */
		ELLIPSOID(60, -55, -140, 28, 25, 55, 4, WATER),
		CYLINDER(0, -85, -50, 20, 20, 600, 1.3, BONE), /* spine */
		ELLIPSOID(0, 40, -290, 40, 35, 30, 20, WATER), /* bladder */
		BALL(-95, 20, 150, 8, 8, WATER),               /* lesions: lung, liver, chest, pelvis */
		BALL(-110, 20, -30, 10, 7, WATER),
		BALL(5, 0, 185, 6, 8, WATER),
		BALL(70, -10, -230, 7, 6, WATER),
	};

	return iso_shapes_add_all(p, COUNT(table), table);
}

/* The table of Bialas 2015, from the topmost down: x is z of the strips. */
static int make_ellipses(struct iso_phantom *p)
{
	static const double table[][6] = {
		/* x, y, a, b, phi, rho */
		{ 0, 0, 30, 60, 0, .3 },   { 50, -62, 10, 33, -40, .3 }, { -50, -63, 20, 33, 45, .5 },
		{ 60, 65, 13, 14, 0, .5 }, { 35, 55, 12, 12, 0, .7 },    { 0, 0, 120, 110, 0, .1 },
	};
	int st = ISO_OK;

	for (int i = COUNT(table) - 1; i >= 0 && !st; i--) {
		const double *e = table[i];
		const struct iso_shape s = iso_shape_ellipse(e[0], e[1], e[2], e[3], e[4], e[5]);

		st = iso_shapes_add(p, &s);
	}
	return st;
}

static const struct {
	int (*make)(struct iso_phantom *p);
	double voxel;     /* mm */
	int64_t least[3]; /* voxels along x, y, z */
} builtin[] = {
	{ make_cylinder, 4, { 1, 1, 1 } },
	{ make_lines, 4, { 1, 1, 1 } },
	{ make_spheres, 4, { 1, 1, 1 } },
	{ make_derenzo, .5, { 1, 1, 1 } },
	{ make_body, 4, { 1, 1, 1 } },
	{ make_point, 2, { 51, 51, 51 } },   /* odd: the point is the middle of a voxel */
	{ make_ellipses, 4, { 75, 65, 1 } }, /* the paper's image: all between the strips */
	{ iso_make_two_spheres, .5, { 1, 1, 1 } },
	{ iso_make_two_spheres_apart, .5, { 1, 1, 1 } },
	{ iso_make_sphere, .5, { 1, 1, 1 } },
	{ iso_make_derenzo_meng, .25, { 1, 1, 1 } },
	{ iso_make_derenzo_chou, .25, { 1, 1, 1 } },
	{ iso_make_mouse, .5, { 1, 1, 1 } },
	{ iso_make_rat, .5, { 1, 1, 1 } },
	{ iso_make_nine_spheres, .28, { 105, 105, 220 } }, /* the cuboid of Wang 2013 */
	{ iso_make_vessel_tree, .28, { 105, 105, 220 } },
};

static const char *const names[] = { "cylinder",
	                             "lines",
	                             "spheres",
	                             "derenzo",
	                             "body",
	                             "point",
	                             "ellipses",
	                             "two-spheres",
	                             "two-spheres-apart",
	                             "sphere",
	                             "derenzo-meng",
	                             "derenzo-chou",
	                             "mouse",
	                             "rat",
	                             "nine-spheres",
	                             "vessel-tree",
	                             NULL };

const char *const *iso_phantom_names(void)
{
	return names;
}

static int find_builtin(const char *name)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0) return i;

	return -1;
}

static int make_builtin(struct iso_phantom *p, int which, const double *at)
{
	struct iso_grid *g = &p->grid;
	double lo[3], hi[3];
	int st = builtin[which].make(p);

	if (!st && at && builtin[which].make == make_point) st = move_point(p, at);
	if (st) return st;
	iso_shapes_bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) {
		g->voxel[a] = builtin[which].voxel;
		g->centre[a] = (lo[a] + hi[a]) / 2;
	}
	iso_shapes_cover(g, p);
	for (int a = 0; a < 3; a++)
		if (g->n[a] < builtin[which].least[a]) g->n[a] = builtin[which].least[a];
	return ISO_OK;
}

static int unknown(const char *name)
{
	const char *near = iso_nearest(name, COUNT(builtin), names);
	char all[256] = "", guess[64] = "";
	size_t used = 0;

	for (int i = 0; i < COUNT(builtin) && used < sizeof all; i++)
		used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
	if (near) snprintf(guess, sizeof guess, "; did you mean '%s'?", near);
	/* with a dot or a slash a file was meant */
	return iso_fail(strpbrk(name, "./") ? ISO_EINPUT : ISO_EARG,
	                "phantom '%.200s' is neither built in (%s) nor a file%s", name, all, guess);
}

int iso_phantom_create(iso_phantom **p, const char *name_or_file, const double at[3])
{
	if (!p || !name_or_file) return iso_fail_null(__func__);
	int which = find_builtin(name_or_file);
	struct iso_phantom *made;
	int st;

	if (which < 0 && access(name_or_file, F_OK) != 0) return unknown(name_or_file);
	made = calloc(1, sizeof *made);
	if (!made) return iso_fail_memory("phantom", sizeof *made);
	if (which >= 0)
		st = make_builtin(made, which, at);
	else
		st = (iso_has_suffix(name_or_file, ".txt") ? iso_ellipses_read
		                                           : iso_shapes_read)(made, name_or_file);
	if (st)
		iso_phantom_free(made);
	else
		*p = made;
	return st;
}

void iso_phantom_free(iso_phantom *p)
{
	if (!p) return;
	free(p->shape);
	free(p);
}

void iso_phantom_grid(const iso_phantom *p, struct iso_grid *g)
{
	*g = p->grid;
}

int iso_phantom_shapes(const iso_phantom *p)
{
	return p->n;
}

int iso_phantom_ellipse(struct iso_ellipse *e, const iso_phantom *p, int i)
{
	if (!e || !p) return iso_fail_null(__func__);
	if (i < 0 || i >= p->n) return iso_fail(ISO_EARG, "phantom: shape %d of %d", i, p->n);

	const struct iso_shape *s = &p->shape[p->n - 1 - i];

	if (s->type != SHAPE_ELLIPSE || !s->sets[SHAPE_ACTIVITY])
		return iso_fail(ISO_EARG, "phantom: shape %d from the top is no ellipse with activity",
		                i + 1);
	*e = (struct iso_ellipse){
		s->centre[0],
		s->centre[1],
		s->half[0],
		s->half[1],
		s->turn[0],
		s->turn[1],
		s->value[SHAPE_ACTIVITY],
	};
	return ISO_OK;
}
