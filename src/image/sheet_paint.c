/* SPDX-License-Identifier: BSD-3-Clause */
/* Paints what a sheet has around its panels: texts, colour bar, scale bar, crosshair. */
#include "sheet.h"

#include <math.h>

/* Pixels at scale 1: from a base line to what is below, from a voxel to the crosshair, along a tick. */
enum { BASE = 7, CLEAR = 6, TICK = 4 };

/* Dark pages for maps that begin dark, light ones for the others. */
struct inks {
	struct iso_colour page, text, faint, line, cross;
};

static const struct inks dark = {
	{ 20, 20, 24 }, { 232, 232, 236 }, { 150, 150, 160 }, { 62, 62, 70 }, { 110, 220, 255 },
};
static const struct inks light = {
	{ 255, 255, 255 }, { 30, 30, 36 }, { 105, 105, 115 }, { 200, 200, 206 }, { 0, 110, 190 },
};

static const struct inks *inks_for(const struct iso_colormap *m)
{
	return m->light ? &light : &dark;
}

struct iso_colour iso_sheet_page(const struct iso_colormap *m)
{
	return inks_for(m)->page;
}

/* A sheet being painted. */
struct brush {
	struct iso_pixels *pixels;
	const struct iso_sheet *s;
	const struct inks *ink;
	int k; /* scale */
};

static void write_text(const struct brush *b, int64_t x, int64_t y, enum iso_align align, struct iso_colour c,
                       const char *text)
{
	iso_canvas_text(b->pixels, (double)x, y, b->k, align, c, text);
}

static void paint_block(const struct brush *b, const struct iso_block *block)
{
	int64_t gap = b->k * ISO_SHEET_TEXT_GAP, capital = b->k * ISO_FONT_CAPITAL;
	int64_t left = block->box.x, right = left + block->box.w, x = left + block->box.w / 2;
	int64_t top = block->box.y, bottom = top + block->box.h, base = b->k * BASE;
	int64_t y = top + (block->box.h + capital) / 2;
	struct iso_colour c = b->ink->text;

	write_text(b, left - gap, y, ISO_RIGHT, c, block->letter[ISO_SIDE_LEFT]);
	write_text(b, right + gap, y, ISO_LEFT, c, block->letter[ISO_SIDE_RIGHT]);
	write_text(b, x, top - base, ISO_MIDDLE, c, block->letter[ISO_SIDE_TOP]);
	write_text(b, x, bottom + base + capital, ISO_MIDDLE, c, block->letter[ISO_SIDE_BOTTOM]);
	write_text(b, x, top - b->k * ISO_SHEET_LETTER - base, ISO_MIDDLE, b->ink->faint, block->caption);
}

static void paint_foot(const struct brush *b)
{
	const struct iso_sheet *s = b->s;

	iso_canvas_fill(b->pixels, s->ruler, b->ink->text);
	write_text(b, s->ruler.x + s->ruler.w + b->k * ISO_SHEET_TEXT_GAP, s->note_y, ISO_LEFT, b->ink->text,
	           s->ruler_text);
	write_text(b, s->width - b->k * ISO_SHEET_MARGIN, s->note_y, ISO_RIGHT, b->ink->faint, s->note);
}

static void paint_ticks(const struct brush *b)
{
	const struct iso_ticks *t = &b->s->ticks;
	double low = t->value[0], range = t->value[t->n - 1] - low;
	struct iso_box bar = b->s->bar;
	int64_t right = bar.x + bar.w;

	for (int i = 0; i < t->n; i++) {
		double share = fmin(fmax((t->value[i] - low) / range, 0), 1);
		int64_t y = bar.y + llround((1 - share) * (double)(bar.h - 1));

		iso_canvas_fill(b->pixels, (struct iso_box){ right, y, b->k * TICK, b->k }, b->ink->text);
		write_text(b, right + b->k * ISO_SHEET_TEXT_GAP, y + b->k * (ISO_FONT_CAPITAL / 2 + 1),
		           ISO_LEFT, b->ink->text, t->text[i]);
	}
}

/* The first and the last row have the colours of the window's ends. */
static void paint_bar(const struct brush *b, const struct iso_colormap *m)
{
	struct iso_box bar = b->s->bar;

	for (int64_t y = 0; y < bar.h; y++)
		iso_canvas_fill(b->pixels, (struct iso_box){ bar.x, bar.y + y, bar.w, 1 },
		                iso_colormap_at(m, 1 - (double)y / (double)(bar.h - 1)));
	iso_canvas_frame(b->pixels, bar, b->ink->line);
	paint_ticks(b);
	write_text(b, bar.x, bar.y - 2 * b->k * BASE, ISO_LEFT, b->ink->faint, b->s->unit);
}

/* ---- crosshair ---- */

/* Of `pixels` pixels along n voxels, the first whose centre lies in voxel number `voxel` or beyond. */
static int64_t edge(int64_t pixels, int64_t n, int64_t voxel)
{
	return (int64_t)ceil((double)pixels * (double)voxel / (double)n - .5);
}

/* The pixels of a panel that show voxel (i, j) of its plane. */
static struct iso_box voxel_box(const struct iso_panel *panel, int64_t i, int64_t j)
{
	struct iso_box b = panel->box, r;

	r.x = edge(b.w, panel->n[0], i);
	r.w = edge(b.w, panel->n[0], i + 1) - r.x;
	r.y = edge(b.h, panel->n[1], j);
	r.h = edge(b.h, panel->n[1], j + 1) - r.y;
	r.x = b.x + (panel->turned ? b.w - r.x - r.w : r.x);
	r.y = b.y + b.h - r.y - r.h;
	return r;
}

/* Four arms that leave the voxel free. */
static void paint_cross(const struct brush *brush, const struct iso_panel *panel)
{
	const int64_t *voxel = brush->s->info.voxel;
	int h = iso_plane_axis(panel->axis, false), v = iso_plane_axis(panel->axis, true);
	struct iso_box b = panel->box, o = voxel_box(panel, voxel[h], voxel[v]);
	int64_t k = brush->k, clear = k * CLEAR;
	int64_t x = o.x + o.w / 2, left = o.x - clear, right = o.x + o.w + clear;
	int64_t y = o.y + o.h / 2, top = o.y - clear, bottom = o.y + o.h + clear;
	const struct iso_box arm[] = {
		{ b.x, y, left - b.x, k },
		{ right, y, b.x + b.w - right, k },
		{ x, b.y, k, top - b.y },
		{ x, bottom, k, b.y + b.h - bottom },
	};

	for (int i = 0; i < 4; i++) iso_canvas_tint(brush->pixels, arm[i], brush->ink->cross, .7);
}

/* ---- all of it ---- */

void iso_sheet_paint(struct iso_pixels *pixels, const struct iso_sheet *s, const struct iso_colormap *m)
{
	const struct brush b = { pixels, s, inks_for(m), s->scale };

	for (int64_t i = 0; i < s->info.panels; i++) {
		struct iso_box box = s->panel[i].box;

		if (s->crosshair) paint_cross(&b, &s->panel[i]);
		iso_canvas_frame(pixels, box, b.ink->line);
		write_text(&b, box.x + box.w / 2, box.y - b.k * BASE, ISO_MIDDLE, b.ink->faint,
		           s->panel[i].caption);
	}
	for (int i = 0; i < s->n_blocks; i++) paint_block(&b, &s->block[i]);
	paint_bar(&b, m);
	paint_foot(&b);
	write_text(&b, b.k * ISO_SHEET_MARGIN, s->title_y, ISO_LEFT, b.ink->text, s->title);
}
