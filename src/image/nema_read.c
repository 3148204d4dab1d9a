/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the spheres of an image quality phantom are: from a description, or built in. */
#include "text/conf.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Of the phantom `spheres`. NEMA puts the 12 discs 15 mm from spheres and edge; in this ellipse
   there is no room for that: here it is 11 mm, and no two of 37 mm overlap. */
static void built_in(struct iso_nema *q)
{
	static const double diameter[] = { 10, 13, 17, 22, 28, 37 };
	static const double background[][2] = {
		{ 106, 36 },  { 62, 36 },   { 54, 76 },   { 12, 82 },  { -58, 74 }, { -102, 44 },
		{ -120, -6 }, { -88, -32 }, { -68, -70 }, { 74, -66 }, { 82, -24 }, { 120, -6 },
	};
	static const double slice[] = { -20, -10, 0, 10, 20 };

	*q = (struct iso_nema){
		.n_spheres = COUNT(diameter),
		.n_background = COUNT(background),
		.n_slices = COUNT(slice),
		.has_lung = true,
		.lung_diameter = 30,
	};
	memcpy(q->background, background, sizeof background);
	memcpy(q->slice, slice, sizeof slice);
	for (int i = 0; i < COUNT(diameter); i++) {
		double t = i * M_PI / 3;

		q->sphere[i] =
			(struct iso_nema_sphere){ { 57.2 * cos(t), 57.2 * sin(t), 0 }, diameter[i], 4 };
	}
}

/* The inside of a struct conf_key. */
#define PLACE(dst, count) "centre_mm", CONF_REALS, dst, count, -1e5, 1e5, true
#define DIAMETER(dst) "diameter_mm", CONF_REAL, dst, 1, 1e-6, 1e5, true

static int read_sphere(struct iso_nema *q, const struct conf_node *n)
{
	struct iso_nema_sphere *s = &q->sphere[q->n_spheres++];
	const struct conf_key keys[] = {
		{ PLACE(s->centre, 3) },
		{ DIAMETER(&s->diameter) },
		{ "ratio", CONF_REAL, &s->ratio, 1, 0, 1e6, true },
		{ .name = NULL },
	};
	int st = iso_conf_keys(n, keys);

	if (!st && s->ratio == 1)
		st = iso_conf_fail(n, "ratio is 1: a sphere must differ from the background");
	return st;
}

static int read_background(struct iso_nema *q, const struct conf_node *n)
{
	double *centre = q->background[q->n_background++];

	return iso_conf_keys(n, (const struct conf_key[]){ { PLACE(centre, 2) }, { .name = NULL } });
}

static int read_lung(struct iso_nema *q, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		{ PLACE(q->lung, 2) },
		{ DIAMETER(&q->lung_diameter) },
		{ .name = NULL },
	};

	q->has_lung = true;
	return iso_conf_keys(n, keys);
}

static int check_list(const struct conf_node *n, const char *name, int most)
{
	if (n->type != CONF_LIST || n->n_child < 1 || n->n_child > most)
		return iso_conf_fail(n, "%s must be a list of 1 to %d", name, most);
	return ISO_OK;
}

static int read_list(struct iso_nema *q, const struct conf_node *list, const char *name, int most,
                     int (*read)(struct iso_nema *q, const struct conf_node *n))
{
	int st = check_list(list, name, most);

	for (const struct conf_node *n = list->child; n && !st; n = n->next) st = read(q, n);
	return st;
}

static int read_all(struct iso_nema *q, const struct conf_node *root)
{
	const struct conf_node *spheres = NULL, *background = NULL, *lung = NULL;
	const struct conf_node *slices = iso_conf_find(root, "slices_mm");
	int n_slices = slices ? slices->n_child : 0;
	const struct conf_key keys[] = {
		{ "spheres", CONF_NODE, &spheres, 1, 0, 0, true },
		{ "background", CONF_NODE, &background, 1, 0, 0, true },
		{ "slices_mm", CONF_REALS, q->slice, n_slices, -1e5, 1e5, true },
		{ "lung", CONF_NODE, &lung, 1, 0, 0, false },
		{ .name = NULL },
	};
	int st = slices ? check_list(slices, "slices_mm", COUNT(q->slice)) : ISO_OK;

	q->n_slices = n_slices;
	if (st || (st = iso_conf_keys(root, keys)) ||
	    (st = read_list(q, spheres, "spheres", COUNT(q->sphere), read_sphere)) ||
	    (st = read_list(q, background, "background", COUNT(q->background), read_background)))
		return st;
	return lung ? read_lung(q, lung) : ISO_OK;
}

int iso_nema_read(struct iso_nema *q, const char *path)
{
	if (!q) return iso_fail_null(__func__);
	struct iso_nema got = { 0 };
	struct conf_node *root = NULL;
	int st;

	if (!path) {
		built_in(q);
		return ISO_OK;
	}
	if (!(st = iso_conf_read(&root, path)) && !(st = read_all(&got, root))) *q = got;
	iso_conf_free(root);
	return st;
}
