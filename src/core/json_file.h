/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that a program wrote: records of runs, descriptions of raw arrays. */
#ifndef ISO_JSON_FILE_H
#define ISO_JSON_FILE_H

#include <jansson.h>

/* A regular file of at most 256 MiB; the message names the line of an error. */
int iso_json_read(json_t **root, const char *path);

/* A text of `size` bytes; `name` is the file that it comes from. */
int iso_json_parse(json_t **root, const char *name, const char *text, size_t size);

/* As json_dumps, which loses pieces of a text for which memory ran out, and does not tell. */
char *iso_json_dump(const json_t *root, size_t flags);

#endif
