/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of columns of numbers, and .npy of the same: gate tables, traces, triggers. */
#ifndef ISO_COLUMNS_H
#define ISO_COLUMNS_H

#include "base/fail.h"

enum { COLUMNS_MOST = 8 };

struct columns {
	int n_columns;
	char name[COLUMNS_MOST][32]; /* of the first line, where that has names; else "" */
	int64_t n, room;
	double *v;     /* (n, n_columns) */
	int64_t *line; /* of each row, from 1 */
};

/* Commas, semicolons, tabs or blanks between the values; blank lines and lines that begin with '#' are left out. Values
   must be finite, and rows as long as the first. */
int columns_read(struct columns *c, const char *path);
void columns_free(struct columns *c);

#endif
