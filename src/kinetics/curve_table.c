/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of curves as text. */
#include "curve_table.h"

#include "core/size.h"
#include "file/suffix.h"
#include "text/table_text.h"

#include <math.h>
#include <string.h>

static bool is_na(struct table_value v)
{
	return v.length == 0 || (v.length == 3 && iso_same_letters(v.begin, "n/a", 3));
}

/* The head, in `cell`: where `time` stands. */
static int read_head(struct curve_table *t, int *time, const struct table_value *cell, int n)
{
	*time = -1;
	if (n > CURVE_COLUMNS)
		return iso_refuse(t->path, "line 1 has %d columns, must be at most %d", n, CURVE_COLUMNS);
	if (!(t->name = size_alloc(n, sizeof *t->name))) return iso_fail_memory(t->path, n * CURVE_NAME);
	for (int k = 0; k < n; k++) {
		int length = cell[k].length < CURVE_NAME ? cell[k].length : CURVE_NAME - 1;

		if (*time < 0 && cell[k].length == 4 && iso_same_letters(cell[k].begin, "time", 4))
			*time = k;
		else
			memcpy(t->name[t->columns++], cell[k].begin, (size_t)length);
	}
	if (*time >= 0 && t->columns > 0) return ISO_OK;
	return iso_refuse(t->path,
	                  "line 1 must be a head with the column 'time' and others, as in 'time activity'");
}

static int grow(struct curve_table *t)
{
	int64_t room = t->room ? 2 * t->room : 256;
	double *time = realloc(t->time, (size_t)room * sizeof *time);

	if (time) t->time = time;
	double *value = time ? realloc(t->value, (size_t)(room * t->columns) * sizeof *value) : NULL;

	if (!value) return iso_fail_memory(t->path, room * (t->columns + 1) * (int64_t)sizeof *value);
	t->value = value;
	t->room = room;
	return ISO_OK;
}

static int bad_cell(const struct curve_table *t, int64_t line, int column, struct table_value v)
{
	return iso_refuse(t->path, "line %" PRId64 ", column %d is '%.*s', must be a number%s", line,
	                  column + 1, v.length > 40 ? 40 : v.length, v.begin, column < 0 ? "" : " or n/a");
}

static int read_row(struct curve_table *t, int64_t line, const struct table_value *cell, int n, int time)
{
	double *to = t->value + t->n * t->columns, at;

	if (n != t->columns + 1)
		return iso_refuse(t->path, "line %" PRId64 " has %d columns, the head %d", line, n,
		                  t->columns + 1);
	if (!table_number(&at, cell[time]) || !isfinite(at)) return bad_cell(t, line, time, cell[time]);
	if (t->n > 0 && !(at > t->time[t->n - 1]))
		return iso_refuse(t->path, "line %" PRId64 ": time %g follows %g; times must rise", line, at,
		                  t->time[t->n - 1]);
	for (int k = 0; k < n; k++) {
		if (k == time) continue;
		*to = NAN;
		if (!is_na(cell[k]) && !table_number(to, cell[k])) return bad_cell(t, line, k, cell[k]);
		to++;
	}
	t->time[t->n++] = at;
	return ISO_OK;
}

static int read_rows(struct curve_table *t, struct table_lines *l)
{
	struct table_value line, cell[CURVE_COLUMNS];
	int time = -1, st;
	bool more;

	while (!(st = table_lines_next(&more, &line, l)) && more) {
		if (line.length == 0) continue;
		int n = table_split(cell, CURVE_COLUMNS, line);

		if (time < 0)
			st = read_head(t, &time, cell, n);
		else if (!(st = t->n == t->room ? grow(t) : ISO_OK))
			st = read_row(t, l->number, cell, n, time);
		if (st) return st;
	}
	if (!st && t->n == 0) st = iso_refuse(t->path, "holds no samples");
	return st;
}

int curve_table_read(struct curve_table *t, const char *path)
{
	struct table_lines l;
	int st = table_lines_open(&l, path);

	t->path = path;
	if (st) return st;
	st = read_rows(t, &l);
	table_lines_close(&l);
	return st;
}

void curve_table_free(struct curve_table *t)
{
	free(t->name);
	free(t->time);
	free(t->value);
	*t = (struct curve_table){ 0 };
}

int curve_table_column(const struct curve_table *t, const char *name)
{
	for (int k = 0; k < t->columns; k++)
		if (iso_same_word(t->name[k], name)) return k;
	return -1;
}

int curve_table_take(iso_curve **c, const struct curve_table *t, int column)
{
	double *time = size_alloc(t->n, 2 * sizeof *time), *value = time + t->n;
	int64_t n = 0;

	if (!time) return iso_fail_memory(t->path, 2 * t->n * (int64_t)sizeof *time);
	for (int64_t i = 0; i < t->n; i++) {
		double v = t->value[i * t->columns + column];

		if (isnan(v)) continue;
		time[n] = t->time[i];
		value[n++] = v;
	}
	int st = n > 0 ? curve_of(c, n, time, value)
	               : iso_refuse(t->path, "column '%s' has no number", t->name[column]);

	if (!st) memcpy((*c)->name, t->name[column], CURVE_NAME);
	free(time);
	return st;
}

/* ---- curves as they stand ---- */

/* With (0, 0) in front, as iso_curve_create has it. */
static int whole_curve(iso_curve **c, const struct curve_table *t, int column)
{
	iso_curve *plain = NULL;
	int st = curve_table_take(&plain, t, column);

	if (!st) st = iso_curve_create(c, plain->n, plain->t, plain->y);
	if (!st) memcpy((*c)->name, plain->name, CURVE_NAME);
	iso_curve_free(plain);
	return st;
}

int iso_curves_read(iso_curve ***out, int *n, const char *path)
{
	struct curve_table t = { 0 };
	iso_curve **curve = NULL;

	if (!out || !n || !path) return iso_fail_null(__func__);
	int st = curve_table_read(&t, path);

	if (!st && !(curve = size_alloc(t.columns, sizeof *curve)))
		st = iso_fail_memory(path, t.columns * (int64_t)sizeof *curve);
	for (int k = 0; k < t.columns && !st; k++) st = whole_curve(curve + k, &t, k);
	if (st) {
		iso_curves_free(curve, t.columns);
	} else {
		*out = curve;
		*n = t.columns;
	}
	curve_table_free(&t);
	return st;
}

void iso_curves_free(iso_curve **curve, int n)
{
	for (int k = 0; curve && k < n; k++) iso_curve_free(curve[k]);
	free(curve);
}
