/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that a program wrote: records of runs, descriptions of raw arrays. */
#ifndef ISO_JSON_FILE_H
#define ISO_JSON_FILE_H

#include <jansson.h>
#include <stdint.h>

/* All functions here read and write numbers with a decimal point, whatever the locale: jansson does so only
   where the locale's own decimal sign is one byte. */

/* A file of at most 32 MiB, whose values take at most 128 MiB; the message names the line of an error. */
int iso_json_read(json_t **root, const char *path);

/* A text of `size` bytes; `name` is the file that it comes from. */
int iso_json_parse(json_t **root, const char *name, const char *text, size_t size);

/* A text to be freed, NULL without memory: json_dumps would lose pieces of it and not tell. */
char *iso_json_text(const json_t *root, size_t flags);

/* How many of jansson's allocations have failed in this thread so far. Its parser does not always say: a
   text that could not be kept whole is "invalid token", or even a shorter text; and of a hundred calls that
   add a value to an object, each would need a check. They are counted if jansson takes its memory from
   malloc, as it does unless the program has set something else. */
int64_t iso_json_failures(void);

#endif
