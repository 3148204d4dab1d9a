/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of an output for the time of a run: an flock on a file beside it, which goes with the run.
   A lock file that a killed process left is taken as if it were new. */
#ifndef ISO_LOCK_H
#define ISO_LOCK_H

#include "isotome.h"

/* All zero: no lock. */
struct iso_lock {
	char *path;
	int fd;
};

/* `shown`: the output as the user knows it. ISO_EIO if another run has the lock. Where no lock file can
   be made or locked, there is no lock: that the output can't be written either is for others to say. */
int iso_lock_take(struct iso_lock *l, const char *path, const char *shown);
void iso_lock_release(struct iso_lock *l);

#endif
