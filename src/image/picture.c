/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of an image: what is shown is decided here, and painted. sheet.c says where. */
#include "sheet.h"
#include "window.h"

#include "core/size.h"
#include "core/sized.h"

#include <math.h>
#include <string.h>

/* ---- window, map and place ---- */

static bool is_set(const double pair[2])
{
	return pair[0] != 0 || pair[1] != 0;
}

static int check(const struct iso_picture *p)
{
	const double *w = p->window, *c = p->percent;

	if ((unsigned)p->kind > ISO_MIP || (unsigned)p->at > ISO_AT_OBJECT ||
	    (unsigned)p->labels > ISO_LABEL_NONE)
		return iso_fail(ISO_EARG,
		                "picture: kind %d, at %d, labels %d: must be 0 to 2, 0 to 3 and 0 to 2",
		                (int)p->kind, (int)p->at, (int)p->labels);
	if (p->crosshair && p->kind == ISO_MONTAGE)
		return iso_fail(ISO_EARG, "picture: a montage has no point to put a crosshair on");
	if (is_set(w) && !(w[0] < w[1] && isfinite(w[0]) && isfinite(w[1])))
		return iso_fail(ISO_EARG, "picture: window from %g to %g, must rise", w[0], w[1]);
	if (is_set(c) && !(c[0] >= 0 && c[0] < c[1] && c[1] <= 100))
		return iso_fail(ISO_EARG, "picture: window from %g to %g per cent, must rise within 0 to 100",
		                c[0], c[1]);
	if (p->axis && (p->axis < 'x' || p->axis > 'z'))
		return iso_fail(ISO_EARG, "picture: montage across '%c', must be x, y or z", p->axis);
	if (p->every < 0 || p->columns < 0)
		return iso_fail(ISO_EARG,
		                "picture: every %" PRId64 " slices, %" PRId64 " columns: must be positive",
		                p->every, p->columns);
	if (!(p->zoom >= 0) || isinf(p->zoom))
		return iso_fail(ISO_EARG, "picture: zoom is %g, must be positive", p->zoom);
	return ISO_OK;
}

/* Percentiles of all voxels; about 0 where the map has its light middle. */
static int percentile_window(double window[2], const struct iso_shown *vol, const double percent[2],
                             bool diverging)
{
	int st = iso_shown_percentiles(window, vol, percent);

	if (st) return st;
	if (diverging) {
		window[1] = fmax(fabs(window[0]), fabs(window[1]));
		window[0] = -window[1];
	}
	if (!(window[0] < window[1])) /* one value everywhere */
		window[1] = window[0] + fmax(fabs(window[0]), 1);
	return ISO_OK;
}

/* The widest of the three projections. */
static int projected_window(double window[2], const struct iso_shown *vol, enum iso_window_kind kind)
{
	int st = ISO_OK;

	for (int axis = 0; !st && axis < 3; axis++) {
		double one[2];

		if ((st = iso_window_projection(one, vol, kind, axis))) break;
		window[0] = axis == 0 ? one[0] : fmin(window[0], one[0]);
		window[1] = axis == 0 ? one[1] : fmax(window[1], one[1]);
	}
	return st;
}

/* The window, and where the object is if slices are to cross there. */
static int choose_window(double window[2], int64_t voxel[3], const struct iso_sheet *s,
                         const struct iso_array *a, const struct iso_picture *p, const struct iso_range *r)
{
	const struct iso_shown *vol = &s->volume;
	enum iso_window_kind kind = iso_window_kind(r, a->unit, p->map);
	bool window_set = is_set(p->window), percent_set = !window_set && is_set(p->percent);
	double *to = window_set || percent_set ? NULL : window;
	int64_t *object = p->at == ISO_AT_OBJECT ? voxel : NULL;
	int st = ISO_OK;

	if (window_set) memcpy(window, p->window, sizeof p->window);
	if (percent_set) st = percentile_window(window, vol, p->percent, kind == ISO_WINDOW_SIGNED);
	if (!st && (to || object)) st = iso_window_choose(to, object, vol, kind);
	if (!st && to && p->kind == ISO_MIP) st = projected_window(to, vol, kind);
	return st;
}

/* Slices go through the voxel whose half-open box holds the point. */
static int choose_voxel(int64_t voxel[3], const struct iso_shown *vol, const struct iso_picture *p)
{
	const struct iso_grid *g = &vol->grid;
	const double *point = p->at == ISO_AT_POINT ? p->point : g->centre;

	if (p->at == ISO_AT_OBJECT) return ISO_OK; /* chosen with the window */
	if (p->at == ISO_AT_MAX) iso_shown_hottest(voxel, vol);
	for (int i = 0; i < 3 && p->at != ISO_AT_MAX; i++) {
		double at = floor((point[i] - g->centre[i]) / g->voxel[i] + .5 * (double)g->n[i]);

		if (!(at >= 0 && at < (double)g->n[i]))
			return iso_fail(ISO_EARG, "picture: (%g, %g, %g) lies outside the image: %s%s",
			                point[0], point[1], point[2], iso_measure_extent(g).text,
			                vol->in_mm ? " mm" : ", as indices");
		voxel[i] = (int64_t)at;
	}
	return ISO_OK;
}

int iso_picture_sheet(struct iso_sheet *s, const struct iso_array *a, const struct iso_picture *p)
{
	struct iso_sheet r = { 0 };
	struct iso_picture_info *info = &r.info;
	struct iso_range range;
	int st;

	if ((st = iso_shown_of(&r.volume, a, p->frame)) || (st = check(p))) return st;
	range = iso_shown_range(&r.volume);
	info->min = range.min;
	info->max = range.max;
	info->not_finite = range.not_finite;
	if ((st = choose_window(info->window, info->voxel, &r, a, p, &range)) ||
	    (st = choose_voxel(info->voxel, &r.volume, p)) || (st = iso_sheet_make(&r, a, p)))
		return st;
	info->map = p->map ? p->map : info->window[0] == -info->window[1] ? "blue-red" : "ember";
	for (int i = 0; i < 3; i++) info->point[i] = iso_measure_place(&r.volume.grid, i, info->voxel[i]);
	*s = r;
	return ISO_OK;
}

/* ---- panels ---- */

/* (u, v) in voxels from the first one's outer edge; n: voxels along u and along v. */
static double flat(const iso_real *plane, const int64_t n[2], double u, double v)
{
	int64_t i = (int64_t)fmin(u, (double)(n[0] - 1)), j = (int64_t)fmin(v, (double)(n[1] - 1));

	return plane[j * n[0] + i];
}

/* A voxel without weight says nothing, even if it is not a number. */
static double mix(double a, double b, double share)
{
	return share == 0 ? a : (1 - share) * a + share * b;
}

static double between(const iso_real *plane, const int64_t n[2], double u, double v)
{
	int64_t i[2], j[2];
	double f = iso_measure_between(i, u - .5, n[0]), g = iso_measure_between(j, v - .5, n[1]);
	const iso_real *low = plane + j[0] * n[0], *high = plane + j[1] * n[0];

	return mix(mix(low[i[0]], low[i[1]], f), mix(high[i[0]], high[i[1]], f), g);
}

static void paint_plane(struct iso_pixels *pixels, const struct iso_sheet *s, const struct iso_panel *panel,
                        const iso_real *plane, const struct iso_colormap *m, bool linear)
{
	struct iso_box b = panel->box;
	const double low = s->info.window[0], range = s->info.window[1] - low;
	double du = (double)panel->n[0] / (double)b.w, dv = (double)panel->n[1] / (double)b.h;

	for (int64_t y = 0; y < b.h; y++)
		for (int64_t x = 0; x < b.w; x++) {
			double u = ((double)(panel->turned ? b.w - 1 - x : x) + .5) * du;
			double v = ((double)(b.h - 1 - y) + .5) * dv;
			double value = (linear ? between : flat)(plane, panel->n, u, v);

			iso_canvas_put(pixels, b.x + x, b.y + y,
			               isfinite(value) ? iso_colormap_at(m, (value - low) / range)
			                               : iso_colour_not_finite);
		}
}

static int paint_panel(struct iso_pixels *pixels, const struct iso_sheet *s, const struct iso_panel *panel,
                       const struct iso_colormap *m, bool linear)
{
	int64_t n = panel->n[0] * panel->n[1];
	iso_real *plane = size_alloc(n, sizeof *plane);

	if (!plane) return iso_fail_memory("plane of a picture", n * (int64_t)sizeof *plane);
	if (panel->index < 0)
		iso_shown_max(plane, &s->volume, panel->axis);
	else
		iso_shown_slice(plane, &s->volume, panel->axis, panel->index);
	paint_plane(pixels, s, panel, plane, m, linear);
	free(plane);
	return ISO_OK;
}

/* ---- all of it ---- */

int iso_picture_render(struct iso_pixels *pixels, struct iso_picture_info *info, const struct iso_array *a,
                       const struct iso_picture *p)
{
	if (!pixels || !a || !p) return iso_fail_null(__func__);
	struct iso_pixels r = { 0 };
	struct iso_sheet s = { 0 };
	struct iso_colormap m;
	struct iso_picture full;
	int st = iso_sized_take(&full, "iso_picture", sizeof full, p);

	if (!st) st = iso_sized_clear(info, "iso_picture_info", sizeof *info);
	if (st || (st = iso_picture_sheet(&s, a, &full)) || (st = iso_colormap_make(&m, s.info.map)) ||
	    (st = iso_canvas_create(&r, s.width, s.height, iso_sheet_page(&m))))
		goto done;
	for (int64_t i = 0; i < s.info.panels; i++)
		if ((st = paint_panel(&r, &s, &s.panel[i], &m, full.linear))) goto done;
	iso_sheet_paint(&r, &s, &m);
	*pixels = r;
	r = (struct iso_pixels){ 0 };
	if (info) iso_sized_give(info, sizeof s.info, &s.info);
done:
	iso_pixels_free(&r);
	iso_sheet_free(&s);
	return st;
}
