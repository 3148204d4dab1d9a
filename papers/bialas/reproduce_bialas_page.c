/* SPDX-License-Identifier: BSD-3-Clause */
/* The page, and the record, of the experiments of Bialas 2015. */
#include "reproduce_bialas.h"

#include "papers/reproduce_page.h"
#include "report/page.h"
#include "report/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kernel_names[BIALAS_KERNELS] = { "eq7", "tan", "gauss" };
static const char *const way_names[BIALAS_WAYS] = { "cpu", "cuda_thread", "cuda_warp", "cuda_fast" };

/* Section 5: 10^7 events, an iteration; Xeon E5-1650 v2 with 6 cores, GTX 770. */
static const double paper_s[BIALAS_WAYS] = { 11.87, .69, .47, NAN };
#define PAPER_EVENTS 1e7

/* ---- Figure 3 ---- */

static int put_picture(struct iso_text *t, const struct iso_pixels *p, const char *name, double nrmse)
{
	char note[48] = "";

	if (!isnan(nrmse)) snprintf(note, sizeof note, "NRMSE %.1f\u202f%%", 100 * nrmse);
	return page_picture(t, p, name, "strips above and below, z to the right", note);
}

static int put_form(struct iso_text *t, const struct bialas_form *f)
{
	char name[32];
	int st = ISO_OK;

	iso_text_add(t,
	             "<h3>%s</h3>\n<p>%s; %.3g\u202fs an iteration.</p>\n<div class='row' "
	             "style='--n:4'>\n",
	             f->name, f->what, f->seconds);
	for (int i = 0; i < BIALAS_SHOWN && !st; i++) {
		snprintf(name, sizeof name, "after %d iteration%s", bialas_shown[i],
		         bialas_shown[i] > 1 ? "s" : "");
		st = put_picture(t, &f->image[i].pixels, name, f->image[i].nrmse);
	}
	iso_text_add(t, "</div>\n");
	return st;
}

static int put_figure(struct iso_text *t, const struct bialas *b)
{
	int st;

	iso_text_add(
		t,
		"<section>\n<h2>Figure 3: the phantom, reconstructed</h2>\n<p>Strips of %g mm at "
		"%g mm from the axis, \u03c3<sub>z</sub> = %g mm, \u03c3<sub>\u0394l</sub> = %g mm, %" PRId64
		" \u00d7 %" PRId64 " pixels of %g mm, ",
		b->strip.strips.length, b->strip.strips.radius, b->strip.strips.sigma_z,
		b->strip.strips.sigma_dl, b->strip.nz, b->strip.ny, b->strip.pixel);
	iso_value_count(t, b->scale->events);
	iso_text_add(t, " events (the paper does not tell its number). NRMSE is where the phantom has "
	                "activity, with the scale that fits best; images of s\u2009\u03c1 are held "
	                "against s times the phantom.</p>\n<div class='row' style='--n:4'>\n");
	if ((st = put_picture(t, &b->phantom, "Phantom", NAN))) return st;
	if ((st = put_picture(t, &b->direct, "Direct image", b->direct_nrmse))) return st;
	iso_text_add(t, "</div>\n");
	for (int f = 0; f < BIALAS_FORMS && !st; f++) st = put_form(t, &b->form[f]);
	iso_text_add(t, "</section>\n");
	return st;
}

/* ---- section 5 ---- */

static void put_times(struct iso_text *t, const char *name, const double s[BIALAS_WAYS], double scale)
{
	iso_text_add(t, "<tr><th scope='row'>%s</th>", name);
	for (int w = 0; w < BIALAS_WAYS; w++) page_time_cell(t, s[w] * scale);
	iso_text_add(t, "</tr>\n");
}

static void put_bench(struct iso_text *t, const struct bialas *b)
{
	static const char *const heads[] = { "Kernel", "CPU", "CUDA, a thread an event",
		                             "CUDA, a warp an event", "CUDA, image in shared memory" };

	iso_text_add(t,
	             "<section>\n<h2>Section 5: one iteration over 10\u2077 events</h2>\n<p>Median of "
	             "%d after a warm-up, over ",
	             b->scale->repeats);
	iso_value_count(t, b->scale->bench_events);
	iso_text_add(t, " events of %.1f pixels each, in proportion. CPU: %s; CUDA: ", b->pixels,
	             iso_ctx_device_name(b->devices.cpu));
	iso_text_escaped(t, b->devices.cuda ? iso_ctx_device_name(b->devices.cuda) : b->devices.no_cuda);
	iso_text_add(t, ". The paper: Xeon E5-1650 v2 with 6 cores, GeForce GTX 770.</p>\n");
	page_table_open(t, 5, heads);
	for (int k = 0; k < BIALAS_KERNELS; k++)
		put_times(t, kernel_names[k], b->bench_s[k], PAPER_EVENTS / b->scale->bench_events);
	put_times(t, "In the paper, eq. (7)", paper_s, 1);
	page_table_close(t);
	iso_text_add(t, "</section>\n");
}

/* ---- kernels ---- */

static void put_point(struct iso_text *t, const struct bialas_point *p)
{
	iso_text_add(t, "<tr><th scope='row'>(%g, %g)</th>", p->y, p->z);
	for (int k = 0; k < BIALAS_MODELS; k++)
		iso_text_add(t, "<td>%.4f<small>%.4f</small></td>", p->all[k], p->interior[k]);
	iso_text_add(t, "<td>%.4f<small>%.4f</small></td></tr>\n", p->noise_all, p->noise_interior);
}

static void put_kernels(struct iso_text *t, const struct bialas *b)
{
	const char *const heads[] = { "Emission at (y, z), mm", bialas_models[0], bialas_models[1],
		                      bialas_models[2],         bialas_models[3], "Noise alone" };

	iso_text_add(t, "<section>\n<h2>How close the kernels are</h2>\n<p>Total variation distance "
	                "between a kernel and ");
	iso_value_count(t, b->scale->point_events);
	iso_text_add(t, " simulated events from one point: half the sum, over bins of 15 \u00d7 15 \u00d7 "
	                "40 mm in (z<sub>u</sub>, z<sub>d</sub>, \u0394l), of |share of events \u2212 P/s|. "
	                "Small print: of the bins with both |z| below 110 mm, away from the ends of the "
	                "strips, relative to the events there. The last column is what a perfect kernel "
	                "would show.</p>\n");
	page_table_open(t, 6, heads);
	for (int k = 0; k < BIALAS_POINTS; k++) put_point(t, &b->point[k]);
	page_table_close(t);
	iso_text_add(t, "<p>Kernel (7) is used with its misprints put right: a factor 2 in the third "
	                "component of a, 1/(2\u03c0\u00b2), det C<sup>\u22121</sup>. What remains over all "
	                "bins comes from the ends of the strips, which eq7, gauss and tan ignore.</p>\n"
	                "</section>\n");
}

int bialas_page(struct iso_text *t, const struct bialas *b)
{
	int st;

	iso_page_open(t, "Isotome reproduces", "Bia\u0142as et al. 2015: a two-strip J-PET on GPUs");
	page_machine(t, b->scale->name, &b->devices);
	if ((st = put_figure(t, b))) return st;
	put_bench(t, b);
	put_kernels(t, b);
	iso_page_close(t, "reproduce");
	return t->failed ? iso_fail_memory("reproduce", (int64_t)t->n) : ISO_OK;
}

/* ---- the record ---- */

static int record_figure(const struct bialas *b)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int f = 0; f < BIALAS_FORMS; f++)
		for (int i = 0; i < BIALAS_SHOWN; i++)
			bad |= json_array_append_new(rows, record_pack("{s:s, s:i, s:f}", "form",
			                                               f == 0 ? "raw" : "ml", "iterations",
			                                               bialas_shown[i], "nrmse",
			                                               b->form[f].image[i].nrmse));
	if (bad) {
		json_decref(rows);
		rows = NULL;
	}
	return record_result(&b->c->record, "figure_3",
	                     record_pack("{s:f, s:f, s:o}", "events", b->scale->events, "direct_nrmse",
	                                 b->direct_nrmse, "images", rows));
}

static int record_bench(const struct bialas *b)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int k = 0; k < BIALAS_KERNELS; k++)
		for (int w = 0; w < BIALAS_WAYS; w++)
			bad |= json_array_append_new(
				rows, json_pack("{s:s, s:s, s:o, s:o}", "kernel", kernel_names[k], "way",
			                        way_names[w], "seconds", record_real(b->bench_s[k][w]),
			                        "paper_s", record_real(k == 0 ? paper_s[w] : NAN)));
	if (bad) {
		json_decref(rows);
		rows = NULL;
	}
	return record_result(&b->c->record, "benchmark",
	                     record_pack("{s:f, s:f, s:o}", "events", b->scale->bench_events,
	                                 "pixels_per_event", b->pixels, "rows", rows));
}

static int record_kernels(const struct bialas *b)
{
	json_t *rows = json_array();
	int bad = 0;

	for (int i = 0; i < BIALAS_POINTS; i++)
		for (int k = 0; k < BIALAS_MODELS; k++) {
			const struct bialas_point *p = &b->point[i];

			bad |= json_array_append_new(
				rows, record_pack("{s:[f,f], s:s, s:f, s:f, s:f, s:f}", "y_z_mm", p->y, p->z,
			                          "kernel", bialas_models[k], "all", p->all[k], "interior",
			                          p->interior[k], "noise_all", p->noise_all, "noise_interior",
			                          p->noise_interior));
		}
	return record_result(&b->c->record, "total_variation", bad ? NULL : rows);
}

int bialas_record(const struct bialas *b)
{
	int st;

	if ((st = record_figure(b)) || (st = record_bench(b))) return st;
	return record_kernels(b);
}
