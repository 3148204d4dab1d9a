/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of a report: what maps are in regions of an image, as the records of maps tell (results.regions). */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_ROWS 200

static const json_t *regions_of(const struct iso_report_image *m)
{
	const json_t *record = iso_history_own(&m->history);

	return json_object_get(json_object_get(record, "results"), "regions");
}

static void put_number(struct iso_text *t, const json_t *row, const char *key)
{
	const double v = iso_value_number(row, key);

	if (isfinite(v))
		iso_text_add(t, "<td>%.4g</td>", v);
	else
		iso_text_add(t, "<td>\u2013</td>");
}

static void put_rows(struct iso_text *t, const json_t *list)
{
	static const char *const numbers[] = { "label", "frame", "voxels", "mean", "sd", "median" };
	const size_t n = json_array_size(list);

	for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
		const json_t *row = json_array_get(list, i);

		iso_text_add(t, "<tr>");
		iso_value_in(t, "<td>", json_object_get(row, "map"), "</td>");
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) put_number(t, row, numbers[k]);
		iso_text_add(t, "</tr>\n");
	}
	if (n > MOST_ROWS) iso_text_add(t, "<tr><td colspan='7'>and %zu more</td></tr>\n", n - MOST_ROWS);
}

/* Maps that were made together have the same table: the first image's. */
void iso_report_regions(struct iso_text *t, const struct iso_report *r)
{
	const json_t *list = NULL;

	for (int i = 0; i < r->n && json_array_size(list) == 0; i++) list = regions_of(&r->image[i]);
	if (json_array_size(list) == 0) return;
	iso_text_add(t, "<section>\n<h2>Regions</h2>\n<table><thead><tr><th>map</th><th>region</th>"
	                "<th>frame</th><th>voxels</th><th>mean</th><th>sd</th><th>median</th></tr></thead>"
	                "<tbody>\n");
	put_rows(t, list);
	iso_text_add(t, "</tbody></table>\n</section>\n");
}
