/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe writing: a temporary file beside the target, every write checked, fsync, rename. */
#include "core/out.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

/* One call moves at most this much: zlib counts bytes in an unsigned int. */
enum { PIECE = 1 << 30 };

static int fail(const struct iso_out *o, const char *what)
{
	return iso_fail(ISO_EIO, "%s: can't %s: %s", o->path, what, strerror(errno));
}

static int name_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (int)strlen(slash ? slash + 1 : path);
}

int iso_out_folder(char *folder, size_t size, const char *path)
{
	size_t n = strlen(path) - (size_t)name_length(path);

	if (n >= size || size < 2)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	if (n == 0)
		path = ".", n = 1;
	else if (n > 1)
		n--;	/* the slash, unless it is the root */
	memcpy(folder, path, n);
	folder[n] = '\0';
	return ISO_OK;
}

/* FOLDER/NAME -> FOLDER/.NAME.PID.tmp */
static char *temp_name(const char *path)
{
	size_t size = strlen(path) + 32;
	int folder = (int)strlen(path) - name_length(path);
	char *temp = malloc(size);

	if (temp)
		snprintf(temp, size, "%.*s.%s.%d.tmp", folder, path, path + folder, (int)getpid());
	return temp;
}

/* A name of that kind left by a dead process of our number is in nobody's use. */
static int open_temp(const char *temp)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(temp, flags, 0666);

	if (fd < 0 && errno == EEXIST && unlink(temp) == 0)
		fd = open(temp, flags, 0666);
	return fd;
}

static int check_target(const char *path)
{
	struct stat s;

	if (name_length(path) == 0)
		return iso_fail(ISO_EARG, "\"%s\" names no file to write", path);
	if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
		return iso_fail(ISO_EARG, "%s is a folder, not a file to write", path);
	if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
		return iso_fail(ISO_EARG, "%s is a device, pipe or socket, not a file to write",
				path);
	return ISO_OK;
}

static int check_space(const struct iso_out *o, int64_t size)
{
	struct statvfs s;

	if (fstatvfs(o->fd, &s) || s.f_blocks == 0)	/* it does not say */
		return ISO_OK;
	if ((double)s.f_bavail * (double)s.f_frsize >= (double)size)
		return ISO_OK;
	return iso_fail(ISO_EIO, "%s: needs %s, its disk has %s free", o->path, iso_bytes(size),
			iso_bytes((int64_t)(s.f_bavail * s.f_frsize)));
}

/* Level 1: the noise in images hardly packs better at ten times the cost. */
static int open_gzip(struct iso_out *o)
{
	int copy = dup(o->fd);

	if (copy < 0)
		return fail(o, "open");
	o->gz = gzdopen(copy, "wb1");
	if (!o->gz) {
		close(copy);
		return iso_fail_memory(o->path, 1 << 18);
	}
	return ISO_OK;
}

int iso_out_open(struct iso_out *o, const char *path, int64_t size, bool gzip)
{
	struct iso_out n = { .fd = -1 };
	int st = check_target(path);

	if (st)
		return st;
	n.path = strdup(path);
	n.temp = temp_name(path);
	if (!n.path || !n.temp) {
		st = iso_fail_memory("file name", (int64_t)strlen(path));
		goto done;
	}
	n.fd = open_temp(n.temp);
	if (n.fd < 0) {
		st = fail(&n, "create");
		goto done;
	}
	if ((st = check_space(&n, size))) goto done;
	if (gzip)
		st = open_gzip(&n);
done:
	if (st)
		iso_out_free(&n);
	*o = n;
	return st;
}

static int64_t write_some(struct iso_out *o, const void *data, int64_t bytes)
{
	size_t n = bytes < PIECE ? (size_t)bytes : PIECE;
	ssize_t done;

	if (o->gz) {
		int packed = gzwrite(o->gz, data, (unsigned)n), why;

		gzerror(o->gz, &why);
		if (why == Z_MEM_ERROR)
			errno = ENOMEM;
		return packed > 0 ? packed : -1;
	}
	do
		done = write(o->fd, data, n);
	while (done < 0 && errno == EINTR);
	return done;
}

int iso_out_write(struct iso_out *o, const void *data, int64_t bytes)
{
	const char *p = data;

	for (int64_t left = bytes; left > 0; ) {
		int64_t n = write_some(o, p, left);

		if (n < 0)
			return iso_fail(errno == ENOMEM ? ISO_ENOMEM : ISO_EIO, "%s: can't write %" PRId64 " bytes: %s", o->path,
					bytes, strerror(errno));
		p += n;
		left -= n;
	}
	return ISO_OK;
}

int iso_out_write_at(struct iso_out *o, const void *data, int64_t bytes, int64_t at)
{
	const char *p = data;

	for (int64_t left = bytes; left > 0; ) {
		ssize_t n = pwrite(o->fd, p, (size_t)left, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(o, "write");
		p += n;
		left -= n;
		at += n;
	}
	return ISO_OK;
}

/* Some file systems know no fsync: then there is nothing to wait for. */
static int sync_file(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

int iso_out_close(struct iso_out *o)
{
	int st = ISO_OK, fd = o->fd;

	if (o->gz && gzclose(o->gz) != Z_OK)
		st = fail(o, "write the end of it");
	o->gz = NULL;
	o->fd = -1;
	if (!st && sync_file(fd))
		st = fail(o, "flush to disk");
	if (close(fd) && !st)
		st = fail(o, "close");
	return st;
}

/* Best effort: the file is whole, only its name may be lost with the power. */
static void sync_folder(const char *path)
{
	char folder[PATH_MAX];
	int fd;

	if (iso_out_folder(folder, sizeof folder, path))
		return;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int iso_out_commit(struct iso_out *o)
{
	if (rename(o->temp, o->path))
		return fail(o, "rename its temporary file");
	free(o->temp);
	o->temp = NULL;
	sync_folder(o->path);
	return ISO_OK;
}

void iso_out_free(struct iso_out *o)
{
	if (o->gz)
		gzclose(o->gz);
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->temp)
		unlink(o->temp);
	free(o->path);
	free(o->temp);
	*o = (struct iso_out){ 0 };
}

int iso_out_text(const char *path, const char *text)
{
	int64_t size = (int64_t)strlen(text);
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, size, false);

	if (st) goto done;
	if ((st = iso_out_write(&o, text, size))) goto done;
	if ((st = iso_out_close(&o))) goto done;
	st = iso_out_commit(&o);
done:
	iso_out_free(&o);
	return st;
}
