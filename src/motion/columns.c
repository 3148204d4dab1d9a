/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of columns of numbers, read as a whole. */
#include "columns.h"
#include "core/size.h"
#include "file/in.h"
#include "file/npy.h"
#include "file/suffix.h"
#include "text/table_text.h"

#include <string.h>

static int grow(struct columns *c, const char *path)
{
	const int64_t room = c->room ? 2 * c->room : 256;
	double *v = realloc(c->v, (size_t)(room * c->n_columns) * sizeof *v);

	if (v) c->v = v;
	int64_t *line = v ? realloc(c->line, (size_t)room * sizeof *line) : NULL;

	if (!line) return iso_fail_memory(path, room * (c->n_columns + 1) * (int64_t)sizeof *v);
	c->line = line;
	c->room = room;
	return ISO_OK;
}

/* The first line: its columns, and their names where it has names. */
static bool take_names(struct columns *c, int n, const struct table_value *v)
{
	double number;

	c->n_columns = n;
	if (iso_number(&number, v[0].begin, (size_t)v[0].length)) return false;
	for (int i = 0; i < n; i++) {
		const int length = v[i].length < 31 ? v[i].length : 31;

		memcpy(c->name[i], v[i].begin, (size_t)length);
		c->name[i][length] = '\0';
	}
	return true;
}

static int take_line(struct columns *c, const char *path, int64_t number, struct table_value line)
{
	struct table_value v[COLUMNS_MOST];
	const int n = table_split(v, COLUMNS_MOST, line);
	int st;

	if (n > COLUMNS_MOST)
		return iso_refuse(path, "line %" PRId64 " has %d columns, at most %d are read", number, n,
		                  COLUMNS_MOST);
	if (c->n_columns == 0 && take_names(c, n, v)) return ISO_OK;
	if (n != c->n_columns)
		return iso_refuse(path, "line %" PRId64 " has %d columns, expected %d", number, n,
		                  c->n_columns);
	if (c->n == c->room && (st = grow(c, path))) return st;
	for (int i = 0; i < n; i++)
		if (!iso_number(&c->v[c->n * n + i], v[i].begin, (size_t)v[i].length))
			return iso_refuse(path, "line %" PRId64 ", column %d%s%s%s: '%.*s' is not a number",
			                  number, i + 1, c->name[i][0] ? " (" : "", c->name[i],
			                  c->name[i][0] ? ")" : "", v[i].length < 30 ? v[i].length : 30,
			                  v[i].begin);
	c->line[c->n++] = number;
	return ISO_OK;
}

static int read_text(struct columns *c, const char *path)
{
	struct table_lines l;
	struct table_value line;
	bool more = true;
	int st = table_lines_open(&l, path);

	while (!st && more)
		if (!(st = table_lines_next(&more, &line, &l)) && more && line.length > 0 &&
		    *line.begin != '#')
			st = take_line(c, path, l.number, line);
	table_lines_close(&l);
	return st;
}

static int read_npy(struct columns *c, const char *path)
{
	struct iso_npy head;
	struct iso_in in = { 0 };
	int st = iso_npy_open(&head, &in, path, false);

	if (st) return st;
	iso_in_close(&in);
	if (head.n_dim < 1 || head.n_dim > 2 || (head.n_dim == 2 && head.dim[1] > COLUMNS_MOST))
		return iso_refuse(path, "%d axes; a table (n, columns) of at most %d columns was expected",
		                  head.n_dim, COLUMNS_MOST);
	c->n_columns = head.n_dim == 2 ? (int)head.dim[1] : 1;
	if ((st = iso_table_read(&c->v, &c->n, c->n_columns, path))) return st;
	c->line = size_alloc(c->n, sizeof *c->line);
	for (int64_t i = 0; c->line && i < c->n; i++) c->line[i] = i + 1;
	return c->line ? ISO_OK : iso_fail_memory(path, c->n * (int64_t)sizeof *c->line);
}

int columns_read(struct columns *to, const char *path)
{
	struct columns c = { 0 };
	int st = iso_has_suffix(path, ".npy") ? read_npy(&c, path) : read_text(&c, path);

	if (!st && c.n == 0) st = iso_refuse(path, "has no row of numbers");
	if (st)
		columns_free(&c);
	else
		*to = c;
	return st;
}

void columns_free(struct columns *c)
{
	free(c->v);
	free(c->line);
	*c = (struct columns){ 0 };
}
