/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a sheet: see srm_stream_sheet.h. */
#include "srm_stream_sheet.h"
#include "core/size.h"

#include <limits.h>

static void empty(struct sheet *s)
{
	s->n = 0;
	for (int i = 0; i < s->planes; i++) s->span[i] = (struct sheet_span){ INT_MAX, 0 };
}

bool iso_sheet_open(struct sheet *s, int planes, int z0, int columns, int x0, int rows, double unit)
{
	int64_t all = (int64_t)planes * columns;

	*s = (struct sheet){ .planes = planes, .columns = columns, .rows = rows, .z0 = z0, .x0 = x0, .unit = unit };
	s->words = (rows + 63) / 64;
	s->span = size_alloc(planes, sizeof *s->span);
	s->has = size_alloc(all * s->words, sizeof *s->has);
	s->number = size_alloc(all * rows, sizeof *s->number);
	if (!s->span || !s->has || !s->number) return false;
	empty(s);
	return true;
}

void iso_sheet_close(struct sheet *s)
{
	free(s->span);
	free(s->has);
	free(s->number);
	free(s->place);
}

bool iso_sheet_reserve(struct sheet *s, int64_t n)
{
	int64_t room = 2 * (s->n + n);
	struct sheet_place *place;

	if (s->n + n <= s->room) return true;
	if (room > INT32_MAX || !(place = realloc(s->place, (size_t)room * sizeof *place))) return false;
	s->place = place;
	s->room = room;
	return true;
}

void iso_sheet_clear(struct sheet *s)
{
	for (int i = 0; i < s->planes; i++) {
		const struct sheet_span *span = &s->span[i];

		if (span->first >= span->end) continue;
		memset(s->has + sheet_column(s, i, span->first) * s->words, 0,
		       (size_t)(span->end - span->first) * (size_t)s->words * sizeof *s->has);
	}
	empty(s);
}
