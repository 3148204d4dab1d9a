/* SPDX-License-Identifier: BSD-3-Clause */
/* Events from lines of text. */
#include "event_text.h"
#include "core/size.h"

#include <stdio.h>

/* ---- a block ---- */

bool event_part_bad(struct event_part *b, int64_t number)
{
	if (b->e.n_lines_bad == 0) b->e.first_line_bad = number;
	return b->e.n_lines_bad++ == 0;
}

/* Room for n events, with times where the lines have them. False: no memory. */
static bool grow(struct iso_events *e, bool times, int64_t n)
{
	int64_t bytes, ms;
	void *v, *t = NULL;

	if (!size_mul(&bytes, n, sizeof *e->v) || !size_mul(&ms, n, sizeof *e->time_ms)) return false;
	if ((v = realloc(e->v, (size_t)bytes))) e->v = v;
	if (times && (t = realloc(e->time_ms, (size_t)ms))) e->time_ms = t;
	return v && (!times || t);
}

bool event_part_add(struct event_part *b, const struct event_text *t, int64_t number,
                    const struct iso_event *v, double ms)
{
	if (t->times && !(ms >= 0 && ms < 4294967296.)) {
		if (event_part_bad(b, number))
			snprintf(b->why, sizeof b->why, "its time is negative, or later than 49 days");
		return true;
	}
	if (b->e.n == b->room) {
		int64_t room = b->room ? 2 * b->room : 1024;

		b->no_memory = !grow(&b->e, t->times, room);
		if (b->no_memory) return false;
		b->room = room;
	}
	b->e.n_bad += iso_event_bad(v);
	if (b->e.time_ms) b->e.time_ms[b->e.n] = (uint32_t)ms;
	b->e.v[b->e.n++] = *v;
	return true;
}

void event_part_release(void *part)
{
	iso_events_free(&((struct event_part *)part)->e);
}

/* ---- the list ---- */

static int make_room(struct event_text *t, int64_t n)
{
	int64_t room = t->room ? t->room : 4096;
	int64_t one = (int64_t)sizeof *t->e.v + (t->times ? (int64_t)sizeof *t->e.time_ms : 0);
	int st;

	if (n <= t->room) return ISO_OK;
	while (room < n) room *= 2;
	if (t->ctx && (st = iso_memory_check(t->ctx, t->path, (room - t->room) * one))) return st;
	if (!grow(&t->e, t->times, room)) return iso_fail_memory(t->path, room * one);
	t->room = room;
	return ISO_OK;
}

int event_text_take(void *arg, void *part, int64_t before)
{
	struct event_text *t = arg;
	struct event_part *b = part;
	struct iso_events *e = &b->e;
	int st = b->no_memory ? iso_fail_memory(t->path, b->room * (int64_t)sizeof *e->v)
	                      : make_room(t, t->e.n + e->n);

	if (st) return st;
	if (e->n > 0) memcpy(t->e.v + t->e.n, e->v, (size_t)e->n * sizeof *e->v);
	if (e->n > 0 && e->time_ms)
		memcpy(t->e.time_ms + t->e.n, e->time_ms, (size_t)e->n * sizeof *e->time_ms);
	if (e->n_lines_bad && !t->e.n_lines_bad) {
		t->e.first_line_bad = before + e->first_line_bad + 1;
		memcpy(t->why, b->why, sizeof t->why);
	}
	t->e.n += e->n;
	t->e.n_bad += e->n_bad;
	t->e.n_lines_bad += e->n_lines_bad;
	t->e.n_left_out += e->n_left_out;
	t->lines += b->lines;
	e->n = e->n_bad = e->n_lines_bad = e->n_left_out = b->lines = 0;
	return ISO_OK;
}

int event_text_end(struct iso_events *e, struct event_text *t, int st)
{
	if (!st && t->e.n_lines_bad > t->lines / 2)
		st = iso_fail(ISO_EINPUT,
		              "%s:%" PRId64 ": %s; %" PRId64 " of %" PRId64 " lines can't be used", t->path,
		              t->e.first_line_bad, t->why, t->e.n_lines_bad, t->lines);
	else if (!st && t->e.n == 0)
		st = iso_refuse(t->path, "no coincidences%s",
		                t->e.n_left_out ? " except the ones that trues_only leaves out" : "");
	if (st)
		iso_events_free(&t->e);
	else
		*e = t->e;
	return st;
}
