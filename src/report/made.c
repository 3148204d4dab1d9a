/* SPDX-License-Identifier: BSD-3-Clause */
/* How the images of a report were made: times by stage, commands with their inputs, parameters. */
#include "page.h"

#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_ROWS 200 /* of a table */
#define MOST_STAGES 20
#define MOST_COMMAND 4000 /* characters */
#define LONGEST_WORD 32   /* bytes, that a phone shows on one line */

/* ---- times ---- */

static void put_times(struct iso_text *t, const struct iso_report_image *m, int colour)
{
	const json_t *record = iso_report_record(m);
	json_t *times = json_object_get(record, "times_s"), *v;
	double top = 0;
	const char *key;
	int n = 0;

	if (json_object_size(times) == 0) return;
	iso_text_html(t,
	              "<figure><figcaption><b>%.60s</b> %.40s</figcaption>\n<div class='scroll'><table "
	              "class='bars'>\n",
	              iso_value_base(m->path), iso_value_text(record, "verb"));
	json_object_foreach (times, key, v) top = fmax(top, json_number_value(v));
	json_object_foreach (times, key, v) {
		double s = json_number_value(v);

		if (!json_is_number(v) || !(s >= 0) || n++ >= MOST_STAGES) continue;
		iso_text_html(t, "<tr><th scope='row'>%.40s</th>", key);
		iso_text_add(t, "<td><span class='bar b%d' style='width:%.1f%%'></span></td><td>", colour,
		             top > 0 ? 100 * s / top : 0);
		iso_value_time(t, s);
		iso_text_add(t, "</td></tr>\n");
	}
	iso_text_add(t, "</table></div>\n</figure>\n");
}

void iso_report_times(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text all = { 0 };

	for (int i = 0; i < r->n; i++) put_times(&all, &r->image[i], i + 1);
	iso_text_part(t, "<section>\n<h2>Time</h2>\n<div class='charts'>\n", &all, "</div>\n</section>\n");
}

/* ---- steps ---- */

static void put_inputs(struct iso_text *t, const json_t *inputs)
{
	size_t n = json_array_size(inputs);

	if (n == 0) return;
	iso_text_add(t, "<div class='scroll'><table class='inputs'><thead><tr><th scope='col'>Read"
	                "</th><th scope='col'>Size</th><th scope='col'>XXH64</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
		const json_t *input = json_array_get(inputs, i);
		const json_t *whole = json_object_get(input, "xxh64"); /* none of a very large file */
		const json_t *part = whole ? NULL : json_object_get(input, "xxh64_of_sample");
		double bytes = iso_value_number(input, "bytes");

		iso_value_in(t, "<tr><td>", json_object_get(input, "name"), "</td><td>");
		iso_text_add(t, "%s</td>", bytes >= 0 && bytes < 0x1p62 ? iso_bytes((int64_t)bytes) : "");
		iso_value_in(t, "<td><code>", part ? part : whole, "</code>");
		iso_text_add(t, "%s</td></tr>\n", part ? " of a sample" : "");
	}
	iso_text_add(t, "</tbody></table></div>\n");
}

/* A text of the record, after a dot and the words before it; nothing if it is none. */
static void put_fact(struct iso_text *t, const char *before, const json_t *record, const char *key)
{
	const json_t *value = json_object_get(record, key);

	if (!json_is_string(value)) return;
	iso_text_add(t, " \u00b7 %s", before);
	iso_value_put(t, value);
}

/* Words that fit a line are not broken at their hyphens. */
static void put_command(struct iso_text *t, const char *command)
{
	struct iso_text escaped = { 0 };

	iso_text_cut(&escaped, command, MOST_COMMAND);
	iso_text_add(t, "<pre><code>");
	for (const char *word = escaped.n ? escaped.v : ""; *word;) {
		int n = (int)strcspn(word, " "), space = (int)strspn(word + n, " ");

		iso_text_add(t, n <= LONGEST_WORD ? "<span>%.*s</span>%.*s" : "%.*s%.*s", n, word, space,
		             word + n);
		word += n + space;
	}
	iso_text_add(t, "</code></pre>\n");
	t->failed |= escaped.failed;
	iso_text_free(&escaped);
}

static void put_step(struct iso_text *t, const struct iso_step *step)
{
	const char *command = iso_value_text(step->record, "command");

	iso_text_html(t, "<li><p><b>%.40s</b><small>", iso_value_text(step->record, "verb"));
	put_fact(t, "", step->record, "started");
	put_fact(t, "", step->record, "device");
	put_fact(t, "Isotome ", step->record, "isotome");
	iso_text_add(t, "</small></p>\n");
	if (command) put_command(t, command);
	put_inputs(t, json_object_get(step->record, "inputs"));
	iso_text_add(t, "</li>\n");
}

/* A command that wrote two files left two records of one run. */
static bool same_run(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "command"), json_object_get(b, "command")) &&
	       json_equal(json_object_get(a, "started"), json_object_get(b, "started"));
}

void iso_report_steps(struct iso_text *t, const struct iso_report *r)
{
	const json_t *done[ISO_REPORT_MOST * ISO_MOST_STEPS];
	int n = 0;

	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < r->image[i].history.n; k++) {
			const struct iso_step *step = &r->image[i].history.step[k];
			int j = 0;

			while (j < n && !same_run(done[j], step->record)) j++;
			if (j < n) continue;
			if (n == 0)
				iso_text_add(t, "<section>\n<h2>How it was made</h2>\n<ol class='steps'>\n");
			done[n++] = step->record;
			put_step(t, step);
		}
	if (n) iso_text_add(t, "</ol>\n</section>\n");
}

/* ---- parameters ---- */

static const json_t *parameter(const struct iso_report *r, int i, const char *key)
{
	return json_object_get(json_object_get(iso_report_record(&r->image[i]), "parameters"), key);
}

/* Whether the images agree on it, and whether any has it. */
static bool agrees(const struct iso_report *r, const char *key, bool *set)
{
	bool same = true;

	*set = false;
	for (int i = 0; i < r->n; i++) {
		const json_t *v = parameter(r, i, key), *first = parameter(r, 0, key);

		*set |= v && !json_is_null(v);
		same &= v == first || json_equal(v, first);
	}
	return same;
}

static void put_parameter(struct iso_text *t, const struct iso_report *r, const char *key, bool same)
{
	iso_text_add(t, "<tr%s>", same ? "" : " class='differs'");
	iso_text_html(t, "<th scope='row'>%.60s</th>", key);
	for (int i = 0; i < r->n; i++) iso_value_in(t, "<td>", parameter(r, i, key), "</td>");
	iso_text_add(t, "</tr>\n");
}

/* Rows of the parameters that image i brings, less those of the images before it; `unset` gathers
   the names of those that have no value. */
static void put_rows(struct iso_text *t, struct iso_text *unset, const struct iso_report *r, int i)
{
	json_t *all = json_object_get(iso_report_record(&r->image[i]), "parameters");
	const char *key;
	json_t *v;
	int n = 0;

	json_object_foreach (all, key, v) {
		bool set, same = agrees(r, key, &set), before = false;

		for (int k = 0; k < i; k++) before |= parameter(r, k, key) != NULL;
		if (before || n++ >= MOST_ROWS) continue;
		if (set)
			put_parameter(t, r, key, same);
		else
			iso_text_html(unset, "%s%.60s", unset->n ? ", " : "", key);
	}
}

void iso_report_parameters(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text rows = { 0 }, unset = { 0 };

	for (int i = 0; i < r->n; i++) put_rows(&rows, &unset, r, i);
	if (rows.n) {
		iso_text_add(t, "<section>\n<h2>Parameters</h2>\n<div class='scroll'>"
		                "<table class='parameters'>\n");
		if (r->n > 1) iso_text_add(t, "<thead><tr><td></td>");
		for (int i = 0; r->n > 1 && i < r->n; i++)
			iso_text_html(t, "<th scope='col'>%.60s</th>", iso_value_base(r->image[i].path));
		if (r->n > 1) iso_text_add(t, "</tr></thead>\n");
		iso_text_part(t, "<tbody>\n", &rows, "</tbody></table></div>\n");
		iso_text_part(t, "<p><small>Not given: ", &unset, ".</small></p>\n");
		iso_text_add(t, "</section>\n");
	}
	t->failed |= rows.failed || unset.failed;
	iso_text_free(&rows);
	iso_text_free(&unset);
}
