/* SPDX-License-Identifier: BSD-3-Clause */
/* One commit for several files: the journal, and its repair after a process was killed.

   The journal, `.isotome.journal` in the folder of the files, lists for each file its temporary name,
   the name that keeps the file it replaces, and its final name. A commit

	1. writes the journal and flushes it to disk,
	2. gives names to the temporaries that have none, in the order of the list,
	3. for each file, keeps the old one by a link and renames the new one over it,
	4. removes the old ones and the journal.

   Temporaries that have a name from the start come first in the list. So, if the process is killed:
   while the last temporary is there, all are, and the renames are finished; once it is gone, either all
   renames are done, or none began and what temporaries there are go. A rename that fails turns the
   journal into `.isotome.undo`, by which all old files come back.
   The folder is locked during a commit, by the file `.isotome.lock` in it (lock.h): a journal in an
   unlocked folder is a dead process's. Where there are no locks, one that stays for ten seconds is. */
#ifndef ISO_COMMIT_H
#define ISO_COMMIT_H

#include "isotome.h"

#define ISO_TEMP_NAME 32 /* chars of ".isotome-0123456789abcdef.tmp", and the end */

/* A random name of that kind. */
int iso_temp_name(char name[ISO_TEMP_NAME]);

/* Finishes what a killed process left of a commit in the folder of `path`. ISO_OK where there is
   nothing to do, a living process is at it, or this one may not write there; a failure says what stands
   in the way of writing. */
int iso_commit_repair(const char *path);

#endif
