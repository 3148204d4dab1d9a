/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening what a user names as input: a regular file, and never a wait for a pipe's writer. */
#ifndef ISO_REGULAR_H
#define ISO_REGULAR_H

#include <stdint.h>
#include <stdio.h>

/* ISO_EINPUT if there is none, or if it is a folder, device, pipe or socket. *size is that of the
   file now: it may shrink or grow while it is read. */
int iso_regular_open(int *fd, int64_t *size, const char *path);
int iso_regular_fopen(FILE **f, int64_t *size, const char *path);

#endif
