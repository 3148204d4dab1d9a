/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program says on stderr while it works. */
#ifndef ISO_TERM_H
#define ISO_TERM_H

#include "core/status.h"

struct term {
	const char *command;	/* "recon": messages begin with "isotome recon: " */
	bool quiet, verbose;
	bool is_tty;		/* rewrite one line; otherwise one line per finished step */
	bool drawn;		/* the progress line stands on the screen */
	double last_s;		/* time of the last line drawn */
	char stage[32];		/* and what it was about */
	char part[32];		/* stands before the stage: "frame 2/3" */
	int64_t done;
};

void term_open(struct term *t, const char *command);

/* Sink for iso_ctx_set_progress; arg is the struct term. */
void term_progress(void *arg, const struct iso_progress *p);

/* Removes the progress line, before anything else is written. */
void term_clear(struct term *t);

/* One line "isotome COMMAND: ..."; note only with --verbose, the others unless --quiet. */
void term_say(struct term *t, const char *fmt, ...) ISO_PRINTF(2, 3);
void term_note(struct term *t, const char *fmt, ...) ISO_PRINTF(2, 3);
void term_warning(struct term *t, const char *text);

#endif
