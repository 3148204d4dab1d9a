/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening regular files. */
#include "regular.h"
#include "commit.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(int fd, int64_t *size, const char *path)
{
	struct stat s;

	if (fstat(fd, &s)) return iso_fail(ISO_EIO, "%s: %s", path, strerror(errno));
	if (S_ISDIR(s.st_mode)) return iso_fail(ISO_EINPUT, "%s is a folder, a file was expected", path);
	if (!S_ISREG(s.st_mode))
		return iso_fail(ISO_EINPUT, "%s is a device, pipe or socket, a file was expected", path);
	*size = s.st_size;
	return ISO_OK;
}

int iso_regular_open(int *fd, int64_t *size, const char *path)
{
	int file, st;

	iso_commit_repair(path); /* where it can't be, the file is still the old one or the new one */
	/* O_NONBLOCK: or a pipe without a writer would hold us up */
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0) return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
	st = check(file, size, path);
	if (st)
		close(file);
	else
		*fd = file;
	return st;
}

int iso_regular_fopen(FILE **f, int64_t *size, const char *path)
{
	int fd = -1;
	int st = iso_regular_open(&fd, size, path);

	if (st) return st;
	*f = fdopen(fd, "rb");
	if (*f) return ISO_OK;
	close(fd);
	return iso_fail_memory(path, BUFSIZ);
}
