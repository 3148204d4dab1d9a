/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of the kind transducers, from their description: rings on a sphere, or lists in .npy
   files beside it. */
#include "aperture/aperture.h"
#include "core/size.h"
#include "file/npy.h"
#include "scanner.h"

#include <limits.h>

#define DEGREE (M_PI / 180)

/* ---- rings and views ---- */

/* Default: as many patches of equal angle from pole to pole, a ring in the middle of each. One ring
   given by its angle stands for the whole way from pole to pole. */
static int read_rings(struct iso_transducers *t, const struct conf_node *node)
{
	double polar[2] = { 0 }, azimuth = 0, step = 0;
	struct iso_rings r = { 0 };
	const struct conf_key keys[] = {
		/* Radius of the sphere. With positions: if it is not their mean distance from the centre. */
		{ "radius_mm", CONF_REAL, &r.radius, 1, 1e-3, 1e5, true },
		/* Rings of transducers from pole to pole. */
		{ "rings", CONF_INT, &r.rings, 1, 1, TRANSDUCERS_MAX, true },
		/* Transducers of a ring. */
		{ "views", CONF_INT, &r.views, 1, 1, TRANSDUCERS_MAX, true },
		/* Angles of the first and the last ring from +z. Default: patches of equal angle. */
		{ "polar_deg", CONF_REALS, polar, 2, 0, 180, false },
		/* Angle of the first view, from x towards y. Default 0. */
		{ "azimuth_deg", CONF_REAL, &azimuth, 1, -360, 360, false },
		/* From view to view. Default: equal steps all round. */
		{ "azimuth_step_deg", CONF_REAL, &step, 1, 1e-6, 360, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(node, keys);

	if (st) return st;
	r.polar_step = M_PI / (double)r.rings;
	r.polar_first = r.polar_step / 2;
	if (iso_conf_find(node, "polar_deg")) {
		if (r.rings > 1 ? !(polar[0] < polar[1]) : polar[0] != polar[1])
			return iso_conf_fail(node,
			                     "polar_deg goes from %g to %g, must be the angles of the first "
			                     "and the last ring, rising (one ring: both the same)",
			                     polar[0], polar[1]);
		r.polar_first = polar[0] * DEGREE;
		r.polar_step = r.rings > 1 ? (polar[1] - polar[0]) * DEGREE / (double)(r.rings - 1) : M_PI;
	}
	r.azimuth_first = azimuth * DEGREE;
	r.azimuth_step = step > 0 ? step * DEGREE : 2 * M_PI / (double)r.views;
	st = iso_transducers_rings(t, &r);
	return st == ISO_EARG ? iso_conf_fail(node, "%s", iso_message()) : st;
}

/* ---- lists ---- */

/* Files named in the description; NULL: not said. */
struct lists {
	const char *positions, *normals, *axes, *apertures, *areas, *eir, *foci, *unit;
};

/* The table of a key: n rows where n is known already. */
static int read_list(double **v, int64_t *n, int columns, const struct conf_node *root, const char *name)
{
	int64_t rows = 0;
	char path[PATH_MAX];
	int st;

	if (!name) return ISO_OK;
	if ((st = iso_conf_file(path, sizeof path, root, name)) ||
	    (st = iso_table_read(v, &rows, columns, path)))
		return st;
	if (*n == 0) *n = rows;
	if (rows != *n || rows > TRANSDUCERS_MAX)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " rows, must have %" PRId64 ", at most %d", path,
		                rows, *n, TRANSDUCERS_MAX);
	return ISO_OK;
}

/* Positions in m become mm. */
static int scale_positions(struct iso_transducers *t, const struct conf_node *root, const struct lists *l)
{
	if (!l->unit || strcmp(l->unit, "mm") == 0) return ISO_OK;
	if (strcmp(l->unit, "m") != 0)
		return iso_conf_fail(iso_conf_find(root, "positions_unit"),
		                     "positions_unit is '%.20s', expected m or mm", l->unit);
	for (int64_t i = 0; i < 3 * t->n; i++) t->pos[i] *= 1e3;
	return ISO_OK;
}

static int read_places(struct iso_transducers *t, const struct conf_node *root, const struct lists *l)
{
	static const char *const of_positions[] = { "normals",   "axes",      "areas",
		                                    "radius_mm", "centre_mm", "positions_unit" };
	const struct conf_node *sphere = iso_conf_find(root, "sphere");
	int st;

	if (!sphere == !l->positions)
		return iso_conf_fail(root, "transducers need one of the keys sphere and positions");
	for (const struct conf_node *n = root->child; sphere && n; n = n->next)
		for (size_t i = 0; i < sizeof of_positions / sizeof *of_positions; i++)
			if (strcmp(n->key, of_positions[i]) == 0)
				return iso_conf_fail(n, "%s belongs to positions; the sphere has its own",
				                     n->key);
	if (sphere) return read_rings(t, sphere);
	if ((st = read_list(&t->pos, &t->n, 3, root, l->positions)) || (st = scale_positions(t, root, l)) ||
	    (st = read_list(&t->normal, &t->n, 3, root, l->normals)) ||
	    (st = read_list(&t->ex, &t->n, 3, root, l->axes)) ||
	    (st = read_list(&t->area, &t->n, 1, root, l->areas)))
		return st;
	return iso_transducers_finish(t, root->file);
}

/* ---- faces ---- */

/* One pair of numbers for all. */
static int spread_aperture(struct iso_transducers *t, const double aperture[2])
{
	t->aperture = size_alloc(t->n, 2 * sizeof *t->aperture);
	if (!t->aperture) return iso_fail_memory("transducers", t->n * 2 * (int64_t)sizeof *t->aperture);
	for (int64_t i = 0; i < 2 * t->n; i++) t->aperture[i] = aperture[i % 2];
	return ISO_OK;
}

/* Flat, cylinders or bowls; bowls bring their own size. */
struct shape {
	double aperture[2], focus[2], bowl[2];
};

static int check_shape(const struct conf_node *root, const struct lists *l, const struct shape *f)
{
	const bool bowl = iso_conf_find(root, "bowl_mm"), focus = iso_conf_find(root, "focus_mm");
	const bool aperture = iso_conf_find(root, "aperture_mm") || l->apertures;

	if (bowl && (aperture || focus || l->foci))
		return iso_conf_fail(iso_conf_find(root, "bowl_mm"),
		                     "bowl_mm stands in place of apertures and of a focus");
	if (focus && l->foci)
		return iso_conf_fail(iso_conf_find(root, "focus_mm"),
		                     "focus_mm is of all transducers, foci of each: one of them");
	if ((focus || l->foci) && !aperture)
		return iso_conf_fail(root, "a focus needs the size of the faces: aperture_mm or apertures");
	if (focus && f->focus[1] != 0)
		return iso_conf_fail(iso_conf_find(root, "focus_mm"),
		                     "focus_mm is [%g, %g], the second must be 0: faces are curved along "
		                     "their first axis, or are bowls (bowl_mm)",
		                     f->focus[0], f->focus[1]);
	return ISO_OK;
}

static int read_faces(iso_scanner *s, const struct conf_node *root, const struct lists *l,
                      const struct shape *f)
{
	const bool bowl = iso_conf_find(root, "bowl_mm"), focus = iso_conf_find(root, "focus_mm");
	struct iso_transducers *t = &s->transducers;
	const double both[2] = { f->bowl[0], f->bowl[0] };
	int st = check_shape(root, l, f);

	if (st || (st = read_list(&t->aperture, &t->n, 2, root, l->apertures))) return st;
	if (!l->apertures && (bowl || iso_conf_find(root, "aperture_mm")) &&
	    (st = spread_aperture(t, bowl ? both : f->aperture)))
		return st;
	if (!bowl && !focus && !l->foci) return ISO_OK;
	if (l->foci && (st = read_list(&s->faces.focus, &t->n, 1, root, l->foci))) return st;
	if (!l->foci) {
		if (!(s->faces.focus = size_alloc(t->n, sizeof *s->faces.focus)))
			return iso_fail_memory("transducers", t->n * (int64_t)sizeof *s->faces.focus);
		for (int64_t q = 0; q < t->n; q++) s->faces.focus[q] = bowl ? f->bowl[1] : f->focus[0];
	}
	s->faces.size = sizeof s->faces;
	s->faces.n = t->n;
	s->faces.bowl = bowl;
	return iso_aperture_check(t, &s->faces) ? iso_conf_fail(root, "%s", iso_message()) : ISO_OK;
}

static int read_transducers(iso_scanner *s, const struct conf_node *root)
{
	struct iso_transducers *t = &s->transducers;
	struct lists l = { 0 };
	struct shape face = { 0 };
	double mhz = 0;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* Rings on a sphere; or positions. */
		{ .name = "sphere", .kind = CONF_NODE },
		/* Where sound has another speed. Default: nowhere. */
		{ .name = "tissue", .kind = CONF_NODE },
		/* A .npy (n, 3) beside the description, mm; or sphere. */
		{ "positions", CONF_TEXT, &l.positions, 1, 0, 0, false },
		/* Of positions: m or mm. Default mm. */
		{ "positions_unit", CONF_TEXT, &l.unit, 1, 0, 0, false },
		/* A .npy (n, 3): unit vectors towards the object. Default: towards the centre. */
		{ "normals", CONF_TEXT, &l.normals, 1, 0, 0, false },
		/* A .npy (n, 3): the first axis of each face. Default: chosen. */
		{ "axes", CONF_TEXT, &l.axes, 1, 0, 0, false },
		/* A .npy (n, 2): edges of each face, mm. */
		{ "apertures", CONF_TEXT, &l.apertures, 1, 0, 0, false },
		/* Edges of the faces, all alike; 0: points. Default: points. */
		{ "aperture_mm", CONF_REALS, face.aperture, 2, 0, 1e3, false },
		/* Radius of faces that are curved along their first axis, with the focus on the normal; then 0.
		   Default: flat. */
		{ "focus_mm", CONF_REALS, face.focus, 2, 0, 1e5, false },
		/* A .npy (n, 1): such a radius of each; 0: flat. */
		{ "foci", CONF_TEXT, &l.foci, 1, 0, 0, false },
		/* Diameter and radius of curvature of bowls, round faces; in place of the keys above. */
		{ "bowl_mm", CONF_REALS, face.bowl, 2, 1e-6, 1e5, false },
		/* A .npy (n): surface that each stands for, mm^2. Default: all alike. */
		{ "areas", CONF_TEXT, &l.areas, 1, 0, 0, false },
		/* Of positions: the middle of the array. Default 0, 0, 0. */
		{ "centre_mm", CONF_REALS, t->centre, 3, -1e5, 1e5, false },
		/* Radius of the sphere. With positions: if it is not their mean distance from the centre. */
		{ "radius_mm", CONF_REAL, &t->radius, 1, 1e-3, 1e5, false },
		/* Of sound. Default: `--speed` gives it. */
		{ "speed_mm_per_us", CONF_REAL, &t->speed, 1, 0, 100, false },
		/* Of the traces. */
		{ "sampling_mhz", CONF_REAL, &mhz, 1, 1e-3, 1e5, true },
		/* Time of the first sample after the pulse. Default 0. */
		{ "first_sample_us", CONF_REAL, &t->first_us, 1, -1e6, 1e6, false },
		/* Of a trace. */
		{ "samples", CONF_INT, &t->samples, 1, 2, INT32_MAX, true },
		/* Pressure over absorbed energy. Default 1: the image is the initial pressure. */
		{ "grueneisen", CONF_REAL, &t->gamma, 1, 1e-12, 1e12, false },
		/* A .npy: electrical impulse response, at the sampling of the traces. Default: none. */
		{ "eir", CONF_TEXT, &l.eir, 1, 0, 0, false },
		{ .name = NULL },
	};
	int st;

	t->gamma = 1; /* the image is the initial pressure */
	if ((st = iso_conf_keys(root, keys)) || (st = read_places(t, root, &l)) ||
	    (st = read_faces(s, root, &l, &face)) || (st = iso_tissue_read(&s->tissue, root)) ||
	    (st = read_list(&t->eir, &t->n_eir, 1, root, l.eir)))
		return st;
	t->dt_us = 1 / mhz;
	return iso_transducers_check_file(t) ? iso_conf_fail(root, "%s", iso_message()) : ISO_OK;
}

const struct iso_scanner_fn iso_transducers_fn = {
	.read = read_transducers,
};

const struct iso_transducers *iso_scanner_transducers(const iso_scanner *s)
{
	return s && s->kind == ISO_TRANSDUCERS ? &s->transducers : NULL;
}

const struct iso_faces *iso_scanner_faces(const iso_scanner *s)
{
	return s && s->faces.size ? &s->faces : NULL;
}
