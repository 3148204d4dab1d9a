/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking and leaving locks. */
#include "lock.h"
#include "out.h"
#include "suffix.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* False if the file was removed while we waited for it: then it locks nothing. */
static bool still_there(int fd, int folder, const char *file)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(folder, file, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Another user's lock file can often be opened for reading only; that is enough to lock it, except on
   NFS. */
static int open_file(int folder, const char *file)
{
	int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = openat(folder, file, O_RDWR | O_CREAT | flags, 0666);

	return fd < 0 && errno == EACCES ? openat(folder, file, O_RDONLY | flags) : fd;
}

static enum iso_locked lock(int fd)
{
	int got;

	do got = flock(fd, LOCK_EX | LOCK_NB);
	while (got && errno == EINTR);
	if (got == 0) return ISO_LOCK_MINE;
	if (errno == EBADF) /* open to read only, which won't do here */
		return ISO_LOCK_NO_FILE;
	return errno == EWOULDBLOCK ? ISO_LOCK_OTHERS : ISO_LOCK_NONE;
}

enum iso_locked iso_lock_file(int *fd, int folder, const char *file)
{
	enum iso_locked got;

	do {
		*fd = open_file(folder, file);
		if (*fd < 0) return ISO_LOCK_NO_FILE;
		got = lock(*fd);
		if (got == ISO_LOCK_MINE && still_there(*fd, folder, file)) return got;
		if (got == ISO_LOCK_NONE) unlinkat(folder, file, 0);
		close(*fd);
		*fd = -1;
	} while (got == ISO_LOCK_MINE);
	return got;
}

/* Removes the file before the lock is released: a process that locks the old file next finds that its name
   is gone. */
void iso_lock_remove(int fd, int folder, const char *file)
{
	unlinkat(folder, file, 0);
	close(fd);
}

/* ---- of an output ---- */

/* FOLDER/NAME -> FOLDER/.isotome-HASH.lock, of one length whatever the name's. */
int iso_lock_take(struct iso_lock *l, const char *path, const char *shown)
{
	const char *name = iso_base_name(path);
	char folder[PATH_MAX], file[PATH_MAX], *kept;
	int fd = -1, st = iso_out_folder(folder, sizeof folder, path);

	if (st || iso_out_is_mute()) return st;
	if (snprintf(file, sizeof file, "%s/.isotome-%016" PRIx64 ".lock", folder,
	             (uint64_t)XXH64(name, strlen(name), 0)) >= (int)sizeof file)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	if (!(kept = strdup(file))) /* before there is a file to leave behind */
		return iso_fail_memory("file name", (int64_t)strlen(file));
	if (iso_lock_file(&fd, AT_FDCWD, file) == ISO_LOCK_OTHERS)
		st = iso_fail(ISO_EIO,
		              "%s: another run is writing it; wait for its end, or give another name", shown);
	if (fd >= 0)
		*l = (struct iso_lock){ kept, fd };
	else
		free(kept);
	return st;
}

void iso_lock_release(struct iso_lock *l)
{
	if (!l->path) return;
	iso_lock_remove(l->fd, AT_FDCWD, l->path);
	free(l->path);
	*l = (struct iso_lock){ 0 };
}
