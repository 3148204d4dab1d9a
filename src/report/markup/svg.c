/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing curves. */
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 480. /* narrow enough that text stays readable on a phone */
#define HEIGHT 270.
#define LEFT 62. /* margins around the plot */
#define RIGHT 16.
#define TOP 30.
#define BOTTOM 46.
#define MOST_TICKS 6
#define MOST_MARKED 40 /* points: more of them are a line alone */
#define LARGEST 1e100  /* of a value that is drawn */
#define NAMES 3        /* of curves in a line below the plot, in a file of its own */
#define NAME_HEIGHT 18.

/* Values on a logarithmic axis are decimal logarithms, and ticks are counted: `step` of them a decade, the
   first that many times the decade (and so below 0 for values below 1). */
struct axis {
	double lo, hi;      /* values at both ends */
	double first, step; /* of the ticks */
	int ticks;
	bool log;
};

int iso_svg_ticks(double lo, double hi, double *first, double *step)
{
	double raw = (hi - lo) / MOST_TICKS, power = pow(10, floor(log10(raw)));
	double digit = raw / power;

	*step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
	*first = ceil(lo / *step - 1e-9) * *step;
	return (int)floor((hi - *first) / *step + 1e-9) + 1;
}

/* Values that are all but the same get an axis around them. */
static struct axis make_axis(double lo, double hi, double margin)
{
	double size = fmax(fabs(lo), fabs(hi));

	if (!(hi - lo > fmax(1e-12 * size, 1e-100))) {
		double half = size > 1e-99 ? .05 * size : 1;

		lo -= half;
		hi += half;
	}
	struct axis a = { .lo = lo - margin * (hi - lo), .hi = hi + margin * (hi - lo) };

	a.ticks = iso_svg_ticks(a.lo, a.hi, &a.first, &a.step);
	return a;
}

/* Where tick k of a logarithmic axis lies in its decade: 1, or 1, 2 and 5. */
static double log_digit(const struct axis *a, int k)
{
	static const double digit[] = { 1, 2, 5 };

	return digit[(int)(a->first + k - a->step * floor((a->first + k) / a->step))];
}

static double tick(const struct axis *a, int k)
{
	if (!a->log) return a->first + k * a->step;
	return floor((a->first + k) / a->step) + log10(log_digit(a, k));
}

/* Ticks at 1, 2 and 5 of each decade, or, where these are too many, at 1. Values that are all but the same
   get an axis around them. */
static struct axis make_log_axis(double lo, double hi, double margin)
{
	double half = .5 * fmax(hi - lo, 1) * (1 + 2 * margin), middle = .5 * (lo + hi);
	struct axis a = { .lo = middle - half, .hi = middle + half, .log = true };

	a.step = 3 * (a.hi - a.lo) > MOST_TICKS + 1 ? 1 : 3;
	a.first = a.step * floor(a.lo);
	while (tick(&a, 0) < a.lo - 1e-9) a.first++;
	while (tick(&a, a.ticks) <= a.hi + 1e-9) a.ticks++;
	return a;
}

static double place(const struct axis *a, double v, double from, double to)
{
	return from + (v - a->lo) / (a->hi - a->lo) * (to - from);
}

static double x_at(const struct axis *a, double v)
{
	return place(a, v, LEFT, WIDTH - RIGHT);
}

static double y_at(const struct axis *a, double v)
{
	return place(a, v, HEIGHT - BOTTOM, TOP);
}

/* 0.05, 20, 10^6, 5 10^6 */
static void log_tick_text(struct iso_text *t, const struct axis *a, int k)
{
	double v = tick(a, k), power = floor(v + 1e-9), digit = log_digit(a, k);

	if (power >= -3 && power <= 3) {
		iso_text_add(t, "%g</text>", digit * pow(10, power));
		return;
	}
	if (digit > 1) iso_text_add(t, "%.0f\u00b7", digit);
	iso_text_add(t, "10<tspan dy='-5' font-size='70%%'>%s%.0f</tspan></text>", power < 0 ? "\u2212" : "",
	             fabs(power));
}

/* The digits that the step needs, the same for all ticks, and a true minus sign. */
static void tick_text(struct iso_text *t, const struct axis *a, int k)
{
	if (a->log) {
		log_tick_text(t, a, k);
		return;
	}
	double v = a->first + k * a->step, top = fmax(fabs(a->lo), fabs(a->hi));
	int decimals = (int)fmax(0, -floor(log10(a->step) + 1e-9));

	if (fabs(v) < 1e-9 * a->step) v = 0;
	iso_text_add(t, "%s", v < 0 ? "\u2212" : "");
	if (decimals <= 5 && top < 1e6)
		iso_text_add(t, "%.*f</text>", decimals, fabs(v));
	else
		iso_text_add(t, "%.4g</text>", fabs(v));
}

static void draw_y_axis(struct iso_text *t, const struct axis *y, const char *label)
{
	for (int k = 0; k < y->ticks; k++) {
		double at = y_at(y, tick(y, k));

		iso_text_add(t, "<path d='M%.1f %.1fH%.1f' stroke='var(--line)'/>", LEFT, at, WIDTH - RIGHT);
		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='end'>", LEFT - 8, at + 4.5);
		tick_text(t, y, k);
	}
	iso_text_html(t, "<text x='2' y='14'>%s</text>", label);
}

static void draw_x_axis(struct iso_text *t, const struct axis *x, const char *label)
{
	for (int k = 0; k < x->ticks; k++) {
		double at = x_at(x, tick(x, k));

		iso_text_add(t, "<path d='M%.1f %.1fv5' stroke='var(--soft)'/>", at, HEIGHT - BOTTOM);
		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='middle'>", at, HEIGHT - BOTTOM + 19);
		tick_text(t, x, k);
	}
	iso_text_add(t, "<path d='M%.1f %.1fH%.1f' stroke='var(--soft)'/>", LEFT, HEIGHT - BOTTOM,
	             WIDTH - RIGHT);
	iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='middle'>", (LEFT + WIDTH - RIGHT) / 2,
	             HEIGHT - 6);
	iso_text_html(t, "%s</text>", label);
}

static bool drawn(const struct iso_svg_curve *c, int64_t i, bool log)
{
	return fabs(c->x[i]) <= LARGEST && fabs(c->y[i]) <= LARGEST &&
	       (!log || (c->x[i] > 1 / LARGEST && c->y[i] > 1 / LARGEST));
}

/* As its axis has it. */
static double scaled(double v, bool log)
{
	return log ? log10(v) : v;
}

static void draw_curve(struct iso_text *t, const struct iso_svg_curve *c, const struct axis *x,
                       const struct axis *y)
{
	bool pen_down = false;

	if (c->colour)
		iso_text_add(t, "<path fill='none' stroke='var(--c%d)' stroke-width='2' ", c->colour);
	else
		iso_text_add(t, "<path fill='none' stroke='var(--soft)' stroke-width='1.5' "
		                "stroke-dasharray='5 3' ");
	iso_text_add(t, "stroke-linejoin='round' d='");
	for (int64_t i = 0; i < c->n; i++) {
		if (drawn(c, i, x->log))
			iso_text_add(t, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_at(x, scaled(c->x[i], x->log)),
			             y_at(y, scaled(c->y[i], y->log)));
		pen_down = drawn(c, i, x->log);
	}
	iso_text_add(t, "'/>");
	for (int64_t i = 0; c->colour && c->n <= MOST_MARKED && i < c->n; i++)
		if (drawn(c, i, x->log))
			iso_text_add(t, "<circle cx='%.1f' cy='%.1f' r='3' fill='var(--c%d)'/>",
			             x_at(x, scaled(c->x[i], x->log)), y_at(y, scaled(c->y[i], y->log)),
			             c->colour);
}

static void put_legend(struct iso_text *t, const struct iso_svg_chart *c)
{
	iso_text_add(t, "<ul class='legend'>");
	for (int k = 0; k < c->n; k++) {
		if (!c->curve[k].name) continue;
		iso_text_add(t, "<li class='k%d'>", c->curve[k].colour);
		iso_text_html(t, "%s</li>", c->curve[k].name);
	}
	iso_text_add(t, "</ul>\n");
}

/* The most points that a curve has, and the ranges of all. */
static int64_t ranges(const struct iso_svg_chart *c, double x[2], double y[2])
{
	bool log = c->axes == ISO_SVG_LOG;
	int64_t most = 0;

	x[0] = y[0] = INFINITY;
	x[1] = y[1] = -INFINITY;
	for (int k = 0; k < c->n; k++) {
		const struct iso_svg_curve *v = &c->curve[k];
		int64_t n = 0;

		for (int64_t i = 0; i < v->n; i++) {
			if (!drawn(v, i, log)) continue;
			x[0] = fmin(x[0], scaled(v->x[i], log));
			x[1] = fmax(x[1], scaled(v->x[i], log));
			y[0] = fmin(y[0], scaled(v->y[i], log));
			y[1] = fmax(y[1], scaled(v->y[i], log));
			n++;
		}
		most = n > most ? n : most;
	}
	return most;
}

/* The plot between its axes. */
static void draw_plot(struct iso_text *t, const struct iso_svg_chart *c, const double xr[2],
                      const double yr[2])
{
	bool log = c->axes == ISO_SVG_LOG, zero = c->axes == ISO_SVG_FROM_ZERO && yr[0] >= 0;
	struct axis x = log ? make_log_axis(xr[0], xr[1], 0) : make_axis(xr[0], xr[1], 0);
	struct axis y = log ? make_log_axis(yr[0], yr[1], .04) : make_axis(zero ? 0 : yr[0], yr[1], .04);

	if (zero) y.lo = 0;
	draw_y_axis(t, &y, c->y_label);
	draw_x_axis(t, &x, c->x_label);
	for (int k = 0; k < c->n; k++) draw_curve(t, &c->curve[k], &x, &y);
}

void iso_svg_chart(struct iso_text *t, const struct iso_svg_chart *c)
{
	double xr[2], yr[2];

	if (ranges(c, xr, yr) < 2) return;
	iso_text_add(t, "<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='", WIDTH, HEIGHT);
	iso_text_html(t, "%s'>", c->label);
	draw_plot(t, c, xr, yr);
	iso_text_add(t, "</svg>\n");
	if (c->n > 1) put_legend(t, c);
}

/* ---- a file of its own ---- */

/* The colours of the page, light: not every program that shows SVG knows variables of CSS. */
static const char *const colours[][2] = {
	{ "var(--soft)", "#5a6675" }, { "var(--line)", "#dde3ea" }, { "var(--c1)", "#0a6fa3" },
	{ "var(--c2)", "#c2410c" },   { "var(--c3)", "#2f7d32" },   { "var(--c4)", "#7e3fa0" },
	{ "var(--c5)", "#8f6b00" },   { "var(--c6)", "#b0315f" },
};

enum { N_COLOURS = sizeof colours / sizeof *colours };

/* The drawing with colours in place of their names. */
static void put_coloured(struct iso_text *t, const char *drawing)
{
	for (const char *name; (name = strstr(drawing, "var(")); drawing = strchr(name, ')') + 1) {
		iso_text_add(t, "%.*s", (int)(name - drawing), drawing);
		for (int k = 0; k < N_COLOURS; k++)
			if (strncmp(name, colours[k][0], strlen(colours[k][0])) == 0)
				iso_text_add(t, "%s", colours[k][1]);
	}
	iso_text_add(t, "%s", drawing);
}

/* Lines of names, three in each, below the plot. */
static void draw_legend(struct iso_text *t, const struct iso_svg_chart *c)
{
	for (int k = 0; k < c->n; k++) {
		const struct iso_svg_curve *v = &c->curve[k];
		double x = LEFT + k % NAMES * (WIDTH - LEFT) / NAMES,
		       y = HEIGHT + 14 + k / NAMES * NAME_HEIGHT;

		iso_text_add(t, "<path d='M%.1f %.1fh18' stroke-width='3' ", x, y - 4);
		if (v->colour)
			iso_text_add(t, "stroke='var(--c%d)'/>", v->colour);
		else
			iso_text_add(t, "stroke='var(--soft)' stroke-dasharray='5 3'/>");
		iso_text_add(t, "<text x='%.1f' y='%.1f'>", x + 24, y);
		iso_text_html(t, "%s</text>", v->name ? v->name : "");
	}
}

/* The height of a chart with its names. */
static double whole_height(const struct iso_svg_chart *c)
{
	return HEIGHT + 12 + (c->n + NAMES - 1) / NAMES * NAME_HEIGHT;
}

static void draw_all(struct iso_text *t, int n, const struct iso_svg_chart *c, double height)
{
	double xr[2], yr[2], at = 0;

	iso_text_add(
		t,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' "
		"height='%.0f' font-family=\"system-ui, 'Liberation Sans', sans-serif\" font-size='13'>\n"
		"<style>text { fill: var(--soft); }</style>\n"
		"<rect width='%.0f' height='%.0f' fill='#ffffff'/>\n",
		WIDTH, height, 1.5 * WIDTH, 1.5 * height, WIDTH, height);
	for (int i = 0; i < n; i++) {
		if (ranges(&c[i], xr, yr) < 2) continue;
		iso_text_add(t, "<g transform='translate(0 %.0f)' role='img' aria-label='", at);
		iso_text_html(t, "%s'>", c[i].label);
		draw_plot(t, &c[i], xr, yr);
		draw_legend(t, &c[i]);
		iso_text_add(t, "</g>\n");
		at += whole_height(&c[i]);
	}
	iso_text_add(t, "</svg>\n");
}

void iso_svg_file(struct iso_text *t, int n, const struct iso_svg_chart *c)
{
	struct iso_text drawing = { 0 };
	double xr[2], yr[2], height = 0;

	for (int i = 0; i < n; i++) height += ranges(&c[i], xr, yr) < 2 ? 0 : whole_height(&c[i]);
	if (height == 0) return;
	draw_all(&drawing, n, c, height);
	if (drawing.failed)
		t->failed = true;
	else
		put_coloured(t, drawing.v);
	iso_text_free(&drawing);
}
