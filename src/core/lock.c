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

static int taken(const char *shown)
{
	return iso_fail(ISO_EIO, "%s: another run is writing it; wait for its end, or give another name",
			shown);
}

int iso_lock_take(struct iso_lock *l, const char *path, const char *shown)
{
	char file[PATH_MAX];
	int fd, st = lock_path(file, sizeof file, path);

	if (st)
		return st;
	for (;;) {
		fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
		if (fd < 0)
			return ISO_OK;
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			st = errno == EWOULDBLOCK ? taken(shown) : ISO_OK;
			close(fd);
			return st;
		}
		if (still_there(fd, file))
			break;
		close(fd);
	}
	if (!(l->path = strdup(file)))
		st = iso_fail_memory("file name", (int64_t)strlen(file));
	l->fd = fd;
	if (st)
		close(fd);
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
