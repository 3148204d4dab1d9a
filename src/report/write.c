/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages as files: the public functions. */
#include "page.h"

#include "core/sized.h"
#include "file/out.h"
#include "image/colormap.h"
#include "io/format.h"

#include <math.h>
#include <string.h>

int iso_page_check(const char *path)
{
	if (iso_has_suffix(path, ".html") || iso_has_suffix(path, ".htm")) return ISO_OK;
	return iso_fail(ISO_EARG, "%s: a page is written as .html", path);
}

/* ---- a report ---- */

int iso_report_set(struct iso_report *r, const struct iso_report_options *o)
{
	int st = iso_report_spheres(r, o->spheres);

	if (st) return st;
	r->title = o->title;
	r->frame = r->image[0].frame;
	r->viewer = !o->plain;
	r->has_line = o->profile;
	if (o->profile) {
		memcpy(r->from, o->profile, sizeof r->from);
		memcpy(r->to, o->profile + 3, sizeof r->to);
	}
	return o->overlay ? iso_report_read_overlay(r, o->overlay) : ISO_OK;
}

int iso_report_write(const char *path, int n, const char *const *images, const struct iso_report_options *o)
{
	struct iso_report_options own = { .size = sizeof own };
	struct iso_text text = { 0 };
	struct iso_report r;
	int st;

	if (!path || !images) return iso_fail_null(__func__);
	if (o && (st = iso_sized_take(&own, "iso_report_options", sizeof own, o))) return st;
	for (int i = 0; i < n; i++)
		if (!images[i]) return iso_fail_null(__func__);
	if ((st = iso_page_check(path)) || (st = iso_report_read(&r, n, images, own.truth))) return st;
	if (!(st = iso_report_set(&r, &own)) && !(st = iso_report_page(&text, &r)))
		st = iso_out_text(path, text.v);
	iso_text_free(&text);
	iso_report_free(&r);
	return st;
}

/* ---- the viewer alone ---- */

int iso_viewer_set(struct iso_report *r, const struct iso_viewer_options *o)
{
	struct iso_report_image *m = &r->image[0];
	const int64_t frames = m->array.n_dim == 4 ? m->array.dim[0] : 1;
	const double *w = o->window[0] != 0 || o->window[1] != 0 ? o->window : NULL;
	struct iso_colormap map;
	int st;

	if (o->map && (st = iso_colormap_make(&map, o->map))) return st;
	if (o->overlay_map && (st = iso_colormap_make(&map, o->overlay_map))) return st;
	if (!(o->opacity >= 0 && o->opacity <= 1))
		return iso_fail(ISO_EARG, "opacity is %g, must be above 0 and at most 1", o->opacity);
	if ((unsigned)o->labels > ISO_LABEL_NONE)
		return iso_fail(ISO_EARG, "labels is %d, must be 0 to 2", (int)o->labels);
	if (o->frame < -1 || o->frame >= frames)
		return iso_fail(ISO_EARG, "frame is %" PRId64 ", and %s has %" PRId64 ", from 0", o->frame,
		                m->path, frames);
	if (w && !(isfinite(w[0]) && isfinite(w[1]) && w[0] < w[1]))
		return iso_fail(ISO_EARG, "window is %g to %g, must rise", w[0], w[1]);
	r->viewer = true;
	r->title = o->title;
	r->frame = o->frame < 0 ? m->frame : o->frame;
	r->map = o->map;
	r->overlay_map = o->overlay_map;
	r->opacity = o->opacity;
	r->labels = o->labels;
	r->window = w;
	return o->at ? iso_report_place(m, o->at) : ISO_OK;
}

int iso_viewer_write(const char *path, const struct iso_array *image, const struct iso_array *overlay,
                     const struct iso_viewer_options *o)
{
	struct iso_viewer_options own = { .size = sizeof own };
	struct iso_text text = { 0 };
	struct iso_report r = { .n = 1 };
	int st;

	if (!path || !image) return iso_fail_null(__func__);
	if (o && (st = iso_sized_take(&own, "iso_viewer_options", sizeof own, o))) return st;
	if ((st = iso_page_check(path))) return st;
	if (!(st = iso_report_borrow(&r.image[0], image, own.name ? own.name : "image")) && overlay &&
	    !(st = iso_report_borrow(&r.overlay, overlay, "overlay")))
		st = iso_report_lay(&r);
	if (!st && !(st = iso_viewer_set(&r, &own)) && !(st = iso_report_view(&text, &r)))
		st = iso_out_text(path, text.v);
	iso_text_free(&text);
	return st; /* the arrays are the caller's */
}
