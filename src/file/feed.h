/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as they come: a file, one that others still write to, or a pipe, through one buffer. What a reader leaves of it
   waits for its other half. */
#ifndef ISO_FEED_H
#define ISO_FEED_H

#include <stdbool.h>
#include <stdint.h>

struct iso_feed {
	char *path;
	int fd;
	bool standard, pipe; /* standard: input, not ours to close */
	bool grows, ended;   /* grows: the end of a file is where to wait for more */
	int64_t size;        /* of a file, when it was opened */
	uint8_t *buffer;
	int64_t at, have; /* bytes used, and read into it */
};

/* "-" is standard input. Closed by iso_feed_close, even after a failure. */
int iso_feed_open(struct iso_feed *f, const char *path, bool grows);
void iso_feed_close(struct iso_feed *f);

/* Reads once, behind what the buffer still holds, after at most about wait_s seconds; *got = 0 at the end, and f->ended is
   set at an end for good. */
int iso_feed_fill(struct iso_feed *f, double wait_s, int64_t *got);

#endif
