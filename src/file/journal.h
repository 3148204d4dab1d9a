/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of a commit: what commit.h describes, as a file. A text of fields that end with NUL:
   "isotome journal 1", then for each file temporary, old ("" if it replaces none) and final name, then
   "end". It is untrusted: only one of our own user's is obeyed, and only names in its own folder. */
#ifndef ISO_JOURNAL_H
#define ISO_JOURNAL_H

#include "commit.h"

#include <limits.h>

#define ISO_JOURNAL_MOST 8 /* files of one output */

struct iso_journal_entry {
	char temp[ISO_TEMP_NAME], old[ISO_TEMP_NAME], final[NAME_MAX + 1];
	bool replaces; /* a file stood at `final` */
};

struct iso_journal {
	int n;
	struct iso_journal_entry entry[ISO_JOURNAL_MOST];
};

/* `folder` is an open folder, `name` its name for messages. An empty journal, which counts for nothing
   yet, in *fd; -1 if there is one already. */
int iso_journal_create(int *fd, int folder, const char *name);

/* Fills it and closes fd; a failure removes it. */
int iso_journal_write(const struct iso_journal *j, int fd, int folder, const char *name);

/* After the last step, or before the first rename: removes the journal with all that it names but the
   final files. */
void iso_journal_close(const struct iso_journal *j, int folder);

/* After a rename that failed: the old files come back, the new ones go. */
void iso_journal_undo(const struct iso_journal *j, int folder);

bool iso_journal_exists(int folder);
int iso_journal_repair(int folder, const char *name);

#endif
