/* SPDX-License-Identifier: BSD-3-Clause */
/* Input files, plain or gzip: regular ones only, every size checked before memory is taken. */
#ifndef ISO_IN_H
#define ISO_IN_H

#include "isotome.h"

struct iso_in {
	const char *path; /* the caller's */
	int fd;
	int64_t size;      /* of the file: packed, if gzip */
	int64_t at;        /* bytes read so far, unpacked */
	struct gunzip *gz; /* NULL: plain */
};

int iso_in_open(struct iso_in *in, const char *path, bool gzip);
void iso_in_close(struct iso_in *in);

/* Before allocating: ISO_EINPUT unless the file has `bytes` bytes, or, if gzip, could have. */
int iso_in_expect(const struct iso_in *in, int64_t bytes);

/* Exactly `bytes` more. */
int iso_in_read(struct iso_in *in, void *dst, int64_t bytes);
int iso_in_skip(struct iso_in *in, int64_t bytes);

/* ISO_EINPUT if anything follows; the checksum of a gzip file is verified here. */
int iso_in_end(struct iso_in *in);

#endif
