/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a board: see srm_stream_board.h. */
#include "srm_stream_board.h"
#include "core/size.h"

#include <limits.h>

static void empty(struct board *s)
{
	s->n = 0;
	for (int i = 0; i < s->planes; i++) s->span[i] = (struct board_span){ INT_MAX, 0 };
}

bool iso_board_open(struct board *s, int planes, int z0, int columns, int x0, int rows, bool weighs)
{
	int64_t all = (int64_t)planes * columns;

	*s = (struct board){ .planes = planes, .columns = columns, .rows = rows, .z0 = z0, .x0 = x0 };
	s->weighs = weighs;
	s->words = (rows + 63) / 64;
	s->span = size_alloc(planes, sizeof *s->span);
	s->has = size_alloc(all * s->words, sizeof *s->has);
	s->number = size_alloc(all * rows, sizeof *s->number);
	if (!s->span || !s->has || !s->number) return false;
	empty(s);
	return true;
}

void iso_board_close(struct board *s)
{
	free(s->span);
	free(s->has);
	free(s->number);
	free(s->place);
	free(s->weights);
}

bool iso_board_reserve(struct board *s, int64_t n)
{
	int64_t room = 2 * (s->n + n);
	struct board_place *place = s->place;
	struct board_weights *weights = s->weights;

	if (s->n + n <= s->room) return true;
	if (room > INT32_MAX) return false;
	if ((place = realloc(place, (size_t)room * sizeof *place))) s->place = place;
	if (s->weighs && (weights = realloc(weights, (size_t)room * sizeof *weights))) s->weights = weights;
	if (!place || (s->weighs && !weights)) return false;
	s->room = room;
	return true;
}

void iso_board_clear(struct board *s)
{
	for (int i = 0; i < s->planes; i++) {
		const struct board_span *span = &s->span[i];

		if (span->first >= span->end) continue;
		memset(s->has + board_column(s, i, span->first) * s->words, 0,
		       (size_t)(span->end - span->first) * (size_t)s->words * sizeof *s->has);
	}
	empty(s);
}
