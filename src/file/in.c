/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening regular files, and reading them, plain or gzip. */
#include "in.h"
#include "out.h"
#include "suffix.h"
#include "core/size.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
	PIECE = 1 << 24,      /* most bytes of one call: then a request to stop is noticed */
	DEFLATE_RATIO = 1032, /* deflate's best: 258 bytes from 2 bits */
};

struct gunzip {
	z_stream z;
	bool ended; /* a member is complete; another may follow */
	unsigned char packed[1 << 16];
};

int iso_regular_open(int *fd, int64_t *size, const char *path)
{
	struct stat s;
	int file, st = ISO_OK;

	iso_commit_repair(path); /* where it can't be, the file is still the old one or the new one */
	/* O_NONBLOCK: or a pipe without a writer would hold us up */
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0) return iso_refuse(path, "%s", strerror(errno));
	if (fstat(file, &s))
		st = iso_fail(ISO_EIO, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(s.st_mode))
		st = iso_fail(ISO_EINPUT, "%s is a %s, a file was expected", path,
		              S_ISDIR(s.st_mode) ? "folder" : "device, pipe or socket");
	if (st) {
		close(file);
		return st;
	}
	*fd = file;
	*size = s.st_size;
	return ISO_OK;
}

int iso_regular_fopen(FILE **f, int64_t *size, const char *path)
{
	int fd = -1, st = iso_regular_open(&fd, size, path);

	if (st) return st;
	*f = fdopen(fd, "rb");
	if (*f) return ISO_OK;
	close(fd);
	return iso_fail_memory(path, BUFSIZ);
}

int iso_text_read(char **text, size_t *size, const char *path, int most, const char *what)
{
	int64_t bytes = 0;
	char *t = NULL;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &bytes, path);

	if (st) return st;
	if (bytes > (int64_t)most << 20)
		st = iso_refuse(path, "is larger than %d MiB, the most for a %s: %s", most, what,
		                iso_bytes(bytes));
	else if (!(t = size_alloc(bytes + 1, 1)))
		st = iso_fail_memory(path, bytes);
	else if (fread(t, 1, (size_t)bytes, f) != (size_t)bytes)
		st = iso_fail(ISO_EIO, "%s: can't be read, or was cut short meanwhile", path);
	fclose(f);
	if (st) {
		free(t);
		return st;
	}
	*text = t;
	*size = (size_t)bytes;
	return ISO_OK;
}

int64_t iso_read_at(int fd, void *dst, int64_t bytes, int64_t at)
{
	int64_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)dst + done, (size_t)(bytes - done), at + done);

		if (n < 0 && errno == EINTR) continue;
		if (n < 0) return -1;
		if (n == 0) break;
		done += n;
	}
	return done;
}

int iso_in_open(struct iso_in *in, const char *path, bool gzip)
{
	struct iso_in n = { .path = path };
	int st = iso_regular_open(&n.fd, &n.size, path);

	if (st) return st;
	if (n.size == 0) {
		st = iso_fail(ISO_EINPUT, "%s is empty", path);
	} else if (gzip && (!(n.gz = calloc(1, sizeof *n.gz)) ||
	                    inflateInit2(&n.gz->z, 16 + MAX_WBITS) != Z_OK)) { /* 16: gzip frames */
		free(n.gz);
		st = iso_fail_memory(path, sizeof *n.gz);
	}
	if (st)
		close(n.fd);
	else
		*in = n;
	return st;
}

void iso_in_close(struct iso_in *in)
{
	if (!in->path) return;
	if (in->gz) inflateEnd(&in->gz->z);
	free(in->gz);
	close(in->fd);
	*in = (struct iso_in){ 0 };
}

int iso_in_expect(const struct iso_in *in, int64_t bytes)
{
	if (in->gz && bytes / DEFLATE_RATIO > in->size)
		return iso_refuse(in->path,
		                  "header asks for %" PRId64 " bytes, more than its %" PRId64
		                  " packed ones can hold",
		                  bytes, in->size);
	if (!in->gz && bytes != in->size)
		return iso_refuse(in->path, "%" PRId64 " bytes expected, the file has %" PRId64, bytes,
		                  in->size);
	return ISO_OK;
}

/* *got = 0 at the end of the file. */
static int read_some(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	ssize_t n;

	if (!in->clock.stage)
		in->clock = iso_clock_brief(in->ctx, "read", "bytes", in->size, iso_base_name(in->path));
	do n = read(in->fd, dst, bytes < PIECE ? (size_t)bytes : PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0) return iso_fail_errno(in->path, "read");
	*got = n;
	iso_clock_add(&in->clock, n);
	return ISO_OK;
}

static int refill(struct iso_in *in)
{
	struct gunzip *gz = in->gz;
	int64_t n = 0;
	int st = read_some(in, gz->packed, sizeof gz->packed, &n);

	if (st) return st;
	if (n == 0 && !gz->ended)
		return iso_refuse(in->path, "gzip data is cut short after %" PRId64 " bytes", in->at);
	gz->z.next_in = gz->packed;
	gz->z.avail_in = (unsigned)n;
	return ISO_OK;
}

/* What stands in place of gzip data from the first byte on, such as the page of a download that failed. */
static int refuse_other(const struct iso_in *in)
{
	const unsigned char *b = in->gz->packed;
	char begin[16] = "";
	int n = 0;

	for (; n < (int)sizeof begin - 1 && b[n] >= ' ' && b[n] < 0x7f; n++) begin[n] = (char)b[n];
	if (n < 4) return iso_refuse(in->path, "not gzip: begins with other bytes than 1f 8b");
	return iso_refuse(in->path, "not gzip: begins with '%s'", begin);
}

static int inflate_piece(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	z_stream *z = &in->gz->z;
	unsigned room = bytes < PIECE ? (unsigned)bytes : PIECE;
	int r;

	if (in->gz->ended) inflateReset(z);
	z->next_out = dst;
	z->avail_out = room;
	r = inflate(z, Z_NO_FLUSH);
	in->gz->ended = r == Z_STREAM_END;
	*got = room - z->avail_out;
	if (r == Z_MEM_ERROR) return iso_fail_memory(in->path, 1 << MAX_WBITS);
	if (r == Z_DATA_ERROR && in->at + *got == 0 && memcmp(in->gz->packed, "\x1f\x8b", 2) != 0)
		return refuse_other(in);
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return iso_refuse(in->path, "damaged gzip data after %" PRId64 " bytes: %s", in->at + *got,
		                  z->msg ? z->msg : "no reason known");
	return ISO_OK;
}

/* A step may give nothing, between blocks of packed bytes or members: go on until one does. */
static int inflate_some(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	int st = ISO_OK;

	for (*got = 0; *got == 0 && !st;) {
		if (in->gz->z.avail_in == 0 && (st = refill(in))) break;
		if (in->gz->z.avail_in == 0) break;
		st = inflate_piece(in, dst, bytes, got);
	}
	return st;
}

static int next_bytes(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	int st = iso_stop_check(in->ctx, in->path);

	if (!st) st = (in->gz ? inflate_some : read_some)(in, dst, bytes, got);
	if (!st) in->at += *got;
	return st;
}

int iso_in_read(struct iso_in *in, void *dst, int64_t bytes)
{
	int64_t want = in->at + bytes, n = 0;
	char *p = dst;

	while (in->at < want) {
		int st = next_bytes(in, p, want - in->at, &n);

		if (st) return st;
		if (n == 0)
			return iso_fail(ISO_EINPUT, "%s ends after %" PRId64 " bytes, %" PRId64 " expected",
			                in->path, in->at, want);
		p += n;
	}
	return ISO_OK;
}

int iso_in_skip(struct iso_in *in, int64_t bytes)
{
	char scrap[4096];

	for (int64_t left = bytes; left > 0;) {
		int64_t n = left < (int64_t)sizeof scrap ? left : (int64_t)sizeof scrap;
		int st = iso_in_read(in, scrap, n);

		if (st) return st;
		left -= n;
	}
	return ISO_OK;
}

int iso_in_seek(struct iso_in *in, int64_t at)
{
	in->at = at;
	return lseek(in->fd, at, SEEK_SET) < 0 ? iso_fail_errno(in->path, "read") : ISO_OK;
}

int iso_in_end(struct iso_in *in)
{
	int64_t want = in->at, n = 0;
	char more;
	int st = next_bytes(in, &more, 1, &n);

	iso_clock_end(&in->clock);
	if (!st && n > 0)
		st = iso_refuse(in->path, "data goes on after the %" PRId64 " bytes expected", want);
	return st;
}
