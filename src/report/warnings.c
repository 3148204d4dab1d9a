/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reader must know first, and what is told at the end: the warnings of images and of the steps that made
   them, and the notes of steps, which hardly touch the numbers (record_warn_share says which those are). */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_WARNINGS 20 /* of one record */

#define WARNING "<li><b>%.60s</b> " /* how one begins: the file that it is about */

/* The list of the step's record by that name. */
static void put_step(struct iso_text *t, const struct iso_step *step, const char *list_name)
{
	const json_t *list = json_object_get(step->record, list_name);
	const char *name = iso_value_base(step->file);
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && i < MOST_WARNINGS; i++) {
		iso_text_html(t, WARNING, name);
		iso_value_in(t, "", json_array_get(list, i), "</li>\n");
	}
	if (n <= MOST_WARNINGS) return;
	iso_text_html(t, WARNING, name);
	iso_text_add(t, "and %zu more</li>\n", n - MOST_WARNINGS);
}

static void put_image(struct iso_text *t, const struct iso_report *r, const struct iso_report_image *m)
{
	const char *name = iso_value_base(m->path);

	if (m->history.problem[0]) iso_text_html(t, WARNING "%s</li>\n", name, m->history.problem);
	if (m->range.not_finite) {
		iso_text_html(t, WARNING, name);
		iso_value_count(t, (double)m->range.not_finite);
		iso_text_add(t, " values are not finite</li>\n");
	}
	if (r->has_truth && m != &r->truth && !isfinite(m->error.nrmse))
		iso_text_html(t,
		              WARNING "can\u2019t be scaled to the truth: it is zero, or not finite</li>\n",
		              name);
}

/* Steps that images share come once. */
static bool seen_before(const struct iso_report *r, int image, const char *file)
{
	for (int i = 0; i < image; i++)
		for (int k = 0; k < r->image[i].history.n; k++)
			if (strcmp(r->image[i].history.step[k].file, file) == 0) return true;
	return false;
}

static void put_steps(struct iso_text *t, const struct iso_report *r, int image, const char *list_name)
{
	const struct iso_history *h = &r->image[image].history;

	for (int k = 0; k < h->n; k++)
		if (!seen_before(r, image, h->step[k].file)) put_step(t, &h->step[k], list_name);
}

void iso_report_warnings(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text list = { 0 };

	for (int i = 0; i < r->n; i++) {
		put_image(&list, r, &r->image[i]);
		put_steps(&list, r, i, "warnings");
	}
	iso_text_part(t,
	              "<section class='warnings' aria-labelledby='warnings'>\n"
	              "<h2 id='warnings'>Warnings</h2>\n<ul>\n",
	              &list, "</ul>\n</section>\n");
}

/* How many checks the step's run made of its inputs and its image, and which of them were doubtful. */
static void put_checks(struct iso_text *t, const struct iso_step *step)
{
	json_t *checks = json_object_get(step->record, "checks"), *value;
	size_t n = json_object_size(checks), doubtful = 0;
	const char *name;

	if (n == 0) return;
	iso_text_html(t, WARNING, iso_value_base(step->file));
	iso_text_add(t, "%zu made", n);
	json_object_foreach (checks, name, value) {
		if (!json_is_string(value) || strcmp(json_string_value(value), "fits") == 0) continue;
		if (doubtful++ < MOST_WARNINGS)
			iso_text_html(t, "%s%.40s", doubtful == 1 ? "; doubtful: " : ", ", name);
	}
	iso_text_add(t, doubtful ? "</li>\n" : ", all fit</li>\n");
}

void iso_report_checks(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text list = { 0 };

	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < r->image[i].history.n; k++)
			if (!seen_before(r, i, r->image[i].history.step[k].file))
				put_checks(&list, &r->image[i].history.step[k]);
	iso_text_part(t,
	              "<section aria-labelledby='checks'>\n<h2 id='checks'>Checks that inputs and image fit "
	              "each other</h2>\n<ul class='checks'>\n",
	              &list, "</ul>\n</section>\n");
}

void iso_report_notes(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text list = { 0 };

	for (int i = 0; i < r->n; i++) put_steps(&list, r, i, "notes");
	iso_text_part(t,
	              "<section>\n<details class='notes'>\n<summary>Notes: what hardly touches the numbers"
	              "</summary>\n<ul>\n",
	              &list, "</ul>\n</details>\n</section>\n");
}
