/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe writing: a temporary file in the target's folder, to which commit.c gives its name. */
#define _GNU_SOURCE /* O_TMPFILE, sync_file_range */
#include "out.h"
#include "suffix.h"
#include "core/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes that one call moves at most: then a request to stop is noticed, and the disk begins with them, so that little is
   left to flush at the end. zlib packs 50 MB a second. */
enum { PIECE = 1 << 21, PIECE_GZIP = 1 << 20 };

#define NOWHERE "/dev/null"

int iso_out_folder(char *folder, size_t size, const char *path)
{
	size_t n = (size_t)(iso_base_name(path) - path);

	if (n >= size || size < 2) return iso_fail(ISO_EARG, "%s: name is too long", path);
	if (n == 0)
		path = ".", n = 1;
	else if (n > 1)
		n--; /* the slash, unless it is the root */
	memcpy(folder, path, n);
	folder[n] = '\0';
	return ISO_OK;
}

int iso_temp_name(char name[ISO_TEMP_NAME])
{
	uint64_t v;

	if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
		return iso_fail(ISO_EIO, "no random numbers for a temporary name: %s", strerror(errno));
	snprintf(name, ISO_TEMP_NAME, ".isotome-%016" PRIx64 ".tmp", v);
	return ISO_OK;
}

/* Bytes of the path of a temporary file. */
enum { TEMP_PATH = PATH_MAX + ISO_TEMP_NAME };

/* A file without a name: nothing is left of it if the process is killed. False where the file system
   has no such files, or where /proc, through which it gets its name, is not mounted. */
static bool open_anonymous(struct iso_out *o, const char *folder)
{
	char reach[32];

	o->fd = openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (o->fd < 0) return false;
	snprintf(reach, sizeof reach, "/proc/self/fd/%d", o->fd);
	if (access(reach, F_OK) == 0 && (o->temp = strdup(reach))) return true;
	close(o->fd);
	o->fd = -1;
	return false;
}

/* A file `folder`/.isotome-RANDOM.tmp. O_EXCL fails where that name exists, and another is tried. */
static int open_named(struct iso_out *o, const char *folder)
{
	char name[ISO_TEMP_NAME], path[TEMP_PATH];

	do {
		int st = iso_temp_name(name);

		if (st) return st;
		snprintf(path, sizeof path, "%s/%s", folder, name);
		o->fd = openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (o->fd < 0 && errno == EEXIST);
	if (o->fd < 0) return iso_fail_errno(o->path, "create");
	o->temp = strdup(path);
	if (o->temp) return ISO_OK;
	unlink(path);
	return iso_fail_memory("file name", TEMP_PATH);
}

enum iso_stands iso_stands_at(const char *path)
{
	struct stat s;

	if (stat(path, &s) == 0) return S_ISREG(s.st_mode) ? ISO_STANDS_FILE : ISO_STANDS_OTHER;
	return lstat(path, &s) == 0 ? ISO_STANDS_FILE : ISO_STANDS_NOTHING;
}

int iso_stands_check(const char *path, const char *of, bool force)
{
	enum iso_stands is = iso_stands_at(path);
	const char *which = of ? ", which belongs to " : "", *comma = of ? "," : "";

	if (is == ISO_STANDS_NOTHING || (is == ISO_STANDS_FILE && force)) return ISO_OK;
	return iso_fail(ISO_EARG, "%s%s%s%s exists%s", path, which, of ? of : "", comma,
	                is == ISO_STANDS_FILE ? "; 'force' replaces it" : " and is not a file");
}

int iso_out_check(const char *path, const char *of, bool force)
{
	return iso_out_is_mute() ? ISO_OK : iso_stands_check(path, of, force);
}

static int check_target(const char *path)
{
	struct stat s;

	if (!*iso_base_name(path)) return iso_fail(ISO_EARG, "\"%s\" names no file to write", path);
	if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
		return iso_fail(ISO_EARG, "%s is a %s, not a file to write", path,
		                S_ISDIR(s.st_mode) ? "folder" : "device, pipe or socket");
	if (lstat(path, &s) != 0 &&
	    errno == ENAMETOOLONG) /* the shorter name of the temporary file would be possible */
		return iso_fail_errno(path, "create");
	return ISO_OK;
}

static int check_space(const struct iso_out *o, int64_t size)
{
	struct statvfs s;

	if (fstatvfs(o->fd, &s) || s.f_blocks == 0) /* the file system does not tell its free space */
		return ISO_OK;
	if ((double)s.f_bavail * (double)s.f_frsize >= (double)size) return ISO_OK;
	return iso_fail(ISO_EIO, "%s: needs %s, its disk has %s free", o->path, iso_bytes(size),
	                iso_bytes((int64_t)(s.f_bavail * s.f_frsize)));
}

/* Level 1: the noise in images hardly packs better at ten times the cost. */
static int open_gzip(struct iso_out *o)
{
	int copy = dup(o->fd);

	if (copy < 0) return iso_fail_errno(o->path, "open");
	o->gz = gzdopen(copy, "wb1");
	if (o->gz) return ISO_OK;
	close(copy);
	return iso_fail_memory(o->path, 1 << 18);
}

/* Takes what is written, and is nowhere; for a library that writes by name, a file that is removed. */
static int open_mute(struct iso_out *o, enum iso_out_how how)
{
	o->mute = true;
	o->named = how == ISO_OUT_NAMED;
	if (o->named) return open_named(o, P_tmpdir);
	o->fd = open(NOWHERE, O_RDWR | O_CLOEXEC);
	o->temp = strdup(NOWHERE);
	return o->fd >= 0 && o->temp ? ISO_OK : iso_fail_errno(NOWHERE, "open");
}

static int open_beside(struct iso_out *o, int64_t size, enum iso_out_how how)
{
	char folder[PATH_MAX];
	int st = iso_out_folder(folder, sizeof folder, o->path);

	if (st) return st;
	o->named = how == ISO_OUT_NAMED || !open_anonymous(o, folder);
	if (o->named && (st = open_named(o, folder))) return st;
	if ((st = check_space(o, size))) return st;
	return how == ISO_OUT_GZIP ? open_gzip(o) : ISO_OK;
}

int iso_out_open(struct iso_out *o, const char *path, int64_t size, enum iso_out_how how)
{
	struct iso_out n = { .fd = -1 };
	int st = iso_out_is_mute() ? ISO_OK : check_target(path);

	if (st) return st;
	n.path = strdup(path);
	if (!n.path) return iso_fail_memory("file name", (int64_t)strlen(path));
	n.size = size;
	st = iso_out_is_mute() ? open_mute(&n, how) : open_beside(&n, size, how);
	if (st) iso_out_free(&n);
	*o = n;
	return st;
}

static int64_t write_some(struct iso_out *o, const void *data, int64_t bytes)
{
	int64_t most = o->gz ? PIECE_GZIP : PIECE;
	size_t n = (size_t)(bytes < most ? bytes : most);
	ssize_t done;

	if (o->gz) {
		int packed = gzwrite(o->gz, data, (unsigned)n), why;

		gzerror(o->gz, &why);
		if (why == Z_MEM_ERROR) errno = ENOMEM;
		return packed > 0 ? packed : -1;
	}
	do done = write(o->fd, data, n);
	while (done < 0 && errno == EINTR);
#ifdef SYNC_FILE_RANGE_WRITE
	if (done == PIECE) sync_file_range(o->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
	return done;
}

int iso_out_write(struct iso_out *o, const void *data, int64_t bytes)
{
	const char *p = data;

	if (!o->clock.stage)
		o->clock = iso_clock_brief(o->ctx, "write", "bytes", o->size, iso_base_name(o->path));
	for (int64_t left = o->mute ? 0 : bytes; left > 0;) {
		int st = iso_stop_check(o->ctx, o->path);
		int64_t n = st ? 0 : write_some(o, p, left);

		if (st) return st;
		if (n < 0)
			return iso_fail(errno == ENOMEM ? ISO_ENOMEM : ISO_EIO,
			                "%s: can't write %" PRId64 " bytes: %s", o->path, bytes,
			                strerror(errno));
		p += n;
		left -= n;
		iso_clock_add(&o->clock, n);
	}
	return ISO_OK;
}

int iso_out_print(struct iso_out *o, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = iso_vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof text)
		return iso_fail(ISO_EARG, "%s: a line of its header is too long", o->path);
	return iso_out_write(o, text, n);
}

int iso_write_at(const char *path, int fd, const void *data, int64_t bytes, int64_t at)
{
	for (int64_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, (const char *)data + done, (size_t)(bytes - done), at + done);

		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) return iso_fail_errno(path, "write");
		done += n;
	}
	return ISO_OK;
}

bool iso_flushed(int fd)
{
	return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* A file without a name stays open: closed, it would be gone. */
int iso_out_close(struct iso_out *o)
{
	int st = ISO_OK, fd = o->fd;

	if (o->mute) return ISO_OK;
	if (o->gz && gzclose(o->gz) != Z_OK) st = iso_fail_errno(o->path, "write the end of it");
	o->gz = NULL;
	if (!st && !iso_flushed(fd)) st = iso_fail_errno(o->path, "flush to disk");
	if (!st) iso_clock_end(&o->clock);
	if (st || !o->named) return st;
	o->fd = -1;
	return close(fd) ? iso_fail_errno(o->path, "close") : ISO_OK;
}

int iso_out_commit(struct iso_out *o)
{
	return iso_out_commit_all(1, &o);
}

void iso_out_free(struct iso_out *o)
{
	if (o->gz) gzclose(o->gz);
	if (o->path && o->fd >= 0) close(o->fd);
	if (o->temp && o->named) unlink(o->temp);
	free(o->path);
	free(o->temp);
	*o = (struct iso_out){ 0 };
}

void iso_out_remove(const char *path)
{
	if (!iso_out_is_mute()) unlink(path);
}

int iso_out_text(const char *path, const char *text)
{
	int64_t size = (int64_t)strlen(text);
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, size, ISO_OUT_PLAIN);

	if (!st && !(st = iso_out_write(&o, text, size)) && !(st = iso_out_close(&o)))
		st = iso_out_commit(&o);
	iso_out_free(&o);
	return st;
}
