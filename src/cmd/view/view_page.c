/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of `isotome view`: what the viewer of a report is, alone. */
#include "view_page.h"

#include "file/out.h"
#include "io/format.h"
#include "io/volume.h"
#include "report/page.h"

#include <string.h>

bool view_is_page(const char *path)
{
	return iso_has_suffix(path, ".html") || iso_has_suffix(path, ".htm");
}

int view_tell_tilt(struct cmd *c, const char *path)
{
	double degrees;
	int st = iso_image_tilt(&degrees, path);

	if (!st && degrees > 0)
		record_warn(&c->record,
		            "%s is oblique by %.3g degrees. The slices follow the axes of the image. R, L, "
		            "A, P, S, I and mm are those of the nearest straight axes.",
		            path, degrees);
	return st;
}

/* Where the slices cross, if that was said by a word. */
static void take_place(struct iso_report_image *m, const struct iso_picture *look)
{
	if (look->at == ISO_AT_MAX) iso_shown_hottest(m->cut, &m->volume);
	for (int a = 0; a < 3 && look->at == ISO_AT_CENTRE; a++) m->cut[a] = (m->volume.grid.n[a] - 1) / 2;
}

static int take_look(struct iso_report *r, struct iso_viewer_options *o, const struct view_page *page,
                     const struct iso_picture *look)
{
	const struct iso_array *a = &r->image[0].array;
	int64_t frames = a->n_dim == 4 ? a->dim[0] : 1;
	int st;

	if (look->frame >= frames)
		return iso_fail(ISO_EARG, "--frame is %" PRId64 ", and %s has %" PRId64 ", from 0",
		                look->frame, page->image, frames);
	if (page->at_given) take_place(&r->image[0], look);
	if (page->percent_given &&
	    (st = iso_shown_percentiles(o->window, &r->image[0].volume, look->percent)))
		return st;
	return iso_viewer_set(r, o);
}

static int note(struct cmd *c, const struct iso_report *r, const struct view_page *page)
{
	const struct iso_report_image *m = &r->image[0];
	const double *window = r->window ? r->window : m->window;
	const char *by = page->window_given ? "window" : page->percent_given ? "percent" : "object";

	int st = view_tell_tilt(c, m->path);

	if (st) return st;
	if (!m->volume.in_mm)
		record_warn(&c->record, "%s has no voxel size; drawn with square voxels", m->path);
	if (m->range.not_finite > 0)
		record_warn(&c->record,
		            "%s: %" PRId64 " voxels are NaN or infinite; those shown are drawn in magenta",
		            m->path, m->range.not_finite);
	return record_result(&c->record, "page",
	                     record_pack("{s:[f,f], s:s, s:[I,I,I], s:f, s:f}", "window", window[0],
	                                 window[1], "window_by", by, "voxel", (json_int_t)m->cut[0],
	                                 (json_int_t)m->cut[1], (json_int_t)m->cut[2], "min", m->range.min,
	                                 "max", m->range.max));
}

/* The page and its record, both or none. */
static int write(struct cmd *c, const char *path, const struct iso_text *text)
{
	struct iso_out o = { 0 };
	int st;

	if (!(st = cmd_text(c)) && !(st = iso_out_open(&o, path, (int64_t)text->n, ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(&o, text->v, (int64_t)text->n)))
		st = iso_target_finish(&o, c->text);
	iso_out_free(&o);
	return st;
}

int view_page(struct cmd *c, const struct view_page *page, const struct iso_picture *look)
{
	struct iso_viewer_options o = { .title = look->title,
		                        .map = look->map,
		                        .frame = page->frame_given ? look->frame : -1,
		                        .labels = look->labels,
		                        .overlay_map = page->overlay_map,
		                        .opacity = page->opacity,
		                        .at = page->at_given && look->at == ISO_AT_POINT ? look->point
		                                                                         : NULL };
	struct iso_text text = { 0 };
	struct iso_report r = { 0 };
	const char *paths[] = { page->image };
	int st;

	if (page->window_given) memcpy(o.window, look->window, sizeof o.window);
	record_stage(&c->record, "read");
	if ((st = record_input(&c->record, page->image)) ||
	    (page->overlay && (st = record_input(&c->record, page->overlay))) ||
	    (st = iso_report_read(&r, 1, paths, NULL)) ||
	    (page->overlay && (st = iso_report_read_overlay(&r, page->overlay))) ||
	    (st = take_look(&r, &o, page, look)))
		goto done;
	record_stage(&c->record, "draw");
	if (!(st = note(c, &r, page)) && !(st = iso_report_view(&text, &r))) st = write(c, page->out, &text);
done:
	iso_text_free(&text);
	iso_report_free(&r);
	return st;
}
