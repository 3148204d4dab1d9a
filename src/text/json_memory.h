/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether jansson ran out of memory. Its parser does not always say: a text that could not be kept
   whole is "invalid token", or even a shorter text; and of a hundred calls that add a value to an
   object, each would need a check. */
#ifndef ISO_JSON_MEMORY_H
#define ISO_JSON_MEMORY_H

#include <stdint.h>

/* How many of jansson's allocations have failed in this thread so far. They are counted if jansson
   takes its memory from malloc, as it does unless the program has set something else. */
int64_t iso_json_failures(void);

#endif
