/* SPDX-License-Identifier: BSD-3-Clause */
/* Widths of the rods of a Derenzo phantom, and how deep the valleys between them are. */
#include "core/room.h"
#include "core/sized.h"
#include "places.h"
#include "shapes.h"

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

struct iso_quartiles iso_measure_quartiles(double *value, int n)
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

struct rod {
	double diameter, at[2]; /* mm; at: along side[0] and side[1] */
};

struct work {
	const struct iso_array *x;
	int axis, side[2]; /* along the rods; across them */
	int n;
	struct rod *rod;       /* by rising diameter */
	double middle, length; /* of the first rod, along the axis: mm */
	double *plane;         /* mean over the slab: side[0] fastest */
	struct iso_array row;  /* a profile, as an image of one row */
	double *fwhm, *fwtm;   /* of one size, two a rod */
	struct iso_room room;
};

static bool is_rod(const struct iso_shape *s)
{
	return s->type == SHAPE_CYLINDER && s->sets[SHAPE_ACTIVITY] && s->value[SHAPE_ACTIVITY] > 0;
}

/* Cylinder number i of the phantom, from 0. */
static int add_rod(struct work *w, const struct iso_shape *s, int i)
{
	const int *side = w->side;
	int at = w->n;

	if (w->n == 0) {
		w->axis = s->axis;
		w->side[0] = (s->axis + 1) % 3;
		w->side[1] = (s->axis + 2) % 3;
		w->middle = s->centre[s->axis];
		w->length = 2 * s->half[s->axis];
	}
	if (s->axis != w->axis || s->half[side[0]] != s->half[side[1]])
		return iso_fail(ISO_EARG,
		                "rods: cylinder %d is not round or lies along another axis than the first",
		                i + 1);
	for (int k = 0; k < 2; k++)
		if (!iso_measure_inside(&w->x->grid, side[k], s->centre[side[k]]))
			return iso_fail(ISO_EINPUT,
			                "rods: cylinder %d, at %c = %g mm, lies outside the image", i + 1,
			                "xyz"[side[k]], s -> centre[side[k]]);
	for (; at > 0 && w->rod[at - 1].diameter > 2 * s->half[side[0]]; at--) w->rod[at] = w->rod[at - 1];
	w->rod[at] = (struct rod){ 2 * s->half[side[0]], { s->centre[side[0]], s->centre[side[1]] } };
	w->n++;
	return ISO_OK;
}

static int find_rods(struct work *w, const iso_phantom *p)
{
	int st = ISO_OK;

	if (!ISO_HOST(&w->room, w->rod, p->n)) return w->room.status;
	for (int i = 0; i < p->n && !st; i++)
		if (is_rod(&p->shape[i])) st = add_rod(w, &p->shape[i], i);
	if (!st && w->n == 0) st = iso_fail(ISO_EARG, "rods: the phantom has no cylinder with activity");
	return st;
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
	const int64_t n = g->n[w->side[0]] * g->n[w->side[1]];
	double half = fmax(slab > 0 ? slab / 2 : w->length / 4, g->voxel[w->axis] / 2);
	int64_t first, last;

	iso_measure_range(&first, &last, g, w->axis, w->middle - half, w->middle + half);
	if (first > last)
		return iso_fail(ISO_EINPUT, "rods: no slice of the image lies within %g mm of %c = %g", half,
		                "xyz"[w->axis], w -> middle);
	if (!ISO_HOST(&w->room, w->plane, n)) return w->room.status;
	for (int64_t k = first; k <= last; k++) add_slice(w, k);
	for (int64_t i = 0; i < n; i++) w->plane[i] /= (double)(last - first + 1);
	return ISO_OK;
}

static double value_at(const struct work *w, const double place[2])
{
	const struct iso_grid *g = &w->x->grid;
	const int64_t nb = g->n[w->side[0]], nc = g->n[w->side[1]];
	int64_t b[2], c[2];
	double s = iso_measure_between(b, iso_measure_index(g, w->side[0], place[0]), nb);
	double t = iso_measure_between(c, iso_measure_index(g, w->side[1], place[1]), nc);
	const double *low = w->plane + c[0] * nb, *high = w->plane + c[1] * nb;

	return (1 - t) * ((1 - s) * low[b[0]] + s * low[b[1]]) + t * ((1 - s) * high[b[0]] + s * high[b[1]]);
}

/* ---- widths ---- */

/* The profile through a rod along side k: voxel centres along it, interpolated across. */
static int one_width(struct iso_width *out, struct work *w, const struct rod *rod, int k)
{
	const struct iso_grid *g = &w->x->grid;
	int a = w->side[k];
	struct iso_fwhm p = { .at = { rod->at[k] }, .window = WINDOW * rod->diameter };
	struct iso_width all[3];
	double place[2] = { rod->at[0], rod->at[1] };
	int st;

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

/* Of the rods of one size, rod[0 ... s->rods - 1]. */
static int put_widths(struct iso_rods_size *s, struct work *w, const struct rod *rod)
{
	int st = ISO_OK;

	for (; s->profiles < 2 * s->rods && !st; s->profiles++) {
		struct iso_width width;

		st = one_width(&width, w, &rod[s->profiles / 2], s->profiles % 2);
		w->fwhm[s->profiles] = width.fwhm;
		w->fwtm[s->profiles] = width.fwtm;
	}
	s->fwhm = iso_measure_quartiles(w->fwhm, s->profiles);
	s->fwtm = iso_measure_quartiles(w->fwtm, s->profiles);
	return st;
}

/* ---- valleys ---- */

static double valley(const struct work *w, const struct rod *a, const struct rod *b)
{
	const double middle[2] = { (a->at[0] + b->at[0]) / 2, (a->at[1] + b->at[1]) / 2 };

	return 2 * value_at(w, middle) / (value_at(w, a->at) + value_at(w, b->at));
}

static void put_valleys(struct iso_rods_size *s, const struct work *w, const struct rod *rod)
{
	double sum = 0;
	int below = 0;

	for (int i = 0; i < s->rods; i++)
		for (int j = 0; j < i; j++) {
			double dx = rod[i].at[0] - rod[j].at[0], dy = rod[i].at[1] - rod[j].at[1], v;

			if (hypot(dx, dy) > NEIGHBOURS * s->diameter) continue;
			v = valley(w, &rod[i], &rod[j]);
			s->pairs++;
			sum += v;
			below += v < ISO_RODS_VALLEY;
		}
	s->valley = s->pairs ? sum / s->pairs : NAN;
	s->resolved = s->pairs ? (double)below / s->pairs : NAN;
}

static int make_rows(struct work *w)
{
	const int64_t *n = w->x->grid.n, nb = n[w->side[0]], nc = n[w->side[1]];
	int st = iso_array_create(&w->row, 3, (const int64_t[]){ 1, 1, nb > nc ? nb : nc });

	w->row.has_grid = true;
	ISO_HOST(&w->room, w->fwhm, 2 * w->n);
	ISO_HOST(&w->room, w->fwtm, 2 * w->n);
	return st ? st : w->room.status;
}

static int measure_sizes(struct iso_rods *r, struct work *w)
{
	const int most = (int)(sizeof r->group / sizeof *r->group);
	int st = ISO_OK;

	for (int first = 0; first < w->n && !st; r->n++) {
		struct iso_rods_size *s = &r->group[r->n];

		if (r->n == most) return iso_fail(ISO_EARG, "rods: more than %d diameters", most);
		s->diameter = w->rod[first].diameter;
		while (first + s->rods < w->n && w->rod[first + s->rods].diameter == s->diameter) s->rods++;
		put_valleys(s, w, &w->rod[first]);
		st = put_widths(s, w, &w->rod[first]);
		first += s->rods;
	}
	return st;
}

int iso_measure_rods(struct iso_rods *r, const struct iso_array *x, const iso_phantom *p, double slab)
{
	if (!r || !x || !p) return iso_fail_null(__func__);
	struct work w = { .x = x, .room = iso_room_of(NULL, "rods") };
	struct iso_rods made = { 0 };
	int st = iso_measure_check(x, "rods");

	if (!(slab >= 0) || !isfinite(slab))
		return iso_fail(ISO_EARG, "rods: slab is %g mm, must be 0 or above", slab);
	if (!st && !(st = find_rods(&w, p)) && !(st = make_plane(&w, slab)) && !(st = make_rows(&w)) &&
	    !(st = measure_sizes(&made, &w)))
		st = iso_sized_put(r, "iso_rods", sizeof made, &made);
	iso_array_free(&w.row);
	iso_room_free(&w.room);
	return st;
}
