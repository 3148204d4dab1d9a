/* SPDX-License-Identifier: BSD-3-Clause */
/* An object of water of any density, or of labelled materials, for photons in crystals. */
#include "crystal_object.h"
#include "base/number.h"
#include "core/size.h"
#include "file/in.h"
#include "physics/emission.h"
#include "physics/photon.h"
#include "scanner/modules.h"
#include "text/formula.h"

#define DENSITY_MOST 25. /* g/cm^3 */

/* ---- materials ---- */

/* Water of the greatest density, by the formulas of water.h; Rayleigh scatter from the tables of H2O. */
static int fill_water(struct crystal_matter *m, double densest)
{
	int st = iso_crystal_matter(m, "H2O", densest);

	if (st) return st;
	for (int k = 0; k <= CRYSTAL_TOP; k++) {
		int at = k > 0 ? k : 1;
		float coherent = m->mu[k][2] - m->mu[k][1];

		m->mu[k][0] = (float)(densest * (water_mu(at) - water_compton(at)));
		m->mu[k][1] = (float)(densest * water_mu(at));
		m->mu[k][2] = m->mu[k][1] + coherent;
	}
	return ISO_OK;
}

static void fill_paths(struct crystal_table *t, const struct crystal_matter *m, int64_t n, bool rayleigh)
{
	for (int i = 0; i <= CRYSTAL_TOP; i++) {
		float most = 0;

		for (int64_t k = 0; k < n; k++) most = fmaxf(most, m[k].mu[i][rayleigh ? 2 : 1]);
		t->object_path[i] = most > 0 ? 1 / most : 1e30f;
	}
}

/* ---- the box of matter ---- */

struct box {
	int64_t first[3], last[3];
	bool any;
};

/* Index of a label in the table, counted from 1; 0: nothing is there, as where label 0 is not in the table. UINT16_MAX: a
   label that is not. */
static uint16_t label_of(const struct crystal_setting *s, double v)
{
	for (int32_t k = 0; k < s->n_labels; k++)
		if (s->label[k].label == v) return (uint16_t)(s->label[k].density > 0 ? k + 1 : 0);
	return v == 0 ? 0 : UINT16_MAX;
}

/* Whether a voxel of this value holds matter; labels NULL: activity, or mu. */
static bool holds(const struct crystal_setting *labels, double v)
{
	return labels ? label_of(labels, v) > 0 : v > 0;
}

static void find_box(struct box *b, const struct iso_array *a, const struct crystal_setting *labels)
{
	const int64_t *n = a->grid.n;
	int64_t i = 0;

	*b = (struct box){ .first = { n[0], n[1], n[2] }, .last = { -1, -1, -1 } };
	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++)
			for (int64_t x = 0; x < n[0]; x++, i++) {
				const int64_t at[3] = { x, y, z };

				if (!holds(labels, (double)a->v[i])) continue;
				b->any = true;
				for (int k = 0; k < 3; k++) {
					if (at[k] < b->first[k]) b->first[k] = at[k];
					if (at[k] > b->last[k]) b->last[k] = at[k];
				}
			}
}

static double low_of(const struct iso_grid *g, int a)
{
	return g->centre[a] - .5 * (double)g->n[a] * g->voxel[a];
}

/* Distance from the axis of the farthest corner of voxels `first` to `last`. */
static double reach(const struct iso_grid *g, const struct box *b)
{
	double far[2];

	for (int a = 0; a < 2; a++)
		far[a] = fmax(fabs(low_of(g, a) + (double)b->first[a] * g->voxel[a]),
		              fabs(low_of(g, a) + (double)(b->last[a] + 1) * g->voxel[a]));
	return hypot(far[0], far[1]);
}

/* ISO_EINPUT if the middle of a voxel with matter lies in a module's box. */
static int check_apart(const struct crystal_setting *s, const struct iso_array *a, const struct box *b,
                       double inner)
{
	const struct iso_modules *m = s->modules;
	const struct crystal_setting *labels = s->labels ? s : NULL;
	const struct iso_grid *g = &a->grid;

	for (int64_t y = b->first[1]; y <= b->last[1]; y++)
		for (int64_t x = b->first[0]; x <= b->last[0]; x++) {
			double p[2] = { low_of(g, 0) + ((double)x + .5) * g->voxel[0],
				        low_of(g, 1) + ((double)y + .5) * g->voxel[1] };

			if (hypot(p[0], p[1]) < inner) continue;
			for (int32_t k = 0; k < m->count; k++) {
				const struct modules_ring *r = m->ring + modules_ring_of(m, k);
				double t[3], n[3], deep, across;

				modules_axes(t, n, m, k);
				deep = p[0] * n[0] + p[1] * n[1] - r->radius;
				across = p[0] * t[0] + p[1] * t[1];
				if (deep < -m->cover || deep > m->crystal[2] ||
				    fabs(across) > .5 * modules_mm(m, 0))
					continue;
				for (int64_t z = b->first[2]; z <= b->last[2]; z++)
					if (holds(labels, (double)a->v[(z * g->n[1] + y) * g->n[0] + x]) &&
					    fabs(low_of(g, 2) + ((double)z + .5) * g->voxel[2] - r->z) <
					            .5 * modules_mm(m, 1))
						return iso_fail(
							ISO_EINPUT,
							"simulate: the object reaches into module %d: it "
							"has matter at %.4g, %.4g mm",
							k, p[0], p[1]);
			}
		}
	return ISO_OK;
}

/* Whether all activity lies nearer to the axis than the modules. */
static bool source_inside(const struct iso_array *activity, double inner)
{
	struct box b;

	if (!activity) return true;
	find_box(&b, activity, NULL);
	return b.any && reach(&activity->grid, &b) < inner;
}

/* ISO_EINPUT if all activity lies beyond the modules: then no line through it ends in two of them. */
static int check_source(const struct iso_array *activity, double outer, double half)
{
	const struct iso_grid *g = &activity->grid;
	double near[3];
	struct box b;

	find_box(&b, activity, NULL);
	for (int a = 0; a < 3; a++)
		near[a] = fmax(0, fmax(low_of(g, a) + (double)b.first[a] * g->voxel[a],
		                       -low_of(g, a) - (double)(b.last[a] + 1) * g->voxel[a]));
	if (!b.any || (hypot(near[0], near[1]) < outer && near[2] < half)) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "simulate: all activity lies outside of the scanner, which reaches %.4g mm from its "
	                "axis and %.4g mm along it",
	                outer, half);
}

/* ---- cells ---- */

static int fill_cells(uint16_t *cell, const struct iso_array *a, const struct box *b,
                      const struct crystal_setting *s, double densest)
{
	const int64_t *n = a->grid.n;
	int64_t i = 0;

	for (int64_t z = b->first[2]; z <= b->last[2]; z++)
		for (int64_t y = b->first[1]; y <= b->last[1]; y++)
			for (int64_t x = b->first[0]; x <= b->last[0]; x++, i++) {
				double v = (double)a->v[(z * n[1] + y) * n[0] + x];

				cell[i] = s->labels ? label_of(s, v)
				                    : (uint16_t)lrint(fmax(0, v) / densest * PHOTON_FULL);
				if (cell[i] == UINT16_MAX && s->labels)
					return iso_fail(
						ISO_EINPUT,
						"simulate: the object has label %g, which the table of "
						"materials has not",
						v);
			}
	return ISO_OK;
}

static int fill_matter(struct crystal_matter **matter, struct crystal_table *t, struct iso_room *room,
                       const struct crystal_setting *s, double densest)
{
	int64_t n = s->labels ? s->n_labels : 1;
	int st = ISO_OK;

	if (!ISO_HOST(room, *matter, n)) return room->status;
	for (int32_t k = 0; s->labels && k < n && !st; k++)
		if (s->label[k].density > 0)
			st = iso_crystal_matter(*matter + k, s->label[k].formula, s->label[k].density);
	if (!s->labels) st = fill_water(*matter, densest);
	if (!st) fill_paths(t, *matter, n, s->rayleigh || s->labels);
	return st;
}

static double greatest(const struct iso_array *a)
{
	double most = 0;

	for (int64_t i = 0; i < a->n; i++) most = fmax(most, (double)a->v[i]);
	return most;
}

int iso_crystal_object(struct crystal_object *o, struct crystal_table *t, struct iso_room *room,
                       const struct crystal_setting *s)
{
	const struct iso_array *a = s->labels ? s->labels : s->mu;
	double inner, outer, half, densest = 1;
	struct crystal_matter *matter;
	uint16_t *cell;
	struct box b;
	int64_t n = 1;
	int st;

	iso_modules_extent(&inner, &outer, &half, s->modules);
	if (s->activity && (st = check_source(s->activity, outer, half))) return st;
	if (!a) return ISO_OK;
	if (!a->has_grid) return iso_fail(ISO_EINPUT, "simulate: an object without voxel sizes");
	if (!s->labels && (st = iso_check_values(a->v, a->n, "simulate: mu of voxel"))) return st;
	find_box(&b, a, s->labels ? s : NULL);
	if (!b.any) return ISO_OK;
	if (!s->labels) densest = greatest(a) / water_mu(WATER_E0);
	if ((st = check_apart(s, a, &b, inner))) return st;
	for (int k = 0; k < 3; k++) {
		o->n[k] = (int32_t)(b.last[k] - b.first[k] + 1);
		o->per_mm[k] = (float)(1 / a->grid.voxel[k]);
		o->low[k] = (float)(low_of(&a->grid, k) + (double)b.first[k] * a->grid.voxel[k]);
		o->high[k] = (float)(low_of(&a->grid, k) + (double)(b.last[k] + 1) * a->grid.voxel[k]);
		n *= o->n[k];
	}
	o->labels = s->labels;
	o->density = (float)densest;
	o->apart = reach(&a->grid, &b) < inner && source_inside(s->activity, inner);
	if (!ISO_HOST(room, cell, n)) return room->status;
	if ((st = fill_cells(cell, a, &b, s, densest * water_mu(WATER_E0))) ||
	    (st = fill_matter(&matter, t, room, s, densest)))
		return st;
	o->cell = ISO_MOVE(room, cell, n);
	o->matter = ISO_MOVE(room, matter, s->labels ? s->n_labels : 1);
	return room->status;
}

/* ---- the table of materials ---- */

/* A formula by mass is one by atoms: n = m / A. */
static int take_mass(struct iso_label *l, const struct conf_node *mass)
{
	size_t used = 0;

	if (mass->type != CONF_MAP)
		return iso_conf_fail(mass, "mass must be a map such as {H: 0.11, O: 0.89}");
	for (const struct conf_node *e = mass->child; e; e = e->next) {
		struct iso_formula f;
		double share, weight;

		if (e->type != CONF_SCALAR || !iso_number(&share, e->text, strlen(e->text)) || !(share > 0))
			return iso_conf_fail(e, "mass of %.8s must be a number above 0", e->key);
		if (iso_formula_parse(&f, e->key) || f.n != 1 || f.atoms[0] != 1)
			return iso_conf_fail(e, "mass: '%.8s' is no element", e->key);
		if (!((weight = iso_material_source()->weight(f.z[0])) > 0))
			return iso_conf_fail(e, "mass: no cross sections of %s", e->key);
		used += (size_t)iso_snprintf(l->formula + used, sizeof l->formula - used, "%s%.7f", e->key,
		                             100 * share / weight);
		if (used >= sizeof l->formula) return iso_conf_fail(e, "too many elements");
	}
	return ISO_OK;
}

static int read_label(struct iso_label *l, const struct conf_node *node)
{
	const char *name = NULL, *formula = NULL;
	const struct conf_node *mass = NULL;
	int64_t label = 0;
	const struct conf_key keys[] = {
		/* The number of the material in the image. */
		{ "label", CONF_INT, &label, 1, 0, 65534, true },
		/* What messages call it. */
		{ "name", CONF_TEXT, &name, 1, 0, 0, false },
		/* Chemical formula. */
		{ "formula", CONF_TEXT, &formula, 1, 0, 0, false },
		/* Shares of the mass by element, in place of `formula`. Example: `{H: 0.11, O: 0.89}`. */
		{ "mass", CONF_NODE, &mass, 1, 0, 0, false },
		/* g/cm^3; 0: nothing is there. */
		{ "density", CONF_REAL, &l->density, 1, 0, DENSITY_MOST, true },
		{ .name = NULL },
	};
	int st = iso_conf_keys(node, keys);

	if (st) return st;
	l->label = (int32_t)label;
	iso_snprintf(l->name, sizeof l->name, "%s", name ? name : "");
	if (!formula == !mass && l->density > 0)
		return iso_conf_fail(node, "a material has a formula, or mass: one of them");
	if (formula && strlen(formula) >= sizeof l->formula)
		return iso_conf_fail(node, "formula has %zu letters, must have at most %zu", strlen(formula),
		                     sizeof l->formula - 1);
	if (formula) iso_snprintf(l->formula, sizeof l->formula, "%s", formula);
	return mass ? take_mass(l, mass) : ISO_OK;
}

/* Lines of a tree whose text got one more in front. */
static void move_lines(struct conf_node *node)
{
	for (; node; node = node->next) {
		node->line--;
		move_lines(node->child);
	}
}

/* Descriptions are maps: the list becomes the value of a key, also one in brackets, as JSON has it. */
static int read_list(struct conf_node **root, const char *path)
{
	static const char front[] = "{\"materials\": ", line[] = "materials:\n";
	char *text = NULL, *whole;
	size_t size = 0;
	int st = iso_text_read(&text, &size, path, 1, "a table of materials");

	if (st) return st;
	const bool brackets = text[strspn(text, " \t\r\n")] == '[';
	const char *before = brackets ? front : line;
	size_t lead = strlen(before);

	if (!(whole = size_alloc((int64_t)(size + sizeof front + 1), 1)))
		st = iso_fail_memory(path, (int64_t)size);
	else {
		memcpy(whole, before, lead);
		memcpy(whole + lead, text, size);
		if (brackets) whole[lead + size] = '}';
		st = iso_conf_parse(root, path, whole, lead + size + brackets);
		if (!st && !brackets) move_lines((*root)->child);
	}
	free(whole);
	free(text);
	return st;
}

int iso_labels_read(struct iso_label label[ISO_LABELS_MOST], int32_t *n, const char *path)
{
	struct conf_node *root = NULL;
	const struct conf_node *list;
	int st = read_list(&root, path);

	*n = 0;
	if (st) return st;
	if (!(list = iso_conf_find(root, "materials")) || list->type != CONF_LIST || list->n_child < 1 ||
	    list->n_child > ISO_LABELS_MOST)
		st = iso_conf_fail(root, "must be a list of 1 to %d materials", ISO_LABELS_MOST);
	for (const struct conf_node *e = list ? list->child : NULL; e && !st; e = e->next) {
		label[*n] = (struct iso_label){ 0 };
		st = read_label(&label[*n], e);
		for (int32_t k = 0; k < *n && !st; k++)
			if (label[k].label == label[*n].label)
				st = iso_conf_fail(e, "label %d comes a second time", label[k].label);
		(*n)++;
	}
	iso_conf_free(root);
	return st;
}
