/* SPDX-License-Identifier: BSD-3-Clause */
/* The attenuation map against the image, the scanner and the activity. */
#include "check.h"

#include "problem/ray/model_ray.h"

#define MATTER .003 /* 1/mm: less is air, or lung at its thinnest */
#define HUGE 3.     /* matter wider than so many times the crystals is in another unit */
#define TINY .005   /* and so is matter narrower than this share of them */
#define AWAY .3     /* share of the activity in air */

/* What a sample of the map's voxels shows. */
struct matter {
	int64_t n,
		dense; /* voxels looked at that hold matter; those that are denser than anything in a body */
	int64_t in_image; /* that lie in the image's box */
	double most;      /* 1/mm */
	struct box box;   /* around it, to the outer faces of voxels */
};

/* The map of a run, of the two models that have one; false: it has none, or its values were not read. */
static bool map_of(struct mapped *map, const iso_problem *p)
{
	const struct ray_problem *ray = p->self;

	if (strcmp(p->m->name, "srm") == 0)
		check_panels_map(map, p->self);
	else {
		*map = (struct mapped){ .path = ray->mu, .mu = &ray->mu_map, .image = &ray->grid };
		if (check_crystals(&map->crystals, ray->s)) map->scanner = iso_scanner_name(ray->s);
	}
	return map->path && map->mu->v && map->mu->has_grid;
}

static void place_of(double at[3], const struct iso_grid *g, int64_t i)
{
	const int64_t k[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

	for (int a = 0; a < 3; a++)
		at[a] = g->centre[a] + ((double)k[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

static bool inside(const struct box *b, const double at[3])
{
	for (int a = 0; a < 3; a++)
		if (at[a] < b->low[a] || at[a] > b->high[a]) return false;
	return true;
}

static struct matter look_for_matter(const struct iso_array *mu, const struct iso_grid *image)
{
	struct matter m = { .box = { { INFINITY, INFINITY, INFINITY },
		                     { -INFINITY, -INFINITY, -INFINITY } } };
	struct box of_image = check_box(image);
	double at[3];

	for (int64_t i = 0, step = check_step(&mu->grid); i < mu->n; i += step) {
		m.most = fmax(m.most, mu->v[i]);
		if (mu->v[i] < MATTER) continue;
		place_of(at, &mu->grid, i);
		m.n++;
		m.dense += mu->v[i] > RECORD_MU_LIKELY;
		m.in_image += inside(&of_image, at);
		for (int a = 0; a < 3; a++) {
			m.box.low[a] = fmin(m.box.low[a], at[a] - .5 * mu->grid.voxel[a]);
			m.box.high[a] = fmax(m.box.high[a], at[a] + .5 * mu->grid.voxel[a]);
		}
	}
	return m;
}

/* "x -12 to 12, y ..., z ... mm" */
static const char *words(char text[120], const struct box *b)
{
	iso_snprintf(text, 120, "x %.4g to %.4g, y %.4g to %.4g, z %.4g to %.4g mm", b->low[0], b->high[0],
	             b->low[1], b->high[1], b->low[2], b->high[2]);
	return text;
}

static double widest(const struct box *b)
{
	return fmax(fmax(b->high[0] - b->low[0], b->high[1] - b->low[1]), b->high[2] - b->low[2]);
}

static void compare_values(struct look *l, const char *path, const struct matter *m)
{
	if (m->dense > .5 * (double)m->n)
		check_refuse(l,
		             "%s: most of its matter has more than %g, up to %.3g; attenuation is in 1/mm, "
		             "0.0096 for water: is this map in 1/cm",
		             path, RECORD_MU_LIKELY, m->most);
	else if (m->dense > 0)
		check_doubt(l,
		            "%s: values up to %.3g; attenuation is in 1/mm, 0.0096 for water: is this map in "
		            "1/cm",
		            path, m->most);
	if (m->n == 0 && m->most > 0)
		check_doubt(l, "%s: values up to %.3g only; attenuation is in 1/mm, 0.0096 for water", path,
		            m->most);
	if (m->most == 0)
		check_doubt(l, "%s: is 0 everywhere: the image is not corrected for attenuation", path);
}

static void compare_sizes(struct look *l, const struct mapped *map, const struct matter *m)
{
	const struct box *crystals = &map->crystals;
	double size = widest(&m->box), bore;

	if (!map->scanner) return;
	bore = fmax(crystals->high[0] - crystals->low[0], crystals->high[1] - crystals->low[1]);
	if (fmin(m->box.high[0] - m->box.low[0], m->box.high[1] - m->box.low[1]) > HUGE * bore ||
	    size < TINY * bore)
		check_refuse(l,
		             "%s: its matter is %.3g mm wide and %.3g mm long, the crystals of %s lie %.4g "
		             "mm apart: is the map's voxel, %.3g mm, in mm",
		             map->path, fmax(m->box.high[0] - m->box.low[0], m->box.high[1] - m->box.low[1]),
		             m->box.high[2] - m->box.low[2], map->scanner, bore, map->mu->grid.voxel[0]);
}

/* Matter that reaches the end of the map goes on behind it, where the image still has voxels. */
static void compare_ends_of_map(struct look *l, const struct mapped *of, const struct matter *m)
{
	static const char axis[] = "xyz";
	struct box map = check_box(&of->mu->grid), image = check_box(of->image);

	for (int a = 0; a < 3; a++) {
		double voxel = of->mu->grid.voxel[a], slack = 2 * fmax(voxel, of->image->voxel[a]);
		bool low = m->box.low[a] < map.low[a] + voxel && image.low[a] < map.low[a] - slack;
		bool high = m->box.high[a] > map.high[a] - voxel && image.high[a] > map.high[a] + slack;

		if (!low && !high) continue;
		check_doubt(l,
		            "%s: its matter is cut off at %c = %.4g mm, where the map ends; the image goes "
		            "on to %.4g mm, without attenuation",
		            of->path, axis[a], low ? map.low[a] : map.high[a],
		            low ? image.low[a] : image.high[a]);
		return;
	}
}

int check_attenuation(struct look *l)
{
	struct mapped map;
	char of_map[120], of_image[120];

	if (!map_of(&map, l->p)) return ISO_OK;
	struct box image = check_box(map.image);
	struct matter m = look_for_matter(map.mu, map.image);

	l->looked = true;
	compare_values(l, map.path, &m);
	if (m.n == 0) return ISO_OK;
	compare_sizes(l, &map, &m);
	if (m.in_image == 0)
		check_refuse(
			l, "%s: its matter (%s) does not meet the image (%s): attenuation would be left out",
			map.path, words(of_map, &m.box), words(of_image, &image));
	else
		compare_ends_of_map(l, &map, &m);
	return ISO_OK;
}

/* ---- after the run ---- */

static bool is_matter(const struct iso_array *mu, const double at[3])
{
	int64_t k[3];

	for (int a = 0; a < 3; a++) {
		const struct iso_grid *g = &mu->grid;

		k[a] = lround((at[a] - g->centre[a]) / g->voxel[a] + .5 * (double)(g->n[a] - 1));
		if (k[a] < 0 || k[a] >= g->n[a]) return false;
	}
	return mu->v[(k[2] * mu->grid.n[1] + k[1]) * mu->grid.n[0] + k[0]] >= MATTER;
}

/* A map that is moved against the activity leaves much of that in air. */
int check_matter(struct look *l)
{
	const struct iso_array *x = l->made->image;
	double air = 0, all = 0, at[3];
	struct mapped map;

	if (!map_of(&map, l->p) || !l->made->sens) return ISO_OK;
	l->looked = true;
	for (int64_t i = 0, step = check_step(&x->grid); i < x->n; i += step) {
		double seen = (double)x->v[i] * l->made->sens[i];

		place_of(at, &x->grid, i);
		all += seen;
		if (seen > 0 && !is_matter(map.mu, at)) air += seen;
	}
	if (air > AWAY * all)
		check_doubt(l,
		            "%.0f %% of the activity that is seen lies where %s has no matter: does the map "
		            "belong to this scan, and lie where the scanner is",
		            100 * air / all, map.path);
	return ISO_OK;
}
