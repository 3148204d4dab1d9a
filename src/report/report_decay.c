/* SPDX-License-Identifier: BSD-3-Clause */
/* Lives of positronium in a report: a row a region, and its times beside the curve of the fit, as the records of maps tell
   (results.lifetime_regions). */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>
#include <stdio.h>

enum { MOST_BINS = 256, MOST_CHARTS = 24 };

static const json_t *results_of(const struct iso_report_image *m)
{
	return json_object_get(iso_history_own(&m->history), "results");
}

/* Points at the middle of bins; what is 0 has no logarithm, and is left out. */
static int64_t take(double *x, double *y, const json_t *list, double from, double to)
{
	const size_t n = json_array_size(list) < MOST_BINS ? json_array_size(list) : MOST_BINS;

	for (size_t i = 0; i < n; i++) {
		const double v = json_number_value(json_array_get(list, i));

		x[i] = from + (to - from) * ((double)i + .5) / (double)n;
		y[i] = v > 0 ? log10(v) : NAN;
	}
	return (int64_t)n;
}

static void draw(struct iso_text *t, const json_t *region, const json_t *life)
{
	double x[2][MOST_BINS], y[2][MOST_BINS];
	const double from = iso_value_number(life, "window_from_ns"),
		     to = iso_value_number(life, "window_to_ns");
	const int64_t n = take(x[0], y[0], json_object_get(region, "curve_counts"), from, to);
	const int64_t m = take(x[1], y[1], json_object_get(region, "curve_fit"), from, to);
	const struct iso_svg_curve curves[] = { { "triples", 1, n, x[0], y[0] },
		                                { "fit", 0, m, x[1], y[1] } };
	const struct iso_svg_chart chart = {
		"Times of a region, and the fit", "time, ns", "log10 of triples", 2, curves, ISO_SVG_PLAIN
	};

	iso_text_add(t, "<figure class='chart'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "<figcaption><b>region %d</b></figcaption></figure>\n",
	             (int)iso_value_number(region, "label"));
}

static void put_rows(struct iso_text *t, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		const double tau = iso_value_number(row, "tau_ns"), error = iso_value_number(row, "error_ns");

		iso_text_add(t, "<tr><td>%d</td>", (int)iso_value_number(row, "label"));
		for (int k = 0; k < 2; k++)
			if (isfinite(k ? error : tau))
				iso_text_add(t, "<td>%.4g</td>", k ? error : tau);
			else
				iso_text_add(t, "<td>\u2013</td>");
		iso_text_add(t, "</tr>\n");
	}
}

/* Maps that were made together have the same table: the first image's. */
void iso_report_decay(struct iso_text *t, const struct iso_report *r)
{
	const json_t *results = NULL, *list = NULL;

	for (int i = 0; i < r->n && json_array_size(list) == 0; i++) {
		results = results_of(&r->image[i]);
		list = json_object_get(results, "lifetime_regions");
	}
	if (json_array_size(list) == 0) return;
	iso_text_add(
		t, "<section>\n<h2>Lives of regions</h2>\n<table><thead><tr><th>region</th><th>life, ns</th>"
		   "<th>standard error, ns</th></tr></thead><tbody>\n");
	put_rows(t, list);
	iso_text_add(
		t,
		"</tbody></table>\n<p>Times from the prompt photon to the annihilation, each triple dealt to "
		"the "
		"voxels that it may come from, and what the maps make of them.</p>\n<div class='charts'>\n");
	for (size_t i = 0; i < json_array_size(list) && i < MOST_CHARTS; i++)
		draw(t, json_array_get(list, i), json_object_get(results, "lifetime"));
	iso_text_add(t, "</div>\n</section>\n");
}
