/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program says on stderr while it works. */
#ifndef ISO_TERM_H
#define ISO_TERM_H

#include "core/status.h"

#include <stdio.h>

struct term {
	const char *command; /* "recon": messages begin with "isotome recon: " */
	bool quiet, verbose;
	bool is_tty;           /* rewrite one line; otherwise a line as a stage begins and ends, and at
				   most one a minute between, also over all but the first and last of many
				   parts */
	bool drawn;            /* the progress line stands on the screen */
	bool open, told;       /* a stage is under way; its last line was printed */
	bool brief;            /* that stage is a brief one */
	double (*now_s)(void); /* iso_now_s; tests have their own */
	double told_s;         /* when a line was last printed */
	char stage[32];        /* what the last progress was about, */
	int64_t done;          /* how far it was, */
	char last[256];        /* and its line */
	const char *kind;      /* of the parts that the work has, "frame"; NULL: it is one piece */
	int64_t part, parts;   /* the one under way, from 1, and their number */
};

void term_open(struct term *t, const char *command);

/* Progress from now on is of part k of n, from 1: its line begins with "KIND k/n". `kind` must stay. */
void term_part(struct term *t, const char *kind, int64_t k, int64_t n);

/* What is done from now on, for the line of a terminal: progress, where there is some, takes its place. */
void term_stage(struct term *t, const char *name);

int term_width(void); /* columns; 80: not known */

/* Sink for iso_ctx_set_progress; arg is the struct term. */
void term_progress(void *arg, const struct iso_progress *p);

/* Removes the progress line, before anything else is written. */
void term_clear(struct term *t);

/* The same at the end of the program. */
void term_close(struct term *t);

/* Text of files or their names: what would steer a terminal becomes '?'. */
void term_put(FILE *f, const char *text);

/* One line "isotome COMMAND: ..."; note only with --verbose, the others unless --quiet. */
void term_say(struct term *t, const char *fmt, ...) ISO_PRINTF(2, 3);
void term_note(struct term *t, const char *fmt, ...) ISO_PRINTF(2, 3);
void term_line(struct term *t, const char *about, const char *text); /* "about: text", of any length */
void term_warning(struct term *t, const char *text);

#endif
