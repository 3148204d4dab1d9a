/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms: those built in, as tables of shapes, and those from files. */
#include "text/nearest.h"
#include "core/status.h"
#include "file/suffix.h"
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* mu at 511 keV, 1/mm */
#define WATER .0096
#define LUNG .0027
#define BONE .0165

/* Rows of the tables: centre, half sizes (mm), activity per volume, mu; 0: attenuation is not set. */
#define ROW(type, axis, x, y, z, a, b, c, activity, mu)                                              \
	{                                                                                            \
		type, { x, y, z }, { a, b, c }, { true, (mu) > 0 }, { activity, mu }, { 1, 0 }, axis \
	}
#define ELLIPSOID(x, y, z, a, b, c, activity, mu) ROW(SHAPE_ELLIPSOID, 2, x, y, z, a, b, c, activity, mu)
#define BALL(x, y, z, r, activity, mu) ELLIPSOID(x, y, z, r, r, r, activity, mu)
#define CYLINDER(x, y, z, a, b, length, activity, mu) \
	ROW(SHAPE_CYLINDER, 2, x, y, z, a, b, (length) / 2., activity, mu)

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static const struct iso_shape cylinder[] = { CYLINDER(0, 0, 0, 100, 100, 200, 1, WATER) };

/* Three axial lines, each with a tenth of the activity, in a cylinder with the rest. */
static const struct iso_shape lines[] = { CYLINDER(0, 0, 0, 150, 150, 200, 1, WATER) };

static void add_lines(struct iso_phantom *p)
{
	for (int i = 0; i < 3; i++) {
		double t = (15 + 120 * i) * M_PI / 180, x = 60 * cos(t), y = 60 * sin(t);
		struct iso_shape line = ROW(SHAPE_LINE, 2, x, y, -100, 0, 0, 200, M_PI * 150 * 150 / 7, 0);

		iso_shapes_add(p, &line);
	}
}

/* A million decays in one point, in air. */
static const struct iso_shape point[] = { ROW(SHAPE_POINT, 2, 0, 0, 0, 0, 0, 0, 1e6, 0) };

/* After the NEMA image quality phantom: hot spheres of 10 to 37 mm on a circle of radius 57.2 mm
   in a warm body, around a cold cylinder that weighs as little as lung. */
static const struct iso_shape spheres[] = {
	CYLINDER(0, 0, 0, 150, 115, 180, 1, WATER),
	CYLINDER(0, 0, 0, 25, 25, 180, 0, .003),
};

static void add_spheres(struct iso_phantom *p)
{
	static const double diameter[] = { 10, 13, 17, 22, 28, 37 };

	for (int i = 0; i < COUNT(diameter); i++) {
		double t = i * M_PI / 3;
		struct iso_shape ball = BALL(57.2 * cos(t), 57.2 * sin(t), 0, diameter[i] / 2, 4, WATER);

		iso_shapes_add(p, &ball);
	}
}

/* Head to thighs after an FDG injection, in units of the mean uptake: x to the left, y to the
   front, z to the head. */
static const struct iso_shape body[] = {
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

/* The table of Bialas 2015, from the topmost down: x is z of the strips. */
static void add_ellipses(struct iso_phantom *p)
{
	static const double table[][6] = {
		/* x, y, a, b, phi, rho */
		{ 0, 0, 30, 60, 0, .3 },   { 50, -62, 10, 33, -40, .3 }, { -50, -63, 20, 33, 45, .5 },
		{ 60, 65, 13, 14, 0, .5 }, { 35, 55, 12, 12, 0, .7 },    { 0, 0, 120, 110, 0, .1 },
	};

	for (int i = COUNT(table) - 1; i >= 0; i--) {
		struct iso_shape s = iso_shape_ellipse(table[i]);

		iso_shapes_add(p, &s);
	}
}

/* ---- Derenzo: hot rods in a cold cylinder ---- */

/* In six sectors, of which sector i is around the angle (i + 1/2) 60 degrees, from the axis after `axis`
   towards the one after that: rods along `axis` of diameter[i], from centre to centre two diameters. Row m
   of a sector has m + 1 rods; those that reach beyond `reach` mm from the middle are left out. */
struct rods {
	int axis;
	double diameter[6], reach, length; /* mm */
};

static void add_rods(struct iso_phantom *p, const struct rods *rods)
{
	int axis = rods->axis;
	double reach = rods->reach;

	for (int i = 0; i < 6; i++) {
		double d = rods->diameter[i], angle = (i + .5) * M_PI / 3;

		for (int m = 0; 2 * d + m * sqrt(3) * d + d / 2 <= reach; m++)
			for (int j = 0; j <= m; j++) {
				double out = 2 * d + m * sqrt(3) * d, across = (2 * j - m) * d, r = d / 2;
				struct iso_shape rod = ROW(SHAPE_CYLINDER, axis, 0, 0, 0, r, r, r, 1, WATER);

				rod.half[axis] = rods->length / 2;
				rod.centre[(axis + 1) % 3] = out * cos(angle) - across * sin(angle);
				rod.centre[(axis + 2) % 3] = out * sin(angle) + across * cos(angle);
				if (hypot(out, across) + r <= reach) iso_shapes_add(p, &rod);
			}
	}
}

/* For small animals, 45 mm wide. */
static const struct iso_shape derenzo[] = { CYLINDER(0, 0, 0, 22.5, 22.5, 40, 0, WATER) };
static const struct rods rods = { 2, { 1.2, 1.6, 2.4, 3.2, 4.0, 4.8 }, 21.5, 30 };

/* ---- of the dual-head papers, Meng 2019 and Chou 2012: y is normal to the heads ---- */

/* 29.95 mm wide, 10 mm thick. */
static const struct iso_shape derenzo_meng[] = {
	ROW(SHAPE_CYLINDER, 1, 0, 0, 0, 14.975, 5, 14.975, 0, WATER),
};
static const struct rods rods_meng = { 1, { .7, 1.0, 1.2, 1.6, 2.0, 2.4 }, 14.975, 10 };

/* The paper tells neither width nor length; its profiles lie up to 11.7 mm from the middle. */
static const struct iso_shape derenzo_chou[] = { ROW(SHAPE_CYLINDER, 1, 0, 0, 0, 15, 10, 15, 0, WATER) };
static const struct rods rods_chou = { 1, { .75, 1.0, 1.35, 1.7, 2.0, 2.4 }, 15, 20 };

/* Radii 10 and 15 mm, centres 20 mm apart, as the paper prints it: they overlap. */
static const struct iso_shape two_spheres[] = {
	BALL(0, 0, -12.5, 10, 1, WATER),
	BALL(0, 0, 7.5, 15, 1, WATER),
};

/* The same with 20 mm between the surfaces, centres 45 mm apart. */
static const struct iso_shape two_spheres_apart[] = {
	BALL(0, 0, -25, 10, 1, WATER),
	BALL(0, 0, 20, 15, 1, WATER),
};

static const struct iso_shape sphere[] = { BALL(0, 0, 0, 10, 1, WATER) };

/* Lies along z, nose at +z; a tracer that tumours, kidneys and bladder take up. The tumour, under
   the skin of a shoulder, has five times the activity of muscle. */
static const struct iso_shape mouse[] = {
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

/* Lies along x, nose at +x; glucose in brain and heart, two tumours. */
static const struct iso_shape rat[] = {
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

/* ---- optoacoustic: absorbed energy in place of activity ---- */

/* In the cuboid of Wang 2013, section IV, which does not list its own. */
static const struct iso_shape nine_spheres[] = {
	BALL(-6.58, 0, -21, 3, 1, 0), BALL(-6.58, 0, -7, 2, .8, 0), BALL(-6.58, 0, 7, 1, 1, 0),
	BALL(-6.58, 0, 21, 4, .5, 0), BALL(6.58, 0, -18, 4, .6, 0), BALL(6.58, 0, 0, 3, 1, 0),
	BALL(6.58, 0, 16, 2, .9, 0),  BALL(0, 7, -14, 2.5, .7, 0),  BALL(0, -7, 12, 2.5, .7, 0),
};

/* ---- all of them ---- */

#define TABLE(table) .n = COUNT(table), .shape = table

static const struct {
	int n;
	const struct iso_shape *shape;
	const struct rods *rods;            /* on top of these, or NULL */
	void (*add)(struct iso_phantom *p); /* likewise */
	double voxel, fwhm;                 /* mm */
	int64_t least[3];                   /* voxels along x, y, z */
} builtin[] = {
	{ TABLE(cylinder), .voxel = 4 },
	{ TABLE(lines), .add = add_lines, .voxel = 4 },
	{ TABLE(spheres), .add = add_spheres, .voxel = 4 },
	{ TABLE(derenzo), .rods = &rods, .voxel = .5 },
	{ TABLE(body), .voxel = 4 },
	{ TABLE(point), .voxel = 2, .least = { 51, 51, 51 } }, /* odd: the point is the middle of a voxel */
	{ .add = add_ellipses, .voxel = 4, .least = { 75, 65 } }, /* the paper's: all between the strips */
	{ TABLE(two_spheres), .voxel = .5 },
	{ TABLE(two_spheres_apart), .voxel = .5 },
	{ TABLE(sphere), .voxel = .5 },
	{ TABLE(derenzo_meng), .rods = &rods_meng, .voxel = .25 },
	{ TABLE(derenzo_chou), .rods = &rods_chou, .voxel = .25 },
	{ TABLE(mouse), .voxel = .5 },
	{ TABLE(rat), .voxel = .5 },
	/* the cuboid of Wang 2013; an FWHM of 0.77 mm is 0.5 us */
	{ TABLE(nine_spheres), .voxel = .28, .fwhm = .77, .least = { 105, 105, 220 } },
	{ .add = iso_shapes_vessel_tree, .voxel = .28, .least = { 105, 105, 220 } },
};

static const char *const names[] = {
	"cylinder", "lines",       "spheres",           "derenzo",     "body",         "point",
	"ellipses", "two-spheres", "two-spheres-apart", "sphere",      "derenzo-meng", "derenzo-chou",
	"mouse",    "rat",         "nine-spheres",      "vessel-tree", NULL,
};
_Static_assert(COUNT(names) == COUNT(builtin) + 1, "one name for each phantom");

const char *const *iso_phantom_names(void)
{
	return names;
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

static int make_builtin(struct iso_phantom *p, int which, const double *at)
{
	int64_t *n = p->grid.n;
	int st;

	p->fwhm = builtin[which].fwhm;
	for (int i = 0; i < builtin[which].n; i++) iso_shapes_add(p, &builtin[which].shape[i]);
	if (builtin[which].rods) add_rods(p, builtin[which].rods);
	if (builtin[which].add) builtin[which].add(p);
	if ((st = p->status) || (at && builtin[which].shape == point && (st = move_point(p, at)))) return st;
	iso_shapes_grid(p, builtin[which].voxel);
	for (int a = 0; a < 3; a++)
		if (n[a] < builtin[which].least[a]) n[a] = builtin[which].least[a];
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
	struct iso_phantom *made;
	int which = 0, st;

	while (names[which] && strcmp(names[which], name_or_file) != 0) which++;
	if (!names[which] && access(name_or_file, F_OK) != 0) return unknown(name_or_file);
	made = calloc(1, sizeof *made);
	if (!made) return iso_fail_memory("phantom", sizeof *made);
	if (names[which])
		st = make_builtin(made, which, at);
	else
		st = (iso_has_suffix(name_or_file, ".txt") ? iso_flat_shapes_read
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

void iso_phantom_grid(struct iso_grid *g, const iso_phantom *p)
{
	if (!g || !p) return;
	*g = p->grid;
}

int iso_phantom_shapes(const iso_phantom *p)
{
	return p ? p->n : 0;
}
