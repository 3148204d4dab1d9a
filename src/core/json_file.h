/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that a program wrote: records of runs, descriptions of raw arrays. */
#ifndef ISO_JSON_FILE_H
#define ISO_JSON_FILE_H

#include <jansson.h>

/* A regular file of at most 32 MiB, whose values take at most 128 MiB; the message names the line of
   an error. */
int iso_json_read(json_t **root, const char *path);

#endif
