/* SPDX-License-Identifier: BSD-3-Clause */
/* Image quality after NEMA NU 2, where the spheres are known: measured, and told as a table. */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- measured ---- */

/* The activity itself, not the attenuation that was made with it. */
static bool makes_spheres(const struct iso_step *step)
{
	const json_t *parameters = json_object_get(step->record, "parameters");
	const char *phantom = iso_value_text(parameters, "phantom"),
		   *out = iso_value_text(parameters, "output");

	return strcmp(iso_value_text(step->record, "verb"), "phantom") == 0 && phantom &&
	       strcmp(phantom, "spheres") == 0 && out &&
	       strcmp(iso_value_base(out), iso_value_base(step->file)) == 0;
}

static bool of_spheres(const struct iso_report_image *m)
{
	for (int k = 0; k < m->history.n; k++)
		if (makes_spheres(&m->history.step[k])) return true;
	return false;
}

static int measure(struct iso_report_image *m, const struct iso_nema *spheres)
{
	const struct iso_grid *g = &m->volume.grid;
	const struct iso_array x = { .n_dim = 3,
		                     .dim = { g->n[2], g->n[1], g->n[0] },
		                     .n = iso_grid_voxels(g),
		                     .v = (iso_real *)m->volume.v, /* is read alone */
		                     .has_grid = m->volume.in_mm,
		                     .grid = *g };
	int st;

	m->nema.size = sizeof m->nema;
	if ((st = iso_measure_nema(&m->nema, &x, spheres)))
		snprintf(m->no_nema, sizeof m->no_nema, "%s", iso_message());
	return st;
}

int iso_report_spheres(struct iso_report *r, const char *description)
{
	int st;

	r->has_spheres = description || of_spheres(&r->truth);
	for (int i = 0; i < r->n; i++) r->has_spheres |= of_spheres(&r->image[i]);
	if (!r->has_spheres) return ISO_OK;
	r->spheres.size = sizeof r->spheres;
	if ((st = iso_nema_read(&r->spheres, description))) return st;
	for (int i = 0; i < r->n; i++)
		if ((st = measure(&r->image[i], &r->spheres)) && description)
			return iso_fail(st, "%.200s: %.256s", r->image[i].path, r->image[i].no_nema);
	if (r->has_truth) measure(&r->truth, &r->spheres);
	return ISO_OK;
}

/* ---- told ---- */

/* Images, then the truth. */
static const struct iso_report_image *column(const struct iso_report *r, int i)
{
	return i < r->n ? &r->image[i] : &r->truth;
}

static void put_head(struct iso_text *t, const struct iso_report *r, int columns)
{
	iso_text_add(t, "<thead>\n");
	if (columns > 1) iso_text_add(t, "<tr><td colspan='2'></td>");
	for (int i = 0; columns > 1 && i < columns; i++)
		iso_text_html(t, "<th scope='colgroup' colspan='2'>%.60s</th>",
		              i < r->n ? iso_value_base(r->image[i].path) : "Truth");
	iso_text_add(t, "%s<tr><th scope='col'>Sphere</th><th scope='col'>Ratio</th>",
	             columns > 1 ? "</tr>\n" : "");
	for (int i = 0; i < columns; i++)
		iso_text_add(
			t,
			"<th scope='col'>Contrast recovery</th><th scope='col'>Background variability</th>");
	iso_text_add(t, "</tr>\n</thead>\n");
}

static void put_percent(struct iso_text *t, double v)
{
	if (isfinite(v))
		iso_text_add(t, "<td>%s%.1f %%</td>", v < 0 ? "\u2212" : "", fabs(v));
	else
		iso_text_add(t, "<td>\u2013</td>");
}

static void put_sphere(struct iso_text *t, const struct iso_report *r, int columns, int k)
{
	iso_text_add(t, "<tr><th scope='row'>%.4g mm</th><td>%.4g</td>", r->spheres.sphere[k].diameter,
	             r->spheres.sphere[k].ratio);
	for (int i = 0; i < columns; i++) {
		const struct iso_report_image *m = column(r, i);

		put_percent(t, m->no_nema[0] ? NAN : m->nema.sphere[k].contrast);
		put_percent(t, m->no_nema[0] ? NAN : m->nema.sphere[k].variability);
	}
	iso_text_add(t, "</tr>\n");
}

static void put_lung(struct iso_text *t, const struct iso_report *r, int columns)
{
	iso_text_add(t, "<tr><th scope='row'>Lung residual</th><td></td>");
	for (int i = 0; i < columns; i++) {
		put_percent(t, column(r, i)->no_nema[0] ? NAN : column(r, i)->nema.lung);
		iso_text_add(t, "<td></td>");
	}
	iso_text_add(t, "</tr>\n");
}

void iso_report_nema(struct iso_text *t, const struct iso_report *r)
{
	const int columns = r->n + r->has_truth;

	if (!r->has_spheres) return;
	iso_text_add(t, "<section>\n<h2>Image quality</h2>\n<p>After NEMA NU 2: of each sphere the share of "
	                "its contrast that the image shows, and how much discs of its size differ from each "
	                "other in the background.</p>\n<div class='scroll'><table class='measured nema'>\n");
	put_head(t, r, columns);
	iso_text_add(t, "<tbody>\n");
	for (int k = 0; k < r->spheres.n_spheres; k++) put_sphere(t, r, columns, k);
	if (r->spheres.has_lung) put_lung(t, r, columns);
	iso_text_add(t, "</tbody></table></div>\n");
	for (int i = 0; i < columns; i++)
		if (column(r, i)->no_nema[0])
			iso_text_html(t, "<p><b>%.60s</b> %s</p>\n", iso_value_base(column(r, i)->path),
			              column(r, i)->no_nema);
	iso_text_add(t, "</section>\n");
}
