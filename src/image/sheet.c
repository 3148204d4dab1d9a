/* SPDX-License-Identifier: BSD-3-Clause */
/* Where everything goes on a picture: sizes first, from which the zoom follows, then places. */
#include "sheet.h"

#include "base/number.h"
#include "core/size.h"
#include "core/status.h"
#include "font.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_PIXELS 100e6

/* Pixels at scale 1. */
enum {
	WIDEST = 1200, /* of a picture whose zoom is chosen here */
	HIGHEST = 900,
	GAP = 20,       /* between blocks */
	TILE_GAP = 6,   /* between panels of a block */
	BAR = 16,       /* width of the colour bar */
	BAR_LEAST = 96, /* its least and greatest height */
	BAR_MOST = 400,
	BAR_TICK = 44, /* height for one tick */
	RULER = 5,     /* thickness of the scale bar */
};

/* Unless the caller says otherwise; more columns than these do not fit WIDEST. */
enum { MOST_TILES = 24, MOST_COLUMNS = WIDEST / TILE_GAP };

/* A sheet in the making: sizes in pixels, not yet known to fit a picture. */
struct draft {
	const struct iso_sheet_content *c;
	struct iso_sheet *s;
	double edge;                  /* shortest one of a voxel that is shown */
	int64_t tiles, columns, rows; /* panels of a block */
	int64_t first, every;
	double tile_caption;  /* width, in units of the font; 0: none */
	double width, height; /* of the sheet */
	double inner, bar;    /* heights of the room for blocks, and of the colour bar */
};

/* ---- texts ---- */

static double coordinate(const struct draft *d, int axis, int64_t index)
{
	double at = iso_volume_coordinate(d->c->volume, axis, index);

	/* 0 may have come out as 1e-17 */
	return fabs(at) < 1e-6 * d->c->volume->grid.voxel[axis] ? 0 : at;
}

static bool anatomic(const struct draft *d)
{
	return d->c->volume->in_mm && d->c->picture->labels == ISO_LABEL_ANATOMY;
}

static void block_caption(const struct draft *d, struct iso_block *b)
{
	static const char *const plane[] = { "sagittal, ", "coronal, ", "transverse, " };
	bool mm = d->c->volume->in_mm;
	char name = (char)('x' + b->axis), at[24];
	const char *prefix = anatomic(d) ? plane[b->axis] : "";

	iso_tick_text(at, sizeof at, coordinate(d, b->axis, d->c->voxel[b->axis]));
	if (d->c->picture->kind == ISO_MIP)
		snprintf(b->caption, sizeof b->caption, "%smaximum along %c", prefix, name);
	else if (d->c->picture->kind == ISO_MONTAGE)
		snprintf(b->caption, sizeof b->caption, "%s%c%s", prefix, name, mm ? " in mm" : "");
	else if (mm || d->c->volume->grid.n[b->axis] > 1) /* a flat array has no z */
		snprintf(b->caption, sizeof b->caption, "%s%c = %s%s", prefix, name, at, mm ? " mm" : "");
}

bool iso_sheet_turned(const struct iso_sheet *s, int axis)
{
	return s->turned && iso_plane_axis(axis, false) == 0;
}

static void put_letter(const struct draft *d, char letter[4], int axis, bool positive)
{
	if (d->c->picture->labels == ISO_LABEL_NONE) return;
	if (anatomic(d))
		snprintf(letter, 4, "%c", (positive ? "RAS" : "LPI")[axis]);
	else if (positive)
		snprintf(letter, 4, "+%c", 'x' + axis);
}

static void put_letters(const struct draft *d, struct iso_block *b)
{
	int h = iso_plane_axis(b->axis, false), v = iso_plane_axis(b->axis, true);
	bool turned = iso_sheet_turned(d->s, b->axis);

	put_letter(d, b->letter[ISO_SIDE_LEFT], h, turned);
	put_letter(d, b->letter[ISO_SIDE_RIGHT], h, !turned);
	put_letter(d, b->letter[ISO_SIDE_BOTTOM], v, false);
	put_letter(d, b->letter[ISO_SIDE_TOP], v, true);
}

static void put_note(const struct draft *d)
{
	char frame[48] = "";

	if (d->c->frames > 1)
		snprintf(frame, sizeof frame, "frame %" PRId64 " of 0 to %" PRId64, d->c->picture->frame,
		         d->c->frames - 1);
	snprintf(d->s->note, sizeof d->s->note, "%s%s%s", frame, frame[0] && !d->c->volume->in_mm ? ", " : "",
	         d->c->volume->in_mm ? "" : "no voxel size");
}

/* ---- what is shown ---- */

/* Of a volume one voxel thick only the flat side is worth a panel. */
static void choose_blocks(struct draft *d)
{
	static const int order[] = { 1, 0, 2 };
	const int64_t *n = d->c->volume->grid.n;
	int flat = (n[0] == 1) + (n[1] == 1) + (n[2] == 1);
	char axis = d->c->picture->axis;

	if (d->c->picture->kind == ISO_MONTAGE) {
		d->s->block[d->s->n_blocks++].axis = axis ? axis - 'x' : 2;
		return;
	}
	for (int i = 0; i < 3; i++)
		if (flat != 1 || n[order[i]] == 1) d->s->block[d->s->n_blocks++].axis = order[i];
}

static void choose_texts(struct draft *d)
{
	for (int i = 0; i < d->s->n_blocks; i++) {
		struct iso_block *b = &d->s->block[i];

		block_caption(d, b);
		put_letters(d, b);
	}
	put_note(d);
	iso_ticks_make(&d->s->ticks, d->c->window[0], d->c->window[1], 0);
	snprintf(d->s->unit, sizeof d->s->unit, "%.23s%s%.50s", d->s->ticks.factor,
	         d->s->ticks.factor[0] && d->c->unit[0] ? " " : "", d->c->unit);
}

static void choose_edge(struct draft *d)
{
	const double *voxel = d->c->volume->grid.voxel;

	d->edge = INFINITY;
	for (int i = 0; i < d->s->n_blocks; i++)
		for (int v = 0; v < 2; v++)
			d->edge = fmin(d->edge, voxel[iso_plane_axis(d->s->block[i].axis, v)]);
}

/* The slices of a montage lie symmetric in the volume. */
static void choose_tiles(struct draft *d)
{
	int axis = d->s->block[0].axis;
	int64_t n = d->c->volume->grid.n[axis], every = d->c->picture->every;
	char text[24];

	d->tiles = d->columns = d->rows = d->every = 1;
	if (d->c->picture->kind != ISO_MONTAGE) return;
	d->every = every ? every : (n - 1) / MOST_TILES + 1;
	d->tiles = (n - 1) / d->every + 1;
	d->first = (n - 1) % d->every / 2;
	for (int64_t i = 0; i < d->tiles; i++) {
		iso_tick_text(text, sizeof text, coordinate(d, axis, d->first + i * d->every));
		d->tile_caption = fmax(d->tile_caption, iso_font_width(text));
	}
}

/* ---- sizes ---- */

static double pixels(const struct draft *d, int axis)
{
	const struct iso_grid *g = &d->c->volume->grid;

	return fmax(1, round((double)g->n[axis] * g->voxel[axis] * d->s->pixels_per_mm));
}

static double panel_width(const struct draft *d, int axis)
{
	return pixels(d, iso_plane_axis(axis, false));
}

static double panel_height(const struct draft *d, int axis)
{
	return pixels(d, iso_plane_axis(axis, true));
}

static double tile_width(const struct draft *d, int axis)
{
	return fmax(panel_width(d, axis), d->s->scale * ceil(d->tile_caption));
}

static double tile_height(const struct draft *d, int axis)
{
	return panel_height(d, axis) + (d->tile_caption > 0 ? d->s->scale * ISO_SHEET_LINE : 0);
}

static double block_width(const struct draft *d, int axis)
{
	return (double)d->columns * (tile_width(d, axis) + TILE_GAP) - TILE_GAP;
}

static double block_height(const struct draft *d, int axis)
{
	return (double)d->rows * (tile_height(d, axis) + TILE_GAP) - TILE_GAP;
}

/* With its letters, and no narrower than its caption. */
static double cell_width(const struct draft *d, const struct iso_block *b)
{
	double k = d->s->scale;

	return fmax(block_width(d, b->axis) + 2 * k * ISO_SHEET_LETTER, k * ceil(iso_font_width(b->caption)));
}

/* Of the bar with its ticks. */
static double bar_width(const struct draft *d)
{
	const struct iso_ticks *t = &d->s->ticks;
	double text = 0, unit = iso_font_width(d->s->unit);

	for (int i = 0; i < t->n; i++) text = fmax(text, iso_font_width(t->text[i]));
	return d->s->scale * ceil(fmax(BAR + ISO_SHEET_TEXT_GAP + text, unit));
}

/* From the left of the first cell: its scale bar stands under the panels. */
static double foot_width(const struct draft *d)
{
	const struct iso_block *b = &d->s->block[0];
	double indent = .5 * (cell_width(d, b) - block_width(d, b->axis));
	double text = iso_font_width(d->s->ruler_text) + iso_font_width(d->s->note);

	return ceil(indent) + (double)d->s->ruler.w + d->s->scale * (ISO_SHEET_TEXT_GAP + GAP + ceil(text));
}

/* A round length of at most two fifths of the first panel. */
static void choose_ruler(struct draft *d)
{
	const struct iso_volume *vol = d->c->volume;
	int h = iso_plane_axis(d->s->block[0].axis, false);
	double length = iso_round_below(.4 * (double)vol->grid.n[h] * vol->grid.voxel[h]);
	struct iso_sheet *s = d->s;

	if (!vol->in_mm) length = fmax(length, 1);
	s->ruler.w = (int64_t)fmin(fmax(round(length * s->pixels_per_mm), 1), MOST_PIXELS);
	if (!vol->in_mm)
		iso_snprintf(s->ruler_text, sizeof s->ruler_text, "%g voxel%s", length,
		             length > 1 ? "s" : "");
	else if (length < .9999)
		iso_snprintf(s->ruler_text, sizeof s->ruler_text, "%g \u00b5m", 1e3 * length);
	else
		iso_snprintf(s->ruler_text, sizeof s->ruler_text, "%g mm", length);
}

static void choose_scale(struct draft *d)
{
	double content = 0;

	d->s->scale = 1;
	for (int i = 0; i < d->s->n_blocks; i++) content += block_width(d, d->s->block[i].axis);
	d->s->scale = (int)fmin(fmax(round(content / WIDEST), 1), 64);
}

/* Everything that follows from the zoom. */
static void measure(struct draft *d, double zoom, int64_t columns)
{
	double k, blocks = 0;

	d->s->pixels_per_mm = zoom / d->edge;
	d->columns = columns;
	d->rows = (d->tiles - 1) / columns + 1;
	choose_scale(d);
	choose_ruler(d);
	k = d->s->scale;
	d->inner = k * BAR_LEAST;
	for (int i = 0; i < d->s->n_blocks; i++) {
		blocks += cell_width(d, &d->s->block[i]) + k * GAP;
		d->inner = fmax(d->inner, block_height(d, d->s->block[i].axis));
	}
	d->bar = fmin(d->inner, k * BAR_MOST);
	iso_ticks_make(&d->s->ticks, d->c->window[0], d->c->window[1], (int)(d->bar / (k * BAR_TICK)) - 1);
	d->width = 2 * k * ISO_SHEET_MARGIN + fmax(blocks + bar_width(d), foot_width(d));
	d->height = 2 * k * (ISO_SHEET_MARGIN + ISO_SHEET_LINE + ISO_SHEET_LETTER) + d->inner;
	if (d->c->picture->title) d->height += k * ISO_SHEET_LINE;
}

static bool fits(const struct draft *d)
{
	return d->width <= WIDEST && d->height <= HIGHEST;
}

/* The largest whole zoom whose picture fits, 1 if none does. */
static double widest_zoom(struct draft *d, int64_t columns)
{
	double zoom = 1;

	for (;; zoom++) {
		measure(d, zoom + 1, columns);
		if (!fits(d)) return zoom;
	}
}

/* Columns that give the largest zoom, then the smallest picture. */
static void choose_sizes(struct draft *d)
{
	const struct iso_picture *p = d->c->picture;
	int64_t most = p->columns ? p->columns : MOST_COLUMNS;
	int64_t last = most < d->tiles ? most : d->tiles, first = p->columns ? last : 1;
	int64_t columns = first;
	double zoom = 0, area = INFINITY;

	for (int64_t i = first; i <= last; i++) {
		double z = p->zoom > 0 ? p->zoom : widest_zoom(d, i), a;

		measure(d, z, i);
		a = d->width * d->height;
		if (z > zoom || (z == zoom && a < area)) {
			columns = i;
			zoom = z;
			area = a;
		}
	}
	measure(d, zoom, columns);
}

/* ---- places ---- */

static struct iso_box tile_box(const struct draft *d, const struct iso_block *b, int64_t i)
{
	double w = tile_width(d, b->axis), h = tile_height(d, b->axis);
	double x = (double)(i % d->columns) * (w + TILE_GAP);
	double y = (double)(i / d->columns) * (h + TILE_GAP);
	double pw = panel_width(d, b->axis), ph = panel_height(d, b->axis);

	return (struct iso_box){ b->box.x + (int64_t)(x + floor(.5 * (w - pw))),
		                 b->box.y + (int64_t)(y + h - ph), (int64_t)pw, (int64_t)ph };
}

static void place_panels(struct draft *d, struct iso_block *b)
{
	const struct iso_picture *p = d->c->picture;

	for (int64_t i = 0; i < d->tiles; i++) {
		struct iso_panel *panel = &d->s->panel[d->s->n_panels++];

		panel->axis = b->axis;
		panel->box = tile_box(d, b, i);
		for (int v = 0; v < 2; v++) panel->n[v] = d->c->volume->grid.n[iso_plane_axis(b->axis, v)];
		panel->index = p->kind == ISO_MIP      ? -1
		               : p->kind == ISO_SLICES ? d->c->voxel[b->axis]
		                                       : d->first + i * d->every;
		if (p->kind == ISO_MONTAGE)
			iso_tick_text(panel->caption, sizeof panel->caption,
			              coordinate(d, b->axis, panel->index));
	}
}

/* Side by side, centred in height. */
static void place_blocks(struct draft *d, int64_t top)
{
	double x = d->s->scale * ISO_SHEET_MARGIN;

	for (int i = 0; i < d->s->n_blocks; i++) {
		struct iso_block *b = &d->s->block[i];
		double cell = cell_width(d, b), w = block_width(d, b->axis);
		double h = block_height(d, b->axis);

		b->box = (struct iso_box){ (int64_t)(x + floor(.5 * (cell - w))),
			                   top + (int64_t)(.5 * (d->inner - h)), (int64_t)w, (int64_t)h };
		place_panels(d, b);
		x += cell + d->s->scale * GAP;
	}
	d->s->bar = (struct iso_box){ (int64_t)x, top + (int64_t)(.5 * (d->inner - d->bar)),
		                      d->s->scale * BAR, (int64_t)d->bar };
}

/* As much of the title as there is room for, cut between characters. */
static void place_title(struct draft *d)
{
	const char *title = d->c->picture->title;
	struct iso_sheet *s = d->s;
	double room = d->width / s->scale - 2 * ISO_SHEET_MARGIN;
	size_t n = strlen(title), most = sizeof s->title - sizeof "...";

	snprintf(s->title, sizeof s->title, "%s", title);
	if (n < sizeof s->title && iso_font_width(title) <= room) return;
	for (n = n < most ? n : most; n > 0; n--) {
		if (((unsigned char)title[n] & 0xc0) == 0x80) continue;
		snprintf(s->title, sizeof s->title, "%.*s...", (int)n, title);
		if (iso_font_width(s->title) <= room) return;
	}
}

static void place(struct draft *d)
{
	struct iso_sheet *s = d->s;
	int64_t k = s->scale, top = k * ISO_SHEET_MARGIN, bottom;

	s->width = (int64_t)d->width;
	s->height = (int64_t)d->height;
	if (d->c->picture->title) {
		place_title(d);
		s->title_y = top + k * ISO_FONT_CAPITAL;
		top += k * ISO_SHEET_LINE;
	}
	top += k * (ISO_SHEET_LINE + ISO_SHEET_LETTER);
	place_blocks(d, top);
	bottom = top + (int64_t)d->inner + k * ISO_SHEET_LETTER;
	s->note_y = bottom + k * ISO_SHEET_LINE;
	s->ruler.h = k * RULER;
	s->ruler.x = s->block[0].box.x;
	s->ruler.y = s->note_y - k * (ISO_FONT_CAPITAL + RULER) / 2;
}

/* ---- all of it ---- */

static int check(const struct iso_picture *p)
{
	if (p->axis && (p->axis < 'x' || p->axis > 'z'))
		return iso_fail(ISO_EARG, "picture: montage across '%c', must be x, y or z", p->axis);
	if (p->every < 0 || p->columns < 0)
		return iso_fail(ISO_EARG,
		                "picture: every %" PRId64 " slices in %" PRId64
		                " columns, must be at least 1",
		                p->every, p->columns);
	if (!(p->zoom >= 0) || isinf(p->zoom))
		return iso_fail(ISO_EARG, "picture: zoom is %g, must be positive", p->zoom);
	return ISO_OK;
}

static int check_size(const struct draft *d)
{
	if (d->width * d->height <= MOST_PIXELS) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "picture: would be %.0f x %.0f pixels, more than %.0f million; choose a smaller zoom",
	                d->width, d->height, MOST_PIXELS / 1e6);
}

int iso_sheet_create(struct iso_sheet *s, const struct iso_sheet_content *c)
{
	struct iso_sheet r = { .turned = c->picture->radiological, .scale = 1 };
	struct draft d = { .c = c, .s = &r };
	int64_t panels;
	int st = check(c->picture);

	if (st) return st;
	choose_blocks(&d);
	choose_texts(&d);
	choose_edge(&d);
	choose_tiles(&d);
	choose_sizes(&d);
	if ((st = check_size(&d))) return st;
	panels = r.n_blocks * d.tiles;
	r.panel = size_alloc(panels, sizeof *r.panel);
	if (!r.panel) return iso_fail_memory("panels", panels * (int64_t)sizeof *r.panel);
	place(&d);
	*s = r;
	return ISO_OK;
}

void iso_sheet_free(struct iso_sheet *s)
{
	free(s->panel);
	*s = (struct iso_sheet){ 0 };
}
