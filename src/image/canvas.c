/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing on pixels: boxes, and text with smooth edges. */
#include "canvas.h"

#include "core/size.h"
#include "core/status.h"

#include <math.h>

int iso_canvas_create(struct iso_pixels *p, int64_t width, int64_t height, struct iso_colour c)
{
	struct iso_pixels r = { .width = width, .height = height };
	int64_t n;

	if (width < 1 || height < 1 || !size_mul(&n, width, height))
		return iso_fail(ISO_EARG, "canvas: %" PRId64 " x %" PRId64 " pixels, must be at least 1 x 1",
		                width, height);
	r.rgb = size_alloc(n, 3);
	if (!r.rgb) return iso_fail_memory("picture", n > INT64_MAX / 3 ? INT64_MAX : 3 * n);
	iso_canvas_fill(&r, (struct iso_box){ 0, 0, width, height }, c);
	*p = r;
	return ISO_OK;
}

void iso_pixels_free(struct iso_pixels *p)
{
	if (!p) return;
	free(p->rgb);
	*p = (struct iso_pixels){ 0 };
}

static unsigned char *at(struct iso_pixels *p, int64_t x, int64_t y)
{
	bool inside = x >= 0 && x < p->width && y >= 0 && y < p->height;

	return inside ? p->rgb + 3 * (y * p->width + x) : NULL;
}

static void blend(struct iso_pixels *p, int64_t x, int64_t y, struct iso_colour c, double opacity)
{
	const unsigned char to[3] = { c.r, c.g, c.b };
	unsigned char *rgb = at(p, x, y);

	for (int i = 0; rgb && i < 3; i++) rgb[i] = (unsigned char)lrint(rgb[i] + opacity * (to[i] - rgb[i]));
}

void iso_canvas_put(struct iso_pixels *p, int64_t x, int64_t y, struct iso_colour c)
{
	unsigned char *rgb = at(p, x, y);

	if (!rgb) return;
	rgb[0] = c.r;
	rgb[1] = c.g;
	rgb[2] = c.b;
}

void iso_canvas_fill(struct iso_pixels *p, struct iso_box b, struct iso_colour c)
{
	for (int64_t y = b.y; y < b.y + b.h; y++)
		for (int64_t x = b.x; x < b.x + b.w; x++) iso_canvas_put(p, x, y, c);
}

void iso_canvas_tint(struct iso_pixels *p, struct iso_box b, struct iso_colour c, double opacity)
{
	for (int64_t y = b.y; y < b.y + b.h; y++)
		for (int64_t x = b.x; x < b.x + b.w; x++) blend(p, x, y, c, opacity);
}

/* A pixel at each step along the longer way, shared by the two next to the line. */
void iso_canvas_line(struct iso_pixels *p, const double from[2], const double to[2], struct iso_colour c,
                     double opacity)
{
	double d[2] = { to[0] - from[0], to[1] - from[1] };
	int a = fabs(d[1]) > fabs(d[0]), b = !a; /* along, across */
	double first = fmin(from[a], to[a]), last = fmax(from[a], to[a]);

	if (!isfinite(d[0]) || !isfinite(d[1]) || d[a] == 0) return;
	first = fmax(floor(first), -1);
	last = fmin(last, (double)(a ? p->height : p->width));
	for (int64_t i = (int64_t)first; (double)i < last; i++) {
		double across = from[b] + ((double)i + .5 - from[a]) * d[b] / d[a] - .5,
		       part = across - floor(across);

		if (!(fabs(across) < 1e9)) continue;
		for (int k = 0; k < 2; k++) {
			int64_t j = (int64_t)floor(across) + k;

			blend(p, a ? j : i, a ? i : j, c, opacity * (k ? part : 1 - part));
		}
	}
}

void iso_canvas_frame(struct iso_pixels *p, struct iso_box b, struct iso_colour c)
{
	iso_canvas_fill(p, (struct iso_box){ b.x - 1, b.y - 1, b.w + 2, 1 }, c);
	iso_canvas_fill(p, (struct iso_box){ b.x - 1, b.y + b.h, b.w + 2, 1 }, c);
	iso_canvas_fill(p, (struct iso_box){ b.x - 1, b.y, 1, b.h }, c);
	iso_canvas_fill(p, (struct iso_box){ b.x + b.w, b.y, 1, b.h }, c);
}

/* ---- text ---- */

static double distance(const struct iso_stroke *s, double x, double y)
{
	double dx = s->x1 - s->x0, dy = s->y1 - s->y0, length = dx * dx + dy * dy;
	double t = length > 0 ? ((x - s->x0) * dx + (y - s->y0) * dy) / length : 0;

	t = fmin(fmax(t, 0), 1);
	return hypot(x - s->x0 - t * dx, y - s->y0 - t * dy);
}

/* How much of a pixel centred on (x, y), in units of the font, lies under the pen. */
static double ink(const struct iso_glyph *g, double x, double y, int scale)
{
	double d = INFINITY;

	for (int i = 0; i < g->n; i++) d = fmin(d, distance(&g->stroke[i], x, y));
	return fmin(fmax(scale * (.5 * ISO_FONT_PEN - d) + .5, 0), 1);
}

/* left: where x = 0 of the font lies */
static void put_glyph(struct iso_pixels *p, const struct iso_glyph *g, double left, int64_t y, int scale,
                      struct iso_colour c)
{
	int64_t first = (int64_t)floor(left) - 2 * scale;
	int64_t last = (int64_t)ceil(left + scale * g->advance);

	for (int row = -scale * ISO_FONT_TOP - 1; row < -scale * ISO_FONT_BOTTOM; row++)
		for (int64_t column = first; column < last; column++) {
			double u = ((double)column + .5 - left) / scale, v = -(row + 1.) / scale;

			blend(p, column, y + row, c, ink(g, u, v, scale));
		}
}

void iso_canvas_text(struct iso_pixels *p, double x, int64_t y, int scale, enum iso_align align,
                     struct iso_colour c, const char *text)
{
	struct iso_glyph g;

	/* so that straight strokes lie on whole pixels */
	x = floor(x - .5 * align * scale * iso_font_width(text)) + .5;
	while (*text) {
		text = iso_font_next(&g, text);
		put_glyph(p, &g, x, y, scale, c);
		x += scale * g.advance;
	}
}
