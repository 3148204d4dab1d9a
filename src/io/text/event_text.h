/* SPDX-License-Identifier: BSD-3-Clause */
/* Events from lines of text: what a thread makes of a block of lines, and how the blocks become one list. Lines that can't be
   used are counted, and the first of them keeps its reason. A format adds how one line is read (lines.h). */
#ifndef ISO_EVENT_TEXT_H
#define ISO_EVENT_TEXT_H

#include "io/events.h"
#include "io/lines.h"

/* The list so far. */
struct event_text {
	const char *path;
	const iso_ctx *ctx; /* whose memory limit holds; NULL: none */
	bool times;         /* lines say when an event was */
	struct iso_events e;
	int64_t room, lines; /* lines: that are not blank */
	char why[96];        /* about the first bad line */
};

/* The events of a block. */
struct event_part {
	struct iso_events e; /* first_line_bad: in the block, from 0 */
	int64_t room, lines;
	char why[96];
	bool no_memory;
};

/* Counts a line that can't be used. True: it is the first of its block, and `why` is to be set. */
bool event_part_bad(struct event_part *b, int64_t number);

/* Adds an event. `ms`: when it was, used if the text has times; a time that can't be makes the line a bad one. False: no
   memory. */
bool event_part_add(struct event_part *b, const struct event_text *t, int64_t number,
                    const struct iso_event *v, double ms);

/* `take` and `release` of struct iso_lines. arg: a struct that begins with its struct event_text. */
int event_text_take(void *arg, void *part, int64_t before);
void event_part_release(void *part);

/* The list is handed to e, or freed where st, or the list, is no good: if most lines are bad, the file is of another kind. */
int event_text_end(struct iso_events *e, struct event_text *t, int st);

#endif
