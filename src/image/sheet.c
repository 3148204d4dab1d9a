/* SPDX-License-Identifier: BSD-3-Clause */
/* Where everything goes on a picture: sizes first, from which the zoom follows, then places. */
#include "sheet.h"

#include "core/size.h"

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

/* Of a block and its parts, in pixels. */
struct sizes {
	double panel_w, panel_h, tile_w, tile_h, w, h, cell;
};

/* A sheet in the making: sizes in pixels, not yet known to fit a picture. */
struct draft {
	struct iso_sheet *s;
	const struct iso_array *a;
	const struct iso_picture *p;
	const struct iso_grid *g;     /* of the volume */
	double edge;                  /* shortest one of a voxel that is shown */
	int64_t tiles, columns, rows; /* panels of a block */
	int64_t first, every;
	double tile_caption;  /* width, in units of the font; 0: none */
	struct sizes size[3]; /* by block */
	double width, height; /* of the sheet */
	double inner, bar;    /* heights of the room for blocks, and of the colour bar */
};

/* ---- texts ---- */

static double coordinate(const struct draft *d, int axis, int64_t index)
{
	double at = iso_measure_place(d->g, axis, index);

	/* 0 may have come out as 1e-17 */
	return fabs(at) < 1e-6 * d->g->voxel[axis] ? 0 : at;
}

static bool anatomic(const struct draft *d)
{
	return iso_shown_anatomic(d->a) && d->p->labels == ISO_LABEL_ANATOMY;
}

static void block_caption(const struct draft *d, struct iso_block *b)
{
	static const char *const plane[] = { "sagittal, ", "coronal, ", "transverse, " };
	bool mm = d->s->volume.in_mm;
	char name = (char)('x' + b->axis), at[24];
	const char *prefix = anatomic(d) ? plane[b->axis] : "";

	iso_tick_text(at, sizeof at, coordinate(d, b->axis, d->s->info.voxel[b->axis]));
	if (d->p->kind == ISO_MIP)
		snprintf(b->caption, sizeof b->caption, "%smaximum along %c", prefix, name);
	else if (d->p->kind == ISO_MONTAGE)
		snprintf(b->caption, sizeof b->caption, "%s%c%s", prefix, name, mm ? " in mm" : "");
	else if (mm || d->g->n[b->axis] > 1) /* a flat array has no z */
		snprintf(b->caption, sizeof b->caption, "%s%c = %s%s", prefix, name, at, mm ? " mm" : "");
}

/* Whether x runs to the left, in planes across `axis`. */
static bool is_turned(const struct draft *d, int axis)
{
	return d->p->radiological && iso_plane_axis(axis, false) == 0;
}

static void put_letter(const struct draft *d, char letter[4], int axis, bool positive)
{
	if (d->p->labels == ISO_LABEL_NONE) return;
	if (anatomic(d))
		snprintf(letter, 4, "%c", (positive ? "RAS" : "LPI")[axis]);
	else if (positive)
		snprintf(letter, 4, "+%c", 'x' + axis);
}

static void put_letters(const struct draft *d, struct iso_block *b)
{
	int h = iso_plane_axis(b->axis, false), v = iso_plane_axis(b->axis, true);
	bool turned = is_turned(d, b->axis);

	put_letter(d, b->letter[ISO_SIDE_LEFT], h, turned);
	put_letter(d, b->letter[ISO_SIDE_RIGHT], h, !turned);
	put_letter(d, b->letter[ISO_SIDE_BOTTOM], v, false);
	put_letter(d, b->letter[ISO_SIDE_TOP], v, true);
}

/* ---- what is shown ---- */

static void add_block(struct draft *d, int axis)
{
	struct iso_block *b = &d->s->block[d->s->n_blocks++];

	b->axis = axis;
	block_caption(d, b);
	put_letters(d, b);
	for (int v = 0; v < 2; v++) d->edge = fmin(d->edge, d->g->voxel[iso_plane_axis(axis, v)]);
}

/* Of a volume one voxel thick only the flat side is worth a panel. */
static void choose_blocks(struct draft *d)
{
	static const int order[] = { 1, 0, 2 };
	const int64_t *n = d->g->n;
	int flat = (n[0] == 1) + (n[1] == 1) + (n[2] == 1);

	if (d->p->kind == ISO_MONTAGE) add_block(d, d->p->axis ? d->p->axis - 'x' : 2);
	for (int i = 0; i < 3 && d->p->kind != ISO_MONTAGE; i++)
		if (flat != 1 || n[order[i]] == 1) add_block(d, order[i]);
}

/* The note, and what stands above the colour bar. */
static void choose_texts(struct draft *d)
{
	bool mm = d->s->volume.in_mm;
	char frame[48] = "";

	if (d->a->n_dim == 4 && d->a->dim[0] > 1)
		snprintf(frame, sizeof frame, "frame %" PRId64 " of 0 to %" PRId64, d->p->frame,
		         d->a->dim[0] - 1);
	const char *below =
		d->s->info.min < 0 && d->s->info.window[0] == 0 ? "values below 0 are shown as 0" : "";

	snprintf(d->s->note, sizeof d->s->note, "%s%s%s%s%s", frame, frame[0] && !mm ? ", " : "",
	         mm ? "" : "no voxel size", below[0] && (frame[0] || !mm) ? ", " : "", below);
	iso_ticks_make(&d->s->ticks, d->s->info.window[0], d->s->info.window[1], 0);
	snprintf(d->s->unit, sizeof d->s->unit, "%.23s%s%.50s", d->s->ticks.factor,
	         d->s->ticks.factor[0] && d->a->unit[0] ? " " : "", d->a->unit);
}

/* The slices of a montage lie symmetric in the volume. */
static void choose_tiles(struct draft *d)
{
	int axis = d->s->block[0].axis;
	int64_t n = d->g->n[axis], every = d->p->every;
	char text[24];

	d->tiles = d->columns = d->rows = d->every = 1;
	if (d->p->kind != ISO_MONTAGE) return;
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
	return fmax(1, round((double)d->g->n[axis] * d->g->voxel[axis] * d->s->info.pixels_per_mm));
}

/* A tile is a panel under its caption; a cell has letters around the block, and is no narrower than the
   block's caption. */
static void measure_block(struct draft *d, int i)
{
	const struct iso_block *b = &d->s->block[i];
	struct sizes *z = &d->size[i];
	double k = d->s->scale;

	z->panel_w = pixels(d, iso_plane_axis(b->axis, false));
	z->panel_h = pixels(d, iso_plane_axis(b->axis, true));
	z->tile_w = fmax(z->panel_w, k * ceil(d->tile_caption));
	z->tile_h = z->panel_h + (d->tile_caption > 0 ? k * ISO_SHEET_LINE : 0);
	z->w = (double)d->columns * (z->tile_w + TILE_GAP) - TILE_GAP;
	z->h = (double)d->rows * (z->tile_h + TILE_GAP) - TILE_GAP;
	z->cell = fmax(z->w + 2 * k * ISO_SHEET_LETTER, k * ceil(iso_font_width(b->caption)));
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
	double indent = .5 * (d->size[0].cell - d->size[0].w);
	double text = iso_font_width(d->s->ruler_text) + iso_font_width(d->s->note);

	return ceil(indent) + (double)d->s->ruler.w + d->s->scale * (ISO_SHEET_TEXT_GAP + GAP + ceil(text));
}

/* A round length of at most two fifths of the first panel. */
static void choose_ruler(struct draft *d)
{
	struct iso_sheet *s = d->s;
	int h = iso_plane_axis(s->block[0].axis, false);
	double length = iso_round_below(.4 * (double)d->g->n[h] * d->g->voxel[h]);
	bool small = s->volume.in_mm && length < .9999;

	if (!s->volume.in_mm) length = fmax(length, 1);
	s->ruler.w = (int64_t)fmin(fmax(round(length * s->info.pixels_per_mm), 1), MOST_PIXELS);
	const char *unit = small ? "\u00b5m" : s->volume.in_mm ? "mm" : length > 1 ? "voxels" : "voxel";

	iso_snprintf(s->ruler_text, sizeof s->ruler_text, "%g %s", small ? 1e3 * length : length, unit);
}

/* Everything that follows from the zoom. */
static void measure(struct draft *d, double zoom, int64_t columns)
{
	double k, blocks = 0, content = 0;

	d->s->info.pixels_per_mm = zoom / d->edge;
	d->columns = columns;
	d->rows = (d->tiles - 1) / columns + 1;
	d->s->scale = 1;
	for (int i = 0; i < d->s->n_blocks; i++) {
		measure_block(d, i);
		content += d->size[i].w;
	}
	k = d->s->scale = (int)fmin(fmax(round(content / WIDEST), 1), 64);
	choose_ruler(d);
	d->inner = k * BAR_LEAST;
	for (int i = 0; i < d->s->n_blocks; i++) {
		measure_block(d, i);
		blocks += d->size[i].cell + k * GAP;
		d->inner = fmax(d->inner, d->size[i].h);
	}
	d->bar = fmin(d->inner, k * BAR_MOST);
	iso_ticks_make(&d->s->ticks, d->s->info.window[0], d->s->info.window[1],
	               (int)(d->bar / (k * BAR_TICK)) - 1);
	d->width = 2 * k * ISO_SHEET_MARGIN + fmax(blocks + bar_width(d), foot_width(d));
	d->height = 2 * k * (ISO_SHEET_MARGIN + ISO_SHEET_LINE + ISO_SHEET_LETTER) + d->inner;
	if (d->p->title) d->height += k * ISO_SHEET_LINE;
}

/* The largest whole zoom whose picture fits, 1 if none does. */
static double widest_zoom(struct draft *d, int64_t columns)
{
	for (double zoom = 1;; zoom++) {
		measure(d, zoom + 1, columns);
		if (d->width > WIDEST || d->height > HIGHEST) return zoom;
	}
}

/* Columns that give the largest zoom, then the smallest picture. */
static void choose_sizes(struct draft *d)
{
	const struct iso_picture *p = d->p;
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

static void place_panels(struct draft *d, const struct iso_block *b, const struct sizes *z)
{
	const struct iso_picture *p = d->p;

	for (int64_t i = 0; i < d->tiles; i++) {
		struct iso_panel *panel = &d->s->panel[d->s->info.panels++];
		double x = (double)(i % d->columns) * (z->tile_w + TILE_GAP);
		double y = (double)(i / d->columns) * (z->tile_h + TILE_GAP);

		panel->axis = b->axis;
		panel->turned = is_turned(d, b->axis);
		panel->box = (struct iso_box){ b->box.x + (int64_t)(x + floor(.5 * (z->tile_w - z->panel_w))),
			                       b->box.y + (int64_t)(y + z->tile_h - z->panel_h),
			                       (int64_t)z->panel_w, (int64_t)z->panel_h };
		for (int v = 0; v < 2; v++) panel->n[v] = d->g->n[iso_plane_axis(b->axis, v)];
		panel->index = p->kind == ISO_MIP      ? -1
		               : p->kind == ISO_SLICES ? d->s->info.voxel[b->axis]
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
		const struct sizes *z = &d->size[i];

		d->s->block[i].box = (struct iso_box){ (int64_t)(x + floor(.5 * (z->cell - z->w))),
			                               top + (int64_t)(.5 * (d->inner - z->h)), (int64_t)z->w,
			                               (int64_t)z->h };
		place_panels(d, &d->s->block[i], z);
		x += z->cell + d->s->scale * GAP;
	}
	d->s->bar = (struct iso_box){ (int64_t)x, top + (int64_t)(.5 * (d->inner - d->bar)),
		                      d->s->scale * BAR, (int64_t)d->bar };
}

/* As much of the title as there is room for, cut between characters. */
static void place_title(struct draft *d)
{
	const char *title = d->p->title;
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
	if (d->p->title) {
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

int iso_sheet_make(struct iso_sheet *s, const struct iso_array *a, const struct iso_picture *p)
{
	struct draft d = { .s = s, .a = a, .p = p, .g = &s->volume.grid, .edge = INFINITY };
	int64_t panels;

	s->scale = 1;
	s->crosshair = p->crosshair;
	choose_blocks(&d);
	choose_texts(&d);
	choose_tiles(&d);
	choose_sizes(&d);
	if (d.width * d.height > MOST_PIXELS)
		return iso_fail(ISO_EARG,
		                "picture: %.0f x %.0f pixels, more than %.0f million; choose a smaller zoom",
		                d.width, d.height, MOST_PIXELS / 1e6);
	panels = s->n_blocks * d.tiles;
	s->panel = size_alloc(panels, sizeof *s->panel);
	if (!s->panel) return iso_fail_memory("panels", panels * (int64_t)sizeof *s->panel);
	place(&d);
	return ISO_OK;
}

void iso_sheet_free(struct iso_sheet *s)
{
	free(s->panel);
	*s = (struct iso_sheet){ 0 };
}
