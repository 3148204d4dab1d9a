/* SPDX-License-Identifier: BSD-3-Clause */
/* The curves of a report: profiles through the images, and how the likelihood rose. */
#include "page.h"

#include "core/size.h"
#include "report/markup/value.h"

#include <math.h>
#include <string.h>

#define MOST_SAMPLES 1000  /* points of a curve */
#define MOST_SUBSETS 10000 /* more are not believed */

/* ---- profile ---- */

static double distance(const double a[3], const double b[3])
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
	            (a[2] - b[2]) * (a[2] - b[2]));
}

/* As asked for; else along x through the middle of the slices shown, from the first voxel to the last. Two
   samples a voxel. */
static struct iso_profile make_line(const struct iso_report *r, const struct iso_report_image *m)
{
	const double *voxel = m->volume.grid.voxel;
	struct iso_profile p = { 0 };
	double wanted;

	for (int a = 0; a < 3; a++) {
		int64_t first = a ? m->cut[a] : 0, last = a ? m->cut[a] : m->volume.grid.n[0] - 1;

		p.from[a] = r->has_line ? r->from[a] : iso_measure_place(&m->volume.grid, a, first);
		p.to[a] = r->has_line ? r->to[a] : iso_measure_place(&m->volume.grid, a, last);
	}
	wanted = 2 * distance(p.from, p.to) / fmin(fmin(voxel[0], voxel[1]), voxel[2]) + 1;
	p.samples = (int64_t)fmin(fmax(wanted, 2), MOST_SAMPLES);
	return p;
}

struct curve {
	double x[MOST_SAMPLES], y[MOST_SAMPLES];
};

/* The x axis is x itself along the default line, else the distance from its beginning. */
static int take_profile(struct curve *c, struct iso_svg_curve *drawn, const struct iso_report *r,
                        const struct iso_report_image *m, int colour)
{
	struct iso_profile line = make_line(r, m);
	const struct iso_grid *g = &m->volume.grid;
	const struct iso_array image = { 3,
		                         { g->n[2], g->n[1], g->n[0] },
		                         .n = iso_grid_voxels(g),
		                         .v = (iso_real *)m->volume.v,
		                         .has_grid = true,
		                         .grid = *g }; /* the first frame */
	double scale = r->has_truth && m != &r->truth ? m->error.scale : 1;
	double first = r->has_line ? 0 : line.from[0];
	double step = distance(line.from, line.to) / (double)(line.samples - 1);
	int st = iso_measure_profile(c->y, &image, &line);

	for (int64_t i = 0; i < line.samples; i++) {
		c->x[i] = first + (double)i * step;
		c->y[i] *= scale;
	}
	*drawn = (struct iso_svg_curve){ iso_value_base(m->path), colour, line.samples, c->x, c->y };
	return st;
}

static void put_point(struct iso_text *t, const double p[3])
{
	for (int a = 0; a < 3; a++)
		iso_text_add(t, "%s%s%.4g", a ? ", " : "(", p[a] < 0 ? "\u2212" : "", fabs(p[a]));
	iso_text_add(t, ")");
}

static void draw_profiles(struct iso_text *t, const struct iso_report *r, int n,
                          const struct iso_svg_curve *drawn)
{
	const struct iso_report_image *m = r->has_truth ? &r->truth : &r->image[0];
	static const char *const x_label[2][2] = { { "x, voxels", "distance, voxels" },
		                                   { "x, mm", "distance, mm" } };
	struct iso_profile line = make_line(r, &r->image[0]);
	const char *unit = m->array.unit[0] ? m->array.unit : "value";
	const struct iso_svg_chart chart = { "Profile through the images",
		                             x_label[m->volume.in_mm][r->has_line],
		                             unit,
		                             n,
		                             drawn,
		                             ISO_SVG_FROM_ZERO };

	iso_text_add(t, "<section>\n<h2>Profile</h2>\n<p>From ");
	put_point(t, line.from);
	iso_text_add(t, " to ");
	put_point(t, line.to);
	iso_text_add(t, "%s.%s</p>\n<figure class='chart wide'>",
	             r->image[0].volume.in_mm ? " mm" : ", in voxels",
	             r->has_line ? "" : " The marks beside the transverse slices show the line.");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n</section>\n");
}

static bool has_profile(const struct iso_report *r)
{
	for (int i = 0; i < r->n; i++)
		if (!r->has_line && r->image[i].volume.grid.n[0] < 2) return false;
	return true;
}

int iso_report_profile(struct iso_text *t, const struct iso_report *r)
{
	struct iso_svg_curve drawn[ISO_REPORT_MOST + 1];
	struct curve *curve;
	int n = 0, st = ISO_OK;

	if (!has_profile(r)) return ISO_OK;
	curve = size_alloc(ISO_REPORT_MOST + 1, sizeof *curve);
	if (!curve) return iso_fail_memory("report", (ISO_REPORT_MOST + 1) * (int64_t)sizeof *curve);
	if (r->has_truth) {
		st = take_profile(&curve[n], &drawn[n], r, &r->truth, 0);
		drawn[n++].name = "Truth";
	}
	for (int i = 0; !st && i < r->n; i++, n++)
		st = take_profile(&curve[n], &drawn[n], r, &r->image[i], i + 1);
	if (!st) draw_profiles(t, r, n, drawn);
	free(curve);
	return st;
}

/* ---- likelihood ---- */

/* Updates of one iteration, as the record of the reconstruction says; 1 if it does not. */
static size_t subsets(const json_t *record, size_t updates)
{
	const json_t *labels = json_object_get(record, "ReconMethodParameterLabels");
	const json_t *values = json_object_get(record, "ReconMethodParameterValues");
	const json_t *label;
	size_t i;

	json_array_foreach ((json_t *)labels, i, label) {
		json_int_t n = json_integer_value(json_array_get(values, i));

		if (json_is_string(label) && strcmp(json_string_value(label), "subsets") == 0 && n > 0 &&
		    n <= MOST_SUBSETS && (json_int_t)updates % n == 0)
			return (size_t)n;
	}
	return 1;
}

/* Sum of the log-likelihoods of `per` updates, the last of them number `end` - 1. */
static double window_sum(const json_t *loglik, size_t end, size_t per)
{
	double sum = 0;

	for (size_t i = end - per; i < end; i++) {
		const json_t *v = json_array_get(loglik, i);

		sum += json_is_number(v) ? json_number_value(v) : NAN;
	}
	return sum;
}

/* Value number u is that of the image after u updates. Each point sums the last `per` of them: one
   pass over the data. Number 0, of the start image, is so much lower that nothing else would be
   seen beside it; it is left out. */
static int64_t take_likelihood(struct curve *c, const json_t *loglik, size_t per)
{
	size_t n = json_array_size(loglik), first = per + 1;
	size_t step = n > first ? (n - first) / MOST_SAMPLES + 1 : 1;
	int64_t points = 0;

	for (size_t end = first; end <= n && points < MOST_SAMPLES; end += step, points++) {
		c->x[points] = (double)(end - 1) / (double)per;
		c->y[points] = window_sum(loglik, end, per);
	}
	return points;
}

/* Divides by a power of 1000 that leaves short numbers, and names it. */
static const char *shorten(struct curve *c, int64_t n)
{
	static const char *const label[] = { "log-likelihood", "log-likelihood, thousands",
		                             "log-likelihood, millions", "log-likelihood, billions" };
	double top = 0, unit = 1;
	int k = 0;

	for (int64_t i = 0; i < n; i++) top = fmax(top, fabs(c->y[i]));
	for (; top / unit >= 1e4 && k < 3; k++) unit *= 1000;
	for (int64_t i = 0; i < n; i++) c->y[i] /= unit;
	return label[k];
}

static void draw_likelihood(struct iso_text *t, const struct iso_report *r, int i, struct curve *c)
{
	const json_t *record = iso_history_recon(&r->image[i].history);
	const json_t *loglik = json_object_get(json_object_get(record, "results"), "loglik");
	size_t per = subsets(record, json_array_size(loglik));
	int64_t n = take_likelihood(c, loglik, per);
	const struct iso_svg_curve curve = { "", i + 1, n, c->x, c->y };
	const struct iso_svg_chart chart = {
		"Log-likelihood against iterations", "iterations", shorten(c, n), 1, &curve, ISO_SVG_PLAIN
	};

	if (n < 2) return;
	iso_text_add(t, "<figure class='chart'>");
	iso_svg_chart(t, &chart);
	iso_text_html(t, "<figcaption><b>%.60s</b></figcaption></figure>\n",
	              iso_value_base(r->image[i].path));
}

int iso_report_likelihood(struct iso_text *t, const struct iso_report *r)
{
	struct iso_text charts = { 0 };
	struct curve *c = size_alloc(1, sizeof *c);

	if (!c) return iso_fail_memory("report", sizeof *c);
	for (int i = 0; i < r->n; i++) draw_likelihood(&charts, r, i, c);
	iso_text_part(t,
	              "<section>\n<h2>Log-likelihood</h2>\n<p>Each point is the sum over one pass through "
	              "the data: all the subsets that led to it. The first update, from the start image, is "
	              "far lower and left out.</p>\n<div class='charts'>\n",
	              &charts, "</div>\n</section>\n");
	free(c);
	return ISO_OK;
}
