/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of figures after NEMA: a section a figure, with its table, its curves and the choices that were made. */
#include "nema_page.h"

#include "base/fail.h"
#include "page.h"
#include "report/markup/value.h"

#include <math.h>
#include <string.h>

enum { POINTS = 1024, CURVES = 160 };

/* ---- numbers of JSON ---- */

static double item(const json_t *o, const char *key, size_t i)
{
	const json_t *v = json_array_get(json_object_get(o, key), i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "" where there is none. */
static const char *text_of(const json_t *o, const char *key)
{
	const char *text = iso_value_text(o, key);

	return text ? text : "";
}

static size_t size_of(const json_t *o, const char *key)
{
	size_t n = json_array_size(json_object_get(o, key));

	return n < POINTS ? n : POINTS;
}

/* "12.3 &pm; 0.4", a dash for what is not known. */
static void put_number(struct iso_text *t, double v, double error, int digits)
{
	if (!isfinite(v))
		iso_text_add(t, "<td>\u2013</td>");
	else if (isfinite(error))
		iso_text_add(t, "<td>%s%.*f \u00b1 %.*f</td>", v < 0 ? "\u2212" : "", digits, fabs(v), digits,
		             error);
	else
		iso_text_add(t, "<td>%s%.*f</td>", v < 0 ? "\u2212" : "", digits, fabs(v));
}

static void put_head(struct iso_text *t, const char *const *names)
{
	iso_text_add(t, "<div class='scroll'><table class='measured'>\n<thead><tr>");
	for (int k = 0; names[k]; k++) iso_text_add(t, "<th scope='col'>%s</th>", names[k]);
	iso_text_add(t, "</tr></thead>\n<tbody>\n");
}

static void close_table(struct iso_text *t)
{
	iso_text_add(t, "</tbody></table></div>\n");
}

/* ---- curves with error bars ---- */

struct drawing {
	double x[CURVES][POINTS], y[CURVES][POINTS];
	struct iso_svg_curve curve[CURVES];
	int n;
};

static void add_bar(struct drawing *d, double x, double y, double error, int colour)
{
	if (d->n >= CURVES || !isfinite(y) || !(error > 0)) return;
	int k = d->n++;

	d->x[k][0] = d->x[k][1] = x;
	d->y[k][0] = y - error;
	d->y[k][1] = y + error;
	d->curve[k] = (struct iso_svg_curve){ NULL, colour, 2, d->x[k], d->y[k] };
}

/* y[i] +- error[i] against x[i]; either list may be NULL. In the order of x. */
static void add_curve(struct drawing *d, const char *name, int colour, const json_t *x, const json_t *y,
                      const json_t *error)
{
	int64_t n = (int64_t)json_array_size(y), k = d->n;

	if (d->n >= CURVES || n < 1 || n > POINTS) return;
	d->n++;
	for (int64_t i = 0; i < n; i++) {
		const json_t *at = x ? json_array_get(x, (size_t)i) : NULL, *v = json_array_get(y, (size_t)i);
		int64_t place = i;

		d->x[k][i] = x ? json_number_value(at) : (double)i;
		d->y[k][i] = json_is_number(v) ? json_number_value(v) : NAN;
		for (; place > 0 && d->x[k][place - 1] > d->x[k][place]; place--) {
			double a = d->x[k][place], b = d->y[k][place];

			d->x[k][place] = d->x[k][place - 1];
			d->y[k][place] = d->y[k][place - 1];
			d->x[k][place - 1] = a;
			d->y[k][place - 1] = b;
		}
	}
	d->curve[k] = (struct iso_svg_curve){ name, colour, n, d->x[k], d->y[k] };
	for (int64_t i = 0; i < n && error; i++)
		add_bar(d, x ? json_number_value(json_array_get(x, (size_t)i)) : (double)i,
		        json_number_value(json_array_get(y, (size_t)i)),
		        json_number_value(json_array_get(error, (size_t)i)), colour);
}

/* An upright line at x. */
static void add_mark(struct drawing *d, const char *name, double x, double top)
{
	if (d->n >= CURVES) return;
	int k = d->n++;

	d->x[k][0] = d->x[k][1] = x;
	d->y[k][0] = 0;
	d->y[k][1] = top;
	d->curve[k] = (struct iso_svg_curve){ name, 0, 2, d->x[k], d->y[k] };
}

static void draw(struct iso_text *t, struct drawing *d, const char *label, const char *x, const char *y)
{
	const struct iso_svg_chart chart = { label, x, y, d->n, d->curve, ISO_SVG_FROM_ZERO };

	iso_text_add(t, "<figure class='chart wide'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "<figcaption>%s</figcaption></figure>\n", label);
	d->n = 0;
}

/* ---- counting ---- */

static const json_t *rates_of(const json_t *o, bool *delayed)
{
	const json_t *with = json_object_get(o, "with_delayed");

	*delayed = with != NULL;
	return with ? with : json_object_get(o, "without");
}

static void put_rates(struct iso_text *t, const json_t *o, const json_t *r)
{
	static const char *const names[] = {
		"Activity, MBq", "kBq/ml", "Total, 1/s", "Trues, 1/s",   "Scatter, 1/s",
		"Randoms, 1/s",  "SF, %",  "NECR, 1/s",  "2R-NECR, 1/s", NULL
	};
	static const char *const keys[][2] = { { "total", "total_err" },
		                               { "trues", "trues_err" },
		                               { "scatter", "scatter_err" },
		                               { "randoms", "randoms_err" } };

	put_head(t, names);
	for (size_t k = 0; k < size_of(o, "A_MBq"); k++) {
		iso_text_add(t, "<tr>");
		put_number(t, item(o, "A_MBq", k), NAN, 3);
		put_number(t, item(o, "kBq_per_ml", k), NAN, 3);
		for (int f = 0; f < 4; f++) put_number(t, item(r, keys[f][0], k), item(r, keys[f][1], k), 1);
		put_number(t, 100 * item(r, "sf", k), 100 * item(r, "sf_err", k), 2);
		put_number(t, item(r, "necr", k), item(r, "necr_err", k), 1);
		put_number(t, item(r, "necr2", k), item(r, "necr2_err", k), 1);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
}

static void put_peak(struct iso_text *t, const json_t *o, const char *key, const char *name)
{
	const json_t *p = json_object_get(o, key);

	if (json_is_true(json_object_get(p, "inside")))
		iso_text_add(t, "<li>%s: %.5g /s at %.4g kBq/ml</li>\n", name, iso_value_number(p, "cps"),
		             iso_value_number(p, "kBq_per_ml"));
	else
		iso_text_add(t, "<li>%s: peak not reached; greatest %.5g /s at %.4g kBq/ml</li>\n", name,
		             iso_value_number(p, "cps"), iso_value_number(p, "kBq_per_ml"));
}

static void draw_rates(struct iso_text *t, struct drawing *d, const json_t *o, const json_t *r)
{
	static const char *const name[] = { "total", "trues", "scatter", "randoms", "NECR", "2R-NECR" };
	static const char *const key[][2] = { { "total", "total_err" },     { "trues", "trues_err" },
		                              { "scatter", "scatter_err" }, { "randoms", "randoms_err" },
		                              { "necr", "necr_err" },       { "necr2", "necr2_err" } };
	const json_t *x = json_object_get(o, "kBq_per_ml");

	for (int k = 0; k < 6; k++)
		add_curve(d, name[k], k + 1, x, json_object_get(r, key[k][0]), json_object_get(r, key[k][1]));
	draw(t, d, "Rates against activity concentration", "kBq/ml", "1/s");
	for (int k = 4; k < 6; k++)
		add_curve(d, name[k], k + 1, x, json_object_get(r, key[k][0]), json_object_get(r, key[k][1]));
	draw(t, d, "Noise-equivalent counts", "kBq/ml", "1/s");
	add_curve(d, "scatter fraction", 3, x, json_object_get(r, "sf"), json_object_get(r, "sf_err"));
	if (json_object_get(o, "true_sf"))
		add_curve(d, "known from the simulation", 1, x, json_object_get(o, "true_sf"), NULL);
	draw(t, d, "Scatter fraction", "kBq/ml", "share");
}

/* The sums of moved rows of the first acquisition that is low, with the edges of the strip. */
static void draw_profile(struct iso_text *t, struct drawing *d, const json_t *o)
{
	const json_t *p = json_object_get(o, "profiles");
	double number = item(o, "low", 0);
	size_t low = number >= 1 && number < POINTS ? (size_t)number - 1 : 0;
	const json_t *y = json_array_get(json_object_get(p, "counts"), low);
	double first = iso_value_number(p, "first_mm"), step = iso_value_number(p, "step_mm"), top = 0;
	json_t *x = json_array();

	for (size_t i = 0; i < json_array_size(y); i++) {
		json_array_append_new(x, json_real(first + (double)i * step));
		top = fmax(top, json_number_value(json_array_get(y, i)));
	}
	add_curve(d, "sum of all rows", 1, x, y, NULL);
	add_mark(d, "strip", -iso_value_number(o, "strip_half_mm"), top);
	add_mark(d, NULL, iso_value_number(o, "strip_half_mm"), top);
	draw(t, d, "Sum projection of the low acquisition, with the strip", "distance from the line, mm",
	     "counts");
	json_decref(x);
}

static void put_counting(struct iso_text *t, struct drawing *d, const json_t *o)
{
	bool delayed;
	const json_t *r = rates_of(o, &delayed), *low = json_object_get(o, "low");

	const char *phantom = text_of(o, "phantom"), *standard = "NU 2-2018 and NU 4-2008";

	if (strcmp(phantom, "own") != 0) standard = strcmp(phantom, "nu2") == 0 ? "NU 2-2018" : "NU 4-2008";
	iso_text_add(t, "<section>\n<h2>Scatter fraction and counting rates</h2>\n<p>After NEMA %s: phantom ",
	             standard);
	iso_text_html(t, "%s, scanner %s. ", phantom, text_of(o, "scanner"));
	iso_text_add(t, "Cut at %g mm, strip of \u00b1%g mm, %g ml. %s</p>\n", iso_value_number(o, "cut_mm"),
	             iso_value_number(o, "strip_half_mm"), iso_value_number(o, "volume_ml"),
	             delayed ? "Randoms are the delayed coincidences."
	                     : "There are no delayed coincidences: the scatter fraction "
	                       "is that of the low acquisitions.");
	put_rates(t, o, r);
	iso_text_add(t, "<ul>\n");
	put_peak(t, o, "peak_necr", "NECR");
	put_peak(t, o, "peak_necr2", "2R-NECR");
	put_peak(t, o, "peak_trues", "Trues");
	iso_text_add(t, "<li>Low acquisitions: ");
	iso_value_put(t, low);
	iso_text_add(t, "</li>\n</ul>\n<div class='charts'>\n");
	draw_rates(t, d, o, r);
	draw_profile(t, d, o);
	iso_text_add(t, "</div>\n</section>\n");
}

static void put_tof(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const names[] = { "Acquisition", "FWHM, ps", "Gaussian fit, ps", "Net counts",
		                             NULL };

	(void)d;
	iso_text_add(t,
	             "<section>\n<h2>Time resolution</h2>\n<p>From the line source of the counting series, "
	             "after NEMA NU "
	             "2-2018. Bins of %.4g ps.</p>\n",
	             iso_value_number(o, "bin_ps"));
	put_head(t, names);
	for (size_t k = 0; k < size_of(o, "fwhm_ps"); k++) {
		iso_text_add(t, "<tr><td>%d</td>", (int)k + 1);
		put_number(t, item(o, "fwhm_ps", k), item(o, "fwhm_err_ps", k), 1);
		put_number(t, item(o, "gauss_fwhm_ps", k), NAN, 1);
		put_number(t, item(o, "net_counts", k), NAN, 0);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	if (isfinite(iso_value_number(o, "at_fwhm_ps")))
		iso_text_add(t, "<p>At %g kBq/ml: %.1f ps.</p>\n", iso_value_number(o, "at_kBq_per_ml"),
		             iso_value_number(o, "at_fwhm_ps"));
	else
		iso_text_add(t, "<p>%g kBq/ml lies outside of the acquisitions.</p>\n",
		             iso_value_number(o, "at_kBq_per_ml"));
	iso_text_add(t, "</section>\n");
}

/* ---- sensitivity ---- */

static void put_sensitivity(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const names[] = { "Sleeves, mm", "Start, s", "Length, s", "Net counts", NULL };

	iso_text_add(t, "<section>\n<h2>Sensitivity, line at %g mm</h2>\n<p>After NEMA NU 2-2018. ",
	             iso_value_number(o, "offset_mm"));
	iso_text_html(t, "Scanner %s. ", text_of(o, "scanner"));
	iso_text_add(t,
	             "%g MBq. <b>%.2f \u00b1 %.2f counts/s/MBq</b>; the fit has %.5f \u00b1 %.5f /mm of "
	             "metal.</p>\n",
	             iso_value_number(o, "A_cal_MBq"), iso_value_number(o, "S_cps_per_MBq"),
	             iso_value_number(o, "err"), iso_value_number(o, "mu_per_mm"),
	             iso_value_number(o, "mu_err_per_mm"));
	put_head(t, names);
	for (size_t k = 0; k < size_of(o, "wall_mm"); k++) {
		iso_text_add(t, "<tr>");
		put_number(t, item(o, "wall_mm", k), NAN, 2);
		put_number(t, item(o, "t_start_s", k), NAN, 1);
		put_number(t, item(o, "T_s", k), NAN, 1);
		put_number(t, item(o, "counts", k), NAN, 0);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	add_curve(d, NULL, 1, json_object_get(o, "z_mm"), json_object_get(o, "profile"),
	          json_object_get(o, "profile_err"));
	d->n = d->n > 0 && size_of(o, "profile") > CURVES / 2 ? 1 : d->n; /* too many for bars */
	draw(t, d, "Sensitivity of the slices", "z, mm", "counts/s/MBq");
	iso_text_add(t, "</section>\n");
}

/* A step a row, and the means over middle lengths. */
static void put_point(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const steps[] = { "z, mm",           "Activity, MBq", "Length, s", "Net counts",
		                             "Background, 1/s", "counts/s/MBq",  "%",         NULL };
	static const char *const means[] = { "Middle length", "Steps", "counts/s/MBq", "%", NULL };
	const json_t *one;
	size_t i;

	iso_text_add(t, "<section>\n<h2>Sensitivity, point</h2>\n<p>After NEMA NU 4-2008. ");
	iso_text_html(t, "Scanner %s. ", text_of(o, "scanner"));
	iso_text_add(
		t,
		"Rows keep the bins within %g mm of their largest. Percentages are of the %g positrons a "
		"decay.</p>\n",
		iso_value_number(o, "window_mm"), iso_value_number(o, "branching"));
	put_head(t, means);
	json_array_foreach (json_object_get(o, "means"), i, one) {
		double length = iso_value_number(one, "length_mm");

		if (isfinite(length))
			iso_text_add(t, "<tr><th scope='row'>%g mm</th>", length);
		else
			iso_text_add(t, "<tr><th scope='row'>all steps</th>");
		put_number(t, iso_value_number(one, "steps"), NAN, 0);
		put_number(t, iso_value_number(one, "S_cps_per_MBq"), iso_value_number(one, "err"), 1);
		put_number(t, iso_value_number(one, "percent"), NAN, 3);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	put_head(t, steps);
	for (size_t k = 0; k < size_of(o, "z_mm"); k++) {
		iso_text_add(t, "<tr>");
		put_number(t, item(o, "z_mm", k), NAN, 2);
		put_number(t, item(o, "A_MBq", k), NAN, 4);
		put_number(t, item(o, "T_s", k), NAN, 1);
		put_number(t, item(o, "counts", k), NAN, 0);
		put_number(t, item(o, "background_cps", k), NAN, 2);
		put_number(t, item(o, "S_cps_per_MBq", k), item(o, "err", k), 1);
		put_number(t, item(o, "percent", k), NAN, 3);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	add_curve(d, NULL, 1, json_object_get(o, "z_mm"), json_object_get(o, "S_cps_per_MBq"),
	          json_object_get(o, "err"));
	draw(t, d, "Sensitivity along the axis", "z, mm", "counts/s/MBq");
	iso_text_add(t, "</section>\n");
}

/* ---- accuracy ---- */

static void put_accuracy(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const names[] = { "Activity, MBq", "kBq/ml",  "Least, %",
		                             "Greatest, %",   "Mean, %", NULL };
	const json_t *x = json_object_get(o, "kBq_per_ml");

	iso_text_add(t,
	             "<section>\n<h2>Accuracy of count losses and randoms</h2>\n<p>After NEMA NU 2-2018: the "
	             "error of images, "
	             "over slices. Disc of %g mm.</p>\n",
	             iso_value_number(o, "disc_mm"));
	put_head(t, names);
	for (size_t k = 0; k < size_of(o, "A_MBq"); k++) {
		iso_text_add(t, "<tr>");
		put_number(t, item(o, "A_MBq", k), NAN, 3);
		put_number(t, item(o, "kBq_per_ml", k), NAN, 3);
		put_number(t, item(o, "least_percent", k), NAN, 2);
		put_number(t, item(o, "most_percent", k), NAN, 2);
		put_number(t, item(o, "mean_percent", k), NAN, 2);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	add_curve(d, "least", 1, x, json_object_get(o, "least_percent"), NULL);
	add_curve(d, "greatest", 2, x, json_object_get(o, "most_percent"), NULL);
	add_curve(d, "mean", 3, x, json_object_get(o, "mean_percent"), NULL);
	draw(t, d, "Error against activity concentration", "kBq/ml", "%");
	iso_text_add(t, "</section>\n");
}

/* ---- resolution ---- */

static void put_widths(struct iso_text *t, const json_t *o)
{
	static const char *const ways[] = { "radial", "tangential", "axial" };

	for (int a = 0; a < 3; a++) {
		const json_t *w = json_object_get(o, ways[a]);

		put_number(t, iso_value_number(w, "fwhm_mm"), NAN, 3);
		put_number(t, iso_value_number(w, "fwtm_mm"), NAN, 3);
	}
}

static void put_resolution(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const names[] = {
		"Radius, mm", "Points or file", "Radial FWHM, mm", "FWTM", "Tangential FWHM", "FWTM",
		"Axial FWHM", "FWTM",           "Samples a FWHM",  NULL
	};
	const json_t *one;
	size_t i;

	(void)d;
	iso_text_add(t, "<section>\n<h2>Spatial resolution%s</h2>\n<p>After ",
	             json_is_true(json_object_get(o, "analytic"))
	                     ? ""
	                     : ", from images that are not NEMA's filtered back-projection");
	iso_text_html(t, "%s. ", text_of(o, "standard"));
	iso_text_add(t, "Profiles are sums over windows of %g FWHM.</p>\n",
	             iso_value_number(o, "window_fwhm"));
	put_head(t, names);
	json_array_foreach (json_object_get(o, "means"), i, one) {
		iso_text_add(t, "<tr><th scope='row'>%g</th><td>mean of %g</td>",
		             iso_value_number(one, "radius_mm"), iso_value_number(one, "points"));
		put_widths(t, one);
		iso_text_add(t, "<td></td></tr>\n");
	}
	json_array_foreach (json_object_get(o, "points"), i, one) {
		const char *file = text_of(one, "file");

		iso_text_add(t, "<tr><td>%.2f</td>", iso_value_number(one, "radius_mm"));
		iso_text_html(t, "<td>%.60s</td>", iso_value_base(file));
		put_widths(t, one);
		put_number(t, iso_value_number(one, "samples_per_fwhm"), NAN, 1);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	json_array_foreach (json_object_get(o, "warnings"), i, one)
		iso_text_html(t, "<p><b>Warning:</b> %s</p>\n", json_string_value(one));
	iso_text_add(t, "</section>\n");
}

/* ---- quality ---- */

static void put_quality(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const names[] = { "Sphere, mm", "Ratio", "Contrast recovery, %",
		                             "Background variability, %", NULL };
	const json_t *one;
	size_t i;

	(void)d;
	iso_text_add(t, "<section>\n<h2>Image quality</h2>\n<p>After NEMA NU 2-2018: of each sphere the "
	                "share of its contrast that "
	                "the image shows, and how much discs of its size differ in the background.</p>\n");
	put_head(t, names);
	json_array_foreach (json_object_get(o, "spheres"), i, one) {
		iso_text_add(t, "<tr>");
		put_number(t, iso_value_number(one, "diameter_mm"), NAN, 1);
		put_number(t, iso_value_number(one, "ratio"), NAN, 2);
		put_number(t, iso_value_number(one, "contrast_percent"), NAN, 2);
		put_number(t, iso_value_number(one, "variability_percent"), NAN, 2);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	if (isfinite(iso_value_number(o, "lung_residual_percent")))
		iso_text_add(t, "<p>Lung residual: %.2f %%.</p>\n",
		             iso_value_number(o, "lung_residual_percent"));
	iso_text_add(t, "</section>\n");
}

static void put_mouse(struct iso_text *t, struct drawing *d, const json_t *o)
{
	static const char *const rods[] = { "Rod, mm", "Recovery", "In the rod's middle", "%STD", NULL };
	static const char *const cold[] = { "Chamber", "Spill-over ratio", "%STD", NULL };
	const json_t *one, *u = json_object_get(o, "uniform");
	size_t i;

	(void)d;
	iso_text_add(t,
	             "<section>\n<h2>Image quality, small animals</h2>\n<p>After NEMA NU 4-2008. Uniform "
	             "region: mean %.5g, "
	             "greatest %.5g, least %.5g, %%STD %.3f.</p>\n",
	             iso_value_number(u, "mean"), iso_value_number(u, "max"), iso_value_number(u, "min"),
	             iso_value_number(u, "std_percent"));
	put_head(t, rods);
	json_array_foreach (json_object_get(o, "rods"), i, one) {
		iso_text_add(t, "<tr>");
		put_number(t, iso_value_number(one, "diameter_mm"), NAN, 1);
		put_number(t, iso_value_number(one, "rc"), iso_value_number(one, "rc_err"), 3);
		put_number(t, iso_value_number(one, "rc_middle"), NAN, 3);
		put_number(t, iso_value_number(one, "std_percent"), NAN, 2);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	put_head(t, cold);
	json_array_foreach (json_object_get(o, "cold"), i, one) {
		iso_text_html(t, "<tr><th scope='row'>%s</th>", text_of(one, "name"));
		put_number(t, iso_value_number(one, "sor"), iso_value_number(one, "sor_err"), 4);
		put_number(t, iso_value_number(one, "std_percent"), NAN, 1);
		iso_text_add(t, "</tr>\n");
	}
	close_table(t);
	iso_text_add(t, "<p>Recovery is that of the largest pixel, which rises with noise. The middle of the "
	                "rod does "
	                "not.</p>\n</section>\n");
}

/* ---- the page ---- */

static const struct {
	const char *begins; /* of the key of a result */
	void (*put)(struct iso_text *t, struct drawing *d, const json_t *o);
} figures[] = {
	{ "resolution", put_resolution },
	{ "sensitivity", put_sensitivity },
	{ "point_sensitivity", put_point },
	{ "counting", put_counting },
	{ "tof", put_tof },
	{ "accuracy", put_accuracy },
	{ "quality", put_quality },
	{ "nu4", put_mouse },
};

/* What was typed, and the hashes of what was read. */
static void put_source(struct iso_text *t, const json_t *record)
{
	const json_t *inputs = json_object_get(record, "inputs"), *one;
	const char *command = text_of(record, "command");
	size_t i;

	if (!command[0] && !inputs) return;
	iso_text_add(t, "<section>\n<h2>How it was made</h2>\n");
	if (command[0]) iso_text_html(t, "<p><code>%s</code></p>\n", command);
	iso_text_add(t, "<ul>\n");
	json_array_foreach (inputs, i, one)
		iso_text_html(t, "<li>%s <small>xxh64 %s</small></li>\n", text_of(one, "name"),
		              text_of(one, "xxh64"));
	iso_text_add(t, "</ul>\n</section>\n");
}

static int put_record(struct iso_text *t, struct drawing *d, const json_t *record)
{
	const json_t *results = json_object_get(record, "results"), *value;
	const char *key;
	int found = 0;

	if (!results) results = record;
	for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
		json_object_foreach ((json_t *)results, key, value)
			if (strncmp(key, figures[k].begins, strlen(figures[k].begins)) == 0 &&
			    json_is_object(value)) {
				figures[k].put(t, d, value);
				found++;
			}
	put_source(t, record);
	return found;
}

int iso_nema_page(struct iso_text *t, const char *title, const json_t *const *records, int n)
{
	struct drawing *d = calloc(1, sizeof *d);
	struct iso_text head = { 0 };
	int found = 0;

	if (!d) return iso_fail_memory("page", sizeof *d);
	iso_text_cut(&head, title ? title : "Figures after NEMA", 200);
	iso_page_open(t, "Isotome nema", head.v ? head.v : "", false);
	iso_text_add(t, "<p>The rules are those of the standards as far as Isotome knows them; this page "
	                "does not state "
	                "conformance with a standard.</p>\n");
	for (int k = 0; k < n; k++) found += put_record(t, d, records[k]);
	iso_page_close(t, "nema", false);
	bool failed = t->failed || head.failed;

	iso_text_free(&head);
	free(d);
	if (failed) return iso_fail_memory("page", (int64_t)t->n);
	return found ? ISO_OK
	             : iso_fail(ISO_EINPUT, "no figure after NEMA: give what 'isotome nema --json' prints");
}
