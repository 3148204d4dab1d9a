/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines and values of tables as text, for files of any size: a block of the file is in memory. */
#include "table_text.h"
#include "file/suffix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 18 };

int table_lines_open(struct table_lines *l, const char *path)
{
	int st;

	*l = (struct table_lines){ .path = path };
	if ((st = iso_in_open(&l->in, path, false))) return st;
	l->at = l->block = malloc(BLOCK);
	if (l->block) return ISO_OK;
	iso_in_close(&l->in);
	return iso_fail_memory(path, BLOCK);
}

void table_lines_close(struct table_lines *l)
{
	if (l->block) iso_in_close(&l->in);
	free(l->block);
	*l = (struct table_lines){ 0 };
}

/* Moves what is left to the front, and reads on behind it. */
static int fill(struct table_lines *l)
{
	int64_t room = BLOCK - l->left, rest = l->in.size - l->in.at, n = rest < room ? rest : room;
	int st;

	memmove(l->block, l->at, (size_t)l->left);
	l->at = l->block;
	if ((st = iso_in_read(&l->in, l->block + l->left, n))) return st;
	l->left += n;
	return ISO_OK;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct table_value table_trimmed(const char *p, const char *end)
{
	while (p < end && blank(*p)) p++;
	while (p < end && blank(end[-1])) end--;
	return (struct table_value){ p, (int)(end - p) };
}

int table_lines_next(bool *more, struct table_value *line, struct table_lines *l)
{
	const char *end = memchr(l->at, '\n', (size_t)l->left);
	int st;

	if (!end && l->in.at < l->in.size) {
		if ((st = fill(l))) return st;
		end = memchr(l->at, '\n', (size_t)l->left);
	}
	*more = l->left > 0;
	if (!*more) return ISO_OK;

	int64_t length = end ? end - l->at : l->left;
	const char *p = l->at;

	l->number++;
	if (length > TABLE_LINE_MOST)
		return iso_refuse(l->path, "line %" PRId64 " is longer than %d bytes: no table", l->number,
		                  TABLE_LINE_MOST);
	if (memchr(p, '\0', (size_t)length))
		return iso_refuse(l->path, "line %" PRId64 " holds bytes of 0: no text", l->number);
	l->at += length + (end != NULL);
	l->left -= length + (end != NULL);
	if (l->number == 1 && length >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3, length -= 3;
	*line = table_trimmed(p, p + length);
	return ISO_OK;
}

static struct table_value unquoted(struct table_value v)
{
	if (v.length >= 2 && *v.begin == '"' && v.begin[v.length - 1] == '"') v.begin++, v.length -= 2;
	return v;
}

int table_split(struct table_value *v, int most, struct table_value line)
{
	const char *p = line.begin, *end = p + line.length;
	char mark = ' ';
	int n = 0;

	for (const char *c = ",;\t"; *c && mark == ' '; c++)
		if (memchr(p, *c, (size_t)line.length)) mark = *c;
	for (const char *stop = p;; p = ++stop) {
		while (mark == ' ' && p < end && blank(*p)) p++, stop++;
		while (stop < end && *stop != mark) stop++;
		if (n < most) v[n] = unquoted(table_trimmed(p, stop));
		n++;
		if (stop == end) return n;
	}
}

bool table_number(double *x, struct table_value v)
{
	if (iso_number(x, v.begin, (size_t)v.length)) return true;
	*x = NAN;
	return v.length == 3 && iso_same_letters(v.begin, "nan", 3);
}
