/* SPDX-License-Identifier: BSD-3-Clause */
/* Text files by lines: threads parse blocks side by side, and what they make of them is taken in the order
   of the file. A block has the lines that begin in it. */
#ifndef ISO_LINES_H
#define ISO_LINES_H

#include "file/hash.h"

enum { ISO_LINES_SLACK = 64 };

struct iso_lines {
	const char *path;
	const char *what;   /* the file should hold, for a message: "GATE coincidences" */
	const iso_ctx *ctx; /* whose threads parse, and whose request to stop ends it; NULL: one thread */
	int threads;        /* where these shall be fewer; 0: all */
	int longest;        /* bytes of a line; a longer one is refused */
	int64_t first;      /* only the lines that end in so many bytes of the file; 0: all */
	int64_t part; /* bytes of a part: what a thread makes of a block. Zeroed, then used again and again */
	/* Line `number` of the block, from 0, without its end: [p, end), behind which ISO_LINES_SLACK bytes can
	   be read. False: it can't go on, and `take` will say why. It runs on any thread, and leaves no message. */
	bool (*line)(void *part, const void *arg, int64_t number, const char *p, const char *end);
	/* The part of a block, of which `before` lines came earlier: takes what it holds, and empties it. One
	   block after the other. Anything but ISO_OK ends the reading and is returned. */
	int (*take)(void *arg, void *part, int64_t before);
	void (*release)(void *part); /* what a part holds, in the end; NULL: nothing */
	void *arg;
};

/* `hash`: of the file, if all of it was read. */
int iso_lines_read(const struct iso_lines *l, struct iso_hash *hash);

#endif
