/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of a picture and the place that it shows, found from the values: what is inside the object counts, the
   air around it and lone voxels of noise do not. */
#include "window.h"

#include "core/size.h"

#include <math.h>
#include <string.h>

#define BLOCKS 64        /* along the longest edge of the image, to find the object in */
#define LONE_SHARE .1    /* of the sum: what must be left without lone voxels */
#define INSIDE .995      /* of the voxels inside lie below the last colour, */
#define ABOVE_SHARE .2   /* and at most this share of their sum lies above */
#define HOT 4            /* times the mean inside: as far as hot places draw the last colour */
#define NEAR_GREATEST .8 /* of the greatest value: from there on, that is the last colour */

/* ---- what a voxel counts ---- */

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0) list++;
	return *list;
}

bool iso_window_never_negative(const char *unit)
{
	static const char *const units[] = {
		"absorbed energy", "counts/mm", "counts", "Bq/ml", "Bq/mL", "kBq/ml",
		"kBq/mL",          "g/ml",      "g/mL",   "1/mm",  "1/cm",  NULL
	};

	return is_one_of(unit, units);
}

enum iso_window_kind iso_window_kind(const struct iso_range *r, const char *unit, const char *map)
{
	if (map && strcmp(map, "blue-red") == 0) return ISO_WINDOW_SIGNED;
	if (r->min >= 0 || iso_window_never_negative(unit)) return ISO_WINDOW_PLAIN;
	return map ? ISO_WINDOW_LEAST : ISO_WINDOW_SIGNED;
}

static iso_real magnitude(iso_real v, enum iso_window_kind kind, double least)
{
	if (!isfinite(v)) return 0;
	if (kind == ISO_WINDOW_SIGNED) return (iso_real)fabs((double)v);
	return (iso_real)fmax((double)v - (kind == ISO_WINDOW_LEAST ? least : 0), 0);
}

struct object {
	const int64_t *n;
	int64_t stride[3], total;
	const double *edge; /* of a voxel */
	iso_real *counts;   /* of each voxel */
	int64_t block[3];   /* voxels along each axis */
	int64_t blocks[3], all;
	double *mean; /* of each block; then smoothed */
	double *smooth;
};

/* The greatest count of the neighbours along the axes; of a voxel alone, its own. */
static iso_real beside(const struct object *o, const iso_real *v, const int64_t at[3], int64_t i)
{
	iso_real most = -1;

	for (int a = 0; a < 3; a++) {
		if (at[a] > 0 && v[i - o->stride[a]] > most) most = v[i - o->stride[a]];
		if (at[a] + 1 < o->n[a] && v[i + o->stride[a]] > most) most = v[i + o->stride[a]];
	}
	return most < 0 ? v[i] : most;
}

/* A voxel counts as much as its greatest neighbour, at most: one that stands out alone is noise. */
static void lower_lone(const struct object *o, iso_real *to, const iso_real *v)
{
	for (int64_t z = 0, i = 0; z < o->n[2]; z++)
		for (int64_t y = 0; y < o->n[1]; y++)
			for (int64_t x = 0; x < o->n[0]; x++, i++) {
				iso_real most = beside(o, v, (int64_t[]){ x, y, z }, i);

				to[i] = v[i] < most ? v[i] : most;
			}
}

static double sum_of(const iso_real *v, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += v[i];
	return sum;
}

/* Where hardly anything is left without lone voxels, such as of a point source, they are the image. */
static int count_voxels(struct object *o, const struct iso_shown *vol, enum iso_window_kind kind,
                        double least)
{
	iso_real *v = size_alloc(o->total, sizeof *v);

	if (!v) return iso_fail_memory("window of a picture", o->total * (int64_t)sizeof *v);
	for (int64_t i = 0; i < o->total; i++) v[i] = magnitude(vol->v[i], kind, least);
	lower_lone(o, o->counts, v);
	if (sum_of(o->counts, o->total) < LONE_SHARE * sum_of(v, o->total))
		memcpy(o->counts, v, (size_t)o->total * sizeof *v);
	free(v);
	return ISO_OK;
}

/* ---- blocks ---- */

static void choose_blocks(struct object *o)
{
	double longest = 0;

	for (int a = 0; a < 3; a++) longest = fmax(longest, (double)o->n[a] * o->edge[a]);
	for (int a = 0; a < 3; a++) {
		double along = fmin(round(longest / BLOCKS / o->edge[a]), (double)o->n[a]);

		o->block[a] = along > 1 ? (int64_t)along : 1;
		o->blocks[a] = (o->n[a] - 1) / o->block[a] + 1;
	}
	o->all = o->blocks[0] * o->blocks[1] * o->blocks[2];
}

static int64_t block_of(const struct object *o, int64_t x, int64_t y, int64_t z)
{
	const int64_t *b = o->block, *n = o->blocks;

	return (z / b[2] * n[1] + y / b[1]) * n[0] + x / b[0];
}

/* Voxels of block k along an axis: the last block may have fewer. */
static double size_of(const struct object *o, int axis, int64_t k)
{
	int64_t left = o->n[axis] - k * o->block[axis];

	return (double)(left < o->block[axis] ? left : o->block[axis]);
}

/* By (1 2 1)/4 along an axis; beyond the border the weights are left out. */
static void smooth_along(const struct object *o, double *to, const double *from, int axis)
{
	const int64_t *n = o->blocks, stride = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1];

	for (int64_t i = 0; i < o->all; i++) {
		int64_t at = i / stride % n[axis];
		double sum = 2 * from[i], weight = 2;

		if (at > 0) sum += from[i - stride], weight++;
		if (at + 1 < n[axis]) sum += from[i + stride], weight++;
		to[i] = sum / weight;
	}
}

/* o->smooth: the mean of each block, of counts up to `most`, smoothed. */
static void smooth_blocks(struct object *o, double most)
{
	const int64_t *n = o->blocks;

	memset(o->mean, 0, (size_t)o->all * sizeof *o->mean);
	for (int64_t z = 0, i = 0; z < o->n[2]; z++)
		for (int64_t y = 0; y < o->n[1]; y++)
			for (int64_t x = 0; x < o->n[0]; x++, i++)
				o->mean[block_of(o, x, y, z)] += fmin((double)o->counts[i], most);
	for (int64_t k = 0; k < o->all; k++)
		o->mean[k] /= size_of(o, 0, k % n[0]) * size_of(o, 1, k / n[0] % n[1]) *
		              size_of(o, 2, k / n[0] / n[1]);
	smooth_along(o, o->smooth, o->mean, 0);
	smooth_along(o, o->mean, o->smooth, 1);
	smooth_along(o, o->smooth, o->mean, 2);
}

/* ---- the window ---- */

/* A voxel is inside where its block, smoothed, is at least the mean of the image. Their counts, in `inside`. */
static int64_t take_inside(const struct object *o, iso_real *inside)
{
	double mean = sum_of(o->counts, o->total) / (double)o->total * (1 - 1e-6);
	int64_t n = 0;

	for (int64_t z = 0, i = 0; z < o->n[2]; z++)
		for (int64_t y = 0; y < o->n[1]; y++)
			for (int64_t x = 0; x < o->n[0]; x++, i++)
				if (o->smooth[block_of(o, x, y, z)] >= mean) inside[n++] = o->counts[i];
	return n;
}

static int descending(const void *a, const void *b)
{
	iso_real x = *(const iso_real *)a, y = *(const iso_real *)b;

	return (x < y) - (x > y);
}

/* The percentile of n counts; higher where the voxels above hold too much of the sum. */
static double percentile(iso_real *v, int64_t n)
{
	int64_t k = (int64_t)floor(INSIDE * (double)(n - 1));
	double sum = sum_of(v, n), found = iso_select_place(v, n, k), above = 0;

	if (sum_of(v + k, n - k) <= ABOVE_SHARE * sum) return found;
	qsort(v + k, (size_t)(n - k), sizeof *v, descending);
	for (int64_t i = k; i < n; i++)
		if ((above += v[i]) > ABOVE_SHARE * sum) return v[i];
	return found;
}

/* By (1 2 1)/4 along each axis; beyond the border the weights are left out. */
static double smoothed_at(const struct object *o, int64_t x, int64_t y, int64_t z)
{
	static const double weight[] = { 1, 2, 1 };
	const int64_t *n = o->n;
	double sum = 0, all = 0;

	for (int64_t k = z > 0 ? z - 1 : 0; k <= z + 1 && k < n[2]; k++)
		for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < n[1]; j++)
			for (int64_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < n[0]; i++) {
				double w = weight[k - z + 1] * weight[j - y + 1] * weight[i - x + 1];

				sum += w * (double)o->counts[(k * n[1] + j) * n[0] + i];
				all += w;
			}
	return sum / all;
}

/* The greatest of the smoothed values at voxels above `low`, up to `high`. */
static double hottest(const struct object *o, double low, double high)
{
	double most = low;

	for (int64_t z = 0, i = 0; z < o->n[2] && most < high; z++)
		for (int64_t y = 0; y < o->n[1]; y++)
			for (int64_t x = 0; x < o->n[0]; x++, i++)
				if ((double)o->counts[i] > most) most = fmax(most, smoothed_at(o, x, y, z));
	return fmin(most, high);
}

/* What the last colour counts; 0 where nothing does. */
static int find_reach(struct object *o, double *reach, double greatest)
{
	iso_real *inside = size_alloc(o->total, sizeof *inside);

	if (!inside) return iso_fail_memory("window of a picture", o->total * (int64_t)sizeof *inside);
	smooth_blocks(o, INFINITY);
	int64_t n = take_inside(o, inside);
	double mean = n ? sum_of(inside, n) / (double)n : 0, most = n ? percentile(inside, n) : 0;

	if (most < HOT * mean) most = hottest(o, most, HOT * mean);
	*reach = most >= NEAR_GREATEST * greatest ? greatest : most;
	free(inside);
	return ISO_OK;
}

/* ---- the place ---- */

/* The centre of mass of the blocks that are at least half as great as the greatest. */
static void find_middle(struct object *o, int64_t voxel[3], double reach)
{
	double most = 0, sum = 0, moment[3] = { 0 };

	smooth_blocks(o, reach);
	for (int64_t k = 0; k < o->all; k++) most = fmax(most, o->smooth[k]);
	for (int64_t k = 0; k < o->all; k++) {
		const int64_t *n = o->blocks, at[3] = { k % n[0], k / n[0] % n[1], k / n[0] / n[1] };

		if (!(most > 0 && o->smooth[k] >= .5 * most)) continue;
		sum += o->smooth[k];
		for (int a = 0; a < 3; a++)
			moment[a] += o->smooth[k] *
			             ((double)(at[a] * o->block[a]) + .5 * (size_of(o, a, at[a]) - 1));
	}
	for (int a = 0; a < 3; a++) {
		int64_t at = sum > 0 ? (int64_t)floor(moment[a] / sum + .5 - 1e-9) : (o->n[a] - 1) / 2;

		voxel[a] = at < o->n[a] ? at : o->n[a] - 1;
	}
}

/* ---- both ---- */

static int create(struct object *o, const struct iso_shown *vol)
{
	*o = (struct object){ .n = vol->grid.n, .edge = vol->grid.voxel };
	o->stride[0] = 1;
	o->stride[1] = o->n[0];
	o->stride[2] = o->n[0] * o->n[1];
	o->total = iso_grid_voxels(&vol->grid);
	choose_blocks(o);
	o->counts = size_alloc(o->total, sizeof *o->counts);
	o->mean = size_alloc(o->all, sizeof *o->mean);
	o->smooth = size_alloc(o->all, sizeof *o->smooth);
	if (o->counts && o->mean && o->smooth) return ISO_OK;
	return iso_fail_memory("window of a picture",
	                       o->total * (int64_t)sizeof *o->counts + 2 * o->all * (int64_t)sizeof *o->mean);
}

static void set_window(double window[2], double reach, enum iso_window_kind kind, double least)
{
	window[0] = kind == ISO_WINDOW_LEAST ? least : 0;
	window[1] = window[0] + (reach > 0 ? reach : fmax(fabs(window[0]), 1));
	if (kind == ISO_WINDOW_SIGNED) window[0] = -window[1];
}

/* What the voxel that counts most counts. */
static double greatest_count(const struct iso_range *r, enum iso_window_kind kind)
{
	if (kind == ISO_WINDOW_SIGNED) return fmax(-r->min, r->max);
	return kind == ISO_WINDOW_LEAST ? r->max - r->min : r->max;
}

bool iso_window_empty(const struct iso_range *r, enum iso_window_kind kind)
{
	return !(greatest_count(r, kind) > 0);
}

int iso_window_choose(double window[2], int64_t voxel[3], const struct iso_shown *vol,
                      enum iso_window_kind kind)
{
	const struct iso_range r = iso_shown_range(vol);
	double reach = 0;
	struct object o;
	int st;

	if (!(st = create(&o, vol)) && !(st = count_voxels(&o, vol, kind, r.min)) &&
	    !(st = find_reach(&o, &reach, greatest_count(&r, kind)))) {
		if (window) set_window(window, reach, kind, r.min);
		if (voxel) find_middle(&o, voxel, reach);
	}
	free(o.counts);
	free(o.mean);
	free(o.smooth);
	return st;
}

/* The plane is an image of its own. */
int iso_window_projection(double window[2], const struct iso_shown *vol, enum iso_window_kind kind, int axis)
{
	int h = iso_plane_axis(axis, false), v = iso_plane_axis(axis, true);
	const struct iso_grid *g = &vol->grid;
	struct iso_shown flat = { .grid = { .n = { g->n[h], g->n[v], 1 },
		                            .voxel = { g->voxel[h], g->voxel[v], g->voxel[h] } } };
	iso_real *plane = size_alloc(g->n[h] * g->n[v], sizeof *plane);
	int st;

	if (!plane) return iso_fail_memory("projection", g->n[h] * g->n[v] * (int64_t)sizeof *plane);
	iso_shown_max(plane, vol, axis);
	flat.v = plane;
	st = iso_window_choose(window, NULL, &flat, kind);
	free(plane);
	return st;
}
