/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a file or a pipe as they come. */
#include "feed.h"
#include "base/now.h"
#include "core/status.h"
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAP_S .01 /* between two looks at a file that grows */

enum { BUFFER = 1 << 20 };

int iso_feed_open(struct iso_feed *f, const char *path, bool grows)
{
	struct stat s;

	*f = (struct iso_feed){ .fd = -1, .grows = grows, .path = strdup(path), .buffer = malloc(BUFFER) };
	if (!f->path || !f->buffer) return iso_fail_memory(path, BUFFER);
	f->standard = strcmp(path, "-") == 0;
	if (!f->standard) iso_commit_repair(path);
	/* O_NONBLOCK: or a pipe without a writer would hold us up */
	f->fd = f->standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0) return iso_refuse(path, "%s", strerror(errno));
	if (fstat(f->fd, &s)) return iso_fail(ISO_EIO, "%s: %s", path, strerror(errno));
	if (S_ISDIR(s.st_mode)) return iso_fail(ISO_EINPUT, "%s is a folder, a file was expected", path);
	f->pipe = !S_ISREG(s.st_mode);
	f->size = s.st_size;
	return ISO_OK;
}

void iso_feed_close(struct iso_feed *f)
{
	if (!f->standard && f->fd >= 0) close(f->fd);
	free(f->buffer);
	free(f->path);
	*f = (struct iso_feed){ .fd = -1 };
}

int iso_feed_fill(struct iso_feed *f, double wait_s, int64_t *got)
{
	struct timespec nap = { 0, (long)(1e9 * fmin(wait_s, NAP_S)) };
	struct pollfd p = { f->fd, POLLIN, 0 };
	struct stat s;
	int ready = f->pipe ? poll(&p, 1, wait_s < 1e6 ? (int)ceil(wait_s * 1e3) : 1000000000) : 1;
	ssize_t n;

	*got = 0;
	if (ready < 0 && errno != EINTR) return iso_fail_errno(f->path, "wait");
	if (ready <= 0) return ISO_OK;
	memmove(f->buffer, f->buffer + f->at, (size_t)(f->have - f->at));
	f->have -= f->at;
	f->at = 0;
	do n = read(f->fd, f->buffer + f->have, (size_t)(BUFFER - f->have));
	while (n < 0 && errno == EINTR);
	if (n < 0) return iso_fail_errno(f->path, "read");
	f->have += n;
	*got = n;
	f->ended = n == 0 && (f->pipe || !f->grows);
	if (n > 0 || f->ended) return ISO_OK;
	/* a file cut down while we read it would never grow past our place */
	if (fstat(f->fd, &s) || s.st_size < lseek(f->fd, 0, SEEK_CUR))
		return iso_refuse(f->path, "became shorter while it was read");
	if (nap.tv_nsec > 0) nanosleep(&nap, NULL);
	return ISO_OK;
}
