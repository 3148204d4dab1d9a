/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking and leaving the lock of an output. */
#include "core/lock.h"
#include "core/out.h"
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

/* FOLDER/NAME -> FOLDER/.isotome-HASH.lock, of one length whatever the name's. */
static int lock_path(char *out, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	int st = iso_out_folder(folder, sizeof folder, path);

	if (!st && snprintf(out, size, "%s/.isotome-%016" PRIx64 ".lock", folder,
			    (uint64_t)XXH64(name, strlen(name), 0)) >= (int)size)
		st = iso_fail(ISO_EARG, "%s: name is too long", path);
	return st;
}

/* False if the file was removed while we waited for it: then it locks nothing. */
static bool still_there(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The file, locked, in *fd; -1 where none can be made or locked. */
static int lock_file(int *fd, const char *file, const char *shown)
{
	for (;;) {
		*fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
		if (*fd < 0)
			return ISO_OK;
		bool locked = flock(*fd, LOCK_EX | LOCK_NB) == 0, other = !locked && errno == EWOULDBLOCK;

		if (locked && still_there(*fd, file))
			return ISO_OK;
		close(*fd);
		*fd = -1;
		if (other)
			return iso_fail(ISO_EIO, "%s: another run is writing it; wait for its end, or give "
					"another name", shown);
		if (!locked)
			return ISO_OK;
	}
}

int iso_lock_take(struct iso_lock *l, const char *path, const char *shown)
{
	char file[PATH_MAX], *kept;
	int fd = -1, st = lock_path(file, sizeof file, path);

	if (st)
		return st;
	if (!(kept = strdup(file)))	/* before there is a file to leave behind */
		return iso_fail_memory("file name", (int64_t)strlen(file));
	st = lock_file(&fd, file, shown);
	if (fd >= 0)
		*l = (struct iso_lock){ kept, fd };
	else
		free(kept);
	return st;
}

/* Removed before it is unlocked: whoever locks it next sees that it is gone. */
void iso_lock_release(struct iso_lock *l)
{
	if (!l->path)
		return;
	unlink(l->path);
	close(l->fd);
	free(l->path);
	*l = (struct iso_lock){ 0 };
}
