/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file holds, as a JSON object: "file", "kind", "bytes", what belongs to its kind, and
   "warnings". */
#ifndef ISO_DESCRIBE_H
#define ISO_DESCRIBE_H

#include "isotome.h"

#include <jansson.h>

/* ISO_EINPUT if the file can't be read or is of no known kind. */
int describe(json_t **out, const char *path);

#endif
