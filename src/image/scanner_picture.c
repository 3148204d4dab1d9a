/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of a scanner: its crystals or strips from two sides, and lines of events through them. */
#include "canvas.h"

#include "core/status.h"
#include "scanner/barrel.h"

#include <math.h>

enum {
	MARGIN = 24, /* pixels around and between the two views */
	LINE = 24,   /* of text */
	BASE = 8,    /* from a base line to what is below */
	HEIGHT = 640,
	WIDEST = 1100, /* of the view from the side */
	LINES = 400,   /* of events */
};

static const struct iso_colour page = { 20, 20, 24 }, text = { 232, 232, 236 }, faint = { 150, 150, 160 },
			       frame = { 62, 62, 70 }, crystal = { 110, 200, 255 }, event = { 255, 170, 60 };

/* One view: mm (h, v) lie at box.x + (h - low[0]) scale to the right, and from its lower edge up. */
struct view {
	struct iso_box box;
	double low[2], scale;
	bool side;
};

struct drawing {
	struct iso_pixels pixels;
	const iso_scanner *s;
	double low[3], high[3], radius[2]; /* of the crystals, mm */
	struct view view[2];
};

/* Of a crystal in a view; from the side it stands above or below the axis by its distance. */
static void crystal_at(double to[2], const struct view *v, const double p[3])
{
	to[0] = v->side ? p[2] : p[0];
	to[1] = v->side ? copysign(hypot(p[0], p[1]), p[1]) : p[1];
}

static void to_pixels(double to[2], const struct view *v, const double at[2])
{
	to[0] = (double)v->box.x + (at[0] - v->low[0]) * v->scale;
	to[1] = (double)(v->box.y + v->box.h) - (at[1] - v->low[1]) * v->scale;
}

static void measure_strips(struct drawing *d, const struct iso_barrel *b)
{
	d->radius[0] = iso_barrel_inner(b);
	for (int64_t i = 0; i < b->n; i++) {
		const struct iso_barrel_strip *s = b->strip + i;
		double corner[4][2];

		iso_barrel_corners(corner, s);
		for (int k = 0; k < 4; k++) {
			for (int a = 0; a < 2; a++) {
				d->low[a] = fmin(d->low[a], corner[k][a]);
				d->high[a] = fmax(d->high[a], corner[k][a]);
			}
			d->radius[1] = fmax(d->radius[1], hypot(corner[k][0], corner[k][1]));
		}
		d->low[2] = fmin(d->low[2], s->z - s->length / 2);
		d->high[2] = fmax(d->high[2], s->z + s->length / 2);
	}
}

static void measure(struct drawing *d)
{
	const double *p = iso_scanner_positions(d->s);

	for (int a = 0; a < 3; a++) d->low[a] = INFINITY, d->high[a] = -INFINITY;
	d->radius[0] = INFINITY;
	if (iso_scanner_barrel(d->s)) measure_strips(d, iso_scanner_barrel(d->s));
	for (int64_t i = 0; i < iso_scanner_crystals(d->s); i++, p += 3) {
		double r = hypot(p[0], p[1]);

		for (int a = 0; a < 3; a++) {
			d->low[a] = fmin(d->low[a], p[a]);
			d->high[a] = fmax(d->high[a], p[a]);
		}
		d->radius[0] = fmin(d->radius[0], r);
		d->radius[1] = fmax(d->radius[1], r);
	}
}

/* Both views have one scale, with a twentieth of the scanner's width around it. */
static void place_views(struct drawing *d)
{
	double half = 0, around, length = d->high[2] - d->low[2], scale;

	for (int a = 0; a < 2; a++) half = fmax(half, fmax(fabs(d->low[a]), fabs(d->high[a])));
	half = fmax(half, d->radius[1]);
	around = fmax(.1 * half, 1e-3);
	scale = fmin(HEIGHT / (2 * (half + around)), WIDEST / (length + 2 * around));

	int64_t side = (int64_t)ceil(2 * (half + around) * scale),
		wide = (int64_t)ceil((length + 2 * around) * scale);
	int64_t top = MARGIN + 2 * LINE;

	d->view[0] = (struct view){
		{ MARGIN, top, side, side }, { -half - around, -half - around }, scale, false
	};
	d->view[1] = (struct view){
		{ 2 * MARGIN + side, top, wide, side }, { d->low[2] - around, -half - around }, scale, true
	};
}

/* Events spread over the list, those that are none left out; their ends keep to the view. */
static int64_t draw_events(struct drawing *d, const struct iso_events *e)
{
	int64_t step = e->n / LINES + 1, drawn = 0;

	for (int64_t i = 0; i < e->n; i += step) {
		if (iso_event_bad(&e->v[i])) continue;
		const float *p = e->v[i].p1, *q = e->v[i].p2;

		for (int k = 0; k < 2; k++) {
			const struct view *v = &d->view[k];
			double from[2], to[2];

			to_pixels(from, v, (double[]){ v->side ? p[2] : p[0], p[1] });
			to_pixels(to, v, (double[]){ v->side ? q[2] : q[0], q[1] });
			iso_canvas_line(&d->pixels, from, to, event, .22);
		}
		drawn++;
	}
	return drawn;
}

static void draw_crystals(struct drawing *d)
{
	const double *p = iso_scanner_positions(d->s), *mm = iso_scanner_crystal_mm(d->s);
	double size = mm ? fmin(mm[0], mm[1]) * d->view[0].scale : 0;
	int64_t dot = (int64_t)fmin(fmax(size, 3), 6);

	for (int64_t i = 0; i < iso_scanner_crystals(d->s); i++, p += 3)
		for (int k = 0; k < 2; k++) {
			double mm_at[2], at[2];

			crystal_at(mm_at, &d->view[k], p);
			to_pixels(at, &d->view[k], mm_at);
			iso_canvas_fill(&d->pixels,
			                (struct iso_box){ (int64_t)floor(at[0]) - dot / 2,
			                                  (int64_t)floor(at[1]) - dot / 2, dot, dot },
			                crystal);
		}
}

/* The outline of each strip across the axis; from the side its length, at the distance of its middle. */
static void draw_strips(struct drawing *d, const struct iso_barrel *b)
{
	for (int64_t i = 0; i < b->n; i++) {
		const struct iso_barrel_strip *s = b->strip + i;
		double corner[4][2], at[4][2], end[2][2];

		iso_barrel_corners(corner, s);
		for (int k = 0; k < 4; k++) to_pixels(at[k], &d->view[0], corner[k]);
		for (int k = 0; k < 4; k++) iso_canvas_line(&d->pixels, at[k], at[(k + 1) % 4], crystal, 1);
		for (int k = 0; k < 2; k++) {
			double p[3] = { s->x, s->y, s->z + (k ? .5 : -.5) * s->length }, mm[2];

			crystal_at(mm, &d->view[1], p);
			to_pixels(end[k], &d->view[1], mm);
		}
		iso_canvas_line(&d->pixels, end[0], end[1], crystal, .7);
	}
}

/* What stands above and below: name, size, a scale bar. */
static void write_texts(struct drawing *d, const char *title, int64_t drawn, int64_t events)
{
	const struct view *v = &d->view[0];
	int64_t foot = v->box.y + v->box.h + LINE + BASE, right = d->pixels.width - MARGIN;
	double bar = iso_round_below((double)v->box.w / 4 / v->scale);
	bool same = d->radius[1] <= 1.001 * d->radius[0];
	char line[200], radius[64];

	iso_canvas_text(&d->pixels, MARGIN, MARGIN + LINE - BASE, 1, ISO_LEFT, text, title);
	iso_snprintf(radius, sizeof radius, "%.4g", d->radius[1]);
	if (!same) iso_snprintf(radius, sizeof radius, "%.4g to %.4g", d->radius[0], d->radius[1]);
	const struct iso_barrel *barrel = iso_scanner_barrel(d->s);

	iso_snprintf(line, sizeof line, "%" PRId64 " %s, radius %s mm, z from %.4g to %.4g mm",
	             barrel ? barrel->n : iso_scanner_crystals(d->s), barrel ? "strips" : "crystals", radius,
	             d->low[2], d->high[2]);
	iso_canvas_text(&d->pixels, MARGIN, MARGIN + 2 * LINE - BASE, 1, ISO_LEFT, faint, line);
	iso_canvas_fill(&d->pixels, (struct iso_box){ MARGIN, foot - 7, (int64_t)(bar * v->scale), 3 }, text);
	iso_snprintf(line, sizeof line, "%.4g mm", bar);
	iso_canvas_text(&d->pixels, MARGIN + bar * v->scale + BASE, foot, 1, ISO_LEFT, text, line);
	iso_snprintf(line, sizeof line, "lines of %" PRId64 " of %" PRId64 " events", drawn, events);
	if (events > 0) iso_canvas_text(&d->pixels, (double)right, foot, 1, ISO_RIGHT, faint, line);
	for (int k = 0; k < 2; k++) {
		const struct iso_box *b = &d->view[k].box;

		iso_canvas_frame(&d->pixels, *b, frame);
		iso_canvas_text(&d->pixels, (double)(b->x + b->w - 8), b->y + b->h / 2 + 6, 1, ISO_RIGHT,
		                faint, k ? "z" : "x");
		iso_canvas_text(&d->pixels, (double)(b->x + b->w / 2), b->y + 18, 1, ISO_MIDDLE, faint,
		                k ? "" : "y");
	}
}

int iso_picture_scanner(struct iso_pixels *pixels, const iso_scanner *s, const struct iso_events *e,
                        const char *title)
{
	if (!pixels || !s) return iso_fail_null(__func__);
	struct drawing d = { .s = s };
	int st;

	if (iso_scanner_crystals(s) < 1 && !iso_scanner_barrel(s))
		return iso_fail(ISO_EARG, "%s has no crystals to draw", iso_scanner_name(s));
	measure(&d);
	place_views(&d);
	st = iso_canvas_create(&d.pixels, d.view[1].box.x + d.view[1].box.w + MARGIN,
	                       d.view[0].box.y + d.view[0].box.h + LINE + MARGIN, page);
	if (st) return st;
	int64_t drawn = e ? draw_events(&d, e) : 0;

	draw_crystals(&d);
	if (iso_scanner_barrel(s)) draw_strips(&d, iso_scanner_barrel(s));
	write_texts(&d, title ? title : iso_scanner_name(s), drawn, e ? e->n : 0);
	*pixels = d.pixels;
	return ISO_OK;
}
