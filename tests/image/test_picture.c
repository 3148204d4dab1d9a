/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures, held against the arrays that they show: every pixel of every kind of panel, letters
   found by their shape, bars by their length; also built in double. */
#include "test.h"

#include "image/sheet.h"
#include "io/format.h"

#include <float.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

/* 5 x 4 x 3 voxels of three edges, value = number of the voxel + 1. */
static const struct iso_grid small = { { 5, 4, 3 }, { 2, 3, 5 }, { 10, -4, 7 } };

static struct iso_array image(const struct iso_grid *g)
{
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, g));
	return a;
}

static struct iso_array numbered(void)
{
	struct iso_array a = image(&small);

	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i + 1);
	return a;
}

struct shown {
	struct iso_pixels pixels;
	struct iso_picture_info info;
	struct iso_sheet sheet;
};

static struct shown show(const struct iso_array *a, const struct iso_picture *p)
{
	struct shown s = { .info.size = sizeof s.info };

	OK(iso_picture_render(&s.pixels, &s.info, a, p));
	OK(iso_picture_sheet(&s.sheet, a, p));
	assert_int_equal(s.pixels.width, s.sheet.width);
	assert_int_equal(s.pixels.height, s.sheet.height);
	assert_int_equal(s.info.panels, s.sheet.info.panels);
	return s;
}

static void hide(struct shown *s)
{
	iso_pixels_free(&s->pixels);
	iso_sheet_free(&s->sheet);
}

static struct iso_colour pixel(const struct iso_pixels *p, int64_t x, int64_t y)
{
	const unsigned char *c = p->rgb + 3 * (y * p->width + x);

	assert_true(x >= 0 && x < p->width && y >= 0 && y < p->height);
	return (struct iso_colour){ c[0], c[1], c[2] };
}

static bool same(struct iso_colour a, struct iso_colour b)
{
	return a.r == b.r && a.g == b.g && a.b == b.b;
}

static void assert_colour(const struct iso_pixels *p, int64_t x, int64_t y, struct iso_colour want)
{
	struct iso_colour got = pixel(p, x, y);

	if (!same(got, want))
		fail_msg("pixel (%" PRId64 ", %" PRId64 ") is %d %d %d, not %d %d %d", x, y, got.r, got.g,
		         got.b, want.r, want.g, want.b);
}

static struct iso_colour expected(const char *map, const double window[2], double v)
{
	static struct iso_colormap m;
	static const char *made; /* a map is asked for at every pixel, and slow to make */

	if (made != map) OK(iso_colormap_make(&m, map));
	made = map;
	return iso_colormap_at(&m, (v - window[0]) / (window[1] - window[0]));
}

/* ---- every pixel of every panel ---- */

/* What a panel shows at u to the right and v upwards, in mm from its lower left corner; NaN where
   a border between voxels is too near to tell. Written without the library's planes. */
static double value_at(const struct iso_array *a, const struct iso_panel *panel, bool turned, double u,
                       double v, double clear)
{
	const int to_right[] = { 1, 0, 0 }, upwards[] = { 2, 2, 1 };
	int h = to_right[panel->axis], w = upwards[panel->axis];
	const struct iso_grid *g = &a->grid;
	int64_t at[3], n[3] = { g->n[0], g->n[1], g->n[2] };
	double best = -INFINITY;

	if (turned && h == 0) u = (double)n[h] * g->voxel[h] - u;
	if (fabs(remainder(u, g->voxel[h])) < clear || fabs(remainder(v, g->voxel[w])) < clear) return NAN;
	at[h] = (int64_t)(u / g->voxel[h]);
	at[w] = (int64_t)(v / g->voxel[w]);
	for (int64_t k = 0; k < n[panel->axis]; k++) {
		at[panel->axis] = k;
		if (panel->index < 0 || panel->index == k)
			best = fmax(best, (double)a->v[(at[2] * n[1] + at[1]) * n[0] + at[0]]);
	}
	return best;
}

static void assert_panel(const struct shown *s, const struct iso_array *a, const struct iso_panel *panel,
                         bool turned)
{
	struct iso_box b = panel->box;
	double scale = s->sheet.info.pixels_per_mm;
	int64_t tested = 0;

	for (int64_t y = 0; y < b.h; y++)
		for (int64_t x = 0; x < b.w; x++) {
			double v = value_at(a, panel, turned, ((double)x + .5) / scale,
			                    ((double)(b.h - y) - .5) / scale, .6 / scale);

			if (isnan(v)) continue;
			assert_colour(&s->pixels, b.x + x, b.y + y, expected(s->info.map, s->info.window, v));
			tested++;
		}
	assert_true(tested * 2 > b.w * b.h);
}

static void assert_panels(const struct iso_array *a, struct iso_picture p, int panels)
{
	for (int turned = 0; turned < 2; turned++) {
		struct shown s;

		p.radiological = turned;
		s = show(a, &p);
		assert_int_equal(s.sheet.info.panels, panels);
		for (int64_t i = 0; i < panels; i++) assert_panel(&s, a, &s.sheet.panel[i], turned);
		hide(&s);
	}
}

static void slices(void **state)
{
	struct iso_array a = numbered();
	const double zooms[] = { 0, 7, 11.3 };

	(void)state;
	for (int i = 0; i < N_OF(zooms); i++) {
		assert_panels(
			&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = zooms[i] }, 3);
		assert_panels(&a,
		              (struct iso_picture){ .size = sizeof(struct iso_picture),
		                                    .zoom = zooms[i],
		                                    .at = ISO_AT_POINT,
		                                    .point = { 6.5, -9, 13 } },
		              3);
	}
	iso_array_free(&a);
}

static void montage(void **state)
{
	struct iso_array a = numbered();

	(void)state;
	assert_panels(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE }, 3);
	assert_panels(
		&a,
		(struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE, .axis = 'y' },
		4);
	assert_panels(&a,
	              (struct iso_picture){ .size = sizeof(struct iso_picture),
	                                    .kind = ISO_MONTAGE,
	                                    .axis = 'x',
	                                    .every = 2,
	                                    .columns = 2,
	                                    .zoom = 9 },
	              3);
	iso_array_free(&a);
}

static void mip(void **state)
{
	struct iso_array a = numbered();

	(void)state;
	for (int64_t i = 0; i < a.n; i++) /* the greatest is not always the last */
		a.v[i] = (iso_real)(i * 37 % 61);
	assert_panels(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MIP }, 3);
	iso_array_free(&a);
}

/* One scale on both axes, whatever the voxels; the shortest edge is a whole number of pixels. */
static void anisotropic(void **state)
{
	const struct iso_grid g = { { 30, 20, 7 }, { 1.25, 2.5, 7.1 }, { 0 } };
	struct iso_array a = image(&g);
	struct shown s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture) });
	const int horizontal[] = { 0, 1, 0 }, vertical[] = { 2, 2, 1 };
	double scale = s.info.pixels_per_mm;

	(void)state;
	assert_true(s.pixels.width <= 1200 && s.pixels.width > 600);
	NEAR(scale * 1.25, round(scale * 1.25), 1e-12);
	for (int i = 0; i < 3; i++) {
		struct iso_box b = s.sheet.panel[i].box;

		NEAR((double)b.w, scale * 1.25 * (horizontal[i] ? 20 * 2 : 30), .5);
		NEAR((double)b.h, scale * (vertical[i] == 2 ? 7 * 7.1 : 20 * 2.5), .5);
	}
	hide(&s);
	iso_array_free(&a);
}

static void no_overlap(const struct iso_box *a, const struct iso_box *b)
{
	assert_true(a->x + a->w < b->x || b->x + b->w < a->x || a->y + a->h < b->y || b->y + b->h < a->y);
}

static void panels_lie_apart(void **state)
{
	const struct iso_grid g = { { 12, 9, 60 }, { 4, 4, 3 }, { 0 } };
	struct iso_array a = image(&g);

	(void)state;
	for (int kind = ISO_SLICES; kind <= ISO_MIP; kind++) {
		struct shown s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
		                                                 .kind = (enum iso_picture_kind)kind });

		for (int64_t i = 0; i < s.sheet.info.panels; i++) {
			struct iso_box b = s.sheet.panel[i].box;

			assert_true(b.x > 0 && b.y > 0 && b.x + b.w < s.pixels.width &&
			            b.y + b.h < s.sheet.ruler.y);
			no_overlap(&b, &s.sheet.bar);
			for (int64_t j = 0; j < i; j++) no_overlap(&b, &s.sheet.panel[j].box);
		}
		hide(&s);
	}
	iso_array_free(&a);
}

/* ---- left is left ---- */

/* Where a text in the colour of letters stands; fails unless it is found `times` times. */
static int find_text(struct iso_box found[4], const struct iso_pixels *p, const char *text,
                     struct iso_colour ink)
{
	struct iso_pixels patch = { 0 };
	int64_t w = (int64_t)iso_font_width(text) + 3, h = ISO_FONT_CAPITAL + 2;
	int n = 0;

	OK(iso_canvas_create(&patch, w, h, pixel(p, 0, 0)));
	iso_canvas_text(&patch, 1, h - 1, 1, ISO_LEFT, ink, text);
	for (int64_t y = 0; y + h <= p->height; y++)
		for (int64_t x = 0; x + w <= p->width; x++) {
			bool equal = true;

			for (int64_t j = 0; equal && j < h; j++)
				equal = !memcmp(patch.rgb + 3 * j * w, p->rgb + 3 * ((y + j) * p->width + x),
				                3 * (size_t)w);
			if (equal && n < 4) found[n++] = (struct iso_box){ x, y, w, h };
		}
	iso_pixels_free(&patch);
	return n;
}

/* The letter beside one of the blocks, found by its shape: the side it stands on. */
static int side_of(const struct iso_pixels *p, const struct iso_box *block, const char *letter,
                   struct iso_colour ink)
{
	struct iso_box at[4];
	int n = find_text(at, p, letter, ink), side = -1;

	for (int i = 0; i < n; i++) {
		int64_t x = at[i].x + at[i].w / 2, y = at[i].y + at[i].h / 2;
		bool beside = y > block->y && y < block->y + block->h;
		bool over = x > block->x && x < block->x + block->w;

		if (beside && x < block->x && x > block->x - 24) side = ISO_SIDE_LEFT;
		if (beside && x > block->x + block->w && x < block->x + block->w + 24) side = ISO_SIDE_RIGHT;
		if (over && y < block->y && y > block->y - 24) side = ISO_SIDE_TOP;
		if (over && y > block->y + block->h && y < block->y + block->h + 24) side = ISO_SIDE_BOTTOM;
	}
	return side;
}

/* The side of its panel on which the one voxel of colour `mark` lies, per direction. */
static void mark_sides(int side[2], const struct iso_pixels *p, const struct iso_box *b,
                       struct iso_colour mark)
{
	double x = 0, y = 0, n = 0;

	for (int64_t j = b->y; j < b->y + b->h; j++)
		for (int64_t i = b->x; i < b->x + b->w; i++)
			if (same(pixel(p, i, j), mark)) {
				x += (double)i;
				y += (double)j;
				n++;
			}
	assert_true(n > 0);
	side[0] = x / n < (double)b->x + .5 * (double)b->w ? ISO_SIDE_LEFT : ISO_SIDE_RIGHT;
	side[1] = y / n < (double)b->y + .5 * (double)b->h ? ISO_SIDE_TOP : ISO_SIDE_BOTTOM;
}

static int opposite(int side)
{
	return side ^ 1;
}

/* A voxel at the right, front, upper end lies beside R, A and S, and away from L, P and I. */
static void assert_sides(const struct shown *s, const struct iso_panel *panel, const struct iso_box *block,
                         bool radiological)
{
	static const char *const plus[] = { "R", "A", "S" }, *const minus[] = { "L", "P", "I" };
	const int axes[3][2] = { { 1, 2 }, { 0, 2 }, { 0, 1 } };
	const struct iso_colour ink = { 232, 232, 236 };
	int side[2];

	mark_sides(side, &s->pixels, &panel->box, expected("ember", s->info.window, 1));
	for (int i = 0; i < 2; i++) {
		int axis = axes[panel->axis][i];

		assert_int_equal(side_of(&s->pixels, block, plus[axis], ink), side[i]);
		assert_int_equal(side_of(&s->pixels, block, minus[axis], ink), opposite(side[i]));
	}
	assert_int_equal(side[1], ISO_SIDE_TOP);
	assert_int_equal(side[0], radiological && panel->axis != 0 ? ISO_SIDE_LEFT : ISO_SIDE_RIGHT);
}

static void left_is_left(void **state)
{
	const struct iso_grid g = { { 9, 8, 7 }, { 2, 2, 3 }, { 0 } };
	struct iso_array a = image(&g);

	(void)state;
	a.v[(5 * 8 + 6) * 9 + 7] = 1;
	for (int kind = ISO_SLICES; kind <= ISO_MIP; kind++)
		for (int turned = 0; turned < 2; turned++)
			for (int axis = 0; axis < (kind == ISO_MONTAGE ? 3 : 1); axis++) {
				struct shown s =
					show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
				                                        .kind = (enum iso_picture_kind)kind,
				                                        .at = ISO_AT_MAX,
				                                        .radiological = turned,
				                                        .axis = (char)('x' + axis) });
				const int64_t at[3] = { 7, 6, 5 };

				for (int64_t i = 0; i < s.sheet.info.panels; i++) {
					const struct iso_panel *p = &s.sheet.panel[i];

					if (p->index < 0 || p->index == at[p->axis])
						assert_sides(&s, p,
						             &s.sheet.block[kind == ISO_MONTAGE ? 0 : i].box,
						             turned);
				}
				hide(&s);
			}
	iso_array_free(&a);
}

static void labels(void **state)
{
	const struct iso_colour ink = { 232, 232, 236 };
	struct iso_array a = numbered();
	struct iso_box at[4];
	struct shown s = show(
		&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .labels = ISO_LABEL_AXES });

	(void)state;
	assert_int_equal(find_text(at, &s.pixels, "R", ink), 0);
	assert_int_equal(find_text(at, &s.pixels, "+x", ink), 2);
	assert_int_equal(side_of(&s.pixels, &s.sheet.block[2].box, "+x", ink), ISO_SIDE_RIGHT);
	assert_int_equal(side_of(&s.pixels, &s.sheet.block[2].box, "+y", ink), ISO_SIDE_TOP);
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .labels = ISO_LABEL_NONE });
	assert_int_equal(find_text(at, &s.pixels, "R", ink), 0);
	assert_int_equal(find_text(at, &s.pixels, "+x", ink), 0);
	hide(&s);
	a.has_grid = false; /* then nobody knows where right is */
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture) });
	assert_int_equal(find_text(at, &s.pixels, "R", ink), 0);
	assert_int_equal(find_text(at, &s.pixels, "+x", ink), 2);
	hide(&s);
	iso_array_free(&a);
}

static void captions(void **state)
{
	struct iso_array a = numbered();
	struct shown s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
	                                                 .at = ISO_AT_POINT,
	                                                 .point = { 6.5, -9, 13 } });

	(void)state;
	assert_string_equal(s.sheet.block[0].caption, "coronal, y = \u22128.5 mm");
	assert_string_equal(s.sheet.block[1].caption, "sagittal, x = 6 mm");
	assert_string_equal(s.sheet.block[2].caption, "transverse, z = 12 mm");
	NEAR(s.info.point[0], 6, 1e-12);
	assert_int_equal(s.info.voxel[0], 0);
	assert_int_equal(s.info.voxel[1], 0);
	assert_int_equal(s.info.voxel[2], 2);
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE });
	assert_string_equal(s.sheet.block[0].caption, "transverse, z in mm");
	assert_string_equal(s.sheet.panel[0].caption, "2");
	assert_string_equal(s.sheet.panel[2].caption, "12");
	hide(&s);
	iso_array_free(&a);
}

/* ---- bars ---- */

static void colour_bar(void **state)
{
	struct iso_array a = numbered();
	struct iso_picture p = { .size = sizeof p, .window = { -3, 42.5 } };

	(void)state;
	strcpy(a.unit, "counts/mm");
	for (const char *const *map = iso_picture_maps(); *map; map++) {
		p.map = *map;
		struct shown s = show(&a, &p);
		struct iso_box b = s.sheet.bar;
		const struct iso_ticks *t = &s.sheet.ticks;

		for (int64_t x = b.x; x < b.x + b.w; x++) {
			assert_colour(&s.pixels, x, b.y, expected(*map, p.window, 42.5));
			assert_colour(&s.pixels, x, b.y + b.h - 1, expected(*map, p.window, -3));
		}
		assert_true(t->n >= 3);
		assert_string_equal(t->text[0], "\u22123");
		assert_string_equal(t->text[t->n - 1], "42.5");
		assert_string_equal(s.sheet.unit, "counts/mm");
		hide(&s);
	}
	iso_array_free(&a);
}

static void ticks(void **state)
{
	struct iso_ticks t;

	(void)state;
	iso_ticks_make(&t, 0, 1, 4);
	assert_int_equal(t.n, 6);
	assert_string_equal(t.text[1], "0.2");
	assert_string_equal(t.text[4], "0.8");
	assert_string_equal(t.factor, "");
	iso_ticks_make(&t, -2e-5, 2e-5, 3);
	assert_string_equal(t.factor, "\u00d710\u207b\u2076");
	assert_string_equal(t.text[0], "\u221220");
	assert_string_equal(t.text[t.n / 2], "0");
	iso_ticks_make(&t, 0, 123456, 0);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.factor, "\u00d710\u00b3");
	assert_string_equal(t.text[1], "123.5");
	iso_ticks_make(&t, 1e300, nextafter(1e300, INFINITY), 50);
	assert_true(t.n >= 2 && t.n <= ISO_TICKS);
	iso_ticks_make(&t, -DBL_MAX, DBL_MAX, 50);
	assert_true(t.n >= 2 && t.n <= ISO_TICKS);
	NEAR(iso_round_below(5), 5, 0);
	NEAR(iso_round_below(4.99), 2, 0);
	NEAR(iso_round_below(.03), .02, 1e-17);
	NEAR(iso_round_below(1e6), 1e6, 0);
}

/* The scale bar is as long as it says, in pixels of the picture. */
static void assert_ruler(const struct shown *s, double voxel_mm, int64_t voxel_pixels, const char *unit,
                         double unit_mm)
{
	struct iso_box r = s->sheet.ruler;
	int64_t run = 0, y = r.y + r.h / 2;
	struct iso_colour ink = pixel(&s->pixels, r.x, y);
	char *end;
	double length = strtod(s->sheet.ruler_text, &end) * unit_mm;

	assert_string_equal(end, unit);
	while (same(pixel(&s->pixels, r.x + run, y), ink)) run++;
	assert_false(same(ink, pixel(&s->pixels, 0, 0)));
	NEAR((double)run, length / voxel_mm * (double)voxel_pixels, .5);
	assert_true(run <= s->sheet.panel[0].box.w);
}

static void scale_bar(void **state)
{
	const double edges[] = { .013, .9, 1, 4, 250 };
	struct iso_array a = { 0 };
	struct shown s;

	(void)state;
	for (int i = 0; i < N_OF(edges); i++) {
		double e = edges[i];
		const struct iso_grid g = { { 40, 30, 20 }, { e, e, 2 * e }, { 0 } };
		bool small_unit = e < .1;

		a = image(&g);
		s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 5 });
		assert_ruler(&s, e, 5, small_unit ? " \u00b5m" : " mm", small_unit ? 1e-3 : 1);
		hide(&s);
		iso_array_free(&a);
	}
	OK(iso_array_create(&a, 2, (int64_t[]){ 30, 40 }));
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 5 });
	assert_ruler(&s, 1, 5, " voxels", 1);
	assert_string_equal(s.sheet.note, "no voxel size");
	hide(&s);
	iso_array_free(&a);
}

/* ---- values ---- */

static void assert_window(const struct iso_array *a, struct iso_picture p, double low, double high,
                          const char *map)
{
	struct shown s = show(a, &p);

	NEAR(s.info.window[0], low, 1e-6);
	NEAR(s.info.window[1], high, 1e-6);
	assert_string_equal(s.info.map, map);
	hide(&s);
}

static void windows(void **state)
{
	struct iso_array a = numbered();

	(void)state;
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, 0, 60, "ember");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .map = "grey" }, 0, 60,
	              "grey");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .map = "blue-red" }, -60,
	              60, "blue-red");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .window = { -2, 9 } }, -2,
	              9, "ember");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .window = { -2, 2 } }, -2,
	              2, "blue-red");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 0, 100 } },
	              1, 60, "ember");
	a.dim[0] = 1; /* 20 values, 1 to 20: half of them lie below 11 */
	a.grid.n[2] = 1;
	a.n = 20;
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 0, 50 } }, 1,
	              11, "ember");
	a.v[3] = a.v[8] = -31; /* one above the other: a voxel that stands alone would not count */
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, -31, 31, "blue-red");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .map = "grey" }, -31, 20,
	              "grey");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 10, 90 } },
	              -18, 18, "blue-red");
	strcpy(a.unit, "absorbed energy"); /* which is never below 0 */
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, 0, 20, "ember");
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .map = "blue-red" }, -31,
	              31, "blue-red");
	a.unit[0] = 0;
	for (int64_t i = 0; i < a.n; i++) a.v[i] = 0;
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, 0, 1, "ember");
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)NAN;
	assert_window(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 0, 99 } }, 0,
	              1, "ember");
	iso_array_free(&a);
}

/* Against a full sort. */
static int rising(const void *a, const void *b)
{
	iso_real x = *(const iso_real *)a, y = *(const iso_real *)b;

	return (x > y) - (x < y);
}

static void percentiles(void **state)
{
	const struct iso_grid g = { { 11, 13, 7 }, { 1, 1, 1 }, { 0 } };
	struct iso_array a = image(&g);
	struct iso_shown vol;
	uint32_t x = 1;

	(void)state;
	for (int64_t i = 0; i < a.n; i++) {
		x = x * 1664525 + 1013904223;
		a.v[i] = (iso_real)(x >> 24); /* many of them equal */
	}
	OK(iso_shown_of(&vol, &a, 0));
	for (int p = 0; p < 100; p += 7) {
		double value[2], percent[2] = { p, p + 1 };

		OK(iso_shown_percentiles(value, &vol, percent));
		iso_real *sorted = calloc((size_t)a.n, sizeof *sorted);

		memcpy(sorted, a.v, (size_t)a.n * sizeof *sorted);
		qsort(sorted, (size_t)a.n, sizeof *sorted, rising);
		NEAR(value[0], sorted[lround(p / 100. * (double)(a.n - 1))], 0);
		NEAR(value[1], sorted[lround((p + 1) / 100. * (double)(a.n - 1))], 0);
		free(sorted);
	}
	iso_array_free(&a);
}

static int64_t count(const struct shown *s, const struct iso_box *b, struct iso_colour c)
{
	int64_t n = 0;

	for (int64_t y = b->y; y < b->y + b->h; y++)
		for (int64_t x = b->x; x < b->x + b->w; x++) n += same(pixel(&s->pixels, x, y), c);
	return n;
}

static void not_finite(void **state)
{
	struct iso_array a = numbered();
	struct shown s;

	(void)state;
	a.v[(1 * 4 + 2) * 5 + 2] = (iso_real)NAN; /* where the slices cross */
	a.v[0] = (iso_real)INFINITY;
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 4 });
	assert_int_equal(s.info.not_finite, 2);
	NEAR(s.info.max, 60, 0);
	for (int64_t i = 0; i < 3; i++) { /* voxels of 4 x 6 x 10 pixels */
		const int64_t pixels[] = { 4 * 10, 6 * 10, 4 * 6 };

		assert_int_equal(count(&s, &s.sheet.panel[i].box, iso_colour_not_finite), pixels[i]);
	}
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
	                                    .kind = ISO_MIP }); /* others lie behind them */
	for (int64_t i = 0; i < 3; i++)
		assert_int_equal(count(&s, &s.sheet.panel[i].box, iso_colour_not_finite), 0);
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .linear = true });
	assert_true(count(&s, &s.sheet.panel[2].box, iso_colour_not_finite) > 0);
	hide(&s);
	iso_array_free(&a);
	OK(iso_array_create(&a, 2, (int64_t[]){ 5, 5 }));
	a.v[12] = (iso_real)NAN; /* without weight at the centres of its neighbours */
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .linear = true, .zoom = 1 });
	assert_int_equal(count(&s, &s.sheet.panel[0].box, iso_colour_not_finite), 1);
	hide(&s);
	iso_array_free(&a);
}

/* A ramp stays a ramp: colours rise by single steps, and are right at the centres of voxels. */
static void linear(void **state)
{
	const struct iso_grid g = { { 6, 5, 1 }, { 1, 1, 1 }, { 0 } };
	struct iso_array a = image(&g);
	struct shown s;
	struct iso_box b;

	(void)state;
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i % 6);
	s = show(&a, &(struct iso_picture){
			     .size = sizeof(struct iso_picture), .linear = true, .map = "grey", .zoom = 41 });
	b = s.sheet.panel[0].box;
	for (int64_t x = 1; x < b.w; x++) {
		int step = pixel(&s.pixels, b.x + x, b.y + 9).r - pixel(&s.pixels, b.x + x - 1, b.y + 9).r;

		assert_true(step >= 0 && step <= 3);
	}
	for (int64_t i = 0; i < 6; i++)
		assert_colour(&s.pixels, b.x + 41 * i + 20, b.y + 100,
		              expected("grey", s.info.window, (double)i));
	hide(&s);
	iso_array_free(&a);
}

static void hottest(void **state)
{
	const struct iso_grid g = { { 12, 12, 12 }, { 1, 1, 1 }, { 5.5, 5.5, 5.5 } };
	struct iso_array a = image(&g);
	struct shown s;

	(void)state;
	a.v[(9 * 12 + 8) * 12 + 7] = 5; /* alone */
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .at = ISO_AT_MAX });
	assert_int_equal(s.info.voxel[0], 7);
	assert_int_equal(s.info.voxel[1], 8);
	assert_int_equal(s.info.voxel[2], 9);
	hide(&s);
	for (int64_t i = 0; i < 27; i++) /* lower, but a region */
		a.v[((1 + i / 9) * 12 + 2 + i / 3 % 3) * 12 + 3 + i % 3] = 2;
	a.v[0] = (iso_real)NAN;
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .at = ISO_AT_MAX });
	assert_int_equal(s.info.voxel[0], 4);
	assert_int_equal(s.info.voxel[1], 3);
	assert_int_equal(s.info.voxel[2], 2);
	hide(&s);
	iso_array_free(&a);
}

/* ---- arrays of other shapes ---- */

static void shapes(void **state)
{
	struct iso_array a = { 0 };
	struct shown s;

	(void)state;
	OK(iso_array_create(&a, 2, (int64_t[]){ 3, 8 }));
	a.v[2 * 8 + 7] = 1; /* upper right: rows run upwards */
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 10 });
	assert_int_equal(s.sheet.info.panels, 1);
	assert_string_equal(s.sheet.block[0].caption, "");
	assert_colour(&s.pixels, s.sheet.panel[0].box.x + 79, s.sheet.panel[0].box.y,
	              expected("ember", s.info.window, 1));
	hide(&s);
	iso_array_free(&a);

	OK(iso_array_create(&a, 4, (int64_t[]){ 3, 2, 2, 2 }));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i / 8 + 1);
	for (int64_t t = 0; t < 3; t++) {
		s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .frame = t });
		NEAR(s.info.max, (double)(t + 1), 0);
		hide(&s);
	}
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .frame = 1 });
	assert_string_equal(s.sheet.note, "frame 1 of 0 to 2, no voxel size");
	hide(&s);
	iso_array_free(&a);

	OK(iso_array_create(&a, 3, (int64_t[]){ 1, 1, 1 }));
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture) });
	assert_int_equal(s.sheet.info.panels, 3);
	hide(&s);
	iso_array_free(&a);
}

static void many_slices(void **state)
{
	const struct iso_grid g = { { 16, 16, 100 }, { 1, 1, 1 }, { 0 } };
	struct iso_array a = image(&g);
	struct shown s =
		show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE });
	int64_t last = s.sheet.info.panels - 1;

	(void)state;
	assert_true(s.sheet.info.panels <= 24 && s.sheet.info.panels >= 12);
	NEAR((double)s.sheet.panel[0].index, 99. - (double)s.sheet.panel[last].index, 1);
	assert_true(s.pixels.width <= 1200 && s.pixels.height <= 900);
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
	                                    .kind = ISO_MONTAGE,
	                                    .every = 30,
	                                    .columns = 1 });
	assert_int_equal(s.sheet.info.panels, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(s.sheet.panel[i].index, 4 + 30 * i);
		assert_int_equal(s.sheet.panel[i].box.x, s.sheet.panel[0].box.x);
	}
	hide(&s);
	iso_array_free(&a);
}

/* ---- crosshair, title ---- */

static void assert_cross(const struct iso_array *a, struct iso_picture p)
{
	struct shown plain = show(a, &p), s;
	struct iso_box b = plain.sheet.panel[2].box; /* x = 4 is voxel 14, y = -3 voxel 7 */
	int64_t x = b.x + (p.radiological ? 20 - 14 : 14) * 8 + 4, y = b.y + b.h - 8 * 8 + 4;

	p.crosshair = true;
	s = show(a, &p);
	assert_false(same(pixel(&s.pixels, x, b.y), pixel(&plain.pixels, x, b.y)));
	assert_false(same(pixel(&s.pixels, b.x, y), pixel(&plain.pixels, b.x, y)));
	assert_colour(&s.pixels, x, y, pixel(&plain.pixels, x, y));
	assert_colour(&s.pixels, b.x, b.y, pixel(&plain.pixels, b.x, b.y));
	hide(&s);
	hide(&plain);
}

static void crosshair(void **state)
{
	const struct iso_grid g = { { 21, 21, 21 }, { 1, 1, 1 }, { 0 } };
	struct iso_array a = image(&g);
	struct iso_picture p = { .size = sizeof p, .at = ISO_AT_POINT, .point = { 4, -3, 2 }, .zoom = 8 };

	(void)state;
	assert_cross(&a, p);
	p.radiological = true;
	assert_cross(&a, p);
	iso_array_free(&a);
}

static void title(void **state)
{
	char text[1000];
	struct iso_array a = numbered();
	struct shown s =
		show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .title = "short" });

	(void)state;
	assert_string_equal(s.sheet.title, "short");
	hide(&s);
	for (int i = 0; i < 499; i++) memcpy(text + 2 * i, "\u00b5", 2);
	text[998] = '\0';
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .title = text });
	assert_true(iso_font_width(s.sheet.title) <= (double)s.pixels.width - 40);
	assert_true(strlen(s.sheet.title) > 20);
	assert_string_equal(s.sheet.title + strlen(s.sheet.title) - 5, "\u00b5...");
	hide(&s);
	s = show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture),
	                                    .title = "\xff\xc3 \xe2\x88\n\xf0\x9f\x98\x80" });
	hide(&s);
	iso_array_free(&a);
}

/* ---- colours and letters ---- */

/* Relative luminance of sRGB, to the power that makes it even to the eye (L of OKLab's greys). */
static double lightness(struct iso_colour c)
{
	const double weight[] = { .2126, .7152, .0722 };
	const double v[] = { c.r / 255., c.g / 255., c.b / 255. };
	double y = 0;

	for (int i = 0; i < 3; i++)
		y += weight[i] * (v[i] <= .04045 ? v[i] / 12.92 : pow((v[i] + .055) / 1.055, 2.4));
	return cbrt(y);
}

static int apart(struct iso_colour a, struct iso_colour b)
{
	return abs(a.r - b.r) + abs(a.g - b.g) + abs(a.b - b.b);
}

static void maps(void **state)
{
	struct iso_colormap m;

	(void)state;
	for (const char *const *name = iso_picture_maps(); *name; name++) {
		bool diverging = !strcmp(*name, "blue-red");
		bool falls = !strcmp(*name, "inverted-grey");

		OK(iso_colormap_make(&m, *name));
		for (int i = 0; i < ISO_COLOURS; i++) {
			double before = lightness(m.colour[i ? i - 1 : 0]);
			double now = lightness(m.colour[i]);
			bool down = falls || (diverging && i > ISO_COLOURS / 2);

			assert_true(down ? now <= before + .006 : now >= before - .006);
			assert_true(apart(m.colour[i], iso_colour_not_finite) > 100);
			assert_true(apart(m.colour[i], m.colour[i ? i - 1 : 0]) <= 16);
		}
		assert_true(fabs(lightness(m.colour[255]) - lightness(m.colour[128])) > .3);
		assert_true(same(iso_colormap_at(&m, -7), m.colour[0]));
		assert_true(same(iso_colormap_at(&m, 1e300), m.colour[255]));
	}
	OK(iso_colormap_make(&m, "blue-red"));
	assert_true(m.colour[0].b > m.colour[0].r + 50 && m.colour[255].r > m.colour[255].b + 50);
	REFUSED(iso_colormap_make(&m, "greu"), ISO_EARG, "did you mean 'grey'?");
	REFUSED(iso_colormap_make(&m, "rainbow"), ISO_EARG, "one of ember, tide");
}

/* Each character has ink of its own, inside the box that the header promises. */
static void letters(void **state)
{
	static struct iso_glyph g[127];

	(void)state;
	for (char c = ' '; c <= '~'; c++) {
		const char text[] = { c, '\0' };
		struct iso_glyph *k = &g[(int)c];

		assert_true(*iso_font_next(k, text) == '\0');
		assert_true(k->advance > 0 && (k->n > 0) == (c != ' '));
		assert_true(k->n < (int)(sizeof k->stroke / sizeof *k->stroke));
		for (int i = 0; i < k->n; i++)
			assert_true(k->stroke[i].y0 >= ISO_FONT_BOTTOM + .75 &&
			            k->stroke[i].y0 <= ISO_FONT_TOP + .25 && k->stroke[i].x0 >= 0);
		for (char b = ' '; b < c; b++)
			assert_false(k->n == g[(int)b].n &&
			             !memcmp(k->stroke, g[(int)b].stroke, (size_t)k->n * sizeof *k->stroke));
	}
	NEAR(iso_font_width("\u00b5\u00b0\u2212\u00d7\u00b3\u2079") > 20, 1, 0);
	NEAR(iso_font_width("\u4e2d"), iso_font_width("\xff"), 0); /* the empty box */
	NEAR(iso_font_width(""), 0, 0);
}

static void text_stays_inside(void **state)
{
	struct iso_pixels p = { 0 };
	const struct iso_colour black = { 0, 0, 0 }, white = { 255, 255, 255 };

	(void)state;
	OK(iso_canvas_create(&p, 30, 20, black));
	iso_canvas_text(&p, -20, 5, 1, ISO_LEFT, white, "cut on all sides, as far as this goes");
	iso_canvas_text(&p, 1e9, 1000000000, 3, ISO_RIGHT, white, "far away");
	iso_canvas_fill(&p, (struct iso_box){ -5, -5, 1000, 8 }, white);
	iso_canvas_frame(&p, (struct iso_box){ -5, -5, 100, 100 }, white);
	assert_true(same(pixel(&p, 29, 2), white) && same(pixel(&p, 29, 19), black));
	iso_pixels_free(&p);
	REFUSED(iso_canvas_create(&p, 0, 5, black), ISO_EARG, "0 x 5 pixels");
	REFUSED(iso_canvas_create(&p, INT64_MAX, 2, black), ISO_EARG, "at least 1 x 1");
}

/* ---- refusals ---- */

static void refuse(const struct iso_array *a, struct iso_picture p, const char *message)
{
	struct iso_pixels pixels = { .width = 77 };

	REFUSED(iso_picture_render(&pixels, NULL, a, &p), ISO_EARG, message);
	assert_int_equal(pixels.width, 77);
	assert_null(pixels.rgb);
}

static void refusals(void **state)
{
	struct iso_array a = numbered(), b = { 0 };

	(void)state;
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .window = { 2, 1 } },
	       "window from 2 to 1");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .window = { 2, NAN } },
	       "window from 2 to nan");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .window = { 0, INFINITY } },
	       "window from 0 to inf");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 50, 101 } },
	       "50 to 101 per cent");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .percent = { 50, 50 } },
	       "50 to 50 per cent");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .map = "jet" },
	       "unknown colour map 'jet'");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = -1 }, "zoom is -1");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = NAN }, "zoom is nan");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 1e4 },
	       "more than 100 million");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .zoom = 1e300 },
	       "more than 100 million");
	refuse(&a,
	       (struct iso_picture){ .size = sizeof(struct iso_picture), .kind = (enum iso_picture_kind)3 },
	       "kind 3");
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture), .frame = 1 },
	       "frame 1 of an array with 1");
	refuse(&a,
	       (struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE, .axis = 'w' },
	       "across 'w'");
	refuse(&a,
	       (struct iso_picture){ .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE, .every = -1 },
	       "every -1");
	refuse(&a,
	       (struct iso_picture){
		       .size = sizeof(struct iso_picture), .kind = ISO_MONTAGE, .crosshair = true },
	       "crosshair");
	refuse(&a,
	       (struct iso_picture){
		       .size = sizeof(struct iso_picture), .at = ISO_AT_POINT, .point = { 0, 0, 1e30 } },
	       "x 5 to 15, y -10 to 2, z -0.5 to 14.5 mm");
	refuse(&a,
	       (struct iso_picture){
		       .size = sizeof(struct iso_picture), .at = ISO_AT_POINT, .point = { 10, NAN, 7 } },
	       "outside");
	a.grid.n[0] = 6;
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, "does not fit its grid");
	a.grid.n[0] = 5;
	a.grid.voxel[1] = 1e-300; /* a shape that no screen has */
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) }, "more than 100 million");
	a.n++;
	refuse(&a, (struct iso_picture){ .size = sizeof(struct iso_picture) },
	       "not as many as its sizes say");
	iso_array_free(&a);
	OK(iso_array_create(&b, 1, (int64_t[]){ 5 }));
	refuse(&b, (struct iso_picture){ .size = sizeof(struct iso_picture) }, "an array of 1 axes");
	iso_array_free(&b);
	OK(iso_array_create(&b, 5, (int64_t[]){ 1, 1, 1, 2, 2 }));
	refuse(&b, (struct iso_picture){ .size = sizeof(struct iso_picture) }, "an array of 5 axes");
	iso_array_free(&b);
}

/* ---- PNG ---- */

static void assert_png(const void *bytes, size_t n, const struct iso_pixels *want)
{
	png_image png = { .version = PNG_IMAGE_VERSION };
	unsigned char *rgb;

	assert_true(png_image_begin_read_from_memory(&png, bytes, n));
	png.format = PNG_FORMAT_RGB;
	assert_int_equal(png.width, want->width);
	assert_int_equal(png.height, want->height);
	rgb = malloc(PNG_IMAGE_SIZE(png));
	assert_non_null(rgb);
	assert_true(png_image_finish_read(&png, NULL, rgb, 0, NULL));
	assert_memory_equal(rgb, want->rgb, (size_t)(3 * want->width * want->height));
	free(rgb);
}

static void png(void **state)
{
	struct iso_array a = numbered();
	struct shown s =
		show(&a, &(struct iso_picture){ .size = sizeof(struct iso_picture), .title = "as a file" });
	struct iso_pixels none = { 0 };
	struct stat info;
	void *bytes = NULL, *file;
	size_t n = 0;
	FILE *f;

	(void)state;
	OK(iso_png_encode(&bytes, &n, &s.pixels));
	assert_png(bytes, n, &s.pixels);
	OK(iso_picture_write("picture.png", &s.pixels, "{}\n"));
	REFUSED(iso_picture_write_check("picture.png", false), ISO_EARG, "exists");
	OK(iso_picture_write_check("picture.png", true));
	assert_int_equal(stat("picture.png.json", &info), 0);
	f = fopen("picture.png", "rb");
	file = malloc(n + 1);
	assert_non_null(f);
	assert_non_null(file);
	assert_int_equal(fread(file, 1, n + 1, f), n);
	assert_memory_equal(file, bytes, n);
	fclose(f);
	unlink("picture.png");
	unlink("picture.png.json");
	free(file);
	free(bytes);
	REFUSED(iso_picture_write_check("picture.jpg", false), ISO_EARG, ".png");
	REFUSED(iso_picture_write("picture.jpg", &s.pixels, NULL), ISO_EARG, ".png");
	REFUSED(iso_picture_write("no/such/folder/x.png", &s.pixels, NULL), ISO_EIO, "no/such");
	REFUSED(iso_png_encode(&bytes, &n, &none), ISO_EARG, "0 x 0 pixels");
	hide(&s);
	iso_array_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices),
		cmocka_unit_test(montage),
		cmocka_unit_test(mip),
		cmocka_unit_test(anisotropic),
		cmocka_unit_test(panels_lie_apart),
		cmocka_unit_test(left_is_left),
		cmocka_unit_test(labels),
		cmocka_unit_test(captions),
		cmocka_unit_test(colour_bar),
		cmocka_unit_test(ticks),
		cmocka_unit_test(scale_bar),
		cmocka_unit_test(windows),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(linear),
		cmocka_unit_test(hottest),
		cmocka_unit_test(shapes),
		cmocka_unit_test(many_slices),
		cmocka_unit_test(crosshair),
		cmocka_unit_test(title),
		cmocka_unit_test(maps),
		cmocka_unit_test(letters),
		cmocka_unit_test(text_stays_inside),
		cmocka_unit_test(refusals),
		cmocka_unit_test(png),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
