/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that a program wrote: records of runs, descriptions of raw arrays. */
#ifndef ISO_JSON_FILE_H
#define ISO_JSON_FILE_H

#include <jansson.h>

/* json_loadb and json_dumps with decimal points in any locale: jansson knows those of one byte. */
json_t *iso_json_parse(const char *text, size_t size, size_t flags, json_error_t *error);
char *iso_json_text(const json_t *root, size_t flags);

/* A regular file of at most 32 MiB, whose values take at most 128 MiB; the message names the line of
   an error. */
int iso_json_read(json_t **root, const char *path);

#endif
