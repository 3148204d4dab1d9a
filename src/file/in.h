/* SPDX-License-Identifier: BSD-3-Clause */
/* Input files, regular ones only, plain or gzip; every size is checked before memory is taken. */
#ifndef ISO_IN_H
#define ISO_IN_H

#include "core/progress.h"

#include <stdio.h>

/* ISO_EINPUT if there is none, or if it is a folder, device, pipe or socket. *size is that of the
   file now: it may shrink or grow while it is read. */
int iso_regular_open(int *fd, int64_t *size, const char *path);
int iso_regular_fopen(FILE **f, int64_t *size, const char *path);

/* A whole text, with a NUL behind it, to be freed. ISO_EINPUT, with `what` it is, beyond `most` MiB. */
int iso_text_read(char **text, size_t *size, const char *path, int most, const char *what);

/* Bytes read from `at` on: fewer than asked for at the end of the file; -1 on failure, with errno. */
int64_t iso_read_at(int fd, void *dst, int64_t bytes, int64_t at);

struct iso_in {
	const char *path; /* the caller's */
	int fd;
	int64_t size;           /* of the file: packed, if gzip */
	int64_t at;             /* bytes read so far, unpacked */
	const iso_ctx *ctx;     /* whose request to stop ends it: set after iso_in_open; NULL: nobody's */
	struct gunzip *gz;      /* NULL: plain */
	struct iso_clock clock; /* counts bytes of the file */
};

int iso_in_open(struct iso_in *in, const char *path, bool gzip);
void iso_in_close(struct iso_in *in); /* leaves all zero, which it takes too */

/* Before allocating: ISO_EINPUT unless the file has `bytes` bytes, or, if gzip, could have. */
int iso_in_expect(const struct iso_in *in, int64_t bytes);

/* Exactly `bytes` more. */
int iso_in_read(struct iso_in *in, void *dst, int64_t bytes);
int iso_in_skip(struct iso_in *in, int64_t bytes);
int iso_in_seek(struct iso_in *in, int64_t at); /* not of a gzip file */

/* ISO_EINPUT if anything follows; the checksum of a gzip file is verified here. */
int iso_in_end(struct iso_in *in);

#endif
