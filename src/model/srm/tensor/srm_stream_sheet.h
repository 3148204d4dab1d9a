/* SPDX-License-Identifier: BSD-3-Clause */
/* Taps on a sheet: those that may share steps, by where they read. A place of the sheet is a plane, a column z
   and a row x; it holds the weights of up to 16 lanes. Taps are put in any order, and the places are then met
   plane by plane, column by column and row by row, without sorting. For srm_stream*.c alone. */
#ifndef ISO_SRM_STREAM_SHEET_H
#define ISO_SRM_STREAM_SHEET_H

#include "srm_half.h"
#include "srm_stream.h"

/* Of one place; a lane without a tap has 0. */
struct sheet_place {
	float w[STREAM_LANES];
	uint16_t half[STREAM_LANES];
	bool rest; /* a half does not hold one of the weights */
};

/* Columns of a plane that may have taps. */
struct sheet_span {
	int first, end;
};

struct sheet {
	int planes, columns, rows;
	int z0, x0;  /* of the first column and row */
	int words;   /* of 64 rows, of a column */
	double unit; /* of halves */
	struct sheet_span *span;
	uint64_t *has;   /* (plane, column, word), bit: row */
	int32_t *number; /* (plane, column, row), where there is a tap: its place */
	struct sheet_place *place;
	int64_t n, room; /* places */
};

/* Columns from z0 on, and rows from x0 on. */
bool iso_sheet_open(struct sheet *s, int planes, int z0, int columns, int x0, int rows, double unit);
void iso_sheet_close(struct sheet *s);

/* Room for so many taps more. */
bool iso_sheet_reserve(struct sheet *s, int64_t n);

static inline int64_t sheet_column(const struct sheet *s, int plane, int column)
{
	return (int64_t)plane * s->columns + column;
}

/* The place of a tap, which is made where it is the first. */
static inline struct sheet_place *sheet_at(struct sheet *s, int plane, int x, int z)
{
	int64_t column = sheet_column(s, plane, z - s->z0);
	int row = x - s->x0;
	uint64_t *word = &s->has[column * s->words + row / 64], bit = (uint64_t)1 << row % 64;
	int32_t *number = &s->number[column * s->rows + row];

	if (!(*word & bit)) {
		struct sheet_span *span = &s->span[plane];

		*word |= bit;
		span->first = z - s->z0 < span->first ? z - s->z0 : span->first;
		span->end = z - s->z0 >= span->end ? z - s->z0 + 1 : span->end;
		s->place[s->n] = (struct sheet_place){ .rest = false };
		*number = (int32_t)s->n++;
	}
	return &s->place[*number];
}

/* One tap a lane and place. */
static inline void sheet_put(struct sheet *s, int plane, int x, int z, int lane, float w)
{
	struct sheet_place *p = sheet_at(s, plane, x, z);
	struct half h = half_split(w, s->unit);

	p->w[lane] = w;
	p->half[lane] = h.bits;
	p->rest |= !half_holds(h, w);
}

/* ---- met in order ---- */

/* Bit i: row x + i of a column has taps, for i below n <= 4. */
static inline unsigned sheet_rows(const struct sheet *s, int64_t column, int x, int n)
{
	const uint64_t *word = &s->has[column * s->words];
	int row = x - s->x0, at = row / 64, shift = row % 64;
	uint64_t bits = word[at] >> shift;

	if (shift > 64 - n && at + 1 < s->words) bits |= word[at + 1] << (64 - shift);
	return (unsigned)bits & ((1u << n) - 1);
}

static inline const struct sheet_place *sheet_get(const struct sheet *s, int64_t column, int x)
{
	return &s->place[s->number[column * s->rows + x - s->x0]];
}

/* Rows x0 ... x1 of a column, joined to *x0 ... *x1; false: it has no taps. */
static inline bool sheet_extent(int *x0, int *x1, const struct sheet *s, int64_t column)
{
	const uint64_t *word = &s->has[column * s->words];
	bool some = false;

	for (int i = 0; i < s->words; i++) {
		if (!word[i]) continue;
		int low = s->x0 + i * 64 + __builtin_ctzll(word[i]);
		int high = s->x0 + i * 64 + 63 - __builtin_clzll(word[i]);

		*x0 = low < *x0 ? low : *x0;
		*x1 = high > *x1 ? high : *x1;
		some = true;
	}
	return some;
}

/* The sheet is empty again. */
void iso_sheet_clear(struct sheet *s);

#endif
