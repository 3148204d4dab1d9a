/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes from a description file: a list `shapes`, and the `grid` that suits them. */
#include "text/conf.h"
#include "shapes.h"

#include <math.h>

#define SHORTEST 1e-6 /* mm */
/* The inside of a struct conf_key. */
#define PLACE(name, dst, required) name, CONF_REALS, dst, 3, -1e5, 1e5, required
#define LENGTH(name, kind, dst, count, required) name, kind, dst, count, SHORTEST, 1e5, required
#define TYPE .name = "type", .kind = CONF_NODE
#define ACTIVITY(s, required) "activity", CONF_REAL, &(s)->value[SHAPE_ACTIVITY], 1, 0, 1e12, required
#define MU(s) "mu_per_mm", CONF_REAL, &(s)->value[SHAPE_MU], 1, 0, 100, false

/* A radius is one number, or one for each axis. */
static enum conf_kind radius_kind(const struct conf_node *n)
{
	const struct conf_node *radius = iso_conf_find(n, "radius_mm");

	return radius && radius->type == CONF_LIST ? CONF_REALS : CONF_REAL;
}

static int read_ellipsoid(struct iso_shape *s, const struct conf_node *n)
{
	enum conf_kind kind = radius_kind(n);
	const struct conf_key keys[] = {
		{ TYPE },  { PLACE("centre_mm", s->centre, false) },        { ACTIVITY(s, false) },
		{ MU(s) }, { LENGTH("radius_mm", kind, s->half, 3, true) }, { .name = NULL },
	};
	int st = iso_conf_keys(n, keys);

	if (kind == CONF_REAL) s->half[1] = s->half[2] = s->half[0];
	return st;
}

static int read_cylinder(struct iso_shape *s, const struct conf_node *n)
{
	static const char *const axes[] = { "x", "y", "z", NULL };
	enum conf_kind kind = radius_kind(n);
	double radius[2], length = 0;
	const struct conf_key keys[] = {
		{ TYPE },
		{ PLACE("centre_mm", s->centre, false) },
		{ ACTIVITY(s, false) },
		{ MU(s) },
		{ LENGTH("radius_mm", kind, radius, 2, true) },
		{ LENGTH("length_mm", CONF_REAL, &length, 1, true) },
		{ .name = "axis", .kind = CONF_NODE },
		{ .name = NULL },
	};
	int st;

	s->axis = 2;
	if ((st = iso_conf_keys(n, keys)) || (st = iso_conf_word(&s->axis, n, "axis", axes))) return st;
	if (kind == CONF_REAL) radius[1] = radius[0];
	for (int a = 0, i = 0; a < 3; a++) s->half[a] = a == s->axis ? length / 2 : radius[i++];
	return ISO_OK;
}

static int read_box(struct iso_shape *s, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		{ TYPE },
		{ PLACE("centre_mm", s->centre, false) },
		{ ACTIVITY(s, false) },
		{ MU(s) },
		{ LENGTH("size_mm", CONF_REALS, s->half, 3, true) },
		{ .name = NULL },
	};
	int st = iso_conf_keys(n, keys);

	for (int a = 0; a < 3; a++) s->half[a] /= 2;
	return st;
}

/* Of the plane x, y: alike at every z. */
static int read_ellipse(struct iso_shape *s, const struct conf_node *n)
{
	enum conf_kind kind = radius_kind(n);
	double centre[2] = { 0 }, radius[2] = { 0 }, phi = 0;
	const struct conf_key keys[] = {
		{ TYPE },
		{ ACTIVITY(s, false) },
		{ MU(s) },
		{ "centre_mm", CONF_REALS, centre, 2, -1e5, 1e5, false },
		{ LENGTH("radius_mm", kind, radius, 2, true) },
		{ "angle_deg", CONF_REAL, &phi, 1, -360, 360, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(n, keys);
	double mu = s->value[SHAPE_MU];

	if (kind == CONF_REAL) radius[1] = radius[0];
	*s = iso_shape_ellipse(centre[0], centre[1], radius[0], radius[1], phi, s->value[SHAPE_ACTIVITY]);
	s->value[SHAPE_MU] = mu;
	return st;
}

static int read_point(struct iso_shape *s, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		{ TYPE },
		{ PLACE("centre_mm", s->centre, true) },
		{ ACTIVITY(s, true) },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_line(struct iso_shape *s, const struct conf_node *n)
{
	double to[3] = { 0 }, length;
	const struct conf_key keys[] = {
		{ TYPE },
		{ PLACE("from_mm", s->centre, true) },
		{ PLACE("to_mm", to, true) },
		{ ACTIVITY(s, true) },
		{ .name = NULL },
	};
	int st = iso_conf_keys(n, keys);

	if (st) return st;
	for (int a = 0; a < 3; a++) s->half[a] = to[a] - s->centre[a];
	length = hypot(hypot(s->half[0], s->half[1]), s->half[2]);
	if (length < SHORTEST)
		return iso_conf_fail(n, "from_mm and to_mm of a line are %g mm apart, must be at least %g",
		                     length, SHORTEST);
	return ISO_OK;
}

static int read_shape(struct iso_shape *s, const struct conf_node *n)
{
	static const struct {
		enum shape_type type;
		int (*read)(struct iso_shape *s, const struct conf_node *n);
	} reader[] = {
		{ SHAPE_ELLIPSOID, read_ellipsoid }, { SHAPE_ELLIPSOID, read_ellipsoid },
		{ SHAPE_CYLINDER, read_cylinder },   { SHAPE_BOX, read_box },
		{ SHAPE_POINT, read_point },         { SHAPE_LINE, read_line },
		{ SHAPE_ELLIPSE, read_ellipse },
	};
	static const char *const names[] = { "sphere", "ellipsoid", "cylinder", "box",
		                             "point",  "line",      "ellipse",  NULL };
	int which = -1;
	int st = iso_conf_word(&which, n, "type", names);

	if (st) return st;
	s->type = reader[which].type;
	if ((st = reader[which].read(s, n))) return st;
	s->sets[SHAPE_ACTIVITY] = iso_conf_find(n, "activity");
	s->sets[SHAPE_MU] = iso_conf_find(n, "mu_per_mm");
	if (!s->sets[SHAPE_ACTIVITY] && !s->sets[SHAPE_MU])
		return iso_conf_fail(n, "this %s has neither activity nor mu_per_mm", names[which]);
	return ISO_OK;
}

/* Up to the next of 1, 2, 5, 10, 20, ... */
static double round_up(double x)
{
	double power = pow(10, floor(log10(x))), digit = x / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

void iso_shapes_default_grid(struct iso_phantom *p)
{
	double lo[3], hi[3], longest = 0;

	iso_shapes_bounds(lo, hi, p);
	for (int a = 0; a < 3; a++) longest = fmax(longest, hi[a] - lo[a]);
	for (int a = 0; a < 3; a++) {
		p->grid.voxel[a] = longest > 0 ? round_up(longest / 100) : 1;
		p->grid.centre[a] = (lo[a] + hi[a]) / 2;
	}
	iso_shapes_cover(&p->grid, p);
}

static int read_grid(struct iso_phantom *p, const struct conf_node *grid)
{
	struct iso_grid *g = &p->grid;
	const struct conf_key keys[] = {
		{ "n", CONF_INTS, g->n, 3, 1, 1e6, false },
		{ LENGTH("voxel_mm", CONF_REALS, g->voxel, 3, false) },
		{ PLACE("centre_mm", g->centre, false) },
		{ .name = NULL },
	};
	int st = iso_conf_keys(grid, keys);

	if (st) return st;
	if (!iso_conf_find(grid, "n")) iso_shapes_cover(g, p);
	return iso_grid_check(g) ? iso_conf_fail(grid, "%s", iso_message()) : ISO_OK;
}

static int read_shapes(struct iso_phantom *p, const struct conf_node *list)
{
	if (list->type != CONF_LIST || list->n_child == 0)
		return iso_conf_fail(list, "shapes must be a list of at least one shape");
	for (const struct conf_node *n = list->child; n; n = n->next) {
		struct iso_shape s = { 0 };
		int st;

		if ((st = read_shape(&s, n)) || (st = iso_shapes_add(p, &s))) return st;
	}
	return ISO_OK;
}

int iso_shapes_read(struct iso_phantom *p, const char *path)
{
	const struct conf_node *list = NULL, *grid = NULL;
	const struct conf_key keys[] = {
		{ "shapes", CONF_NODE, &list, 1, 0, 0, true },
		{ "grid", CONF_NODE, &grid, 1, 0, 0, false },
		{ "smooth_fwhm_mm", CONF_REAL, &p->fwhm, 1, 1e-3, 1e3, false },
		{ .name = NULL },
	};
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	if (st || (st = iso_conf_keys(root, keys)) || (st = read_shapes(p, list))) goto done;
	iso_shapes_default_grid(p);
	if (grid) st = read_grid(p, grid);
done:
	iso_conf_free(root);
	return st;
}
