/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as text: lines of a file, values of a line between commas, semicolons, tabs or blanks. */
#ifndef ISO_TABLE_TEXT_H
#define ISO_TABLE_TEXT_H

#include "base/fail.h"
#include "file/in.h"

enum { TABLE_LINE_MOST = 1 << 12 };

/* A file, line by line: all zero before it is opened and after it is closed. */
struct table_lines {
	struct iso_in in;
	const char *path;
	char *block; /* with the bytes at[0 .. left - 1] still to come */
	const char *at;
	int64_t left;
	int64_t number; /* of the last line, from 1 */
};

struct table_value {
	const char *begin;
	int length;
};

int table_lines_open(struct table_lines *l, const char *path);
void table_lines_close(struct table_lines *l);

/* The next line without blanks around it, its end and a byte order mark; *line stays valid until the next call. *more is
   false behind the last line. */
int table_lines_next(bool *more, struct table_value *line, struct table_lines *l);

/* The text from p to end without blanks around it. */
struct table_value table_trimmed(const char *p, const char *end);

/* Values of such a line between commas, semicolons or tabs: the first of these that the line has; else between blanks. Each
   loses the quotes around it. The first `most` go to v; returns the number of all. */
int table_split(struct table_value *v, int most, struct table_value line);

/* A number, or nan in any case of letters. */
bool table_number(double *x, struct table_value v);

#endif
