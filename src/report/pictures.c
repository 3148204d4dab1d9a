/* SPDX-License-Identifier: BSD-3-Clause */
/* The pictures of a report: the same slices of all images and the truth side by side, in the same
   colours where their values can be compared. */
#include "page.h"

#include "core/size.h"
#include "image/colormap.h"
#include "io/format.h"
#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_PIXELS 512 /* along an edge; a larger plane is thinned */
#define HIGHEST_REM 26  /* of a picture on the page */

struct view {
	const char *name, *what;
	int axis;
	bool greatest; /* along the axis, instead of a slice */
};

static const struct view views[] = {
	{ "Transverse", "slice", 2, false },
	{ "Coronal", "slice", 1, false },
	{ "Sagittal", "slice", 0, false },
	{ "Maximum, from the front", "projection", 1, true },
};

/* How values become colours. */
struct look {
	double lo, hi;
	struct iso_colormap map;
};

struct plane {
	int64_t w, h;
	double aspect; /* width over height, in mm */
	iso_real *v;
};

/* ---- windows ---- */

/* From 0 to `most`; symmetric: from -most. */
static int make_look(struct look *l, double most, bool symmetric)
{
	l->hi = most > 0 ? most : 1;
	l->lo = symmetric ? -l->hi : 0;
	return iso_colormap_make(&l->map, symmetric ? "blue-red" : "ember");
}

bool iso_report_hides_negative(const struct iso_report_image *m)
{
	return m->range.min < 0 && m->kind == ISO_WINDOW_PLAIN;
}

static int own_look(struct look *l, const struct iso_report_image *m, double factor)
{
	return make_look(l, factor * m->window[1], m->kind == ISO_WINDOW_SIGNED);
}

static bool comparable(const struct iso_report *r)
{
	for (int i = 1; i < r->n; i++)
		if (!r->image[0].array.unit[0] || strcmp(r->image[i].array.unit, r->image[0].array.unit) != 0)
			return false;
	return true;
}

/* One look for all if values can be compared, with *common set; else one each. */
static int choose_looks(struct look look[ISO_REPORT_MOST], bool *common, const struct iso_report *r)
{
	int widest = 0, st = ISO_OK;

	*common = r->has_truth || comparable(r);
	if (r->has_truth) st = own_look(&look[0], &r->truth, 1.1);
	for (int i = 0; !st && !r->has_truth && i < r->n; i++) {
		st = own_look(&look[i], &r->image[i], 1);
		if (r->image[i].empty) continue;
		if (r->image[widest].empty || look[i].hi - look[i].lo > look[widest].hi - look[widest].lo)
			widest = i;
	}
	for (int i = 0; *common && i < r->n; i++) look[i] = look[widest];
	return st;
}

/* ---- planes ---- */

static int take_plane(struct plane *p, const struct iso_report_image *m, const struct view *view)
{
	const struct iso_grid *g = &m->volume.grid;
	int h = iso_plane_axis(view->axis, false), v = iso_plane_axis(view->axis, true);

	*p = (struct plane){ .w = g->n[h], .h = g->n[v] };
	p->aspect = (double)p->w * g->voxel[h] / ((double)p->h * g->voxel[v]);
	p->v = size_alloc(p->w * p->h, sizeof *p->v);
	if (!p->v) return iso_fail_memory("report", p->w * p->h * (int64_t)sizeof *p->v);
	if (view->greatest)
		iso_shown_max(p->v, &m->volume, view->axis);
	else
		iso_shown_slice(p->v, &m->volume, view->axis, m->cut[view->axis]);
	return ISO_OK;
}

/* The value farthest from 0 of the voxels that pixel (x, y) stands for. */
static double thinned(const struct plane *p, int64_t x, int64_t y, int64_t step)
{
	double most = 0;

	for (int64_t j = y * step; j < (y + 1) * step && j < p->h; j++)
		for (int64_t i = x * step; i < (x + 1) * step && i < p->w; i++) {
			double v = p->v[j * p->w + i];

			if (!isfinite(v)) return v;
			most = fabs(v) > fabs(most) ? v : most;
		}
	return most;
}

/* Rows of a picture go down, the vertical axis goes up. */
static void paint(struct iso_pixels *pixels, const struct plane *p, const struct look *l, int64_t step)
{
	unsigned char *to = pixels->rgb;

	for (int64_t y = pixels->height - 1; y >= 0; y--)
		for (int64_t x = 0; x < pixels->width; x++, to += 3) {
			double v = thinned(p, x, y, step);
			struct iso_colour c =
				isfinite(v) ? iso_colormap_at(&l->map, (v - l->lo) / (l->hi - l->lo))
					    : iso_colour_not_finite;

			memcpy(to, (unsigned char[]){ c.r, c.g, c.b }, 3);
		}
}

/* src='...' of the plane as a PNG inside the page. */
static int put_source(struct iso_text *t, const struct plane *p, const struct look *l)
{
	int64_t edge = p->w > p->h ? p->w : p->h, step = (edge + MOST_PIXELS - 1) / MOST_PIXELS;
	struct iso_pixels pixels = { (p->w + step - 1) / step, (p->h + step - 1) / step, NULL };
	void *png = NULL;
	size_t bytes = 0;
	int st;

	pixels.rgb = size_alloc(pixels.width * pixels.height, 3);
	if (!pixels.rgb) return iso_fail_memory("report", pixels.width * pixels.height * 3);
	paint(&pixels, p, l, step);
	st = iso_png_encode(&png, &bytes, &pixels);
	if (!st) {
		iso_text_add(t, " src='data:image/png;base64,");
		iso_text_base64(t, png, bytes);
		iso_text_add(t, "'");
	}
	free(png);
	free(pixels.rgb);
	return st;
}

/* ---- figures ---- */

static void put_place(struct iso_text *t, const struct iso_report_image *m, int axis)
{
	double at = iso_measure_place(&m->volume.grid, axis, m->cut[axis]);

	iso_text_add(t, "%c = %s%.4g%s", "xyz"[axis], at < 0 ? "\u2212" : "", fabs(at),
	             m->volume.in_mm ? " mm" : "");
}

/* At the truth's scale where it is known; less the truth itself, if `difference`. */
static int put_figure(struct iso_text *t, const struct iso_report *r, const struct iso_report_image *m,
                      const struct view *view, const struct look *look, const char *heading, bool difference)
{
	double scale = r->has_truth && m != &r->truth ? m->error.scale : 1;
	struct plane p = { 0 }, truth = { 0 };
	int st = take_plane(&p, m, view);

	if (!st && difference) st = take_plane(&truth, &r->truth, view);
	if (st) goto done;
	for (int64_t i = 0; i < p.w * p.h; i++)
		p.v[i] = (iso_real)(p.v[i] * scale - (difference ? truth.v[i] : 0));
	iso_text_add(t,
	             "<figure><div class='picture' style='aspect-ratio:%.4f;width:min(100%%,%.2frem)'><img",
	             p.aspect, HIGHEST_REM * p.aspect);
	iso_text_html(t, " alt='%s%.60s: %s, %s ", difference ? "Difference from the truth of " : "",
	              iso_value_base(m->path), view->name, view->what);
	if (!view->greatest) put_place(t, m, view->axis);
	iso_text_add(t, "'");
	st = put_source(t, &p, look);
	iso_text_add(t, ">");
	if (view->axis == 2 && !r->has_line && !difference) /* marks at both edges: the profile along x */
		iso_text_add(t, "<i style='top:%.2f%%'></i>",
		             100 * (1 - ((double)m->cut[1] + .5) / (double)m->volume.grid.n[1]));
	iso_text_html(t, "</div><figcaption><b>%.60s</b> <span>", heading);
	if (!view->greatest) put_place(t, m, view->axis);
	iso_text_add(t, "</span></figcaption></figure>\n");
done:
	free(p.v);
	free(truth.v);
	return st;
}

/* ---- the section ---- */

/* The colours from one end to the other, between the values there. */
static int put_scale(struct iso_text *t, const struct look *l, const char *name, const char *unit)
{
	iso_real v[ISO_COLOURS];
	const struct plane ramp = { .w = ISO_COLOURS, .h = 1, .v = v };
	int st;

	for (int i = 0; i < ISO_COLOURS; i++)
		v[i] = (iso_real)(l->lo + (l->hi - l->lo) * i / (ISO_COLOURS - 1));
	iso_text_html(t, "<p class='scale'>%.60s", name);
	iso_text_add(t, " <span>%s%.3g</span> <img alt='to'", l->lo < 0 ? "\u2212" : "", fabs(l->lo));
	st = put_source(t, &ramp, l);
	iso_text_add(t, "> <span>%.3g ", l->hi);
	iso_text_html(t, "%s</span></p>\n", unit);
	return st;
}

static int put_scales(struct iso_text *t, const struct iso_report *r, const struct look *look, bool common)
{
	int st = ISO_OK;

	if (r->has_truth) return put_scale(t, &look[0], "", r->truth.array.unit);
	for (int i = 0; !st && i < (common ? 1 : r->n); i++)
		st = put_scale(t, &look[i], common ? "" : iso_value_base(r->image[i].path),
		               r->image[i].array.unit);
	return st;
}

/* Where there is room, as many columns as there are images and the truth, and at least two. */
static void open_row(struct iso_text *t, const struct iso_report *r)
{
	int n = r->n + r->has_truth;

	iso_text_add(t, "<div class='row' style='--n:%d'>\n", n > 2 ? n : 2);
}

/* Of differences there is one look, and the truth has none. */
static int put_row(struct iso_text *t, const struct iso_report *r, const struct look *look,
                   const struct view *view, bool difference)
{
	int st = ISO_OK;

	iso_text_add(t, "<h3>%s</h3>\n", difference ? "Difference from the truth" : view->name);
	open_row(t, r);
	for (int i = 0; !st && i < r->n; i++)
		st = put_figure(t, r, &r->image[i], view, difference ? look : &look[i],
		                iso_value_base(r->image[i].path), difference);
	if (!st && r->has_truth && !difference) st = put_figure(t, r, &r->truth, view, look, "Truth", false);
	iso_text_add(t, "</div>\n");
	return st;
}

/* A plane has one view; alone, an image shows all its views in one row. */
static int put_views(struct iso_text *t, const struct iso_report *r, const struct look *look)
{
	int n = r->image[0].volume.grid.n[2] > 1 ? (int)(sizeof views / sizeof views[0]) : 1;
	int st = ISO_OK;

	if (r->n > 1 || r->has_truth) {
		for (int k = 0; !st && k < n; k++) st = put_row(t, r, look, &views[k], false);
		return st;
	}
	open_row(t, r);
	for (int k = 0; !st && k < n; k++)
		st = put_figure(t, r, &r->image[0], &views[k], &look[0], views[k].name, false);
	iso_text_add(t, "</div>\n");
	return st;
}

int iso_report_pictures(struct iso_text *t, const struct iso_report *r)
{
	struct look look[ISO_REPORT_MOST] = { 0 };
	bool common;
	int st;

	if ((st = choose_looks(look, &common, r))) return st;
	iso_text_add(t, "<section>\n<h2>Images</h2>\n");
	if (r->has_truth)
		iso_text_add(t, "<p>Each image is multiplied by the factor that brings it nearest to the "
		                "truth; all are shown in the same colours.</p>\n");
	for (int i = 0; i < r->n; i++)
		if (iso_report_hides_negative(&r->image[i]))
			iso_text_html(
				t, "<p>%.60s: values below 0 are shown as 0, as %s is never negative.</p>\n",
				iso_value_base(r->image[i].path), r->image[i].array.unit);
	if ((st = put_scales(t, r, look, common)) || (st = put_views(t, r, look))) return st;
	if (r->has_truth && (st = make_look(look, .5 * r->truth.window[1], true)) == ISO_OK &&
	    (st = put_row(t, r, look, &views[0], true)) == ISO_OK)
		st = put_scale(t, look, "", r->truth.array.unit);
	iso_text_add(t, "</section>\n");
	return st;
}

/* ---- panels of other sections ---- */

int iso_report_panel(struct iso_text *t, const struct iso_panel *p)
{
	const struct plane plane = { .w = p->w, .h = p->h, .v = (iso_real *)p->v };
	struct look look;
	int st = make_look(&look, p->most, p->symmetric);

	if (st) return st;
	iso_text_add(t, "<figure><div class='picture' style='aspect-ratio:%.4f'><img alt='%s'",
	             (double)p->w / (double)p->h, p->alt);
	st = put_source(t, &plane, &look);
	iso_text_add(t, "></div><figcaption><b>%s</b>", p->name);
	if (!p->symmetric) iso_text_add(t, " <span>to ");
	if (!p->symmetric && p->most >= 100)
		iso_value_count(t, p->most);
	else if (!p->symmetric)
		iso_text_add(t, "%.2g", p->most);
	iso_text_add(t, "%s</figcaption></figure>\n", p->symmetric ? "" : "</span>");
	return st;
}

int iso_report_panel_scale(struct iso_text *t, const struct iso_panel *p, const char *name, const char *unit)
{
	struct look look;
	int st = make_look(&look, p->most, p->symmetric);

	return st ? st : put_scale(t, &look, name, unit);
}
