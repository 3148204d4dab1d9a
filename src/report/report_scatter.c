/* SPDX-License-Identifier: BSD-3-Clause */
/* The scatter of a report: how the counts of a scan divide, as profiles and sinograms; the rounds of the estimate; and
   whether it can be right. */
#include "report_scatter.h"

#include "core/size.h"
#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_ROWS 20   /* of rounds, of frames */
#define FAR_FROM_1 .05 /* of c, beyond which something is wrong; as the run warns */
#define MOST_SHARE .7  /* scattered */
#define OUTSIDE .05    /* activity where the map is empty */
#define BESIDE_OFF .15 /* counts beside the object over what is expected there */
#define ASKED 1.05     /* error of the Monte Carlo over the one asked for */
#define MOST_SIGMA 5.  /* ends of the colours of differences */

static const struct {
	const char *name;
	int colour; /* as iso_svg_curve */
} shown[SCATTER_PARTS] = {
	{ "Prompts", 0 },
	{ "Trues", 3 },
	{ "Scatter", 2 },
	{ "Randoms", 4 },
};

/* ---- profiles ---- */

struct profiles {
	double x[SCATTER_MOST], sum[SCATTER_MOST];
	struct iso_svg_curve curve[SCATTER_PARTS + 1];
};

/* The sum of the parts and these, and over them the prompts. */
static void put_profile(struct iso_text *t, const struct scatter_seen *s, bool along)
{
	const double *ends = along ? s->z_mm : s->s_mm;
	int n = along ? s->nz : s->ns, curves = 1;
	struct profiles p = { 0 };

	for (int i = 0; i < n; i++) p.x[i] = ends[0] + (ends[1] - ends[0]) * (i + .5) / n;
	p.curve[0] = (struct iso_svg_curve){ s->has[SCATTER_RANDOMS] ? "Trues, scatter and randoms"
		                                                     : "Trues and scatter",
		                             1, n, p.x, p.sum };
	for (int j = 1; j <= SCATTER_PARTS; j++) {
		int k = j % SCATTER_PARTS; /* prompts last */
		const double *v = along ? s->over_z[k] : s->over_s[k];

		for (int i = 0; i < n && k > 0 && s->has[k]; i++) p.sum[i] += v[i];
		if (s->has[k])
			p.curve[curves++] =
				(struct iso_svg_curve){ shown[k].name, shown[k].colour, n, p.x, v };
	}
	const struct iso_svg_chart chart = { along ? "Counts along the axis"
		                                   : "Counts over the radial offset",
		                             along ? "z, mm" : "s, mm",
		                             "counts in a bin",
		                             curves,
		                             p.curve,
		                             ISO_SVG_FROM_ZERO };

	iso_text_add(t, "<figure class='chart'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "<figcaption>%s</figcaption></figure>\n",
	             along ? "Over z, the middle of a line along the axis"
	                   : "Over s, the distance of a line from the axis");
}

/* ---- sinograms ---- */

/* (prompts - expected) / sqrt(expected), of bins where some are expected. */
static void take_difference(iso_real *v, const struct scatter_seen *s)
{
	for (int i = 0; i < s->w * s->h; i++) {
		double all = 0;

		for (int k = 1; k < SCATTER_PARTS; k++) all += s->has[k] ? (double)s->panel[k][i] : 0;
		v[i] = (iso_real)(all > 0 ? ((double)s->panel[0][i] - all) / sqrt(fmax(all, 1)) : 0);
	}
}

/* Of two parts; of scatter and randoms, which are less than the others, by themselves. */
static double greatest(const struct scatter_seen *s, int first)
{
	double most = 0;

	for (int k = first; k < first + 2; k++)
		for (int i = 0; i < s->w * s->h && s->has[k]; i++) most = fmax(most, (double)s->panel[k][i]);
	return most;
}

static int put_parts(struct iso_text *t, const struct scatter_seen *s)
{
	struct iso_panel p = { .w = s->w, .h = s->h };
	int st = ISO_OK;

	for (int k = 0; k < SCATTER_PARTS && !st; k++) {
		p.name = p.alt = shown[k].name;
		p.v = s->panel[k];
		p.most = greatest(s, k / 2 * 2);
		if (s->has[k]) st = iso_report_panel(t, &p);
	}
	return st;
}

static int put_panels(struct iso_text *t, const struct scatter_seen *s)
{
	iso_real *off = size_alloc((int64_t)s->w * s->h, sizeof *off);
	const struct iso_panel rest = { .name = "Not explained",
		                        .alt = "Prompts less the parts",
		                        .w = s->w,
		                        .h = s->h,
		                        .v = off,
		                        .most = MOST_SIGMA,
		                        .symmetric = true };
	int n = 1, st;

	if (!off) return iso_fail_memory("report", (int64_t)s->w * s->h * (int64_t)sizeof *off);
	for (int k = 0; k < SCATTER_PARTS; k++) n += s->has[k];
	iso_text_add(t,
	             "<h3>Sinograms</h3>\n<p>s from %s%.0f to %.0f mm to the right, azimuth from 0 to "
	             "180\u00b0 upwards, all planes together. Colours go from 0 to the counts in a bin that "
	             "each says.</p>\n<div class='row' style='--n:%d'>\n",
	             s->s_mm[0] < 0 ? "\u2212" : "", fabs(s->s_mm[0]), s->s_mm[1], n);
	st = put_parts(t, s);
	take_difference(off, s);
	if (!st) st = iso_report_panel(t, &rest);
	iso_text_add(t, "</div>\n");
	if (!st) st = iso_report_panel_scale(t, &rest, "Prompts less the parts", "standard deviations");
	free(off);
	return st;
}

/* ---- rounds ---- */

static void put_number(struct iso_text *t, const json_t *o, const char *key, double times, const char *format)
{
	double v = iso_value_number(o, key) * times;

	iso_text_add(t, "<td>");
	if (!(fabs(v) < 1e15))
		iso_text_add(t, "\u2013");
	else if (!format)
		iso_value_count(t, v);
	else if (format[1] == '4')
		iso_text_add(t, "%.4f", v);
	else
		iso_text_add(t, "%.1f\u202f%%", v);
	iso_text_add(t, "</td>");
}

/* Each with a bar as long as its c, up to 1.5. */
static void put_rounds(struct iso_text *t, const json_t *scatter)
{
	const json_t *rounds = json_object_get(scatter, "rounds"), *o;
	size_t i;

	if (json_array_size(rounds) == 0) return;
	iso_text_add(
		t,
		"<h3>Rounds</h3>\n<p>c: counts over what image and scatter together explain, which the "
		"scatter is multiplied by.</p>\n<div class='scroll'><table class='measured'>\n<thead><tr><th "
		"scope='col'>Round</th><th scope='col'>c</th><td></td><th scope='col'>Scale</th><th "
		"scope='col'>Trues</th><th scope='col'>Scatter</th><th scope='col'>Share</th><th "
		"scope='col'>Change</th></tr></thead>\n<tbody>\n");
	json_array_foreach ((json_t *)rounds, i, o) {
		double c = iso_value_number(o, "c");

		if (i == MOST_ROWS) break;
		iso_text_add(t, "<tr><td>%zu</td>", i + 1);
		put_number(t, o, "c", 1, "%4");
		iso_text_add(t, "<td class='length'><span class='bar b1' style='width:%.1f%%'></span></td>",
		             c > 0 ? 100 * fmin(c, 1.5) / 1.5 : 0);
		put_number(t, o, "scale", 1, "%4");
		put_number(t, o, "trues", 1, NULL);
		put_number(t, o, "scatter", 1, NULL);
		put_number(t, o, "share", 100, "%1");
		put_number(t, o, "change", 100, "%1");
		iso_text_add(t, "</tr>\n");
	}
	iso_text_add(t, "</tbody></table></div>\n");
}

/* ---- whether it can be right ---- */

static void put_check(struct iso_text *t, const char *what, bool known, bool good, const char *value,
                      const char *wanted)
{
	if (!known) return;
	iso_text_add(t, "<tr%s><th scope='row'>%s</th><td>%s</td><td>%s</td><td>%s</td></tr>\n",
	             good ? "" : " class='differs'", what, value, wanted, good ? "\u2713" : "\u26a0\ufe0e");
}

/* v as text, and whether it lies within the limits. */
static void put_checked(struct iso_text *t, const char *what, double v, double low, double high, bool percent,
                        const char *wanted)
{
	char text[40] = "";

	if (isfinite(v) && fabs(v) < 1e9) iso_snprintf(text, sizeof text, percent ? "%.2g %%" : "%.3f", v);
	put_check(t, what, text[0], v >= low && v <= high, text, wanted);
}

static void put_flag(struct iso_text *t, const char *what, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	put_check(t, what, json_is_boolean(v), !json_is_true(v), json_is_true(v) ? "yes" : "no", "no");
}

/* Of the last round, or of the first frame. */
static void put_checks(struct iso_text *t, const json_t *record, const json_t *scatter)
{
	const json_t *parameters = json_object_get(record, "parameters");
	const json_t *beside = json_object_get(json_object_get(scatter, "seen"), "beside");
	double asked = iso_value_number(parameters, "scatter-error"),
	       error = iso_value_number(scatter, "error");
	double expected = iso_value_number(beside, "expected");
	char limit[40] = "";
	struct iso_text rows = { 0 };

	if (asked > 0 && asked < 1) iso_snprintf(limit, sizeof limit, "%.2g %% or less", 100 * asked);
	put_checked(&rows, "Counts over what is explained, c", iso_value_number(scatter, "c"), 1 - FAR_FROM_1,
	            1 + FAR_FROM_1, false, "0.95 to 1.05");
	put_checked(&rows, "Counts taken for scattered", 100 * iso_value_number(scatter, "share"), 0,
	            100 * MOST_SHARE, true, "70 % or less");
	put_checked(&rows, "Beside the object, counts over those expected",
	            expected > 0 ? iso_value_number(beside, "counts") / expected : NAN, 1 - BESIDE_OFF,
	            1 + BESIDE_OFF, false, "0.85 to 1.15");
	if (error > 0 && limit[0])
		put_checked(&rows, "Error of the Monte Carlo", 100 * error, 0, 100 * ASKED * asked, true,
		            limit);
	put_checked(&rows, "Activity where the map is empty",
	            100 * iso_value_number(scatter, "outside_matter"), 0, 100 * OUTSIDE, true, "5 % or less");
	put_flag(&rows, "The map is cut: matter at its edge across", scatter, "map_cut");
	if (!json_is_true(json_object_get(parameters, "scatter-extend")))
		put_flag(&rows, "Activity goes on beyond the image", scatter, "ends_active");
	iso_text_part(t,
	              "<h3>Can it be right?</h3>\n<div class='scroll'><table "
	              "class='measured'>\n<thead><tr><td></td><th scope='col'>Found</th><th "
	              "scope='col'>Expected</th><td></td></tr></thead>\n<tbody>\n",
	              &rows, "</tbody></table></div>\n");
}

/* ---- the section ---- */

static void put_share(struct iso_text *t, const char *name, double v, const char *more)
{
	if (v >= 0 && v <= 1)
		iso_text_add(t, "<div><dt>%s</dt><dd>%.1f %%<small>%s</small></dd></div>\n", name, 100 * v,
		             more);
}

static void put_shares(struct iso_text *t, const json_t *scatter)
{
	const char *method = iso_value_text(scatter, "method");
	double counts = iso_value_number(scatter, "counts");

	iso_text_add(t, "<dl class='cards'>\n");
	if (method) iso_text_html(t, "<div><dt>Method</dt><dd>%.20s</dd></div>\n", method);
	if (counts >= 0) {
		iso_text_add(t, "<div><dt>Counts</dt><dd>");
		iso_value_count(t, counts);
		iso_text_add(t, "</dd></div>\n");
	}
	put_share(t, "Scattered", iso_value_number(scatter, "share"), "of the counts");
	put_share(t, "Randoms", iso_value_number(scatter, "randoms_share"), "of the counts");
	iso_text_add(t, "</dl>\n");
}

/* Of a series. */
static void put_frames(struct iso_text *t, const json_t *record)
{
	size_t n = 1;

	scatter_of_frame(record, 0, &n);
	if (n < 2) return;
	iso_text_add(t, "<h3>Frames</h3>\n<div class='scroll'><table class='measured'>\n<thead><tr><th "
	                "scope='col'>Frame</th><th scope='col'>Counts</th><th scope='col'>Scattered</th><th "
	                "scope='col'>Randoms</th><th scope='col'>c</th></tr></thead>\n<tbody>\n");
	for (size_t k = 0; k < n && k < MOST_ROWS; k++) {
		const json_t *o = scatter_of_frame(record, k, &n);

		iso_text_add(t, "<tr><td>%zu</td>", k + 1);
		put_number(t, o, "counts", 1, NULL);
		put_number(t, o, "share", 100, "%1");
		put_number(t, o, "randoms_share", 100, "%1");
		put_number(t, o, "c", 1, "%4");
		iso_text_add(t, "</tr>\n");
	}
	iso_text_add(t, "</tbody></table></div>\n");
	if (n > MOST_ROWS) iso_text_add(t, "<p>And %zu more.</p>\n", n - MOST_ROWS);
}

static int put_seen(struct iso_text *t, const struct scatter_seen *s)
{
	if (s->frames == 0 || !s->has[SCATTER_PROMPTS]) return ISO_OK;
	iso_text_add(t, "<h3>Profiles</h3>\n<p>Trues are what the image explains: its projection. ");
	if (!s->has[SCATTER_RANDOMS])
		iso_text_add(t, s->no_randoms
		                        ? "There are no randoms. "
		                        : "The additive term is known for events alone, and not shown. ");
	if (s->all_frames > 1) iso_text_add(t, "The sum of %d of %d frames.", s->frames, s->all_frames);
	iso_text_add(t, "</p>\n<div class='charts'>\n");
	put_profile(t, s, false);
	put_profile(t, s, true);
	iso_text_add(t, "</div>\n");
	return s->panel[0] ? put_panels(t, s) : ISO_OK;
}

static int put_image(struct iso_text *t, const struct iso_report *r, int i)
{
	const json_t *record = iso_history_recon(&r->image[i].history), *first = NULL;
	struct scatter_seen *s;
	size_t n = 1;
	int st;

	for (size_t k = 0; k < n && !json_is_object(first); k++) first = scatter_of_frame(record, k, &n);
	if (!json_is_object(first)) return ISO_OK;
	if (!(s = size_alloc(1, sizeof *s))) return iso_fail_memory("report", sizeof *s);
	iso_text_add(t, "<section>\n<h2>Scatter");
	if (r->n > 1) iso_text_html(t, ", %.60s", iso_value_base(r->image[i].path));
	iso_text_add(t, "</h2>\n");
	if (n == 1) put_shares(t, first);
	if (!(st = scatter_read(s, record))) st = put_seen(t, s);
	put_frames(t, record);
	if (n == 1) put_rounds(t, first);
	put_checks(t, record, first);
	iso_text_add(t, "</section>\n");
	scatter_free(s);
	free(s);
	return st;
}

int iso_report_scatter(struct iso_text *t, const struct iso_report *r)
{
	int st = ISO_OK;

	for (int i = 0; i < r->n && !st; i++) st = put_image(t, r, i);
	return st;
}
