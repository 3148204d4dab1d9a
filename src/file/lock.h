/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: an flock on a file made for it, which is removed before it is unlocked. A lock file that a
   killed process left is taken as if it were new. Files, not folders: on NFS the flock of a folder is
   known to its own machine only. */
#ifndef ISO_LOCK_H
#define ISO_LOCK_H

#include "isotome.h"

enum iso_locked {
	ISO_LOCK_MINE,
	ISO_LOCK_OTHERS,
	ISO_LOCK_NONE,    /* this file system has no locks */
	ISO_LOCK_NO_FILE, /* the file can't be made or opened */
};

/* Makes and locks `file`, relative to the open folder; in *fd if it is ours, else -1. */
enum iso_locked iso_lock_file(int *fd, int folder, const char *file);
void iso_lock_remove(int fd, int folder, const char *file);

/* The lock of an output for the time of a run. All zero: no lock. */
struct iso_lock {
	char *path;
	int fd;
};

/* `shown`: the output as the user knows it. ISO_EIO if another run has the lock. Where no lock file can
   be made or locked, or where the thread is mute (out.h), there is no lock: that the output can't be written either is
   for others to say. */
int iso_lock_take(struct iso_lock *l, const char *path, const char *shown);
void iso_lock_release(struct iso_lock *l);

#endif
