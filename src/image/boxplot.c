/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes and whiskers: quartiles of several samples side by side. */
#include "canvas.h"
#include "core/status.h"

#include <math.h>

enum { LEFT = 70, TOP = 44, FLOOR = 34, RIGHT = 20, COLUMN = 84, BOX = 36, HEIGHT = 240 };
enum { MOST = 64 };

static const struct iso_colour page = { 255, 255, 255 }, ink = { 40, 40, 48 }, grid = { 222, 222, 228 },
			       fill = { 158, 196, 224 }, median = { 178, 60, 30 };

/* Of the values: [0, top] from the floor to the top of the frame. */
static int64_t row(double v, double top)
{
	return TOP + HEIGHT - (int64_t)lround(v / top * HEIGHT);
}

/* A whole number of ticks, at or above the greatest value. */
static double top_of(const struct iso_boxplot *b)
{
	double most = 0;

	for (int i = 0; i < b->n; i++)
		if (b->box[i].n > 0) most = fmax(most, b->box[i].most);
	if (!(most > 0)) return 1;
	double step = iso_round_below(most / 2);

	return step * ceil(most / step);
}

static void draw_ticks(struct iso_pixels *p, double top)
{
	double step = iso_round_below(top / 2);
	char text[24];

	for (double v = 0; v <= top * (1 + 1e-9); v += step) {
		int64_t y = row(v, top);

		iso_canvas_fill(p, (struct iso_box){ LEFT, y, p->width - LEFT - RIGHT, 1 }, grid);
		iso_tick_text(text, sizeof text, v);
		iso_canvas_text(p, LEFT - 8, y + 6, 1, ISO_RIGHT, ink, text);
	}
}

/* `width` pixels around the middle x, from value a up to value b. */
static struct iso_box bar(int64_t x, int64_t width, double a, double b, double top)
{
	int64_t low = row(a, top), high = row(b, top);

	return (struct iso_box){ x - width / 2, high, width, low - high + 1 };
}

static void draw_box(struct iso_pixels *p, const struct iso_quartiles *q, int64_t x, double top)
{
	struct iso_box box = bar(x, BOX, q->low, q->high, top);

	iso_canvas_fill(p, bar(x, 1, q->least, q->most, top), ink);
	iso_canvas_fill(p, bar(x, BOX / 2, q->least, q->least, top), ink);
	iso_canvas_fill(p, bar(x, BOX / 2, q->most, q->most, top), ink);
	iso_canvas_fill(p, box, fill);
	iso_canvas_frame(p, box, ink);
	box = bar(x, BOX, q->median, q->median, top);
	box.y--;
	box.h = 3;
	iso_canvas_fill(p, box, median);
}

int iso_boxplot_render(struct iso_pixels *pixels, const struct iso_boxplot *b)
{
	if (!pixels || !b) return iso_fail_null(__func__);
	double top = top_of(b);
	int st;

	if (b->n < 1 || b->n > MOST)
		return iso_fail(ISO_EARG, "boxplot: %d boxes, must be 1 to %d", b->n, MOST);
	if ((st = iso_canvas_create(pixels, LEFT + b->n * COLUMN + RIGHT, TOP + HEIGHT + FLOOR, page)))
		return st;
	draw_ticks(pixels, top);
	for (int i = 0; i < b->n; i++) {
		int64_t x = LEFT + COLUMN * i + COLUMN / 2;

		iso_canvas_text(pixels, (double)x, TOP + HEIGHT + 24, 1, ISO_MIDDLE, ink, b->label[i]);
		if (b->box[i].n > 0) draw_box(pixels, &b->box[i], x, top);
	}
	iso_canvas_text(pixels, 12, 24, 1, ISO_LEFT, ink, b->title);
	return ISO_OK;
}
