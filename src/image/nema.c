/* SPDX-License-Identifier: BSD-3-Clause */
/* Image quality of a phantom with spheres, after NEMA NU 2: where its spheres are, from a description or
   built in; contrast recovery, variability of the background, residual in the lung. */
#include "core/sized.h"
#include "places.h"
#include "text/conf.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#define SUB 10 /* points along each side of a pixel: its share of a disc */

/* ---- discs ---- */

struct disc {
	double x, y, radius;
};

static struct disc disc(const double centre[2], double diameter)
{
	return (struct disc){ centre[0], centre[1], diameter / 2 };
}

/* Share of pixel (ix, iy) that a disc covers. */
static double cover(const struct iso_grid *g, struct disc d, int64_t ix, int64_t iy)
{
	double x0 = iso_measure_place(g, 0, ix) - d.x, y0 = iso_measure_place(g, 1, iy) - d.y;
	int n = 0;

	for (int i = 0; i < SUB; i++)
		for (int j = 0; j < SUB; j++) {
			double x = x0 + g->voxel[0] * ((i + .5) / SUB - .5);
			double y = y0 + g->voxel[1] * ((j + .5) / SUB - .5);

			n += x * x + y * y <= d.radius * d.radius;
		}
	return (double)n / (SUB * SUB);
}

static int check_place(const struct iso_grid *g, struct disc d, double z)
{
	if (!iso_measure_inside(g, 0, d.x - d.radius) || !iso_measure_inside(g, 0, d.x + d.radius) ||
	    !iso_measure_inside(g, 1, d.y - d.radius) || !iso_measure_inside(g, 1, d.y + d.radius))
		return iso_fail(
			ISO_EINPUT,
			"nema: the disc of radius %g mm at (%g, %g) leaves the image, which reaches %s mm",
			d.radius, d.x, d.y, iso_measure_extent(g).text);
	if (!iso_measure_inside(g, 2, z))
		return iso_fail(ISO_EINPUT,
		                "nema: the slice at z = %g mm is outside the image, which reaches %s mm", z,
		                iso_measure_extent(g).text);
	return ISO_OK;
}

/* Mean over a disc in the slice nearest to z, with shares of pixels. */
static int disc_mean(double *mean, const struct iso_array *x, struct disc d, double z)
{
	const struct iso_grid *g = &x->grid;
	const double margin_x = d.radius + g->voxel[0], margin_y = d.radius + g->voxel[1];
	int64_t ix0, ix1, iy0, iy1, iz;
	double sum = 0, weight = 0;
	int st = check_place(g, d, z);

	if (st) return st;
	iz = (int64_t)fmin(fmax(floor(iso_measure_index(g, 2, z) + .5), 0), (double)(g->n[2] - 1));
	iso_measure_range(&ix0, &ix1, g, 0, d.x - margin_x, d.x + margin_x);
	iso_measure_range(&iy0, &iy1, g, 1, d.y - margin_y, d.y + margin_y);
	for (int64_t iy = iy0; iy <= iy1; iy++)
		for (int64_t ix = ix0; ix <= ix1; ix++) {
			double w = cover(g, d, ix, iy);

			sum += w * x->v[(iz * g->n[1] + iy) * g->n[0] + ix];
			weight += w;
		}
	if (weight == 0)
		return iso_fail(
			ISO_EINPUT,
			"nema: the disc of radius %g mm at (%g, %g) is too small for voxels of %g x %g mm",
			d.radius, d.x, d.y, g->voxel[0], g->voxel[1]);
	*mean = sum / weight;
	return ISO_OK;
}

/* ---- figures ---- */

/* Mean over the discs of background, of one size, in one slice; adds each to `all`. */
struct spread {
	int n;
	double mean, squares;
};

static int background_slice(double *mean, struct spread *all, const struct iso_array *x,
                            const struct iso_nema *q, double diameter, double z)
{
	*mean = 0;
	for (int k = 0; k < q->n_background; k++) {
		double v = 0, e;
		int st = disc_mean(&v, x, disc(q->background[k], diameter), z);

		if (st) return st;
		e = v - all->mean;
		all->n++;
		all->mean += e / all->n;
		all->squares += e * (v - all->mean);
		*mean += v / q->n_background;
	}
	return ISO_OK;
}

/* Q = (C_H / C_B - 1) / (ratio - 1), N = SD / C_B with SD over all discs of the sphere's size. */
static int measure_sphere(struct iso_nema_figures *r, const struct iso_array *x, const struct iso_nema *q,
                          const struct iso_nema_sphere *s)
{
	struct spread all = { 0 };
	double mean;
	int st = disc_mean(&r->mean, x, disc(s->centre, s->diameter), s->centre[2]);

	for (int i = 0; i < q->n_slices && !st; i++)
		st = background_slice(&mean, &all, x, q, s->diameter, q->slice[i]);
	if (st) return st;
	if (!(all.mean > 0))
		return iso_fail(ISO_EINPUT, "nema: mean of the background is %g, must be above 0", all.mean);
	r->background = all.mean;
	r->contrast = 100 * (r->mean / all.mean - 1) / (s->ratio - 1);
	r->variability = 100 * sqrt(all.squares / (all.n - 1)) / all.mean;
	return ISO_OK;
}

/* Mean over the slices of C_lung / C_B, with background discs of the largest size. */
static int measure_lung(double *lung, const struct iso_array *x, const struct iso_nema *q)
{
	double size = 0, sum = 0;

	for (int i = 0; i < q->n_spheres; i++) size = fmax(size, q->sphere[i].diameter);
	for (int i = 0; i < q->n_slices; i++) {
		struct spread all = { 0 };
		double background, v = 0;
		int st;

		if ((st = disc_mean(&v, x, disc(q->lung, q->lung_diameter), q->slice[i])) ||
		    (st = background_slice(&background, &all, x, q, size, q->slice[i])))
			return st;
		sum += 100 * v / background;
	}
	*lung = sum / q->n_slices;
	return ISO_OK;
}

static int check(const struct iso_nema *q)
{
	if (q->n_spheres < 1 || q->n_spheres > 16)
		return iso_fail(ISO_EARG, "nema: %d spheres, must be 1 to 16", q->n_spheres);
	if (q->n_slices < 1 || q->n_slices > 16)
		return iso_fail(ISO_EARG, "nema: %d slices, must be 1 to 16", q->n_slices);
	if (q->n_background < 1 || q->n_background > 64 || q->n_background * q->n_slices < 2)
		return iso_fail(ISO_EARG,
		                "nema: %d discs of background in %d slices, must be 1 to 64, and 2 in all",
		                q->n_background, q->n_slices);
	for (int i = 0; i < q->n_spheres; i++)
		if (!(q->sphere[i].diameter > 0) || !isfinite(q->sphere[i].ratio) || q->sphere[i].ratio == 1)
			return iso_fail(
				ISO_EARG,
				"nema: sphere %d has diameter %g mm, ratio %g; must be above 0, not 1", i + 1,
				q->sphere[i].diameter, q->sphere[i].ratio);
	if (q->has_lung && !(q->lung_diameter > 0))
		return iso_fail(ISO_EARG, "nema: diameter of the lung is %g mm, must be above 0",
		                q->lung_diameter);
	return ISO_OK;
}

int iso_measure_nema(struct iso_nema_result *r, const struct iso_array *x, const struct iso_nema *spheres)
{
	if (!r || !x || !spheres) return iso_fail_null(__func__);
	struct iso_nema_result got = { .lung = NAN };
	struct iso_nema own, *q = &own;
	double moved[4];
	int st = iso_sized_take(q, "iso_nema", sizeof *q, spheres);

	if (st || (st = iso_measure_check(x, "nema")) || (st = check(q)) || (st = iso_nema_find(q, moved, x)))
		return st;
	for (int i = 0; i < q->n_spheres; i++)
		if ((st = measure_sphere(&got.sphere[i], x, q, &q->sphere[i]))) return st;
	if (q->has_lung && (st = measure_lung(&got.lung, x, q))) return st;
	return iso_sized_put(r, "iso_nema_result", sizeof got, &got);
}

/* ---- where the spheres are ---- */

/* Of the phantom `spheres`, whose spheres built_in_spheres adds. NEMA puts the 12 discs 15 mm from spheres
   and edge; in this ellipse there is no room for that: here it is 11 mm, and no two of 37 mm overlap. */
static const struct iso_nema built_in = {
	.n_background = 12,
	.background = { { 106, 36 },
	                { 62, 36 },
	                { 54, 76 },
	                { 12, 82 },
	                { -58, 74 },
	                { -102, 44 },
	                { -120, -6 },
	                { -88, -32 },
	                { -68, -70 },
	                { 74, -66 },
	                { 82, -24 },
	                { 120, -6 } },
	.n_slices = 5,
	.slice = { -20, -10, 0, 10, 20 },
	.has_lung = true,
	.lung_diameter = 30,
};

static void built_in_spheres(struct iso_nema *q)
{
	static const double diameter[] = { 10, 13, 17, 22, 28, 37 };

	for (int i = 0; i < COUNT(diameter); i++) {
		double t = i * M_PI / 3, x = 57.2 * cos(t), y = 57.2 * sin(t);

		q->sphere[q->n_spheres++] = (struct iso_nema_sphere){ { x, y, 0 }, diameter[i], 4 };
	}
}

/* The inside of a struct conf_key. */
#define PLACE(dst, count) "centre_mm", CONF_REALS, dst, count, -1e5, 1e5, true
#define DIAMETER(dst) "diameter_mm", CONF_REAL, dst, 1, 1e-6, 1e5, true

static int read_sphere(struct iso_nema *q, const struct conf_node *n)
{
	struct iso_nema_sphere *s = &q->sphere[q->n_spheres++];
	const struct conf_key keys[] = {
		/* Its middle. */
		{ PLACE(s->centre, 3) },
		/* Its diameter. */
		{ DIAMETER(&s->diameter) },
		/* Activity over that of the background. */
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
	const struct conf_key keys[] = {
		/* The middle of a region, x and y. */
		{ PLACE(q->background[q->n_background++], 2) },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_lung(struct iso_nema *q, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		/* Its middle. */
		{ PLACE(q->lung, 2) },
		/* Its diameter. */
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
	const struct conf_node *places = NULL;
	int n_slices = slices ? slices->n_child : 0;
	const struct conf_key keys[] = {
		/* Up to 6. */
		{ "spheres", CONF_NODE, &spheres, 1, 0, 0, true },
		/* Places of the regions in a slice. */
		{ "background", CONF_NODE, &background, 1, 0, 0, true },
		/* z of the slices whose background is taken. */
		{ "slices_mm", CONF_REALS, q->slice, n_slices, -1e5, 1e5, true },
		/* `auto`: the places are those of a phantom that lies up to 10 mm away, and is turned by up to 10
		   degrees about z; the spheres tell where. Default: as they stand here. */
		{ "places", CONF_NODE, &places, 1, 0, 0, false },
		/* The insert in the middle. Default: none. */
		{ "lung", CONF_NODE, &lung, 1, 0, 0, false },
		{ .name = NULL },
	};
	int st = slices ? check_list(slices, "slices_mm", COUNT(q->slice)) : ISO_OK;

	q->n_slices = n_slices;
	if (st || (st = iso_conf_keys(root, keys)) ||
	    (st = read_list(q, spheres, "spheres", COUNT(q->sphere), read_sphere)) ||
	    (st = read_list(q, background, "background", COUNT(q->background), read_background)))
		return st;
	if (places && (places->type != CONF_SCALAR || strcmp(places->text, "auto") != 0))
		return iso_conf_fail(places, "places must be auto, or left out");
	q->find = places;
	return lung ? read_lung(q, lung) : ISO_OK;
}

int iso_nema_read(struct iso_nema *q, const char *path)
{
	if (!q) return iso_fail_null(__func__);
	struct iso_nema got = { 0 };
	struct conf_node *root = NULL;
	int st = ISO_OK;

	if (!path) {
		got = built_in;
		built_in_spheres(&got);
	} else if ((st = iso_conf_read(&root, path)) || (st = read_all(&got, root))) {
		goto done;
	}
	st = iso_sized_put(q, "iso_nema", sizeof got, &got);
done:
	iso_conf_free(root);
	return st;
}
