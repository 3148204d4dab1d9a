/* SPDX-License-Identifier: BSD-3-Clause */
/* The HDF5 library in a process of its own. It falls on some damaged files, and where it has no memory;
   then it is that process that dies or never ends, and the caller sees a file that can't be read or
   written. */
#ifndef ISO_APART_H
#define ISO_APART_H

#include "core/status.h"

struct iso_apart {
	int (*work)(void *arg);                /* over there; then, where it succeeds: */
	bool (*send)(const void *arg, int fd); /* over there; NULL: nothing, the file is written */
	int (*take)(void *arg, int fd);        /* here; ISO_EINPUT if less comes than was sent */
	void *arg;
	int64_t memory; /* bytes that `work` may take to read a file, besides 256 MiB */
};

/* The status and message of `work`; if it dies, ISO_EINPUT of a file that is read, ISO_ENOMEM of one that
   is written. Reading may take ten seconds of a processor, and one more for each MiB of `bytes`. Whatever a
   damaged file makes the HDF5 library ask for, more memory than said above is not given. */
int iso_apart(const char *path, const struct iso_apart *a, int64_t bytes);

bool iso_apart_send(int fd, const void *data, int64_t bytes);
bool iso_apart_take(int fd, void *data, int64_t bytes);

#endif
