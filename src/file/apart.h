/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that read files, in processes of their own; file/hdf5/apart.c, since all of them use HDF5. */
#ifndef ISO_APART_H
#define ISO_APART_H

#include "core/status.h"

/* ---- the library in a process of its own: it falls on some damaged files, and where it has no memory; then
   it is that process that dies or never ends, and the caller sees a file that can't be read or written ---- */

/* From the child, which sends, to the caller, which takes. */
struct iso_clock;
struct iso_pipe {
	int fd;
	bool sends;
	const iso_ctx *ctx;      /* whose request to stop ends the taking; NULL: nobody's */
	struct iso_clock *clock; /* of whoever takes */
};

struct iso_apart {
	int (*work)(void *arg); /* over there; then, where it succeeds, on both sides: */
	/* ISO_EINPUT if less comes than was sent; NULL: nothing is sent, the file is written */
	int (*pass)(void *arg, struct iso_pipe p);
	void *arg;
	int64_t memory;      /* bytes that `work` may take to read a file, besides 256 MiB */
	const iso_ctx *ctx;  /* whose request to stop ends the reading; NULL: nobody's */
	const char *library; /* for messages; NULL: HDF5 */
};

/* Sends or takes; false: it could not, or less came, or a stop was asked for. */
bool iso_apart_pass(struct iso_pipe p, void *data, int64_t bytes);

/* The status and message of `work`; if it dies, ISO_EINPUT of a file that is read, ISO_ENOMEM of one that
   is written. Reading may take ten seconds of a processor, and one more for each MiB of `bytes`. Whatever a
   damaged file makes the HDF5 library ask for, more memory than said above is not given. ISO_ECANCEL, and the
   end of that process, where a stop is asked for. */
int iso_apart(const char *path, const struct iso_apart *a, int64_t bytes);

#endif
