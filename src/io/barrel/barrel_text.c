/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of barrels as text: GOJA's 19 columns, x1 y1 z1 (cm) t1 (ps) x2 y2 z2 t2 volume1 volume2 e1 e2 (keV) type and the places
   of two sources (cm); or j-pet-mlem's five, first second z_up z_dn dl. */
#include "barrel_files.h"
#include "scanner/barrel_blur.h"
#include "text/table_text.h"

#include <stdlib.h>

enum { GOJA = 19, MLEM = 5, CM = 10 };
#define INSIDE .1 /* mm that a hit may lie outside of its strip: places have two decimals of a cm */

/* A line of GOJA. */
struct line {
	double hit[2][4]; /* x y z in mm, t in ps */
	double volume[2];
	int64_t number;
};

struct text {
	struct iso_barrel_events *e;
	struct line *line;
	int64_t n, room, lines;
};

static void bad_line(struct iso_barrel_events *e, int64_t number)
{
	if (e->bad_lines++ == 0) e->first_bad = number;
}

/* ---- GOJA ---- */

static bool holds(const struct iso_barrel_strip *s, const double p[3])
{
	double x = p[0] - s->x, y = p[1] - s->y, c = cos(s->angle), e = sin(s->angle);

	return fabs(x * c + y * e) <= s->depth / 2 + INSIDE && fabs(y * c - x * e) <= s->width / 2 + INSIDE &&
	       fabs(p[2] - s->z) <= s->length / 2 + INSIDE;
}

/* The strip whose box holds a hit; -1: none. */
static int32_t find(const struct iso_barrel *b, const double p[3])
{
	for (int64_t i = 0; i < b->n; i++)
		if (holds(b->strip + i, p)) return (int32_t)i;
	return -1;
}

/* Whether all volumes are numbers of strips. */
static bool by_volume(const struct text *t, const struct iso_barrel *b)
{
	for (int64_t i = 0; i < t->n; i++)
		for (int k = 0; k < 2; k++) {
			int32_t strip = barrel_strip_of(t->line[i].volume[k], b);

			if (strip < 0 || !holds(b->strip + strip, t->line[i].hit[k])) return false;
		}
	return true;
}

static int keep_line(struct text *t, const double v[GOJA], const char *path)
{
	if (t->n == t->room) {
		int64_t room = 2 * t->room + 1024;
		struct line *more = realloc(t->line, (size_t)room * sizeof *more);

		if (!more) return iso_fail_memory(path, room * (int64_t)sizeof *more);
		t->line = more;
		t->room = room;
	}
	struct line *l = t->line + t->n++;

	for (int k = 0; k < 2; k++) {
		for (int a = 0; a < 3; a++) l->hit[k][a] = v[4 * k + a] * CM;
		l->hit[k][3] = v[4 * k + 3];
		l->volume[k] = v[8 + k];
	}
	l->number = t->lines;
	return ISO_OK;
}

/* A hit's strip is that of its volume, or the one around it. */
static int place_lines(struct text *t, const char *path, const struct iso_barrel *b,
                       const struct iso_barrel_options *o)
{
	const bool volumes = by_volume(t, b);
	struct barrel_list list = { t->e, 0 };
	int st = ISO_OK;

	for (int64_t i = 0; i < t->n && !st; i++) {
		const struct line *l = t->line + i;
		int32_t strip[2];

		for (int k = 0; k < 2; k++)
			strip[k] = volumes ? barrel_strip_of(l->volume[k], b) : find(b, l->hit[k]);
		if (strip[0] < 0 || strip[1] < 0) {
			bad_line(t->e, l->number);
			continue;
		}
		struct iso_barrel_event e = { strip[0], strip[1], (iso_real)l->hit[0][2],
			                      (iso_real)l->hit[1][2],
			                      (iso_real)barrel_way(l->hit[0][3] - l->hit[1][3], o) };

		if (o->smear) barrel_blur(&e, b, o->seed, (uint64_t)l->number, 0);
		st = iso_barrel_list_add(&list, &e, path);
	}
	t->e->exact = !o->smear;
	return st;
}

/* ---- lines ---- */

static bool numbers(double *v, int n, struct table_value line)
{
	struct table_value word[GOJA];

	if (table_split(word, n, line) != n) return false;
	for (int k = 0; k < n; k++)
		if (!table_number(v + k, word[k]) || !isfinite(v[k])) return false;
	return true;
}

static int take_goja(struct text *t, struct table_value line, const char *path,
                     const struct iso_barrel_options *o)
{
	double v[GOJA];

	if (!numbers(v, GOJA, line)) {
		bad_line(t->e, t->lines);
		return ISO_OK;
	}
	if (o->trues_only && v[12] != 1) {
		t->e->not_true++;
		return ISO_OK;
	}
	return keep_line(t, v, path);
}

/* The first strip has the greater number, and is that of z_up; dl is the way to it less that to the second. */
static int take_mlem(struct text *t, struct barrel_list *list, struct table_value line, const char *path,
                     const struct iso_barrel *b, const struct iso_barrel_options *o)
{
	double v[MLEM];

	if (!numbers(v, MLEM, line)) {
		bad_line(t->e, t->lines);
		return ISO_OK;
	}
	struct iso_barrel_event e = { barrel_strip_of(v[0] + (double)b->first, b),
		                      barrel_strip_of(v[1] + (double)b->first, b), (iso_real)(v[2] * o->mm),
		                      (iso_real)(v[3] * o->mm),
		                      (iso_real)((o->swap_dt ? -1 : 1) * v[4] * o->mm) };

	return iso_barrel_list_add(list, &e, path);
}

static int check_text(const struct text *t, const char *path, bool goja)
{
	const struct iso_barrel_events *e = t->e;

	if (e->bad_lines > 0 && e->bad_lines >= e->n)
		return iso_refuse(path,
		                  "%" PRId64 " of %" PRId64
		                  " lines are no events of this barrel, the first is line "
		                  "%" PRId64 "%s",
		                  e->bad_lines, t->lines, e->first_bad,
		                  goja ? ": 19 numbers, with hits inside of strips; is it another scanner?"
		                       : ": 5 numbers are expected, or the 19 of GOJA");
	if (e->n == 0) return iso_refuse(path, "holds no events");
	return ISO_OK;
}

int iso_barrel_read_text(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                         const struct iso_barrel_options *o)
{
	struct barrel_list list = { e, 0 };
	struct table_lines lines = { 0 };
	struct text t = { .e = e };
	struct table_value line, word;
	bool more = true, goja = false, known = false;
	int st = table_lines_open(&lines, path);

	while (!st && !(st = table_lines_next(&more, &line, &lines)) && more) {
		t.lines = lines.number;
		if (line.length == 0 || line.begin[0] == '#') continue;
		if (!known) goja = table_split(&word, 1, line) > MLEM;
		known = true;
		st = goja ? take_goja(&t, line, path, o) : take_mlem(&t, &list, line, path, b, o);
	}
	table_lines_close(&lines);
	if (!st && goja) st = place_lines(&t, path, b, o);
	free(t.line);
	return st ? st : check_text(&t, path, goja);
}
