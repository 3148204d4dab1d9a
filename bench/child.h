/* SPDX-License-Identifier: BSD-3-Clause */
/* The program itself as a child, from its start to its end: what a user waits for. */
#ifndef ISO_CHILD_H
#define ISO_CHILD_H

#include "cmd/cmd.h"

struct child {
	double wall_s;
	int64_t peak_bytes; /* the most memory that it held */
	json_t *record;     /* what it told by --json, to be freed; NULL: nothing */
};

/* `line`: its words, a space between, without the program's name: "info x.nii --json". It works in `folder`,
   where what it says goes to a file. A failure has its message; SIGINT and SIGTERM are handed on to it. */
int child_run(struct child *to, const char *folder, const char *line);

#endif
