/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of traces as they come. */
#include "frame_file.h"

#include "base/now.h"
#include "core/size.h"
#include "core/status.h"
#include "file/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAP_S .002 /* between two looks at a file that grows */

enum { MAGIC = 6, LEAD = 12, HEAD_MOST = 1 << 16 };

struct iso_frame_file {
	char *path;
	int fd;
	bool standard, pipe;
	int64_t transducers, samples, bytes;
	enum iso_sample sample;
	bool begun;    /* behind the head */
	uint8_t *head; /* of a .npy; or the first bytes of a frame without one */
	int64_t have;  /* bytes of the head, then of the frame under way */
	int64_t left;  /* bytes of `head` that belong to the first frame */
};

static const struct {
	char kind;
	int size;
} elements[] = { { 'f', 4 }, { 'i', 2 }, { 'u', 2 } }; /* as enum iso_sample */

static int open_path(iso_frame_file *f)
{
	struct stat s;

	f->standard = strcmp(f->path, "-") == 0;
	/* O_NONBLOCK: or a pipe without a writer would hold us up */
	f->fd = f->standard ? STDIN_FILENO : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0) return iso_refuse(f->path, "%s", strerror(errno));
	if (fstat(f->fd, &s)) return iso_fail(ISO_EIO, "%s: %s", f->path, strerror(errno));
	if (S_ISDIR(s.st_mode)) return iso_fail(ISO_EINPUT, "%s is a folder, a file was expected", f->path);
	f->pipe = !S_ISREG(s.st_mode);
	return ISO_OK;
}

static void set_sample(iso_frame_file *f, enum iso_sample sample)
{
	f->sample = sample;
	f->bytes = f->transducers * f->samples * elements[sample].size;
}

int iso_frame_file_open(iso_frame_file **out, const char *path, int64_t transducers, int64_t samples,
                        enum iso_sample sample)
{
	iso_frame_file *f = size_alloc(1, sizeof *f);
	int st = ISO_OK;

	if (!f) return iso_fail_memory(path, sizeof *f);
	*f = (iso_frame_file){ .fd = -1, .transducers = transducers, .samples = samples };
	set_sample(f, sample);
	f->path = strdup(path);
	f->head = size_alloc(HEAD_MOST + LEAD, 1);
	if (!f->path || !f->head)
		st = iso_fail_memory(path, HEAD_MOST);
	else if (f->bytes < LEAD)
		st = iso_fail(ISO_EARG, "%s: frames of %" PRId64 " bytes, must be at least %d", path,
		              f->bytes, LEAD);
	else
		st = open_path(f);
	if (st)
		iso_frame_file_close(f);
	else
		*out = f;
	return st;
}

void iso_frame_file_close(iso_frame_file *f)
{
	if (!f) return;
	if (!f->standard && f->fd >= 0) close(f->fd);
	free(f->head);
	free(f->path);
	free(f);
}

/* ---- bytes ---- */

static void nap(double s)
{
	struct timespec t = { 0, (long)(1e9 * fmin(s, NAP_S)) };

	if (t.tv_nsec > 0) nanosleep(&t, NULL);
}

/* A file cut down while we read it would never grow past our place. */
static int check_length(const iso_frame_file *f)
{
	struct stat s;

	if (fstat(f->fd, &s) || s.st_size < lseek(f->fd, 0, SEEK_CUR))
		return iso_refuse(f->path, "became shorter while it was read");
	return ISO_OK;
}

/* Up to n bytes more behind to[f->have], at once or after wait_s at most. */
static int fill(uint8_t *to, bool *end, iso_frame_file *f, int64_t n, double wait_s)
{
	struct pollfd p = { f->fd, POLLIN, 0 };
	int ready = f->pipe ? poll(&p, 1, (int)ceil(wait_s * 1e3)) : 1;
	ssize_t got;

	if (ready < 0 && errno != EINTR) return iso_fail(ISO_EIO, "%s: %s", f->path, strerror(errno));
	if (ready <= 0) return ISO_OK;
	do got = read(f->fd, to + f->have, (size_t)n);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno != EAGAIN) return iso_fail(ISO_EIO, "%s: %s", f->path, strerror(errno));
	if (got > 0) f->have += got;
	*end = got == 0 && (f->pipe || f->standard); /* a file at standard input does not grow */
	if (got > 0 || *end) return ISO_OK;
	nap(wait_s);
	return f->pipe ? ISO_OK : check_length(f);
}

/* Until to[0 .. n-1] is there. */
static int fill_to(uint8_t *to, bool *whole, bool *end, iso_frame_file *f, int64_t n, double wait_s)
{
	double stop = iso_now_s() + wait_s;
	int st = ISO_OK;

	*end = false;
	while (!st && f->have < n && !*end) {
		double left = stop - iso_now_s();
		int64_t before = f->have;

		st = fill(to, end, f, n - f->have, left > 0 ? left : 0);
		if (left <= 0 && f->have == before) break;
	}
	*whole = !st && f->have >= n;
	return st;
}

/* ---- the head ---- */

static int take_head(iso_frame_file *f)
{
	struct iso_npy npy;
	int64_t at;
	int n, st = iso_npy_parse(&npy, &at, f->head, f->have, f->path);

	if (st) return st;
	n = npy.n_dim;
	if (n < 2 || npy.fortran || npy.dim[n - 2] != f->transducers || npy.dim[n - 1] != f->samples)
		return iso_refuse(f->path,
		                  "an array of %d axes that end with %" PRId64 " x %" PRId64
		                  "%s, expected (..., transducers, samples), here %" PRId64 " x %" PRId64,
		                  n, n > 1 ? npy.dim[n - 2] : 1, n > 0 ? npy.dim[n - 1] : 1,
		                  npy.fortran ? " in Fortran order" : "", f->transducers, f->samples);
	for (int i = 0; i < 3; i++)
		if (npy.element.kind == elements[i].kind && npy.element.size == elements[i].size &&
		    !npy.element.big_endian) {
			set_sample(f, (enum iso_sample)i);
			return ISO_OK;
		}
	return iso_refuse(f->path, "numbers of type %c%c%d, expected <i2, <u2 or <f4",
	                  npy.element.big_endian ? '>' : '<', npy.element.kind, npy.element.size);
}

/* Bytes of the head of a .npy whose first LEAD bytes are there. */
static int64_t head_bytes(const uint8_t *h)
{
	return h[6] == 1 ? 10 + h[8] + 256 * h[9]
	                 : 12 + (int64_t)h[8] + 256 * (int64_t)h[9] + 65536 * (int64_t)h[10] +
	                           16777216 * (int64_t)h[11];
}

int iso_frame_file_begin(bool *ready, bool *end, iso_frame_file *f, double wait_s)
{
	bool npy = false;
	int st;

	*end = false;
	*ready = f->begun;
	if (f->begun) return ISO_OK;
	if ((st = fill_to(f->head, ready, end, f, LEAD, wait_s)) || !*ready) return st;
	npy = memcmp(f->head, "\x93NUMPY", MAGIC) == 0;
	if (npy && head_bytes(f->head) > HEAD_MOST)
		return iso_refuse(f->path, "a head of %" PRId64 " bytes, at most %d", head_bytes(f->head),
		                  HEAD_MOST);
	if (npy && ((st = fill_to(f->head, ready, end, f, head_bytes(f->head), wait_s)) || !*ready))
		return st;
	if (npy && (st = take_head(f))) return st;
	f->left = npy ? 0 : f->have;
	f->have = 0;
	f->begun = true;
	return ISO_OK;
}

/* ---- frames ---- */

enum iso_sample iso_frame_file_sample(const iso_frame_file *f)
{
	return f->sample;
}

int64_t iso_frame_file_bytes(const iso_frame_file *f)
{
	return f->bytes;
}

bool iso_frame_file_is_pipe(const iso_frame_file *f)
{
	return f->pipe;
}

bool iso_frame_file_ends(const iso_frame_file *f)
{
	return f->pipe || f->standard;
}

int64_t iso_frame_file_rest(const iso_frame_file *f)
{
	return f->left + f->have;
}

int iso_frame_file_next(void *frame, bool *came, bool *end, iso_frame_file *f, double wait_s)
{
	int st;

	if (f->left > 0) {
		memcpy(frame, f->head, (size_t)f->left);
		f->have = f->left;
		f->left = 0;
	}
	if ((st = fill_to(frame, came, end, f, f->bytes, wait_s))) return st;
	if (*came) f->have = 0;
	return ISO_OK;
}
