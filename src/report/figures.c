/* SPDX-License-Identifier: BSD-3-Clause */
/* The key figures of each image. */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>

/* ---- each writes its value, and nothing if there is none ---- */

static void put_sizes(struct iso_text *t, const struct iso_report_image *m)
{
	const struct iso_grid *g = &m->volume.grid;

	iso_text_add(t, "%" PRId64 " \u00d7 %" PRId64 " \u00d7 %" PRId64, g->n[0], g->n[1], g->n[2]);
	if (m->volume.in_mm)
		iso_text_add(t, "<small>of %.4g \u00d7 %.4g \u00d7 %.4g mm</small>", g->voxel[0], g->voxel[1],
		             g->voxel[2]);
}

static void put_top(struct iso_text *t, const struct iso_report_image *m)
{
	iso_text_add(t, "%.3g", m->range.max);
	iso_text_html(t, "<small>%s", m->array.unit);
	if (m->range.min < 0) iso_text_add(t, " (least \u2212%.3g)", -m->range.min);
	iso_text_add(t, "</small>");
}

static void put_method(struct iso_text *t, const struct iso_report_image *m)
{
	const json_t *record = iso_history_recon(&m->history);
	const json_t *labels = json_object_get(record, "ReconMethodParameterLabels");
	const json_t *values = json_object_get(record, "ReconMethodParameterValues");
	const char *name = iso_value_text(record, "ReconMethodName");
	size_t n = json_array_size(labels) < 4 ? json_array_size(labels) : 4;

	if (!name) return;
	iso_text_html(t, "<span class='caps'>%.40s</span>", name);
	for (size_t i = n; i-- > 0;) { /* iterations are the last */
		iso_text_add(t, i + 1 < n ? " \u00d7 " : "<small>");
		iso_value_in(t, "", json_array_get(values, i), " ");
		iso_value_put(t, json_array_get(labels, i));
	}
	iso_text_add(t, n ? "</small>" : "");
}

static void put_events(struct iso_text *t, const struct iso_report_image *m)
{
	const json_t *results = json_object_get(iso_history_recon(&m->history), "results");
	const json_t *events = json_object_get(results, "events");
	double used = iso_value_number(events, "used"), skipped = iso_value_number(events, "skipped");

	if (!(used >= 0)) return;
	iso_value_count(t, used);
	if (skipped > 0) {
		iso_text_add(t, "<small>");
		iso_value_count(t, skipped);
		iso_text_add(t, " left out</small>");
	}
}

static void put_time(struct iso_text *t, const struct iso_report_image *m)
{
	const json_t *record = iso_report_record(m);
	double s = NAN; /* no times, no sum */
	const char *key;
	json_t *v;

	json_object_foreach (json_object_get(record, "times_s"), key, v)
		if (json_is_number(v)) s = (isnan(s) ? 0 : s) + json_number_value(v);
	if (!(s >= 0)) return;
	iso_value_time(t, s);
	iso_text_html(t, "<small>%.40s", iso_value_text(record, "verb"));
	iso_value_in(t, " on ", json_object_get(record, "device"), "</small>");
}

static void put_memory(struct iso_text *t, const struct iso_report_image *m)
{
	double bytes = iso_value_number(iso_report_record(m), "peak_memory_bytes");

	if (bytes >= 0 && bytes < 0x1p62)
		iso_text_add(t, "%s<small>at its peak</small>", iso_bytes((int64_t)bytes));
}

static void put_error(struct iso_text *t, const struct iso_report_image *m)
{
	if (m->error.n && isfinite(m->error.nrmse))
		iso_text_add(t, "%.1f %%<small>NRMSE against the truth, at the scale that fits it</small>",
		             100 * m->error.nrmse);
}

static const struct figure {
	const char *name;
	void (*put)(struct iso_text *t, const struct iso_report_image *m);
} figures[] = {
	{ "Error", put_error },        { "Method", put_method }, { "Events", put_events },
	{ "Time", put_time },          { "Memory", put_memory }, { "Voxels", put_sizes },
	{ "Greatest value", put_top },
};

#define N_FIGURES ((int)(sizeof figures / sizeof figures[0]))

static void put_cards(struct iso_text *t, const struct iso_report_image *m)
{
	iso_text_add(t, "<dl class='cards'>\n");
	for (int k = 0; k < N_FIGURES; k++) {
		struct iso_text value = { 0 };

		figures[k].put(&value, m);
		if (value.n) iso_text_add(t, "<div><dt>%s</dt><dd>%s</dd></div>\n", figures[k].name, value.v);
		t->failed |= value.failed;
		iso_text_free(&value);
	}
	iso_text_add(t, "</dl>\n");
}

/* A row of cells, one an image; nothing if all are empty. */
static void put_figure_row(struct iso_text *t, const struct iso_report *r, const struct figure *f)
{
	struct iso_text cells = { 0 };
	bool any = false;

	for (int i = 0; i < r->n; i++) {
		iso_text_add(&cells, "<td>");
		size_t before = cells.n;

		f->put(&cells, &r->image[i]);
		any |= cells.n > before;
		iso_text_add(&cells, "</td>");
	}
	if (any && !cells.failed) iso_text_add(t, "<tr><th scope='row'>%s</th>%s</tr>\n", f->name, cells.v);
	t->failed |= cells.failed;
	iso_text_free(&cells);
}

static void put_figure_table(struct iso_text *t, const struct iso_report *r)
{
	iso_text_add(t, "<div class='scroll'><table class='figures' style='--n:%d'>\n<thead><tr><td></td>",
	             r->n);
	for (int i = 0; i < r->n; i++) {
		iso_text_add(t, "<th scope='col' class='k%d'>", i + 1);
		iso_text_html(t, "%.60s</th>", iso_value_base(r->image[i].path));
	}
	iso_text_add(t, "</tr></thead>\n<tbody>\n");
	for (int k = 0; k < N_FIGURES; k++) put_figure_row(t, r, &figures[k]);
	iso_text_add(t, "</tbody>\n</table></div>\n");
}

void iso_report_figures(struct iso_text *t, const struct iso_report *r)
{
	iso_text_add(t, "<section aria-label='Key figures'>\n");
	if (r->n == 1)
		put_cards(t, &r->image[0]);
	else
		put_figure_table(t, r);
	iso_text_add(t, "</section>\n");
}
