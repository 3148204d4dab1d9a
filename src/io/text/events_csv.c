/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as text of columns: commas, semicolons, tabs or blanks between the values, the names of the columns in the first line,
   an event in each line behind it. Blank lines and lines that begin with '#' are left out, before the names too.

	x1,y1,z1,x2,y2,z2,dt_ps,time_s          ends in mm; dt_ps is t1 - t2; the last two may be absent
	crystal1,crystal2,dt_ps,time_ms         numbers of the scanner's crystals in place of ends

   Columns may stand in any order, in capitals or not, and with their unit behind the name ("x1_mm"). Others are not used. */
#include "event_text.h"
#include "file/suffix.h"
#include "text/table_text.h"

#include <math.h>
#include <stdio.h>

enum { LINE_MOST = 1 << 14, COLUMNS_MOST = 64 };

enum field { X1, Y1, Z1, X2, Y2, Z2, CRYSTAL_1, CRYSTAL_2, DT, TIME, FIELDS };

/* Names of columns. Values times `unit` are mm, ps or ms. */
static const struct {
	const char *name;
	enum field field;
	double unit;
} names[] = {
	{ "x1", X1, 1 },
	{ "y1", Y1, 1 },
	{ "z1", Z1, 1 },
	{ "x2", X2, 1 },
	{ "y2", Y2, 1 },
	{ "z2", Z2, 1 },
	{ "x1_mm", X1, 1 },
	{ "y1_mm", Y1, 1 },
	{ "z1_mm", Z1, 1 },
	{ "x2_mm", X2, 1 },
	{ "y2_mm", Y2, 1 },
	{ "z2_mm", Z2, 1 },
	{ "crystal1", CRYSTAL_1, 1 },
	{ "crystal2", CRYSTAL_2, 1 },
	{ "dt_ps", DT, 1 },
	{ "dt_ns", DT, 1000 },
	{ "time_ms", TIME, 1 },
	{ "time_s", TIME, 1000 },
};

struct csv {
	struct event_text text;
	const struct iso_events_options *o;
	char head[LINE_MOST + 1]; /* the line of names */
	int columns;
	int at[FIELDS]; /* column of each field; -1: not there */
	double unit[FIELDS];
};

/* ---- values of a line ---- */

/* Returns the number of values, also beyond the most; 0: a blank line, or a comment. */
static int split(struct table_value v[COLUMNS_MOST], const char *p, const char *end)
{
	struct table_value line = table_trimmed(p, end);

	return line.length == 0 || *line.begin == '#' ? 0 : table_split(v, COLUMNS_MOST, line);
}

/* ---- the names ---- */

static bool is_name(const struct table_value *v, const char *name)
{
	return (size_t)v->length == strlen(name) && iso_same_letters(v->begin, name, (size_t)v->length);
}

static int take_name(struct csv *c, const struct table_value *v, int column)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!is_name(v, names[i].name)) continue;
		if (c->at[names[i].field] >= 0)
			return iso_refuse(c->text.path, "column '%.*s' says what another column says",
			                  v->length, v->begin);
		c->at[names[i].field] = column;
		c->unit[names[i].field] = names[i].unit;
	}
	return ISO_OK;
}

/* All six ends, or both crystals. Ends count where there are both. */
static int check_names(const struct csv *c)
{
	int ends = 0;

	for (int f = X1; f <= Z2; f++) ends += c->at[f] >= 0;
	bool crystals = c->at[CRYSTAL_1] >= 0 && c->at[CRYSTAL_2] >= 0;

	if (ends == 0 && crystals && !c->o->scanner)
		return iso_refuse(c->text.path,
		                  "holds crystal numbers; a scanner must say where the crystals are");
	if (ends == 6 || (ends == 0 && crystals)) return ISO_OK;
	return iso_refuse(c->text.path, "the first line must name the columns: x1 y1 z1 x2 y2 z2 in mm, or "
	                                "crystal1 crystal2; also dt_ps or dt_ns, time_ms or time_s");
}

static int take_names(struct csv *c)
{
	struct table_value v[COLUMNS_MOST];
	int st = ISO_OK;

	c->columns = split(v, c->head, c->head + strlen(c->head));
	for (int f = 0; f < FIELDS; f++) c->at[f] = -1;
	if (c->columns > COLUMNS_MOST)
		return iso_refuse(c->text.path, "%d columns, at most %d are read", c->columns, COLUMNS_MOST);
	for (int i = 0; i < c->columns && !st; i++) st = take_name(c, &v[i], i);
	c->text.times = c->at[TIME] >= 0;
	return st ? st : check_names(c);
}

enum { FOUND = 1 };

/* The first line that is neither blank nor a comment, as a part. */
static bool look_at_line(void *part, const void *arg, int64_t number, const char *p, const char *end)
{
	struct table_value v[COLUMNS_MOST];

	(void)arg, (void)number;
	if (split(v, p, end) == 0) return true;
	memcpy(part, p, (size_t)(end - p));
	return false;
}

static int take_head(void *arg, void *part, int64_t before)
{
	struct csv *c = arg;

	(void)before;
	memcpy(c->head, part, sizeof c->head);
	return c->head[0] ? FOUND : ISO_OK;
}

/* ---- events ---- */

/* The fields that the file has, in the library's units. */
static bool get_values(struct event_part *b, const struct csv *c, int64_t number, double v[FIELDS],
                       const struct table_value *text)
{
	for (int f = 0; f < FIELDS; f++) {
		v[f] = 0;
		if (c->at[f] < 0) continue;
		const struct table_value *t = &text[c->at[f]];

		if (!iso_number(&v[f], t->begin, (size_t)t->length)) {
			if (event_part_bad(b, number))
				snprintf(b->why, sizeof b->why, "column %d is '%.*s', not a number",
				         c->at[f] + 1, t->length < 30 ? t->length : 30, t->begin);
			return false;
		}
		v[f] *= c->unit[f];
	}
	return true;
}

/* The place of a crystal. False: the scanner has no crystal of that number. */
static bool place(float p[3], const iso_scanner *s, double crystal)
{
	if (!(crystal >= 0 && crystal < (double)iso_scanner_crystals(s) && crystal == floor(crystal)))
		return false;
	for (int a = 0; a < 3; a++) p[a] = (float)iso_scanner_positions(s)[3 * (int64_t)crystal + a];
	return true;
}

static bool add_event(struct event_part *b, const struct csv *c, int64_t number, const double v[FIELDS])
{
	struct iso_event e = { .dt_ps = (float)v[DT] };

	for (int a = 0; a < 3; a++) {
		e.p1[a] = (float)v[X1 + a];
		e.p2[a] = (float)v[X2 + a];
	}
	if (c->at[X1] < 0 &&
	    !(place(e.p1, c->o->scanner, v[CRYSTAL_1]) && place(e.p2, c->o->scanner, v[CRYSTAL_2]))) {
		if (event_part_bad(b, number))
			iso_snprintf(b->why, sizeof b->why,
			             "crystals %.10g and %.10g, expected 0 to %" PRId64, v[CRYSTAL_1],
			             v[CRYSTAL_2], iso_scanner_crystals(c->o->scanner) - 1);
		return true;
	}
	if (c->o->swap_dt) e.dt_ps = 0 - e.dt_ps;
	/* 1.001 s times 1000 may lie a little below 1001 ms */
	return event_part_add(b, &c->text, number, &e, v[TIME] < 0 ? v[TIME] : v[TIME] + 1e-3);
}

/* The names again: this line, or that of a file that was put behind another. */
static bool is_head(const struct csv *c, const char *p, const char *end)
{
	size_t n = (size_t)(end - p);

	return memcmp(c->head, p, n) == 0 && c->head[n] == '\0';
}

static bool add_line(void *part, const void *arg, int64_t number, const char *p, const char *end)
{
	struct table_value text[COLUMNS_MOST];
	const struct csv *c = arg;
	struct event_part *b = part;
	double v[FIELDS];
	int n = split(text, p, end);

	if (n == 0 || is_head(c, p, end)) return true;
	b->lines++;
	if (n != c->columns) {
		if (event_part_bad(b, number))
			snprintf(b->why, sizeof b->why, "%d columns, expected %d", n, c->columns);
		return true;
	}
	return get_values(b, c, number, v, text) ? add_event(b, c, number, v) : true;
}

static int read_csv(struct iso_events *e, struct iso_hash *hash, const char *path,
                    const struct iso_events_options *o)
{
	struct csv c = { .text = { .path = path, .ctx = o->ctx }, .o = o };
	struct iso_lines look = { .path = path,
		                  .what = "events",
		                  .ctx = o->ctx,
		                  .threads = 1,
		                  .longest = LINE_MOST,
		                  .part = sizeof c.head,
		                  .line = look_at_line,
		                  .take = take_head,
		                  .arg = &c };
	struct iso_lines add = look;
	int st = iso_lines_read(&look, NULL);

	if (st && st != FOUND) return st;
	if ((st = take_names(&c))) return st;
	add.threads = 0;
	add.part = sizeof(struct event_part);
	add.line = add_line;
	add.take = event_text_take;
	add.release = event_part_release;
	return event_text_end(e, &c.text, iso_lines_read(&add, hash));
}

const struct iso_event_format iso_csv_format = { .name = "CSV", .read_all = read_csv };
