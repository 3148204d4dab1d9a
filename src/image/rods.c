/* SPDX-License-Identifier: BSD-3-Clause */
/* Widths of the rods of a Derenzo phantom, and how deep the valleys between them are. */
#include "core/size.h"
#include "places.h"
#include "shapes.h"

#include <math.h>
#include <stdlib.h>

#define NEIGHBOURS 2.1 /* diameters from centre to centre, at most */
#define WINDOW 4       /* diameters: profiles end at the next rods */

/* ---- quartiles ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(int n, const double *sorted, double q)
{
	double at = q * (n - 1);
	int i = (int)at;

	return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

struct iso_quartiles iso_measure_quartiles(int n, double *value)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (isfinite(value[i])) value[kept++] = value[i];
	if (kept == 0) return (struct iso_quartiles){ 0, NAN, NAN, NAN, NAN, NAN };
	qsort(value, (size_t)kept, sizeof *value, by_value);
	return (struct iso_quartiles){ kept,
		                       value[0],
		                       quantile(kept, value, .25),
		                       quantile(kept, value, .5),
		                       quantile(kept, value, .75),
		                       value[kept - 1] };
}

/* ---- the plane across the rods ---- */

struct work {
	const struct iso_array *x;
	const iso_phantom *p;
	int axis, side[2];    /* along the rods; across them */
	double *plane;        /* mean over the slab: side[0] fastest */
	struct iso_array row; /* a profile, as an image of one row */
	double *width;        /* of one size, two a rod: FWHM, then FWTM */
};

static bool is_rod(const struct iso_shape *s)
{
	return s->type == SHAPE_CYLINDER && s->sets[SHAPE_ACTIVITY] && s->value[SHAPE_ACTIVITY] > 0;
}

static const struct iso_shape *first_rod(const iso_phantom *p)
{
	for (int i = 0; i < p->n; i++)
		if (is_rod(&p->shape[i])) return &p->shape[i];
	return NULL;
}

static double diameter_of(const struct work *w, const struct iso_shape *s)
{
	return 2 * s->half[w->side[0]];
}

static int check(struct work *w)
{
	const struct iso_shape *first = first_rod(w->p);

	if (!first) return iso_fail(ISO_EARG, "rods: the phantom has no cylinder with activity");
	w->axis = first->axis;
	w->side[0] = (w->axis + 1) % 3;
	w->side[1] = (w->axis + 2) % 3;
	for (int i = 0; i < w->p->n; i++) {
		const struct iso_shape *s = &w->p->shape[i];

		if (is_rod(s) && (s->axis != w->axis || s->half[w->side[0]] != s->half[w->side[1]]))
			return iso_fail(
				ISO_EARG,
				"rods: cylinder %d is not round or lies along another axis than the first",
				i + 1);
		for (int k = 0; is_rod(s) && k < 2; k++)
			if (!iso_measure_inside(&w->x->grid, w->side[k], s->centre[w->side[k]]))
				return iso_fail(ISO_EINPUT,
				                "rods: cylinder %d of the phantom, at %c = %g mm, lies "
				                "outside the image",
				                i + 1, "xyz"[w->side[k]], s -> centre[w->side[k]]);
	}
	return ISO_OK;
}

static void add_slice(struct work *w, int64_t k)
{
	const struct iso_grid *g = &w->x->grid;
	const int64_t step[3] = { 1, g->n[0], g->n[0] * g->n[1] };
	const int64_t nb = g->n[w->side[0]], nc = g->n[w->side[1]];

	for (int64_t c = 0; c < nc; c++)
		for (int64_t b = 0; b < nb; b++)
			w->plane[c * nb + b] +=
				w->x->v[k * step[w->axis] + b * step[w->side[0]] + c * step[w->side[1]]];
}

/* Rods that end in other planes than the first one are measured where the first one is. */
static int make_plane(struct work *w, double slab)
{
	const struct iso_grid *g = &w->x->grid;
	const struct iso_shape *rod = first_rod(w->p);
	const int64_t n = g->n[w->side[0]] * g->n[w->side[1]];
	double middle = rod->centre[w->axis], half = slab > 0 ? slab / 2 : rod->half[w->axis] / 2;
	int64_t first, last;

	half = fmax(half, g->voxel[w->axis] / 2);
	iso_measure_range(&first, &last, g, w->axis, middle - half, middle + half);
	if (first > last)
		return iso_fail(ISO_EINPUT, "rods: no slice of the image lies within %g mm of %c = %g", half,
		                "xyz"[w->axis], middle);
	if (!(w->plane = size_alloc(n, sizeof *w->plane)))
		return iso_fail_memory("rods", n * (int64_t)sizeof *w->plane);
	for (int64_t i = 0; i < n; i++) w->plane[i] = 0;
	for (int64_t k = first; k <= last; k++) add_slice(w, k);
	for (int64_t i = 0; i < n; i++) w->plane[i] /= (double)(last - first + 1);
	return ISO_OK;
}

/* The two voxels around a place, and the share of the second. */
static double between(int64_t i[2], const struct iso_grid *g, int axis, double place)
{
	double at = fmin(fmax(iso_measure_index(g, axis, place), 0), (double)(g->n[axis] - 1));

	i[0] = (int64_t)at;
	i[1] = i[0] + 1 < g->n[axis] ? i[0] + 1 : i[0];
	return at - (double)i[0];
}

static double value_at(const struct work *w, const double place[2])
{
	const int64_t nb = w->x->grid.n[w->side[0]];
	int64_t b[2], c[2];
	double s = between(b, &w->x->grid, w->side[0], place[0]);
	double t = between(c, &w->x->grid, w->side[1], place[1]);
	const double *p = w->plane;

	return (1 - t) * ((1 - s) * p[c[0] * nb + b[0]] + s * p[c[0] * nb + b[1]]) +
	       t * ((1 - s) * p[c[1] * nb + b[0]] + s * p[c[1] * nb + b[1]]);
}

static void place_of(double place[2], const struct work *w, const struct iso_shape *s)
{
	for (int k = 0; k < 2; k++) place[k] = s->centre[w->side[k]];
}

/* ---- widths ---- */

/* The profile through a rod along side k: voxel centres along it, interpolated across. */
static int one_width(struct iso_width *out, struct work *w, const struct iso_shape *rod, int k)
{
	const struct iso_grid *g = &w->x->grid;
	int a = w->side[k];
	struct iso_fwhm p = { .at = { rod->centre[a] }, .window = WINDOW * diameter_of(w, rod) };
	struct iso_width all[3];
	double place[2];
	int st;

	place_of(place, w, rod);
	w->row.n = w->row.dim[2] = g->n[a];
	w->row.grid = (struct iso_grid){ { g->n[a], 1, 1 }, { g->voxel[a], 1, 1 }, { g->centre[a], 0, 0 } };
	for (int64_t i = 0; i < g->n[a]; i++) {
		place[k] = iso_measure_place(g, a, i);
		w->row.v[i] = (iso_real)value_at(w, place);
	}
	st = iso_measure_fwhm(all, &w->row, &p);
	*out = all[0];
	return st;
}

static int put_widths(struct iso_rods_size *s, struct work *w)
{
	double *fwtm = w->width + 2 * w->p->n;
	int st = ISO_OK;

	for (int i = 0; i < w->p->n && !st; i++) {
		const struct iso_shape *rod = &w->p->shape[i];
		struct iso_width width;

		for (int k = 0; k < 2 && !st && is_rod(rod) && diameter_of(w, rod) == s->diameter; k++) {
			st = one_width(&width, w, rod, k);
			w->width[s->profiles] = width.fwhm;
			fwtm[s->profiles++] = width.fwtm;
		}
	}
	s->fwhm = iso_measure_quartiles(s->profiles, w->width);
	s->fwtm = iso_measure_quartiles(s->profiles, fwtm);
	return st;
}

/* ---- valleys ---- */

static double valley(const struct work *w, const struct iso_shape *a, const struct iso_shape *b)
{
	double pa[2], pb[2], mid[2];

	place_of(pa, w, a);
	place_of(pb, w, b);
	for (int k = 0; k < 2; k++) mid[k] = (pa[k] + pb[k]) / 2;
	return 2 * value_at(w, mid) / (value_at(w, pa) + value_at(w, pb));
}

static bool neighbours(const struct work *w, const struct iso_shape *a, const struct iso_shape *b)
{
	double pa[2], pb[2], d = diameter_of(w, a);

	place_of(pa, w, a);
	place_of(pb, w, b);
	return is_rod(b) && diameter_of(w, b) == d && hypot(pa[0] - pb[0], pa[1] - pb[1]) <= NEIGHBOURS * d;
}

static void put_valleys(struct iso_rods_size *s, const struct work *w)
{
	double sum = 0;
	int below = 0;

	for (int i = 0; i < w->p->n; i++) {
		const struct iso_shape *a = &w->p->shape[i];

		if (!is_rod(a) || diameter_of(w, a) != s->diameter) continue;
		s->rods++;
		for (int j = 0; j < i; j++)
			if (neighbours(w, a, &w->p->shape[j])) {
				double v = valley(w, a, &w->p->shape[j]);

				s->pairs++;
				sum += v;
				below += v < ISO_RODS_VALLEY;
			}
	}
	s->valley = s->pairs ? sum / s->pairs : NAN;
	s->resolved = s->pairs ? (double)below / s->pairs : NAN;
}

/* ---- sizes ---- */

static int by_diameter(const void *a, const void *b)
{
	return by_value(&((const struct iso_rods_size *)a)->diameter,
	                &((const struct iso_rods_size *)b)->diameter);
}

static int find_sizes(struct iso_rods *r, const struct work *w)
{
	const int most = (int)(sizeof r->size / sizeof *r->size);

	for (int i = 0; i < w->p->n; i++) {
		double d = diameter_of(w, &w->p->shape[i]);
		int k = 0;

		if (!is_rod(&w->p->shape[i])) continue;
		while (k < r->n && r->size[k].diameter != d) k++;
		if (k == most) return iso_fail(ISO_EARG, "rods: more than %d diameters", most);
		if (k == r->n) r->size[r->n++] = (struct iso_rods_size){ .diameter = d };
	}
	qsort(r->size, (size_t)r->n, sizeof *r->size, by_diameter);
	return ISO_OK;
}

static int make_rows(struct work *w)
{
	const int64_t *n = w->x->grid.n;
	const int64_t dim[3] = { 1, 1, n[w->side[0]] > n[w->side[1]] ? n[w->side[0]] : n[w->side[1]] };
	int st = iso_array_create(&w->row, 3, dim);

	w->row.has_grid = true;
	if (st) return st;
	w->width = size_alloc(4 * (int64_t)w->p->n, sizeof *w->width);
	return w->width ? ISO_OK : iso_fail_memory("rods", 4 * (int64_t)w->p->n * 8);
}

int iso_measure_rods(struct iso_rods *r, const struct iso_array *x, const iso_phantom *p, double slab)
{
	if (!r || !x || !p) return iso_fail_null(__func__);
	struct work w = { .x = x, .p = p };
	struct iso_rods made = { 0 };
	int st;

	if (!(slab >= 0) || !isfinite(slab))
		return iso_fail(ISO_EARG, "rods: slab is %g mm, must be 0 or above", slab);
	if ((st = iso_measure_check(x, "rods")) || (st = check(&w)) || (st = find_sizes(&made, &w)))
		return st;
	if ((st = make_plane(&w, slab)) || (st = make_rows(&w))) goto done;
	for (int i = 0; i < made.n && !st; i++) {
		put_valleys(&made.size[i], &w);
		st = put_widths(&made.size[i], &w);
	}
	if (!st) *r = made;
done:
	iso_array_free(&w.row);
	free(w.width);
	free(w.plane);
	return st;
}
