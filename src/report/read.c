/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report is about: images, their histories, the truth, and where to cut them. */
#include "page.h"

#include "core/progress.h"
#include "core/size.h"
#include "io/volume.h"

#include <math.h>
#include <string.h>

/* NIfTI has no place for most units; the record has. */
static void take_unit(struct iso_report_image *m)
{
	const char *unit = json_string_value(json_object_get(iso_history_own(&m->history), "Units"));

	if (!m->array.unit[0] && unit && strlen(unit) < sizeof m->array.unit) strcpy(m->array.unit, unit);
}

#define MOST_LOOKED_AT 16 /* frames of an image, evenly spread, that choose its window */

/* The least and the greatest value of these frames, and what they choose: the widest window of any, and the place
   that is shown in that frame. */
static int choose_window(struct iso_report_image *m)
{
	int64_t frames = m->array.n_dim == 4 ? m->array.dim[0] : 1, step = (frames - 1) / MOST_LOOKED_AT + 1;
	struct iso_range all = m->range;
	struct iso_shown vol;
	int st = ISO_OK;

	for (int64_t k = step; !st && k < frames; k += step)
		if (!(st = iso_shown_of(&vol, &m->array, k)))
			all.min = fmin(all.min, iso_shown_range(&vol).min);
	m->kind = iso_window_kind(&all, m->array.unit, NULL);
	double widest = -INFINITY;

	for (int64_t k = 0; !st && k < frames; k += step) {
		double window[2], reach;
		int64_t voxel[3];

		if ((st = iso_shown_of(&vol, &m->array, k)) ||
		    (st = iso_window_choose(window, voxel, &vol, m->kind)))
			break;
		const struct iso_range r = iso_shown_range(&vol);

		reach = iso_window_empty(&r, m->kind) ? -1 : window[1]; /* an empty frame says nothing */
		if (reach <= widest) continue;
		widest = reach;
		memcpy(m->window, window, sizeof window);
		memcpy(m->cut, voxel, sizeof voxel);
		m->frame = k;
	}
	m->empty = widest < 0;
	return st;
}

/* Of an image that has its array; the clock counts voxels that were looked at. */
static int look_at(struct iso_report_image *m, struct iso_clock *clock)
{
	int st;

	if (m->array.n_dim < 2 || m->array.n_dim > 4)
		return iso_fail(ISO_EINPUT, "%s: an array of %d axes; a page is about images of 2 to 4",
		                m->path, m->array.n_dim);
	if ((st = iso_shown_of(&m->volume, &m->array, 0))) return st;
	iso_clock_add(clock, 0);
	m->range = iso_shown_range(&m->volume);
	iso_clock_add(clock, iso_grid_voxels(&m->volume.grid));
	return choose_window(m);
}

static int read_one(struct iso_report_image *m, const char *path, enum iso_values allowed,
                    struct iso_clock *clock)
{
	int st;

	m->path = path;
	if ((st = iso_read(&m->array, path, allowed)) || (st = iso_history_read(&m->history, path)))
		return st;
	take_unit(m);
	return look_at(m, clock);
}

int iso_report_borrow(struct iso_report_image *m, const struct iso_array *array, const char *name)
{
	struct iso_clock clock = iso_clock_brief(NULL, "look", "voxels", 0, NULL);
	int st;

	m->path = name;
	m->array = *array;
	st = look_at(m, &clock);
	iso_clock_end(&clock);
	return st;
}

int iso_report_place(struct iso_report_image *m, const double at[3])
{
	const struct iso_grid *g = &m->volume.grid;

	for (int a = 0; a < 3; a++) {
		int64_t pair[2];
		double part;

		if (!iso_measure_inside(g, a, at[a]))
			return iso_fail(ISO_EINPUT, "%g,%g,%g is outside %s, which reaches %s", at[0], at[1],
			                at[2], m->path, iso_measure_extent(g).text);
		part = iso_measure_between(pair, iso_measure_index(g, a, at[a]), g->n[a]);
		m->cut[a] = pair[part >= .5];
	}
	return ISO_OK;
}

static bool same_grid(const struct iso_shown *a, const struct iso_shown *b)
{
	if (a->in_mm && b->in_mm) return iso_grid_same(&a->grid, &b->grid);
	return memcmp(a->grid.n, b->grid.n, sizeof a->grid.n) == 0;
}

static int compare(struct iso_report_image *m, const struct iso_report_image *truth)
{
	if (!same_grid(&m->volume, &truth->volume))
		return iso_fail(ISO_EINPUT,
		                "%s and %s do not lie on one grid; the truth must have the "
		                "voxels of the image",
		                truth->path, m->path);
	memcpy(m->cut, truth->cut, sizeof m->cut);
	/* an image of zeros, or with NaN, has no scale; the page says so */
	m->error.size = sizeof m->error;
	if (iso_measure_rmse(&m->error, iso_grid_voxels(&m->volume.grid), m->volume.v, truth->volume.v, NULL,
	                     ISO_SCALE_FIT))
		m->error = (struct iso_rmse){ .scale = 1, .rmse = NAN, .nrmse = NAN };
	return ISO_OK;
}

int iso_report_read(struct iso_report *r, int n, const char *const *paths, const char *truth)
{
	int st = ISO_OK;

	if (n < 1 || n > ISO_REPORT_MOST)
		return iso_fail(ISO_EARG, "report: %d images; one page shows 1 to %d", n, ISO_REPORT_MOST);
	*r = (struct iso_report){ .has_truth = truth };
	struct iso_clock clock = iso_clock_brief(NULL, "look", "voxels", 0, NULL);

	if (truth) st = read_one(&r->truth, truth, ISO_FINITE, &clock);
	for (; !st && r->n < n; r->n++) {
		struct iso_report_image *m = &r->image[r->n];

		if ((st = read_one(m, paths[r->n], truth ? ISO_ANY : ISO_ANY | ISO_OBLIQUE, &clock))) break;
		iso_clock_add(&clock, 0);
		if (truth)
			st = compare(m, &r->truth);
		else if (same_grid(&m->volume, &r->image[0].volume))
			memcpy(m->cut, r->image[0].cut, sizeof m->cut);
	}
	iso_clock_end(&clock);
	if (st) iso_report_free(r);
	return st;
}

/* Oblique images are shown on their own axes: two of them lie right only if they share these. */
static int check_tilt(const char *image, const char *overlay)
{
	struct iso_volume a = { 0 }, b = { 0 };
	double tilt[2] = { 0, 0 };

	if (iso_image_tilt(&tilt[0], image) || iso_image_tilt(&tilt[1], overlay) ||
	    !(tilt[0] > 0 || tilt[1] > 0))
		return ISO_OK; /* what can't be read is told by its reader */
	if (!iso_image_place(&a, image) && !iso_image_place(&b, overlay) && a.dim[0] > 0 && b.dim[0] > 0 &&
	    iso_axes_same(&a, &b))
		return ISO_OK;
	return iso_refuse(overlay,
	                  "its axes are tilted against those of %s (%.3g and %.3g degrees off straight)",
	                  image, tilt[1], tilt[0]);
}

int iso_report_read_overlay(struct iso_report *r, const char *path)
{
	struct iso_clock clock = iso_clock_brief(NULL, "look", "voxels", 0, NULL);
	int st = check_tilt(r->image[0].path, path);

	if (!st) st = read_one(&r->overlay, path, ISO_ANY | ISO_OBLIQUE, &clock);

	iso_clock_end(&clock);
	return st ? st : iso_report_lay(r);
}

int iso_report_lay(struct iso_report *r)
{
	const struct iso_shown *first = &r->image[0].volume;
	struct iso_shown *under = &r->overlay.volume;

	if (under->in_mm != first->in_mm) {
		if (memcmp(under->grid.n, first->grid.n, sizeof first->grid.n) != 0)
			return iso_fail(ISO_EINPUT,
			                "%s has %s, and other sizes than %s; both must have a voxel size, or "
			                "the same sizes",
			                r->overlay.path, under->in_mm ? "a voxel size" : "none",
			                r->image[0].path);
		under->grid = first->grid;
		under->in_mm = first->in_mm;
	}
	r->has_overlay = true;
	return ISO_OK;
}

static void free_image(struct iso_report_image *m)
{
	iso_array_free(&m->array);
	iso_history_free(&m->history);
}

void iso_report_free(struct iso_report *r)
{
	for (int i = 0; i < ISO_REPORT_MOST; i++) free_image(&r->image[i]);
	free_image(&r->truth);
	free_image(&r->overlay);
	*r = (struct iso_report){ 0 };
}

const json_t *iso_report_record(const struct iso_report_image *m)
{
	const json_t *recon = iso_history_recon(&m->history);

	return recon ? recon : iso_history_own(&m->history);
}
