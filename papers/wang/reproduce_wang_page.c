/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of the experiments of Wang 2013. */
#include "reproduce_wang.h"

#include "papers/reproduce_page.h"
#include "report/page.h"
#include "report/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Table I: FBP in s, the others in minutes an iteration; CPU (dual quad-core Xeon 2.4 GHz, from one
   transducer), GPU (Tesla C2050; for PLS-Sph eight C1060). */
static const struct {
	double cpu[WANG_METHODS], gpu[WANG_METHODS];
} paper[WANG_ROWS] = {
	{ { 53441, NAN, NAN }, { 46, NAN, NAN } },     { { 26190, 9792, 31845 }, { 23, 68, 86 } },
	{ { 12975, 4896, 15923 }, { 12, 35, 43 } },    { { 6189, 2448, 7961 }, { 6, 20, 22 } },
	{ { 53441, 19968, 79177 }, { 46, 137, 313 } }, { { 12975, 4896, 19776 }, { 12, 35, 78 } },
};

/* RMSE of FBP on the coarse grid, by another program in double precision. */
static const double reference[WANG_SETS] = { .00210, .00583, .01216, .02241 };

static bool is_full(const struct wang *w)
{
	return strcmp(w->scale->name, "full") == 0;
}

/* "64 x 90" */
static void put_set(char name[32], const struct wang_array *a, const int every[2])
{
	snprintf(name, 32, "%d \u00d7 %d", (int)a->rings / every[0], (int)a->views / every[1]);
}

static void set_name(char name[32], const struct wang *w, int set)
{
	put_set(name, &w->scale->study, wang_every[set]);
}

static const char *fast_name(const struct wang *w)
{
	return w->devices.cuda ? "CUDA" : "CPU";
}

/* ---- slices ---- */

static int put_slice(struct iso_text *t, const struct wang *w, const struct wang_image *x, const char *what,
                     const char *device, int set)
{
	char set_text[32], name[96], note[96];

	set_name(set_text, w, set);
	snprintf(name, sizeof name, "%s, %s, %s", what, set_text, device);
	snprintf(note, sizeof note, "RMSE %.5f", isnan(x->rmse) ? x->nodes : x->rmse);
	return page_picture(t, &x->pixels, name, "plane y = 0, z to the right, x upwards", note);
}

static int put_fbp(struct iso_text *t, const struct wang *w)
{
	int st;

	iso_text_add(t,
	             "<section>\n<h2>Figures 2 and 3: FBP</h2>\n<p>Plane y = 0, 0 to 1. %s</p>\n"
	             "<div class='row' style='--n:2'>\n",
	             w->devices.cuda
	                     ? "Beside CUDA the CPU, for this plane; its RMSE is that of the coarse grid."
	                     : "No CUDA device: the CPU alone.");
	st = page_picture(t, &w->truth.pixels, "Phantom", "plane y = 0 of nine spheres", "");
	for (int k = 0; k < WANG_SETS && !st; k++) {
		st = put_slice(t, w, &w->image[WANG_FBP][k], "FBP", fast_name(w), k);
		if (!st && w->devices.cuda) st = put_slice(t, w, &w->cpu[k], "FBP", "CPU", k);
	}
	iso_text_add(t, "</div>\n");
	for (int k = 0; k < WANG_SETS && w->devices.cuda; k++) {
		char name[32];

		set_name(name, w, k);
		iso_text_add(t, "<p>%s: CPU and CUDA differ by at most %.2g.</p>\n", name, w->apart[k]);
	}
	iso_text_add(t, "</section>\n");
	return st;
}

static int put_pls(struct iso_text *t, const struct wang *w)
{
	int st = ISO_OK;

	iso_text_add(t,
	             "<section>\n<h2>Figure 4: PLS-Int and PLS-Sph</h2>\n<p>%d iterations of conjugate "
	             "gradients from zero, without a penalty, on %s. The data are the closed form of the "
	             "spheres\u2019 sound, not a projection of an image.</p>\n<div class='row' "
	             "style='--n:2'>\n",
	             w->scale->iterations, fast_name(w));
	for (int k = 1; k < WANG_SETS; k++)
		for (int m = WANG_INT; m < WANG_METHODS && !st; m++)
			st = put_slice(t, w, &w->image[m][k], wang_methods[m], fast_name(w), k);
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- profiles ---- */

static void put_chart(struct iso_text *t, const char *title, int n, const struct iso_svg_curve *c)
{
	const struct iso_svg_chart chart = {
		.label = "Profile along z",
		.x_label = "z, mm",
		.y_label = "absorbed energy",
		.n = n,
		.curve = c,
		.from_zero = true,
	};

	iso_text_add(t, "<h3>%s</h3>\n<figure class='chart wide'>", title);
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n");
}

static void put_profiles(struct iso_text *t, const struct wang *w)
{
	const struct iso_svg_curve a[] = {
		{ "Phantom", 0, WANG_SAMPLES, w->place, w->truth.profile },
		{ w->devices.cuda ? "FBP, CUDA" : "FBP, CPU", 1, WANG_SAMPLES, w->place,
		  w->image[WANG_FBP][0].profile },
		{ "FBP, CPU", 2, WANG_SAMPLES, w->place, w->cpu[0].profile },
	};
	const struct iso_svg_curve b[] = {
		{ "Phantom", 0, WANG_SAMPLES, w->place, w->truth.profile },
		{ "PLS-Int", 1, WANG_SAMPLES, w->place, w->image[WANG_INT][1].profile },
		{ "PLS-Sph", 2, WANG_SAMPLES, w->place, w->image[WANG_SPH][1].profile },
	};
	char title[64], name[32];

	iso_text_add(t, "<section>\n<h2>Figure 5: profiles at (x, y) = (\u22126.58, 0) mm</h2>\n");
	set_name(name, w, 0);
	snprintf(title, sizeof title, "FBP, %s", name);
	put_chart(t, title, w->devices.cuda ? 3 : 2, a);
	set_name(name, w, 1);
	snprintf(title, sizeof title, "PLS, %s", name);
	put_chart(t, title, 3, b);
	iso_text_add(t, "</section>\n");
}

/* ---- RMSE ---- */

static void put_rmse_cell(struct iso_text *t, const struct wang_image *x)
{
	iso_text_add(t, "<td>%.5f<small>%.5f</small></td>", x->rmse, x->nodes);
}

static void put_rmse_row(struct iso_text *t, const struct wang *w, int set)
{
	char name[32];

	set_name(name, w, set);
	iso_text_add(t, "<tr><th scope='row'>%s</th>", name);
	for (int m = 0; m < WANG_METHODS; m++) {
		if (set == 0 && m != WANG_FBP)
			iso_text_add(t, "<td>\u2013</td>");
		else
			put_rmse_cell(t, &w->image[m][set]);
	}
	for (int m = WANG_INT; m < WANG_METHODS; m++) {
		if (set == 0)
			iso_text_add(t, "<td>\u2013</td>");
		else
			put_rmse_cell(t, &w->by_area[m][set]);
	}
	page_number_cell(t, w->devices.cuda ? w->cpu[set].nodes : w->image[WANG_FBP][set].nodes, 4);
	page_number_cell(t, is_full(w) ? reference[set] : NAN, 4);
	iso_text_add(t, "</tr>\n");
}

static void put_rmse_chart(struct iso_text *t, const struct wang *w)
{
	double n[WANG_SETS], rmse[WANG_METHODS][WANG_SETS];
	struct iso_svg_curve curve[WANG_METHODS];
	const struct iso_svg_chart chart = {
		.label = "RMSE against the number of transducers",
		.x_label = "transducers",
		.y_label = "RMSE",
		.n = WANG_METHODS,
		.curve = curve,
		.from_zero = true,
	};

	for (int m = 0; m < WANG_METHODS; m++) {
		for (int k = 0; k < WANG_SETS; k++) {
			n[k] = (double)(w->scale->study.rings / wang_every[k][0] *
			                (w->scale->study.views / wang_every[k][1]));
			rmse[m][k] = k == 0 && m != WANG_FBP ? NAN : w->image[m][k].rmse;
		}
		curve[m] = (struct iso_svg_curve){ wang_methods[m], m + 1, WANG_SETS, n, rmse[m] };
	}
	iso_text_add(t, "<figure class='chart wide'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n");
}

static void put_rmse(struct iso_text *t, const struct wang *w)
{
	static const char *const heads[] = { "Rings \u00d7 views",
		                             "FBP",
		                             "PLS-Int",
		                             "PLS-Sph",
		                             "PLS-Int, by area",
		                             "PLS-Sph, by area",
		                             "FBP on the CPU, coarse grid",
		                             "Reference, coarse grid" };

	iso_text_add(t,
	             "<section>\n<h2>Figure 6: RMSE against the amount of data</h2>\n<p>Over all voxels; "
	             "small print: over nodes %d, %d, %d, \u2026 along each axis. By area: every "
	             "transducer counts by the surface that it stands for, which the paper does not do. The "
	             "reference is FBP by another program in double precision, at full size.</p>\n",
	             w->scale->first_node, w->scale->first_node + w->scale->node_step,
	             w->scale->first_node + 2 * w->scale->node_step);
	put_rmse_chart(t, w);
	page_table_open(t, 8, heads);
	for (int k = 0; k < WANG_SETS; k++) put_rmse_row(t, w, k);
	page_table_close(t);
	iso_text_add(t, "</section>\n");
}

static int put_study(struct iso_text *t, const struct wang *w)
{
	int st;

	if ((st = put_fbp(t, w)) || (st = put_pls(t, w))) return st;
	put_profiles(t, w);
	put_rmse(t, w);
	return ISO_OK;
}

/* ---- the experiment ---- */

static int put_mip(struct iso_text *t, const struct wang *w, enum wang_method m, int which)
{
	const struct wang_image *x = &w->scan[m][which];
	char name[64], note[96];

	snprintf(name, sizeof name, "%s, %s data", wang_methods[m], which ? "quarter" : "full");
	if (m == WANG_FBP)
		snprintf(note, sizeof note, "RMSE %.4f", x->rmse);
	else
		snprintf(note, sizeof note, "\u03bc = %.3g, RMSE %.4f", w->scale->mu[which], x->rmse);
	return page_picture(t, &x->pixels, name, "greatest values along y, z to the right", note);
}

static int put_scan(struct iso_text *t, const struct wang *w)
{
	const struct wang_array *a = &w->scale->scan;
	int st;

	iso_text_add(
		t,
		"<section>\n<h2>Figure 7: the experiment</h2>\n<p>A tree of vessels in place of the "
		"mouse, whose data are not public: %d rings from 14\u00b0 to 83\u00b0, %d views "
		"(quarter data: %d), flat transducers of 2 \u00d7 2 mm heard in the near field, an "
		"impulse response round %.2g MHz (the paper does not give its own), noise of 1\u202f%% of "
		"the greatest value. FBP after deconvolution under a Hann window up to %.3g MHz; PLS-Int "
		"with the response; PLS-Sph with response and apertures; %d iterations, the "
		"paper\u2019s penalties. Greatest values along y, 0 to %.2g; z goes to the right. There is "
		"no transducer below z = 0: vessels along z that lie there send their sound past all of "
		"them, and no method sees them well.</p>\n<div class='row' style='--n:2'>\n",
		(int)a->rings, (int)a->views, (int)a->views / wang_scan_every[1][1], w->eir_mhz,
		w->scale->fmax_mhz, w->scale->iterations, w->vessels_top);
	st = page_picture(t, &w->vessels.pixels, "Vessels", "greatest values along y", "");
	for (int k = 0; k < WANG_SCANS; k++)
		for (int m = 0; m < WANG_METHODS && !st; m++) st = put_mip(t, w, (enum wang_method)m, k);
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- a recording ---- */

static int put_recording(struct iso_text *t, const struct wang *w)
{
	int st;

	iso_text_add(t, "<section>\n<h2>A recording</h2>\n<p>The first image of <code>");
	iso_text_escaped(t, iso_value_base(w->msot));
	iso_text_add(t, "</code>, by FBP after a band-pass from 0.1 to 4 MHz, in ");
	page_time(t, w->slice.seconds);
	iso_text_add(t, ".</p>\n<div class='row' style='--n:2'>\n");
	st = page_picture(t, &w->slice.pixels, "FBP", "a measured slice", "");
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- Table I ---- */

static void put_times_cells(struct iso_text *t, const double s[WANG_METHODS], double minute)
{
	for (int m = 0; m < WANG_METHODS; m++) page_time_cell(t, s[m] * (m == WANG_FBP ? 1 : minute));
}

static void put_times_row(struct iso_text *t, const struct wang *w, int k)
{
	static const char *const scans[WANG_SCANS] = { "full data", "quarter data" };
	char name[32];

	if (k < WANG_SETS) put_set(name, &w->scale->times_study, wang_every[k]);
	iso_text_add(t, "<tr><th scope='row'>%s<small>%d transducers</small></th><td>CPU</td>",
	             k < WANG_SETS ? name : scans[k - WANG_SETS], (int)w->times[k].transducers);
	put_times_cells(t, w->times[k].cpu, 1);
	put_times_cells(t, paper[k].cpu, 60);
	iso_text_add(t, "</tr>\n<tr><th></th><td>CUDA</td>");
	put_times_cells(t, w->times[k].cuda, 1);
	put_times_cells(t, paper[k].gpu, 60);
	iso_text_add(t, "</tr>\n");
}

static void put_times(struct iso_text *t, const struct wang *w)
{
	static const char *const heads[] = {
		"Data",       "Device",         "FBP",           "PLS-Int, iteration", "PLS-Sph, iteration",
		"Paper: FBP", "Paper: PLS-Int", "Paper: PLS-Sph"
	};
	const int64_t *n = w->scale->times_grid.n;

	iso_text_add(t,
	             "<section>\n<h2>Table I: times</h2>\n<p>%d \u00d7 %d \u00d7 %d voxels, %d samples. An "
	             "iteration is H and its adjoint. CUDA: %s. CPU (%s): %d transducers, spread over the "
	             "array, in proportion; the paper measured one. The paper: two quad-core Xeons of 2.4 "
	             "GHz; a Tesla C2050, for PLS-Sph eight Tesla C1060.</p>\n",
	             (int)n[0], (int)n[1], (int)n[2], (int)w->scale->times_study.samples,
	             w->devices.cuda ? "all transducers" : "not measured: there is no CUDA device",
	             iso_ctx_device_name(w->devices.cpu), (int)w->times[0].part);
	page_table_open(t, 8, heads);
	for (int k = 0; k < WANG_ROWS; k++) put_times_row(t, w, k);
	page_table_close(t);
	iso_text_add(t, "</section>\n");
}

int wang_page(struct iso_text *t, const struct wang *w)
{
	int st;

	iso_page_open(t, "Isotome reproduces", "Wang et al. 2013: optoacoustic tomography on GPUs");
	page_machine(t, w->scale->name, &w->devices);
	iso_text_add(t, "<section>\n<p>Here: %s.</p>\n</section>\n", w->scale->what);
	if (w->wants[WANG_STUDY] && (st = put_study(t, w))) return st;
	if (w->wants[WANG_EXPERIMENT] && (st = put_scan(t, w))) return st;
	if (w->msot && (st = put_recording(t, w))) return st;
	if (w->wants[WANG_TIMES]) put_times(t, w);
	iso_page_close(t, "reproduce");
	return t->failed ? iso_fail_memory("reproduce", (int64_t)t->n) : ISO_OK;
}

/* ---- the record ---- */

static json_t *image_row(const char *method, const char *data, const struct wang_image *x)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "method", method, "data", data, "rmse",
	                 record_real(x->rmse), "rmse_coarse", record_real(x->nodes), "seconds",
	                 record_real(x->seconds));
}

static int record_study(const struct wang *w)
{
	static const char *const by_area[WANG_METHODS] = { NULL, "PLS-Int, by area", "PLS-Sph, by area" };
	json_t *rows = json_array();
	char name[32];
	int bad = 0;

	for (int k = 0; k < WANG_SETS; k++) {
		wang_set_name(name, &w->scale->study, wang_every[k]);
		for (int m = 0; m < (k == 0 ? 1 : WANG_METHODS); m++)
			bad |= json_array_append_new(rows, image_row(wang_methods[m], name, &w->image[m][k]));
		for (int m = WANG_INT; m < WANG_METHODS && k > 0; m++)
			bad |= json_array_append_new(rows, image_row(by_area[m], name, &w->by_area[m][k]));
		if (w->devices.cuda)
			bad |= json_array_append_new(rows, image_row("FBP, CPU", name, &w->cpu[k]));
	}
	return record_result(&w->c->record, "study", bad ? (json_decref(rows), NULL) : rows);
}

static int record_scan(const struct wang *w)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int k = 0; k < WANG_SCANS; k++)
		for (int m = 0; m < WANG_METHODS; m++)
			bad |= json_array_append_new(
				rows, image_row(wang_methods[m], k ? "quarter" : "full", &w->scan[m][k]));
	return record_result(&w->c->record, "experiment", bad ? (json_decref(rows), NULL) : rows);
}

static json_t *seconds_json(const double s[WANG_METHODS])
{
	return json_pack("{s:o, s:o, s:o}", "fbp", record_real(s[WANG_FBP]), "int", record_real(s[WANG_INT]),
	                 "sph", record_real(s[WANG_SPH]));
}

static int record_times(const struct wang *w)
{
	static const char *const scans[WANG_SCANS] = { "full", "quarter" };
	json_t *rows = json_array();
	char name[32];
	int bad = 0;

	for (int k = 0; k < WANG_ROWS; k++) {
		const struct wang_times *r = &w->times[k];

		if (k < WANG_SETS) wang_set_name(name, &w->scale->times_study, wang_every[k]);
		bad |= json_array_append_new(
			rows, json_pack("{s:s, s:I, s:I, s:o, s:o}", "data",
		                        k < WANG_SETS ? name : scans[k - WANG_SETS], "transducers",
		                        (json_int_t)r->transducers, "cpu_part", (json_int_t)r->part, "cpu_s",
		                        seconds_json(r->cpu), "cuda_s", seconds_json(r->cuda)));
	}
	return record_result(&w->c->record, "table_1", bad ? (json_decref(rows), NULL) : rows);
}

int wang_record(const struct wang *w)
{
	int st = ISO_OK;

	if (w->wants[WANG_STUDY] && (st = record_study(w))) return st;
	if (w->wants[WANG_EXPERIMENT] && (st = record_scan(w))) return st;
	return w->wants[WANG_TIMES] ? record_times(w) : ISO_OK;
}
