/* SPDX-License-Identifier: BSD-3-Clause */
/* The page, and the record, of the experiments of Chou 2012. */
#include "reproduce_chou.h"

#include "cmd/measure/measure.h"
#include "report/page.h"
#include "papers/reproduce_page.h"

#include <math.h>
#include <stdio.h>

/* Tables 2 and 3, s: forward and back per subset, then per iteration. */
static const struct {
	const char *name;
	double forward_sub, forward, back_sub, back;
} paper[] = {
	{ "CPU, Derenzo", 198.78, 14312, 331.57, 23873 },
	{ "Tesla C2070, Derenzo", 1.55, 111.38, 9.42, 678.27 },
	{ "CPU, rat", 246.68, 17761, 376.96, 27141 },
	{ "Tesla C2070, rat", 2.06, 148.23, 10.55, 759.80 },
};

static const double paper_table_1[ISO_SRM_STEPS] = { 2417, 171.36, 111.38 };

/* ---- Derenzo ---- */

static void put_rods(struct iso_text *t, const struct chou *m)
{
	static const char *const heads[] = {
		"Rods",     "Peak/valley after 1", "Resolved",  "Peak/valley after 24",
		"Resolved", "FWHM after 24",       "quartiles",
	};

	page_table_open(t, 7, heads);
	for (int i = 0; i < m->image[0].rods.n; i++) {
		const struct iso_rods_size *last = &m->image[1].rods.size[i];

		iso_text_add(t, "<tr><th scope='row'>%g mm</th>", last->diameter);
		for (int k = 0; k < CHOU_SHOWN; k++) {
			const struct iso_rods_size *s = &m->image[k].rods.size[i];

			page_number_cell(t, 1 / s->valley, 3);
			iso_text_add(t, "<td>%s<small>%.0f\u202f%% of pairs</small></td>",
			             s->valley < ISO_RODS_VALLEY ? "yes" : "no", 100 * s->resolved);
		}
		page_number_cell(t, last->fwhm.median, 3);
		if (last->fwhm.n > 0)
			iso_text_add(t, "<td>%.3g\u2013%.3g</td></tr>\n", last->fwhm.low, last->fwhm.high);
		else
			iso_text_add(t, "<td>\u2013</td></tr>\n");
	}
	page_table_close(t);
}

static void put_line(struct iso_text *t, const struct chou *m, int k)
{
	const struct iso_svg_curve curve[] = {
		{ "Phantom", 0, CHOU_SAMPLES, m->place, m->truth[k] },
		{ "1 iteration", 1, CHOU_SAMPLES, m->place, m->image[0].profile[k] },
		{ "24 iterations", 2, CHOU_SAMPLES, m->place, m->image[1].profile[k] },
	};
	const struct iso_svg_chart chart = {
		.label = "Profile along z",
		.x_label = "z, mm",
		.y_label = "over its mean",
		.n = 3,
		.curve = curve,
		.from_zero = true,
	};

	iso_text_add(t, "<h3>Profile at x = %g mm</h3>\n<figure class='chart wide'>", chou_lines[k]);
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n");
}

static int put_derenzo(struct iso_text *t, const struct chou *m)
{
	char name[32];
	int st = ISO_OK;

	iso_text_add(t,
	             "<section>\n<h2>Figures 7 to 9: the Derenzo phantom</h2>\n<p>Rods along y; "
	             "expected counts from the matrix itself, then Poisson noise, %.3g in all (the paper: "
	             "1.72e8); OSEM with %d subsets dealt at random, ",
	             m->counts, CHOU_SUBSETS);
	page_time(t, m->seconds);
	iso_text_add(
		t, " an iteration. Rods count as resolved where the value halfway between two of "
		   "them is below 0.735 of theirs, in the mean of all pairs. The paper tells no diameter of "
		   "the phantom: 30 mm here. As in the paper, data and image share one matrix, so nothing of "
		   "the scanner is left unmodelled: rods of a real scan are harder to resolve.</p>\n");
	put_rods(t, m);
	iso_text_add(t, "<div class='row' style='--n:2'>\n");
	for (int k = 0; k < CHOU_SHOWN && !st; k++) {
		snprintf(name, sizeof name, "After %d iteration%s", chou_shown[k], k ? "s" : "");
		st = page_picture(t, &m->image[k].pixels, name, "slice across y", "");
	}
	iso_text_add(t, "</div>\n");
	for (int k = 0; k < CHOU_LINES; k++) put_line(t, m, k);
	iso_text_add(t, "</section>\n");
	return st;
}

/* ---- rat ---- */

static int put_rat(struct iso_text *t, const struct chou *m)
{
	int st;

	iso_text_add(t,
	             "<section>\n<h2>The rat</h2>\n<p>A rat of ellipsoids by photon transport: %.3g "
	             "trues, %.3g randoms, as many delayed coincidences; %.3g counts are left where the "
	             "delayed ones are subtracted and what falls below 0 is set to 0 (the paper: 4.6e8). All "
	             "simulated crystals are alike, so the normalisation is 1. OSEM, %d subsets, %d "
	             "iterations of ",
	             m->rat_trues, m->rat_randoms, m->rat_counts, CHOU_SUBSETS, CHOU_RAT_ITERATIONS);
	page_time(t, m->rat_seconds);
	iso_text_add(t,
	             ". A tumour of six times the activity of muscle has %.3g times its value.</p>\n"
	             "<div class='row' style='--n:2'>\n",
	             m->rat_tbr);
	st = page_picture(t, &m->rat, "Rat", "coronal slice, nose up", "");
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- Tables 1 to 3 ---- */

static void put_table_1(struct iso_text *t, const struct chou *m)
{
	static const char *const heads[] = {
		"Forward projection",
		"Algorithm 1: no symmetry",
		"Algorithm 2: mirrors",
		"Algorithm 3: and shared memory",
	};

	iso_text_add(t, "<section>\n<h2>Table 1: steps of the forward projection</h2>\n");
	page_table_open(t, 4, heads);
	iso_text_add(t, "<tr><th scope='row'>Here, CUDA</th>");
	for (int k = 0; k < ISO_SRM_STEPS; k++) page_time_cell(t, m->ladder.step[k]);
	iso_text_add(t, "</tr>\n<tr><th scope='row'>In the paper, Tesla C2070</th>");
	for (int k = 0; k < ISO_SRM_STEPS; k++) page_time_cell(t, paper_table_1[k]);
	iso_text_add(t, "</tr>\n");
	page_table_close(t);
	iso_text_add(t, "%s</section>\n",
	             isnan(m->ladder.step[0]) ? "<p>Not measured: there is no CUDA device.</p>\n" : "");
}

static void put_tables_2_3(struct iso_text *t, const struct chou *m)
{
	static const char *const heads[] = {
		"", "Forward, a subset", "Forward, an iteration", "Back, a subset", "Back, an iteration",
	};

	iso_text_add(t,
	             "<section>\n<h2>Tables 2 and 3: times of OSEM</h2>\n<p>%d subsets of directions "
	             "dealt at random; an iteration is all subsets in turn. The work does not depend on the "
	             "object here, since no count is looked at, so one table serves both. Here: %s.%s</p>\n",
	             CHOU_SUBSETS, m->scale->what,
	             m->scale->row_on_cpu ? ""
	                                  : " Of <code>row</code> on the CPU "
	                                    "one subset was timed; an iteration is 72 such.");
	page_table_open(t, 5, heads);
	for (int k = 0; k < CHOU_WAYS; k++) {
		const struct dual_times *s = &m->way[k].times;

		iso_text_add(t, "<tr><th scope='row'>%s, <code>%s</code></th>", m->way[k].device,
		             m->way[k].strategy);
		page_time_cell(t, s->forward_sub);
		page_time_cell(t, s->forward);
		page_time_cell(t, s->back_sub);
		page_time_cell(t, s->back);
		iso_text_add(t, "</tr>\n");
	}
	for (size_t k = 0; k < sizeof paper / sizeof *paper; k++) {
		iso_text_add(t, "<tr><th scope='row'>In the paper: %s</th>", paper[k].name);
		page_time_cell(t, paper[k].forward_sub);
		page_time_cell(t, paper[k].forward);
		page_time_cell(t, paper[k].back_sub);
		page_time_cell(t, paper[k].back);
		iso_text_add(t, "</tr>\n");
	}
	page_table_close(t);
	iso_text_add(t, "</section>\n");
}

static void put_matrix(struct iso_text *t, const struct chou *m)
{
	iso_text_add(t,
	             "<section>\n<h2>The system matrix</h2>\n<p>%s. %.3g pairs in each of %d voxels, "
	             "made in ",
	             m->scale->what, (double)m->info.pairs, m->info.voxels);
	page_time(t, m->d.matrix_s);
	iso_text_add(t,
	             "; %.3g elements a column keep %.1f\u202f%% of the sensitivity; %.3g counts an "
	             "element in the core.</p>\n</section>\n",
	             (double)m->info.elements / (double)m->info.columns, 100 * m->info.kept,
	             m->info.core_counts);
}

int chou_page(struct iso_text *t, const struct chou *m)
{
	int st;

	iso_page_open(t, "Isotome reproduces", "Chou et al. 2012: OSEM for a large dual-head scanner");
	page_machine(t, m->scale->name, &m->d.devices);
	put_matrix(t, m);
	if ((st = put_derenzo(t, m)) || (st = put_rat(t, m))) return st;
	put_table_1(t, m);
	put_tables_2_3(t, m);
	iso_page_close(t, "reproduce");
	return t->failed ? iso_fail_memory("reproduce", (int64_t)t->n) : ISO_OK;
}

/* ---- the record ---- */

static int record_derenzo(const struct chou *m)
{
	json_t *images = json_array();

	for (int k = 0; k < CHOU_SHOWN; k++)
		json_array_append_new(images, json_pack("{s:i, s:o}", "iterations", chou_shown[k], "rods",
		                                        measure_rods_json(&m->image[k].rods)));
	return record_result(&m->d.c->record, "derenzo",
	                     record_pack("{s:f, s:i, s:f, s:o}", "counts", m->counts, "subsets", CHOU_SUBSETS,
	                                 "iteration_s", m->seconds, "images", images));
}

static int record_times(const struct chou *m)
{
	json_t *rows = json_array(), *steps = json_array();
	int st;

	for (int k = 0; k < CHOU_WAYS; k++) {
		const struct dual_times *s = &m->way[k].times;

		json_array_append_new(rows,
		                      json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "device", m->way[k].device,
		                                "strategy", m->way[k].strategy, "forward_subset_s",
		                                record_real(s->forward_sub), "forward_s",
		                                record_real(s->forward), "back_subset_s",
		                                record_real(s->back_sub), "back_s", record_real(s->back)));
	}
	for (int k = 0; k < ISO_SRM_STEPS; k++) json_array_append_new(steps, record_real(m->ladder.step[k]));
	st = record_result(&m->d.c->record, "table_1_s", steps);
	return st ? (json_decref(rows), st) : record_result(&m->d.c->record, "tables_2_and_3", rows);
}

int chou_record(const struct chou *m)
{
	int st;

	if ((st = record_derenzo(m)) || (st = record_times(m))) return st;
	return record_result(&m->d.c->record, "rat",
	                     record_pack("{s:f, s:f, s:f, s:f, s:f}", "trues", m->rat_trues, "randoms",
	                                 m->rat_randoms, "counts", m->rat_counts, "iteration_s",
	                                 m->rat_seconds, "tbr", m->rat_tbr));
}
