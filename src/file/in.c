/* SPDX-License-Identifier: BSD-3-Clause */
/* Input files, plain or gzip: regular ones only, every size checked before memory is taken. */
#include "in.h"
#include "regular.h"
#include "core/status.h"
#include "stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	PIECE = 1 << 26,      /* most bytes of one call: then a signal is noticed */
	DEFLATE_RATIO = 1032, /* deflate's best: 258 bytes from 2 bits */
};

struct gunzip {
	z_stream z;
	bool ended; /* a member is complete; another may follow */
	unsigned char packed[1 << 16];
};

static int open_gzip(struct iso_in *in)
{
	struct gunzip *gz = calloc(1, sizeof *gz);

	if (!gz || inflateInit2(&gz->z, 16 + MAX_WBITS) != Z_OK) { /* 16: gzip frames */
		free(gz);
		return iso_fail_memory(in->path, sizeof *gz);
	}
	in->gz = gz;
	return ISO_OK;
}

int iso_in_open(struct iso_in *in, const char *path, bool gzip)
{
	struct iso_in n = { .path = path };
	int st = iso_regular_open(&n.fd, &n.size, path);

	if (st) return st;
	if (n.size == 0)
		st = iso_fail(ISO_EINPUT, "%s is empty", path);
	else if (gzip)
		st = open_gzip(&n);
	if (st) {
		close(n.fd);
		return st;
	}
	*in = n;
	return ISO_OK;
}

void iso_in_close(struct iso_in *in)
{
	if (in->gz) inflateEnd(&in->gz->z);
	free(in->gz);
	close(in->fd);
}

int iso_in_expect(const struct iso_in *in, int64_t bytes)
{
	if (in->gz && bytes / DEFLATE_RATIO > in->size)
		return iso_fail(ISO_EINPUT,
		                "%s: header asks for %" PRId64 " bytes, more than its "
		                "%" PRId64 " packed ones can hold",
		                in->path, bytes, in->size);
	if (!in->gz && bytes != in->size)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " bytes expected, the file has %" PRId64, in->path,
		                bytes, in->size);
	return ISO_OK;
}

/* *got = 0 at the end of the file. */
static int read_some(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	ssize_t n;

	do n = read(in->fd, dst, bytes < PIECE ? (size_t)bytes : PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0) return iso_fail(ISO_EIO, "%s: can't read: %s", in->path, strerror(errno));
	*got = n;
	return ISO_OK;
}

static int refill(struct iso_in *in)
{
	struct gunzip *gz = in->gz;
	int64_t n = 0;
	int st = read_some(in, gz->packed, sizeof gz->packed, &n);

	if (st) return st;
	if (n == 0 && !gz->ended)
		return iso_fail(ISO_EINPUT, "%s: gzip data is cut short after %" PRId64 " bytes", in->path,
		                in->at);
	gz->z.next_in = gz->packed;
	gz->z.avail_in = (unsigned)n;
	return ISO_OK;
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
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return iso_fail(ISO_EINPUT, "%s: damaged gzip data after %" PRId64 " bytes: %s", in->path,
		                in->at + *got, z->msg ? z->msg : "no reason known");
	return ISO_OK;
}

/* A step may give nothing, between blocks of packed bytes or members: go on until one does. */
static int inflate_some(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	int st = ISO_OK;

	for (*got = 0; *got == 0;) {
		if (in->gz->z.avail_in == 0 && (st = refill(in))) return st;
		if (in->gz->z.avail_in == 0) return ISO_OK;
		if ((st = inflate_piece(in, dst, bytes, got))) return st;
	}
	return st;
}

static int next_bytes(struct iso_in *in, void *dst, int64_t bytes, int64_t *got)
{
	int st = iso_stop_check(in->path);

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

int iso_in_end(struct iso_in *in)
{
	int64_t want = in->at, n = 0;
	char more;
	int st = next_bytes(in, &more, 1, &n);

	if (!st && n > 0)
		st = iso_fail(ISO_EINPUT, "%s: data goes on after the %" PRId64 " bytes expected", in->path,
		              want);
	return st;
}
