/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes from a description file: a list `shapes`, and the `grid` that suits them; and from a text file of
   ellipses. */
#include "core/size.h"
#include "file/in.h"
#include "text/conf.h"
#include "shapes.h"

#define SHORTEST 1e-6 /* mm */

/* Sets of shapes, a bit for each enum shape_type. */
#define OF(type) (1u << (type))
#define VOLUMES (OF(SHAPE_ELLIPSOID) | OF(SHAPE_CYLINDER) | OF(SHAPE_BOX) | OF(SHAPE_ELLIPSE))
#define ROUND (VOLUMES & ~OF(SHAPE_BOX))
#define SOURCES (OF(SHAPE_POINT) | OF(SHAPE_LINE))

/* What a map may hold besides what goes straight into the shape. */
struct extra {
	double radius[3], length, phi, to[3];
	int radii; /* numbers that radius_mm may have; one alone stands for all */
};

/* The keys of a shape of this type. */
static int read_keys(struct iso_shape *s, struct extra *e, const struct conf_node *map)
{
	const struct conf_node *radius = iso_conf_find(map, "radius_mm");
	enum conf_kind radius_kind = radius && radius->type == CONF_LIST ? CONF_REALS : CONF_REAL;
	bool flat = s->type == SHAPE_ELLIPSE, source = OF(s->type) & SOURCES;
	const struct {
		unsigned of;
		struct conf_key key;
	} all[] = {
		/* What it is; the keys below are of some types. */
		{ VOLUMES | SOURCES, { .name = "type", .kind = CONF_NODE } },
		/* Its middle. Default 0. */
		{ VOLUMES | OF(SHAPE_POINT),
		  { "centre_mm", CONF_REALS, s->centre, flat ? 2 : 3, -1e5, 1e5, source } },
		/* One end of the line. */
		{ OF(SHAPE_LINE), { "from_mm", CONF_REALS, s->centre, 3, -1e5, 1e5, true } },
		/* The other end. */
		{ OF(SHAPE_LINE), { "to_mm", CONF_REALS, e->to, 3, -1e5, 1e5, true } },
		/* In any unit per volume; for a point in all, for a line per mm. */
		{ VOLUMES | SOURCES,
		  { "activity", CONF_REAL, &s->value[SHAPE_ACTIVITY], 1, 0, 1e12, source } },
		/* Attenuation, 1/mm. A shape has activity, attenuation or both. */
		{ VOLUMES, { "mu_per_mm", CONF_REAL, &s->value[SHAPE_MU], 1, 0, 100, false } },
		/* One number, or one each axis: 3 of an ellipsoid, 2 of a cylinder or an ellipse. */
		{ ROUND, { "radius_mm", radius_kind, e->radius, e->radii, SHORTEST, 1e5, true } },
		/* Along the axis. */
		{ OF(SHAPE_CYLINDER), { "length_mm", CONF_REAL, &e->length, 1, SHORTEST, 1e5, true } },
		/* Default z. */
		{ OF(SHAPE_CYLINDER), { .name = "axis", .kind = CONF_NODE } },
		/* Edges along x, y, z. */
		{ OF(SHAPE_BOX), { "size_mm", CONF_REALS, s->half, 3, SHORTEST, 1e5, true } },
		/* Angle by which the ellipse is turned, from x towards y. Default 0. */
		{ OF(SHAPE_ELLIPSE), { "angle_deg", CONF_REAL, &e->phi, 1, -360, 360, false } },
	};
	struct conf_key keys[sizeof all / sizeof *all + 1] = { 0 };
	int st, n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].of & OF(s->type)) keys[n++] = all[i].key;
	st = iso_conf_keys(map, keys);
	if (radius_kind == CONF_REAL) e->radius[1] = e->radius[2] = e->radius[0];
	return st;
}

static int finish_cylinder(struct iso_shape *s, const struct extra *e, const struct conf_node *map)
{
	static const char *const axes[] = { "x", "y", "z", NULL };
	int st;

	s->axis = 2;
	if ((st = iso_conf_word(&s->axis, map, "axis", axes))) return st;
	for (int a = 0, i = 0; a < 3; a++) s->half[a] = a == s->axis ? e->length / 2 : e->radius[i++];
	return ISO_OK;
}

static int finish_line(struct iso_shape *s, const struct extra *e, const struct conf_node *map)
{
	for (int a = 0; a < 3; a++) s->half[a] = e->to[a] - s->centre[a];
	double length = hypot(hypot(s->half[0], s->half[1]), s->half[2]);

	if (length >= SHORTEST) return ISO_OK;
	return iso_conf_fail(map, "from_mm and to_mm of a line are %g mm apart, must be at least %g", length,
	                     SHORTEST);
}

/* From what the keys hold to centre and half sizes. */
static int finish(struct iso_shape *s, const struct extra *e, const struct conf_node *map)
{
	double mu = s->value[SHAPE_MU];

	switch (s->type) {
	case SHAPE_CYLINDER:
		return finish_cylinder(s, e, map);
	case SHAPE_LINE:
		return finish_line(s, e, map);
	case SHAPE_ELLIPSE: /* of the plane x, y: alike at every z */
		*s = iso_shape_ellipse((const double[]){ s->centre[0], s->centre[1], e->radius[0],
		                                         e->radius[1], e->phi, s->value[SHAPE_ACTIVITY] });
		s->value[SHAPE_MU] = mu;
		return ISO_OK;
	default:
		for (int a = 0; a < 3; a++) s->half[a] = s->type == SHAPE_BOX ? s->half[a] / 2 : e->radius[a];
		return ISO_OK;
	}
}

static int read_shape(struct iso_phantom *p, const struct conf_node *map)
{
	static const enum shape_type type[] = {
		SHAPE_ELLIPSOID, SHAPE_ELLIPSOID, SHAPE_CYLINDER, SHAPE_BOX,
		SHAPE_POINT,     SHAPE_LINE,      SHAPE_ELLIPSE,
	};
	static const char *const names[] = { "sphere", "ellipsoid", "cylinder", "box",
		                             "point",  "line",      "ellipse",  NULL };
	struct iso_shape s = { 0 };
	struct extra e = { 0 };
	int which = -1, st;

	if ((st = iso_conf_word(&which, map, "type", names))) return st;
	s.type = type[which];
	e.radii = s.type == SHAPE_ELLIPSOID ? 3 : 2;
	if ((st = read_keys(&s, &e, map)) || (st = finish(&s, &e, map))) return st;
	s.sets[SHAPE_ACTIVITY] = iso_conf_find(map, "activity");
	s.sets[SHAPE_MU] = iso_conf_find(map, "mu_per_mm");
	if (!s.sets[SHAPE_ACTIVITY] && !s.sets[SHAPE_MU])
		return iso_conf_fail(map, "this %s has neither activity nor mu_per_mm", names[which]);
	iso_shapes_add(p, &s);
	return p->status;
}

static int read_grid(struct iso_phantom *p, const struct conf_node *grid)
{
	struct iso_grid *g = &p->grid;
	const struct conf_key keys[] = {
		/* Voxels. Default: what covers the shapes. */
		{ "n", CONF_INTS, g->n, 3, 1, 1e6, false },
		/* Default: chosen. */
		{ "voxel_mm", CONF_REALS, g->voxel, 3, SHORTEST, 1e5, false },
		/* Its middle. Default 0. */
		{ "centre_mm", CONF_REALS, g->centre, 3, -1e5, 1e5, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(grid, keys);

	if (st) return st;
	if (!iso_conf_find(grid, "n")) iso_shapes_cover(p);
	return iso_grid_check(g) ? iso_conf_fail(grid, "%s", iso_message()) : ISO_OK;
}

int iso_shapes_read(struct iso_phantom *p, const char *path)
{
	const struct conf_node *list = NULL, *grid = NULL;
	const struct conf_key keys[] = {
		/* At least one; later shapes lie on top. */
		{ "shapes", CONF_NODE, &list, 1, 0, 0, true },
		/* That suits them. Default: chosen. */
		{ "grid", CONF_NODE, &grid, 1, 0, 0, false },
		/* Gaussian that smooths the image. Default: none. */
		{ "smooth_fwhm_mm", CONF_REAL, &p->fwhm, 1, 1e-3, 1e3, false },
		/* Activities of shapes that overlap add up. Default: those on top hide others. */
		{ "additive", CONF_BOOL, &p->adds, 1, 0, 0, false },
		{ .name = NULL },
	};
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	if (!st && !(st = iso_conf_keys(root, keys)) && (list->type != CONF_LIST || list->n_child == 0))
		st = iso_conf_fail(list, "shapes must be a list of at least one shape");
	for (const struct conf_node *n = st ? NULL : list->child; n && !st; n = n->next)
		st = read_shape(p, n);
	if (!st) iso_shapes_grid(p, 0);
	if (!st && grid) st = read_grid(p, grid);
	iso_conf_free(root);
	return st;
}

/* ---- flat shapes, a line each, the topmost first: those of `kinds` below (mm, degrees counter-clockwise). Before
   them may stand `additive`, where activities add up, and `unit_mm U`, the file's unit of length. Blank lines, and
   what follows a #, do not count ---- */

enum { TEXT_MOST = 1 << 20, SHAPES_MOST = 4096, WORDS = 7 };
enum { X, Y, A, B, PHI, RHO, COLUMNS };

#define BLANKS " \t\r"

/* Place, lengths and density within those of a file of shapes. */
static const struct {
	const char *name;
	double min, max;
} column[COLUMNS] = {
	{ "x", -1e5, 1e5 }, { "y", -1e5, 1e5 },   { "a", 1e-6, 1e5 },
	{ "b", 1e-6, 1e5 }, { "phi", -360, 360 }, { "rho", 0, 1e12 },
};

static const struct kind {
	const char *name, *columns;
	int n, at[COLUMNS]; /* the words behind its name */
	enum shape_type type;
} kinds[] = {
	{ "ellipse", "x y a b phi rho", 6, { X, Y, A, B, PHI, RHO }, SHAPE_ELLIPSE },
	{ "rectangle", "x y a b rho", 5, { X, Y, A, B, RHO }, SHAPE_RECTANGLE },
	{ "point", "x y rho", 3, { X, Y, RHO }, SHAPE_POINT },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct text {
	const char *path;
	int line;
	double unit; /* mm; 0: not said */
};

static int get_number(double *v, const char *word, const struct text *t)
{
	if (iso_number(v, word, strlen(word))) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s:%d: '%.30s' is not a number", t->path, t->line, word);
}

/* The values of a shape, lengths in mm. Activity is per area in the file's unit, so that a point, which has it in all,
   keeps its share. */
static int get_row(double v[COLUMNS], const struct kind *k, char *const *word, const struct text *t)
{
	double unit = t->unit > 0 ? t->unit : 1;
	int st;

	for (int i = 0; i < k->n; i++) {
		int c = k->at[i];

		if ((st = get_number(&v[c], word[1 + i], t))) return st;
		if (c <= B) v[c] *= unit;
		if (c == RHO && k->type == SHAPE_POINT) v[c] *= unit * unit;
		if (!(v[c] >= column[c].min && v[c] <= column[c].max))
			return iso_fail(ISO_EINPUT, "%s:%d: %s is %g, must be in [%g, %g]", t->path, t->line,
			                column[c].name, v[c], column[c].min, column[c].max);
	}
	return ISO_OK;
}

static int add_shape(struct iso_phantom *p, int n, char *const *word, const struct text *t)
{
	double v[COLUMNS] = { 0 };
	const struct kind *k = NULL;
	int st;

	for (int i = 0; i < KINDS; i++)
		if (strcmp(word[0], kinds[i].name) == 0) k = &kinds[i];
	if (!k || n != 1 + k->n)
		return iso_fail(ISO_EINPUT, "%s:%d: expected: %s %s%s", t->path, t->line,
		                (k ? k : kinds)->name, (k ? k : kinds)->columns,
		                k ? "" : ", rectangle x y a b rho, point x y rho, additive, or unit_mm U");
	if ((st = get_row(v, k, word, t))) return st;
	if (p->n == SHAPES_MOST)
		return iso_fail(ISO_EINPUT, "%s:%d: more than %d shapes", t->path, t->line, SHAPES_MOST);
	struct iso_shape s = iso_shape_ellipse(v);

	s.type = k->type;
	iso_shapes_add(p, &s);
	return p->status;
}

static int get_unit(struct iso_phantom *p, int n, char *const *word, struct text *t)
{
	double unit = 0;
	int st = n == 2 ? get_number(&unit, word[1], t) : ISO_OK;

	if (st) return st;
	if (p->n > 0 || t->unit > 0 || !(unit >= 1e-6 && unit <= 1e6))
		return iso_fail(
			ISO_EINPUT,
			"%s:%d: unit_mm must have one number in [1e-6, 1e6], once, before the first shape",
			t->path, t->line);
	t->unit = unit;
	return ISO_OK;
}

static int add_row(struct iso_phantom *p, char *text, struct text *t)
{
	char *word[WORDS + 1], *rest = text;
	int n = 0;

	t->line++;
	text[strcspn(text, "#")] = '\0';
	for (char *w; n <= WORDS && (w = strtok_r(n ? NULL : text, BLANKS, &rest));) word[n++] = w;
	if (n == 0) return ISO_OK;
	if (strcmp(word[0], "unit_mm") == 0) return get_unit(p, n, word, t);
	if (n == 1 && strcmp(word[0], "additive") == 0) {
		p->adds = true;
		return ISO_OK;
	}
	return add_shape(p, n, word, t);
}

/* Later shapes of a phantom lie on top; here it is the earlier ones. */
static void turn_over(struct iso_phantom *p)
{
	for (int i = 0; i < p->n / 2; i++) {
		struct iso_shape s = p->shape[i];

		p->shape[i] = p->shape[p->n - 1 - i];
		p->shape[p->n - 1 - i] = s;
	}
}

static int add_rows(struct iso_phantom *p, char *text, const char *path)
{
	struct text t = { .path = path };
	int st = ISO_OK;

	p->flat = true;
	while (text && !st) st = add_row(p, strsep(&text, "\n"), &t);
	if (!st && p->n == 0) st = iso_fail(ISO_EINPUT, "%s: no line: ellipse x y a b phi rho", path);
	turn_over(p);
	return st;
}

/* The whole file as one string; free it, in any case. */
static int read_text(char **text, const char *path)
{
	int64_t size = 0;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &size, path);

	if (st) return st;
	if (size > TEXT_MOST)
		st = iso_fail(ISO_EINPUT, "%s: more than %d bytes", path, TEXT_MOST);
	else if (!(*text = size_alloc(size + 1, 1)))
		st = iso_fail_memory(path, size);
	else if (fread(*text, 1, (size_t)size, f) != (size_t)size)
		st = iso_fail(ISO_EIO, "%s: can't be read, or was cut short meanwhile", path);
	else if (memchr(*text, '\0', (size_t)size))
		st = iso_fail(ISO_EINPUT, "%s: not text: it has a byte 0", path);
	fclose(f);
	return st;
}

int iso_flat_shapes_read(struct iso_phantom *p, const char *path)
{
	char *text = NULL;
	int st = read_text(&text, path);

	if (!st) st = add_rows(p, text, path);
	free(text);
	if (!st) iso_shapes_grid(p, 0);
	return st;
}
