/* SPDX-License-Identifier: BSD-3-Clause */
/* What the viewer's script finds in the page: a head for each image, its packed frames, colour maps. */
#include "viewer.h"

#include "image/colormap.h"
#include "report/viewer/pack.h"
#include "report/markup/sha256.h"
#include "text/json_file.h"
#include "report/markup/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char html[] =
#include "embedded/viewer.html.h"
	;
static const char css[] =
#include "embedded/viewer.css.h"
	;
static const char script[] =
#include "embedded/viewer_volume.js.h"
#include "embedded/viewer_planes.js.h"
#include "embedded/viewer_curves.js.h"
#include "embedded/viewer_files.js.h"
#include "embedded/viewer_shown.js.h"
#include "embedded/viewer_input.js.h"
#include "embedded/viewer.js.h"
	;

/* ---- policy ---- */

void iso_viewer_hash(struct iso_text *t, const char *text)
{
	unsigned char hash[32];

	iso_sha256(hash, text, strlen(text));
	iso_text_add(t, "'sha256-");
	iso_text_base64(t, hash, sizeof hash);
	iso_text_add(t, "'");
}

void iso_viewer_policy(struct iso_text *t)
{
	iso_text_add(t, " ");
	iso_viewer_hash(t, css);
	iso_text_add(t, "; script-src ");
	iso_viewer_hash(t, script);
	iso_text_add(t, "; require-trusted-types-for 'script'; trusted-types 'none'");
}

void iso_viewer_style(struct iso_text *t)
{
	iso_text_add(t, "<style>%s</style>\n", css);
}

/* ---- one image ---- */

struct shown {
	const struct iso_report_image *m;
	const char *role;
	double window[2];
	const char *map;
	double mip;    /* how much wider the window of its projection is, at least 1 */
	double factor; /* that brings its values nearest to the truth's */
	int64_t all, frames;
	struct iso_pack pack;
};

static void put_list(struct iso_text *t, const char *name, int n, const double *v)
{
	iso_text_add(t, ", \"%s\": [", name);
	for (int i = 0; i < n; i++) iso_text_add(t, "%s%.17g", i ? ", " : "", v[i]);
	iso_text_add(t, "]");
}

static void put_sizes(struct iso_text *t, const char *name, const int64_t n[3])
{
	iso_text_add(t, ", \"%s\": [%" PRId64 ", %" PRId64 ", %" PRId64 "]", name, n[0], n[1], n[2]);
}

/* Number k of a list of the record; NAN where there is none. */
static double number_at(const json_t *record, const char *key, int64_t k)
{
	const json_t *v = json_array_get(json_object_get(record, key), (size_t)k);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The middle of a frame's time, s. */
static double time_at(const json_t *record, int64_t k)
{
	return number_at(record, "FrameTimesStart", k) + number_at(record, "FrameDuration", k) / 2;
}

/* What recordings tell of their images. */
static double wavelength_at(const json_t *record, int64_t k)
{
	const json_t *images = json_object_get(json_object_get(record, "results"), "images");

	return iso_value_number(json_array_get(images, (size_t)k), "nm");
}

static double number_of(const json_t *record, int64_t k)
{
	(void)record;
	return (double)k;
}

/* What can tell frames apart; the last always does. */
static const struct axis {
	const char *name, *unit;
	double (*at)(const json_t *record, int64_t k); /* NAN where the record does not say */
} axes[] = { { "time", "s", time_at }, { "wavelength", "nm", wavelength_at }, { "frame", "", number_of } };

static bool rises(const struct axis *axis, const json_t *record, int64_t frames)
{
	double before = -INFINITY;

	for (int64_t k = 0; k < frames; k++) {
		double v = axis->at(record, k);

		if (!(v > before) || !isfinite(v)) return false;
		before = v;
	}
	return true;
}

/* The first that rises from frame to frame. */
static void put_axis(struct iso_text *t, const struct shown *s)
{
	const json_t *record = iso_report_record(s->m);
	const struct axis *axis = axes;

	while (!rises(axis, record, s->frames)) axis++;
	iso_text_add(t, ", \"axis\": {\"name\": \"%s\", \"unit\": \"%s\", \"value\": [", axis->name,
	             axis->unit);
	for (int64_t k = 0; k < s->frames; k++) iso_text_add(t, "%s%.9g", k ? ", " : "", axis->at(record, k));
	iso_text_add(t, "]}");
}

/* The record beside the image, as a text to be saved; null where there is none, its length if it is too long. */
static int put_record(struct iso_text *t, const struct shown *s)
{
	const json_t *record = iso_history_own(&s->m->history);
	char *text = record ? iso_json_text(record, JSON_INDENT(2)) : NULL;

	if (record && !text) return iso_fail_memory("report", ISO_VIEWER_RECORD);
	iso_text_add(t, ", \"record\": ");
	if (!text)
		iso_text_add(t, "null");
	else if (strlen(text) > ISO_VIEWER_RECORD)
		iso_text_add(t, "%zu", strlen(text));
	else
		iso_text_json(t, text);
	free(text);
	return ISO_OK;
}

static int put_head(struct iso_text *t, const struct shown *s)
{
	const struct iso_pack *p = &s->pack;
	int st;

	iso_text_add(t, "{\"name\": ");
	iso_text_json(t, iso_value_base(s->m->path));
	iso_text_add(t, ", \"role\": \"%s\", \"unit\": ", s->role);
	iso_text_json(t, s->m->array.unit);
	iso_text_add(t, ", \"in_mm\": %s", s->m->volume.in_mm ? "true" : "false");
	put_sizes(t, "n", p->grid.n);
	put_list(t, "voxel", 3, p->grid.voxel);
	put_list(t, "centre", 3, p->grid.centre);
	put_sizes(t, "full", s->m->volume.grid.n);
	put_sizes(t, "block", p->block);
	put_list(t, "window", 2, s->window);
	put_list(t, "range", 2, (const double[]){ p->min, p->max });
	iso_text_add(t,
	             ", \"hides_negative\": %s, \"mip\": %.9g, \"map\": \"%s\", \"factor\": %.17g, "
	             "\"frames\": %" PRId64 ", \"all_frames\": %" PRId64
	             ", \"bits\": %d, \"exact\": %s, \"not_finite\": %s, \"scale\": [",
	             iso_report_hides_negative(s->m) ? "true" : "false", s->mip, s->map, s->factor, s->frames,
	             s->all, p->bits, p->exact ? "true" : "false", p->not_finite ? "true" : "false");
	for (int64_t k = 0; k < p->frames; k++) iso_text_add(t, "%s%.17g", k ? ", " : "", p->frame[k].scale);
	iso_text_add(t, "], \"offset\": [");
	for (int64_t k = 0; k < p->frames; k++) iso_text_add(t, "%s%.17g", k ? ", " : "", p->frame[k].offset);
	iso_text_add(t, "]");
	put_axis(t, s);
	st = put_record(t, s);
	iso_text_add(t, "}");
	return st;
}

static void put_frames(struct iso_text *t, const struct iso_pack *p, int number)
{
	for (int64_t k = 0; k < p->frames; k++) {
		iso_text_add(t, "<script type='application/octet-stream' id='volume-%d-%" PRId64 "'>", number,
		             k);
		iso_text_base64(t, p->frame[k].bytes, p->frame[k].n);
		iso_text_add(t, "</script>\n");
	}
}

/* ---- all of them ---- */

#define MOST_SHOWN (ISO_REPORT_MOST + 2)

/* The window and the colours that were named; colours alone may want another window. */
static int take_choice(struct shown *s, const struct iso_report *r)
{
	enum iso_window_kind kind = iso_window_kind(&s->m->range, s->m->array.unit, r->map);
	int st = ISO_OK;

	if (r->map) s->map = r->map;
	if (r->window)
		memcpy(s->window, r->window, sizeof s->window);
	else if (r->map && kind != s->m->kind)
		st = iso_window_choose(s->window, NULL, &s->m->volume, kind);
	return st;
}

/* From the front, of the frame that chose the window; colours that were named have nothing to do with it. */
static int compare_projection(struct shown *s)
{
	const struct iso_report_image *m = s->m;
	struct iso_shown vol;
	double window[2];
	int st;

	if ((st = iso_shown_of(&vol, &m->array, m->frame)) ||
	    (st = iso_window_projection(window, &vol, m->kind, 1)))
		return st;
	s->mip = m->window[1] > 0 ? fmax(window[1] / m->window[1], 1) : 1;
	return ISO_OK;
}

/* An image as it is, the truth, and one to lie under the first, in grey. */
static int describe(struct shown *s, const struct iso_report *r, const struct iso_report_image *m,
                    const char *role)
{
	bool under = m == &r->overlay;
	int st = ISO_OK;

	*s = (struct shown){ .m = m, .role = role, .factor = 1 };
	s->all = m->array.n_dim == 4 ? m->array.dim[0] : 1;
	s->frames = s->all < ISO_VIEWER_FRAMES ? s->all : ISO_VIEWER_FRAMES;
	if (r->has_truth && !under && m != &r->truth && isfinite(m->error.nrmse)) s->factor = m->error.scale;
	memcpy(s->window, m->window, sizeof s->window);
	s->map = under ? "grey" : m->kind == ISO_WINDOW_SIGNED ? "blue-red" : "ember";
	if (under && m->kind == ISO_WINDOW_SIGNED)
		st = iso_window_choose(s->window, NULL, &m->volume, ISO_WINDOW_LEAST);
	if (m == &r->image[0]) st = take_choice(s, r);
	if (under && r->overlay_map) s->map = r->overlay_map;
	if (!(s->window[0] < s->window[1])) s->window[1] = s->window[0] + 1;
	return st ? st : compare_projection(s);
}

static int gather(struct shown *all, int *n, const struct iso_report *r)
{
	int st = ISO_OK;

	*n = 0;
	for (int i = 0; !st && i < r->n; i++) st = describe(&all[(*n)++], r, &r->image[i], "image");
	if (!st && r->has_truth) st = describe(&all[(*n)++], r, &r->truth, "truth");
	if (!st && r->has_overlay) st = describe(&all[(*n)++], r, &r->overlay, "overlay");
	return st;
}

static int put_maps(struct iso_text *t)
{
	struct iso_colormap map;
	int st = ISO_OK;

	iso_text_add(t, "\"maps\": {");
	for (const char *const *name = iso_picture_maps(); !st && *name; name++) {
		st = iso_colormap_make(&map, *name);
		iso_text_add(t, "%s\"%s\": \"", name == iso_picture_maps() ? "" : ", ", *name);
		iso_text_base64(t, map.colour, sizeof map.colour);
		iso_text_add(t, "\"");
	}
	iso_text_add(t, "}");
	return st;
}

/* What stands at the edges of a plane; of several images all have the first one's. */
static const char *labels_of(const struct iso_report *r)
{
	if (r->labels == ISO_LABEL_NONE) return "none";
	return r->labels == ISO_LABEL_ANATOMY && iso_shown_anatomic(&r->image[0].array) ? "anatomy" : "axes";
}

/* What the viewer shows first. */
static void put_start(struct iso_text *t, const struct iso_report *r)
{
	const struct iso_report_image *m = &r->image[0];
	double at[3];

	for (int a = 0; a < 3; a++) at[a] = iso_measure_place(&m->volume.grid, a, m->cut[a]);
	put_list(t, "at", 3, at);
	iso_text_add(t, ", \"frame\": %" PRId64 ", \"labels\": \"%s\", \"opacity\": %.9g",
	             r->frame < ISO_VIEWER_FRAMES ? r->frame : 0, labels_of(r),
	             r->opacity > 0 ? r->opacity : .4);
}

/* The packed bytes go into the page as soon as they are there, so that one image's lie in memory at a time. */
static int put_data(struct iso_text *t, struct shown *all, int n, const struct iso_report *r)
{
	struct iso_text heads = { 0 };
	int st = ISO_OK;

	for (int i = 0; !st && i < n; i++) {
		size_t most = (size_t)ISO_PACK_BYTES *
		              (size_t)(all[i].frames < ISO_PACK_FRAMES ? all[i].frames : ISO_PACK_FRAMES);

		st = iso_pack_make(&all[i].pack, &all[i].m->volume, all[i].frames, most);
		if (st) break;
		put_frames(t, &all[i].pack, i);
		iso_text_add(&heads, "%s", i ? ",\n" : "");
		st = put_head(&heads, &all[i]);
		iso_pack_free(&all[i].pack);
	}
	iso_text_part(t, "<script type='application/json' id='viewer-data'>{\"volumes\": [\n", &heads,
	              "],\n");
	if (!st) st = put_maps(t);
	put_start(t, r);
	iso_text_add(t, "}</script>\n");
	return st;
}

int iso_viewer_section(struct iso_text *t, const struct iso_report *r)
{
	struct shown all[MOST_SHOWN];
	int n, st;

	if ((st = gather(all, &n, r))) return st;
	iso_text_add(t, "%s", html);
	if ((st = put_data(t, all, n, r))) return st;
	iso_text_add(t, "<script type='module'>%s</script>\n", script);
	return ISO_OK;
}
