/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing curves. */
#include "svg.h"

#include <math.h>

#define WIDTH 480. /* narrow enough that text stays readable on a phone */
#define HEIGHT 270.
#define LEFT 62. /* margins around the plot */
#define RIGHT 16.
#define TOP 30.
#define BOTTOM 46.
#define MOST_TICKS 6
#define MOST_MARKED 40 /* points: more of them are a line alone */
#define LARGEST 1e100  /* of a value that is drawn */

struct axis {
	double lo, hi;      /* values at both ends */
	double first, step; /* of the ticks */
	int ticks;
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

/* The digits that the step needs, the same for all ticks, and a true minus sign. */
static void tick_text(struct iso_text *t, const struct axis *a, int k)
{
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
		double at = y_at(y, y->first + k * y->step);

		iso_text_add(t, "<path d='M%.1f %.1fH%.1f' stroke='var(--line)'/>", LEFT, at, WIDTH - RIGHT);
		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='end'>", LEFT - 8, at + 4.5);
		tick_text(t, y, k);
	}
	iso_text_html(t, "<text x='2' y='14'>%s</text>", label);
}

static void draw_x_axis(struct iso_text *t, const struct axis *x, const char *label)
{
	for (int k = 0; k < x->ticks; k++) {
		double at = x_at(x, x->first + k * x->step);

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

static bool drawn(const struct iso_svg_curve *c, int64_t i)
{
	return fabs(c->x[i]) <= LARGEST && fabs(c->y[i]) <= LARGEST;
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
		if (drawn(c, i))
			iso_text_add(t, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_at(x, c->x[i]),
			             y_at(y, c->y[i]));
		pen_down = drawn(c, i);
	}
	iso_text_add(t, "'/>");
	for (int64_t i = 0; c->colour && c->n <= MOST_MARKED && i < c->n; i++)
		if (drawn(c, i))
			iso_text_add(t, "<circle cx='%.1f' cy='%.1f' r='3' fill='var(--c%d)'/>",
			             x_at(x, c->x[i]), y_at(y, c->y[i]), c->colour);
}

static void put_legend(struct iso_text *t, const struct iso_svg_chart *c)
{
	iso_text_add(t, "<ul class='legend'>");
	for (int k = 0; k < c->n; k++) {
		iso_text_add(t, "<li class='k%d'>", c->curve[k].colour);
		iso_text_html(t, "%s</li>", c->curve[k].name);
	}
	iso_text_add(t, "</ul>\n");
}

/* The most points that a curve has, and the ranges of all. */
static int64_t ranges(const struct iso_svg_chart *c, double x[2], double y[2])
{
	int64_t most = 0;

	x[0] = y[0] = INFINITY;
	x[1] = y[1] = -INFINITY;
	for (int k = 0; k < c->n; k++) {
		const struct iso_svg_curve *v = &c->curve[k];
		int64_t n = 0;

		for (int64_t i = 0; i < v->n; i++) {
			if (!drawn(v, i)) continue;
			x[0] = fmin(x[0], v->x[i]);
			x[1] = fmax(x[1], v->x[i]);
			y[0] = fmin(y[0], v->y[i]);
			y[1] = fmax(y[1], v->y[i]);
			n++;
		}
		most = n > most ? n : most;
	}
	return most;
}

void iso_svg_chart(struct iso_text *t, const struct iso_svg_chart *c)
{
	double xr[2], yr[2];

	if (ranges(c, xr, yr) < 2) return;
	bool zero = c->from_zero && yr[0] >= 0;
	struct axis x = make_axis(xr[0], xr[1], 0), y = make_axis(zero ? 0 : yr[0], yr[1], .04);

	if (zero) y.lo = 0;
	iso_text_add(t, "<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='", WIDTH, HEIGHT);
	iso_text_html(t, "%s'>", c->label);
	draw_y_axis(t, &y, c->y_label);
	draw_x_axis(t, &x, c->x_label);
	for (int k = 0; k < c->n; k++) draw_curve(t, &c->curve[k], &x, &y);
	iso_text_add(t, "</svg>\n");
	if (c->n > 1) put_legend(t, c);
}
