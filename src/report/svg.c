/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing curves and bars. */
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 640.
#define HEIGHT 300.
#define LEFT 74.	/* margins around the plot */
#define RIGHT 14.
#define TOP 30.
#define BOTTOM 44.
#define MOST_TICKS 7

struct axis {
	double lo, hi;		/* values at both ends */
	double first, step;	/* of the ticks */
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

static struct axis make_axis(double lo, double hi, double margin)
{
	if (!(hi > lo)) {
		double half = fmax(fabs(lo) * .05, 1e-12);

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

/* Digits enough to tell ticks apart. */
static void tick_text(struct iso_text *t, const struct axis *a, int k)
{
	double v = a->first + k * a->step, top = fmax(fabs(a->lo), fabs(a->hi));
	int digits = (int)ceil(log10(top / a->step)) + 1;

	if (fabs(v) < 1e-9 * a->step)
		v = 0;
	iso_text_add(t, "%.*g", digits < 3 ? 3 : digits > 9 ? 9 : digits, v);
}

static void draw_axes(struct iso_text *t, const struct iso_svg_chart *c, const struct axis *x,
		      const struct axis *y)
{
	for (int k = 0; k < y->ticks; k++) {
		double at = y_at(y, y->first + k * y->step);

		iso_text_add(t, "<path d='M%.1f %.1fH%.1f' stroke='var(--faint)'/>", LEFT, at, WIDTH - RIGHT);
		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='end'>", LEFT - 8, at + 4);
		tick_text(t, y, k);
		iso_text_add(t, "</text>");
	}
	for (int k = 0; k < x->ticks; k++) {
		double at = x_at(x, x->first + k * x->step);

		iso_text_add(t, "<path d='M%.1f %.1fv5' stroke='var(--ink)'/>", at, HEIGHT - BOTTOM);
		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='middle'>", at, HEIGHT - BOTTOM + 19);
		tick_text(t, x, k);
		iso_text_add(t, "</text>");
	}
	iso_text_add(t, "<path d='M%.1f %.1fH%.1f' stroke='var(--ink)'/>", LEFT, HEIGHT - BOTTOM,
		 WIDTH - RIGHT);
	iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='middle'>", (LEFT + WIDTH - RIGHT) / 2,
		 HEIGHT - 6);
	iso_text_escaped(t, c->x_label);
	iso_text_add(t, "</text><text x='%.1f' y='16'>", 6.);
	iso_text_escaped(t, c->y_label);
	iso_text_add(t, "</text>");
}

static bool drawn(const struct iso_svg_curve *c, int64_t i)
{
	return isfinite(c->x[i]) && isfinite(c->y[i]);
}

/* Few points are marked, many are a line alone. */
static void draw_curve(struct iso_text *t, const struct iso_svg_curve *c, int number, const struct axis *x,
		       const struct axis *y)
{
	bool pen_down = false;

	iso_text_add(t, "<path fill='none' stroke='var(--c%d)' stroke-width='2' d='", number);
	for (int64_t i = 0; i < c->n; i++) {
		if (drawn(c, i))
			iso_text_add(t, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_at(x, c->x[i]), y_at(y, c->y[i]));
		pen_down = drawn(c, i);
	}
	iso_text_add(t, "'/>");
	for (int64_t i = 0; c->n <= 40 && i < c->n; i++)
		if (drawn(c, i))
			iso_text_add(t, "<circle cx='%.1f' cy='%.1f' r='3' fill='var(--c%d)'/>",
				 x_at(x, c->x[i]), y_at(y, c->y[i]), number);
}

static void draw_legend(struct iso_text *t, const struct iso_svg_chart *c)
{
	double at = WIDTH - RIGHT;

	for (int k = c->n - 1; k >= 0; k--) {
		iso_text_add(t, "<text x='%.1f' y='16' text-anchor='end' fill='var(--c%d)'>", at, k + 1);
		iso_text_escaped(t, c->curve[k].name);
		iso_text_add(t, "</text>");
		at -= 16 + 7.2 * (double)strlen(c->curve[k].name);
	}
}

/* Points of all curves, and their ranges. */
static int64_t ranges(const struct iso_svg_chart *c, double x[2], double y[2])
{
	int64_t most = 0;

	x[0] = y[0] = INFINITY;
	x[1] = y[1] = -INFINITY;
	for (int k = 0; k < c->n; k++) {
		const struct iso_svg_curve *v = &c->curve[k];
		int64_t n = 0;

		for (int64_t i = 0; i < v->n; i++) {
			if (!drawn(v, i))
				continue;
			n++;
			x[0] = v->x[i] < x[0] ? v->x[i] : x[0];
			x[1] = v->x[i] > x[1] ? v->x[i] : x[1];
			y[0] = v->y[i] < y[0] ? v->y[i] : y[0];
			y[1] = v->y[i] > y[1] ? v->y[i] : y[1];
		}
		most = n > most ? n : most;
	}
	return most;
}

static void open_svg(struct iso_text *t, const char *label, double height)
{
	iso_text_add(t, "<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='", WIDTH, height);
	iso_text_escaped(t, label);
	iso_text_add(t, "'>");
}

void iso_svg_chart(struct iso_text *t, const struct iso_svg_chart *c)
{
	double xr[2], yr[2];

	if (ranges(c, xr, yr) < 2)
		return;
	if (c->from_zero && yr[0] > 0)
		yr[0] = 0;
	struct axis x = make_axis(xr[0], xr[1], 0), y = make_axis(yr[0], yr[1], .04);

	if (c->from_zero && yr[0] == 0)
		y.lo = 0;
	open_svg(t, c->label, HEIGHT);
	draw_axes(t, c, &x, &y);
	for (int k = 0; k < c->n; k++)
		draw_curve(t, &c->curve[k], k + 1, &x, &y);
	if (c->n > 1)
		draw_legend(t, c);
	iso_text_add(t, "</svg>\n");
}

void iso_svg_bars(struct iso_text *t, const char *label, int n, const char *const *name, const double *v,
	      const char *unit)
{
	double top = 0, row = 26, left = 150, right = 90;

	for (int i = 0; i < n; i++)
		top = v[i] > top ? v[i] : top;
	if (!(top > 0))
		return;
	open_svg(t, label, row * n + 6);
	for (int i = 0; i < n; i++) {
		double y = row * i + 4, w = v[i] / top * (WIDTH - left - right);

		iso_text_add(t, "<text x='%.1f' y='%.1f' text-anchor='end'>", left - 10, y + 15);
		iso_text_escaped(t, name[i]);
		iso_text_add(t, "</text><rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='3' "
			 "fill='var(--c1)'/>", left, y + 2, w > 1 ? w : 1, row - 8);
		iso_text_add(t, "<text x='%.1f' y='%.1f'>%.3g %s</text>", left + w + 8, y + 15, v[i], unit);
	}
	iso_text_add(t, "</svg>\n");
}
