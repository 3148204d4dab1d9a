/* SPDX-License-Identifier: BSD-3-Clause */
/* The page, and the record, of the experiments of Van Gendt 2021. */
#include "reproduce_vangendt.h"

#include "papers/reproduce_page.h"
#include "report/page.h"
#include "report/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Table 2 as the paper has it: 64-bit floats but on the CPU, end-to-end, 20 iterations. */
static const struct {
	const char *program, *device;
	double seconds[VANGENDT_SIZES];
} paper_table_2[] = {
	{ "QETIR (C++, float32)", "Xeon E5-2637 v2, one thread", { 21.52, 109.68, 2455.42 } },
	{ "Basic Julia", "Tesla V100", { .72, 3.05, 57.17 } },
	{ "Basic Julia", "RTX 2080 Ti", { 1.13, 4.88, 71.15 } },
	{ "Optimised Julia", "Tesla V100", { 1.45, 4.48, 20.03 } },
	{ "Optimised Julia", "RTX 2080 Ti", { 1.74, 7.14, 33.02 } },
};

#define N_PAPER ((int)(sizeof paper_table_2 / sizeof paper_table_2[0]))

/* ---- cells ---- */

static void put_seconds(struct iso_text *t, double s)
{
	iso_text_add(t, s < 10 ? "%.3g\u202fs" : "%.1f\u202fs", s);
}

/* The time, and how it came about if it is not plainly measured. */
static void put_cell(struct iso_text *t, const struct vangendt_cell *c, int asked)
{
	iso_text_add(t, "<td>");
	if (isnan(c->seconds)) {
		iso_text_add(t, "<small>not measured: ");
		iso_text_cut(t, c->why, 120);
		iso_text_add(t, "</small></td>");
		return;
	}
	put_seconds(t, c->seconds);
	if (c->ran < asked) iso_text_add(t, "<small>%d of %d iterations run, scaled</small>", c->ran, asked);
	iso_text_add(t, "</td>");
}

static void put_paper(struct iso_text *t, double s)
{
	iso_text_add(t, "<td>");
	if (isnan(s))
		iso_text_add(t, "\u2013");
	else
		put_seconds(t, s);
	iso_text_add(t, "</td>");
}

static void put_ratio(struct iso_text *t, double slow_s, double fast_s)
{
	if (isnan(slow_s) || isnan(fast_s))
		iso_text_add(t, "<td>\u2013</td>");
	else
		iso_text_add(t, slow_s / fast_s < 9.95 ? "<td>\u00d7%.1f</td>" : "<td>\u00d7%.0f</td>",
		             slow_s / fast_s);
}

/* ---- Table 2 ---- */

static void put_rung(struct iso_text *t, const struct vangendt *v, const struct vangendt_rung *r)
{
	iso_text_add(t, "<tr><th scope='row'>%s<small>%s</small></th><td>", r->program, r->numbers);
	iso_text_escaped(t, r->device);
	iso_text_add(t, "</td>");
	for (int k = 0; k < VANGENDT_SIZES; k++) {
		put_cell(t, &r->cell[k], VANGENDT_LADDER_ITERATIONS);
		put_ratio(t, v->rung[0].cell[k].seconds, r->cell[k].seconds);
	}
	iso_text_add(t, "</tr>\n");
}

static void put_paper_table_2(struct iso_text *t)
{
	static const char *const heads[] = { "In the paper", "Device", "32\u00b3", "128\u00b3", "512\u00b3" };

	page_table_open(t, 5, heads);
	for (int i = 0; i < N_PAPER; i++) {
		iso_text_add(t, "<tr><th scope='row'>%s</th><td>%s</td>", paper_table_2[i].program,
		             paper_table_2[i].device);
		for (int k = 0; k < VANGENDT_SIZES; k++) put_paper(t, paper_table_2[i].seconds[k]);
		iso_text_add(t, "</tr>\n");
	}
	page_table_close(t);
}

static void put_table_2(struct iso_text *t, const struct vangendt *v)
{
	static const char *const heads[] = {
		"Program", "Device", "32\u00b3", "", "128\u00b3", "", "512\u00b3", "",
	};

	iso_text_add(t,
	             "<section>\n<h2>Table 2: from a basic to an optimised kernel</h2>\n<p>Baseline "
	             "MLEM without sensitivity, %d iterations, ",
	             VANGENDT_LADDER_ITERATIONS);
	iso_value_count(t, v->scale->ladder_events);
	iso_text_add(t, " events of an ideal ring (330 mm radius, 200 mm long; a cylinder and three "
	                "lines), images 512 mm wide. Times run from the events in host memory to the image "
	                "there; \u00d7 is the speed-up over the scalar loop. Each CUDA row "
	                "adds one step of the paper\u2019s section 4 to the row before it.</p>\n");
	page_table_open(t, 8, heads);
	for (int i = 0; i < v->n_rungs; i++) put_rung(t, v, &v->rung[i]);
	page_table_close(t);
	put_paper_table_2(t);
	iso_text_add(t, "<p>The paper does not tell its number of events, so rows compare with rows "
	                "of the same table only. Its kernel adds to the image without atomics and loses "
	                "what two events add at once (Figure 2, lines 33 to 36); every row here adds "
	                "atomically. Its 122-fold speed-up is that of 512\u00b3 alone: for 32\u00b3 and "
	                "128\u00b3 its optimised kernel is slower than its basic one.</p>\n</section>\n");
}

/* ---- Table 3 ---- */

static void put_row(struct iso_text *t, const struct vangendt_row *r)
{
	iso_text_add(t, "<tr><th scope='row'>%s<small>%s</small></th>", r->name, r->what);
	put_cell(t, &r->cpu, r->cpu.ran);
	put_cell(t, &r->cuda, r->cuda.ran);
	put_ratio(t, r->cpu.seconds, r->cuda.seconds);
	for (int k = 0; k < 3; k++) put_paper(t, r->paper[k]);
	iso_text_add(t, "<td>%.1f\u202f%%</td>", 100 * r->nrmse);
	iso_text_add(t, isnan(r->difference) ? "<td>\u2013</td>" : "<td>%.1e</td>", r->difference);
	iso_text_add(t, "</tr>\n");
}

static void put_setting_3(struct iso_text *t, const struct vangendt *v)
{
	iso_text_add(t, "<section>\n<h2>Table 3: the extensions</h2>\n<p>Phantom <code>body</code> in a "
	                "scanner two metres long, ");
	iso_value_count(t, (double)v->events);
	iso_text_add(t,
	             " simulated events with attenuation and times of %g ps, %" PRId64 " \u00d7 %" PRId64
	             " \u00d7 %" PRId64 " voxels of %g mm, %d iterations (OSEM: %d passes of %d "
	             "subsets, since the paper\u2019s OSEM takes half the time of its MLEM). Times run "
	             "from events in memory to the image there, all %s of the CPU; the sensitivity is "
	             "an input, made in ",
	             VANGENDT_TOF_FWHM_PS, v->grid.n[0], v->grid.n[1], v->grid.n[2], v->grid.voxel[0],
	             VANGENDT_BODY_ITERATIONS, VANGENDT_BODY_ITERATIONS / 2, VANGENDT_SUBSETS,
	             iso_ctx_device_name(v->cpu));
	put_seconds(t, v->sens_s[0]);
	iso_text_add(t, " without and ");
	put_seconds(t, v->sens_s[1]);
	iso_text_add(t, " with attenuation. NRMSE is against the phantom where it has activity, "
	                "with the scale that fits best; the last column is the relative difference of the "
	                "two devices\u2019 images.</p>\n");
}

static void put_table_3(struct iso_text *t, const struct vangendt *v)
{
	static const char *const heads[] = {
		"Algorithm",
		"CPU",
		"CUDA",
		"Speed-up",
		"Paper: CPU, one thread",
		"Paper: Tesla V100",
		"Paper: RTX 2080 Ti",
		"NRMSE",
		"CUDA \u2212 CPU",
	};

	put_setting_3(t, v);
	page_table_open(t, 9, heads);
	for (int i = 0; i < VANGENDT_ROWS; i++) put_row(t, &v->row[i]);
	page_table_close(t);
	iso_text_add(t, "<p>Attenuation in S is the likelihood\u2019s own way; the paper\u2019s eq. 7 "
	                "divides each event by its attenuation factor instead, which needs that factor "
	                "for every event and an S without attenuation.</p>\n</section>\n");
}

/* ---- pictures ---- */

static int put_picture(struct iso_text *t, const struct iso_pixels *p, const char *name, double nrmse)
{
	char note[48] = "";

	if (!isnan(nrmse)) snprintf(note, sizeof note, "NRMSE %.1f\u202f%%", 100 * nrmse);
	return page_picture(t, p, name, "coronal slice, head to the right", note);
}

static int put_pictures(struct iso_text *t, const struct vangendt *v)
{
	int st;

	iso_text_add(t, "<section>\n<h2>Images of Table 3</h2>\n<p>Each image is multiplied by the "
	                "factor that brings it nearest to the phantom; all show the coronal slice "
	                "through the middle, head to the right, in the same colours, from 0 to a fifth of "
	                "the phantom\u2019s greatest value.</p>\n<div class='row' style='--n:3'>\n");
	st = put_picture(t, &v->truth, "Phantom", NAN);
	for (int i = 0; i < VANGENDT_ROWS && !st; i++)
		st = put_picture(t, &v->row[i].picture, v->row[i].name, v->row[i].nrmse);
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* Those rows that differ most from one another: more would not be told apart. */
static void put_profile(struct iso_text *t, const struct vangendt *v)
{
	static const int shown[] = { 0, 1, 3, 5, 7 };
	struct iso_svg_curve curve[6] = { { "Phantom", 0, v->samples, v->place, v->truth_profile } };
	const struct iso_svg_chart chart = {
		.label = "Profile along x through the middle of the body",
		.x_label = "x, mm",
		.y_label = "activity",
		.n = 6,
		.curve = curve,
		.from_zero = true,
	};

	for (int k = 0; k < 5; k++) {
		const struct vangendt_row *r = &v->row[shown[k]];

		curve[k + 1] = (struct iso_svg_curve){ r->name, k + 1, v->samples, v->place, r->profile };
	}
	iso_text_add(t, "<section>\n<h2>Profile</h2>\n<p>Along x through the middle of the image, "
	                "averaged over discs of 24 mm across it.</p>\n<figure class='chart wide'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n</section>\n");
}

static void put_machine(struct iso_text *t, const struct vangendt *v)
{
	iso_text_add(t,
	             "<section aria-label='Machine'>\n<dl class='cards'>\n<div><dt>Scale</dt><dd>%s"
	             "</dd></div>\n<div><dt>CPU</dt><dd>%s</dd></div>\n<div><dt>CUDA</dt><dd>",
	             v->scale->name, iso_ctx_device_name(v->cpu));
	if (v->cuda)
		iso_text_escaped(t, iso_ctx_device_name(v->cuda));
	else {
		iso_text_add(t, "none<small>");
		iso_text_cut(t, v->no_cuda, 200);
		iso_text_add(t, "</small>");
	}
	iso_text_add(t, "</dd></div>\n</dl>\n</section>\n");
}

int vangendt_page(struct iso_text *t, const struct vangendt *v)
{
	int st;

	iso_page_open(t, "Isotome reproduces", "Van Gendt et al. 2021: list-mode PET on GPUs");
	put_machine(t, v);
	put_table_2(t, v);
	put_table_3(t, v);
	if ((st = put_pictures(t, v))) return st;
	put_profile(t, v);
	iso_page_close(t, "reproduce");
	return t->failed ? iso_fail_memory("reproduce", (int64_t)t->n) : ISO_OK;
}

/* ---- the record ---- */

static json_t *cell_json(const struct vangendt_cell *c)
{
	if (isnan(c->seconds)) return json_pack("{s:n, s:s}", "seconds", "not_measured", c->why);
	return record_pack("{s:f, s:i}", "seconds", c->seconds, "iterations_run", c->ran);
}

static int record_table_2(const struct vangendt *v)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int i = 0; i < v->n_rungs; i++) {
		const struct vangendt_rung *r = &v->rung[i];
		json_t *row = json_pack("{s:s, s:s, s:s}", "program", r->program, "numbers", r->numbers,
		                        "device", r->device);

		for (int k = 0; k < VANGENDT_SIZES; k++) {
			char key[16];
			json_t *cell = cell_json(&r->cell[k]);

			bad |= r->threads[k] &&
			       json_object_set_new(cell, "threads", json_integer(r->threads[k]));
			snprintf(key, sizeof key, "%d", vangendt_edge[k]);
			bad |= json_object_set_new(row, key, cell);
		}
		bad |= json_array_append_new(rows, row);
	}
	return record_result(&v->c->record, "table_2", bad ? NULL : rows);
}

static int record_table_3(const struct vangendt *v)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int i = 0; i < VANGENDT_ROWS; i++) {
		const struct vangendt_row *r = &v->row[i];

		bad |= json_array_append_new(
			rows, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:[o,o,o]}", "algorithm", r->name,
		                        "image", r->file, "cpu", cell_json(&r->cpu), "cuda",
		                        cell_json(&r->cuda), "nrmse", record_real(r->nrmse), "cuda_from_cpu",
		                        record_real(r->difference), "paper_s", record_real(r->paper[0]),
		                        record_real(r->paper[1]), record_real(r->paper[2])));
	}
	return record_result(&v->c->record, "table_3", bad ? NULL : rows);
}

int vangendt_record(const struct vangendt *v)
{
	int st;

	if ((st = record_table_2(v)) || (st = record_table_3(v))) return st;
	return record_result(&v->c->record, "sensitivity_s",
	                     record_pack("[f,f]", v->sens_s[0], v->sens_s[1]));
}

void vangendt_free(struct vangendt *v)
{
	for (int i = 0; i < VANGENDT_ROWS; i++) {
		iso_pixels_free(&v->row[i].picture);
		free(v->row[i].profile);
	}
	iso_pixels_free(&v->truth);
	free(v->truth_profile);
	free(v->place);
}
