/* SPDX-License-Identifier: BSD-3-Clause */
/* How a strength is chosen: the L-curve, contrast against noise, and the images. */
#include "scan.h"

#include "core/size.h"

#include <math.h>

static double field(const struct iso_scan_point *p, size_t at)
{
	return *(const double *)((const char *)p + at);
}

static void draw(struct iso_text *t, const char *label, const char *x_label, size_t x, const char *y_label,
                 size_t y, int n, const struct iso_scan_point *p, double *room)
{
	const struct iso_svg_curve curve = { "", 1, n, room, room + n };
	const struct iso_svg_chart chart = { label, x_label, y_label, 1, &curve, ISO_SVG_PLAIN };

	for (int i = 0; i < n; i++) {
		room[i] = field(&p[i], x);
		room[n + i] = field(&p[i], y);
	}
	iso_text_add(t, "<figure class='chart'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "<figcaption>%s</figcaption></figure>\n", label);
}

#define DRAW(t, label, x_label, x, y_label, y, n, p, room)                   \
	draw(t, label, x_label, offsetof(struct iso_scan_point, x), y_label, \
	     offsetof(struct iso_scan_point, y), n, p, room)

static bool measured(int n, const struct iso_scan_point *p)
{
	for (int i = 0; i < n; i++)
		if (!isfinite(p[i].noise) || !isfinite(p[i].contrast)) return false;
	return true;
}

static void put_number(struct iso_text *t, double v, const char *fmt)
{
	iso_text_add(t, "<td>");
	if (isfinite(v)) iso_text_add(t, fmt, v);
	iso_text_add(t, "</td>");
}

static void put_table(struct iso_text *t, int n, const struct iso_scan_point *p)
{
	bool both = measured(n, p);

	iso_text_add(t,
	             "<table>\n<tr><th>rel</th><th>beta</th><th>L</th><th>R</th><th>passes</"
	             "th><th>converged</th>%s</tr>\n",
	             both ? "<th>noise</th><th>contrast</th>" : "");
	for (int i = 0; i < n; i++) {
		iso_text_add(t, "<tr>");
		put_number(t, p[i].relative, "%.3g");
		put_number(t, p[i].beta, "%.4g");
		put_number(t, p[i].loglik, "%.8g");
		put_number(t, p[i].penalty, "%.6g");
		put_number(t, p[i].passes, "%.1f");
		iso_text_add(t, "<td>%s</td>", p[i].converged ? "yes" : "no");
		if (both) put_number(t, 100 * p[i].noise, "%.2f %%");
		if (both) put_number(t, p[i].contrast, "%.3f");
		iso_text_add(t, "</tr>\n");
	}
	iso_text_add(t, "</table>\n");
}

int iso_report_scan(struct iso_text *t, const struct iso_report *r, int n, const struct iso_scan_point *p)
{
	double *room = size_alloc(2 * (int64_t)n, sizeof *room);
	int st;

	if (!room) return iso_fail_memory("report", 2 * n * (int64_t)sizeof *room);
	iso_page_open(t, "Isotome report", "Strength of the penalty", false);
	iso_text_add(t, "<section>\n<h2>Strengths</h2>\n<p>With a stronger penalty the image is smoother: R "
	                "falls, and with it the log-likelihood L. Where L begins to fall steeply, the "
	                "penalty takes more than noise.</p>\n"
	                "<div class='charts'>\n");
	DRAW(t, "L-curve: log-likelihood against roughness", "R", penalty, "L", loglik, n, p, room);
	if (measured(n, p))
		DRAW(t, "Contrast against noise", "noise: std / mean in the background", noise,
		     "contrast: region over background", contrast, n, p, room);
	iso_text_add(t, "</div>\n");
	put_table(t, n, p);
	iso_text_add(t, "</section>\n");
	free(room);
	if ((st = iso_report_pictures(t, r)) || (st = iso_report_profile(t, r))) return st;
	iso_report_steps(t, r);
	iso_page_close(t, "recon", false);
	return t->failed ? iso_fail_memory("report", (int64_t)t->n) : ISO_OK;
}
