/* SPDX-License-Identifier: BSD-3-Clause */
/* Taps on a board: those that may share steps, by where they read. A place of the board is a plane, a column z
   and a row x; it holds the weights of up to 16 lanes. Taps are put in any order, and the places are then met
   plane by plane, column by column and row by row, without sorting. For srm_stream*.c alone. */
#ifndef ISO_SRM_STREAM_BOARD_H
#define ISO_SRM_STREAM_BOARD_H

#include "srm_stream.h"

/* The weights of a place; a lane without a tap has 0. */
struct board_place {
	uint16_t half[STREAM_LANES]; /* as of stream_taps */
};

struct board_weights {
	float w[STREAM_LANES];
};

/* Columns of a plane that may have taps. */
struct board_span {
	int first, end;
};

struct board {
	int planes, columns, rows;
	int z0, x0; /* of the first column and row */
	int words;  /* of 64 rows, of a column */
	struct board_span *span;
	uint64_t *has;   /* (plane, column, word), bit: row */
	int32_t *number; /* (plane, column, row), where there is a tap: its place */
	int64_t n, room; /* places */
	struct board_place *place;
	bool weighs; /* it has weights as floats too */
	struct board_weights *weights;
};

/* Columns from z0 on, and rows from x0 on. */
bool iso_board_open(struct board *s, int planes, int z0, int columns, int x0, int rows, bool weighs);
void iso_board_close(struct board *s);

/* Room for so many taps more. */
bool iso_board_reserve(struct board *s, int64_t n);

/* The board is empty again. */
void iso_board_clear(struct board *s);

static inline int64_t board_column(const struct board *s, int plane, int column)
{
	return (int64_t)plane * s->columns + column;
}

/* The number of a tap's place, which is made where it is the first. */
static inline int32_t board_at(struct board *s, int plane, int x, int z)
{
	int64_t column = board_column(s, plane, z - s->z0);
	int row = x - s->x0;
	uint64_t *word = &s->has[column * s->words + row / 64], bit = (uint64_t)1 << row % 64;
	int32_t *number = &s->number[column * s->rows + row];

	if (!(*word & bit)) {
		struct board_span *span = &s->span[plane];

		*word |= bit;
		span->first = z - s->z0 < span->first ? z - s->z0 : span->first;
		span->end = z - s->z0 >= span->end ? z - s->z0 + 1 : span->end;
		s->place[s->n] = (struct board_place){ { 0 } };
		if (s->weighs) s->weights[s->n] = (struct board_weights){ { 0 } };
		*number = (int32_t)s->n++;
	}
	return *number;
}

/* ---- met in order ---- */

/* Bit i: row x + i of a column has taps, for i below n <= 4. */
static inline unsigned board_rows(const struct board *s, int64_t column, int x, int n)
{
	const uint64_t *word = &s->has[column * s->words];
	int row = x - s->x0, at = row / 64, shift = row % 64;
	uint64_t bits = word[at] >> shift;

	if (shift > 64 - n && at + 1 < s->words) bits |= word[at + 1] << (64 - shift);
	return (unsigned)bits & ((1u << n) - 1);
}

/* The place of a row that has taps. */
static inline int32_t board_get(const struct board *s, int64_t column, int x)
{
	return s->number[column * s->rows + x - s->x0];
}

/* Rows x0 ... x1 of a column, joined to *x0 ... *x1; false: it has no taps. */
static inline bool board_extent(int *x0, int *x1, const struct board *s, int64_t column)
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

#endif
