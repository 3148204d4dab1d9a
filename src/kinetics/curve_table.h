/* SPDX-License-Identifier: BSD-3-Clause */
/* Text tables with a head line, whose column `time` rises. */
#ifndef ISO_CURVE_TABLE_H
#define ISO_CURVE_TABLE_H

#include "curve.h"

enum { CURVE_COLUMNS = ISO_BASES_MOST + 64 };

struct curve_table {
	const char *path;
	int columns; /* besides `time` */
	char (*name)[CURVE_NAME];
	int64_t n, room;
	double *time;  /* n */
	double *value; /* a row behind the other; NaN: n/a */
};

/* All zero before; free it also after a failure. */
int curve_table_read(struct curve_table *t, const char *path);
void curve_table_free(struct curve_table *t);

/* The column of a name, -1: there is none. */
int curve_table_column(const struct curve_table *t, const char *name);

/* Samples of a column without those that are n/a, times as they are; ISO_EINPUT where none is left. */
int curve_table_take(iso_curve **c, const struct curve_table *t, int column);

#endif
