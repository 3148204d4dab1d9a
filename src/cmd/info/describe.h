/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file holds, as a JSON object: "file", "kind", "bytes", what belongs to its kind, and
   "warnings". */
#ifndef ISO_DESCRIBE_H
#define ISO_DESCRIBE_H

#include "isotome.h"

#include <jansson.h>

/* ISO_EINPUT if the file can't be read or is of no known kind; `o`: how events are read. */
int describe(json_t **out, const char *path, const struct iso_events_options *o);

/* A file of events, and a .npy whose rows may be events: the second goes under "as_events". */
int describe_events(json_t *out, const char *path, const struct iso_events_options *o);
int describe_phantom(json_t *out, const char *path);
int describe_srm(json_t *out, const char *path);
int describe_recording(json_t *out, const char *path);
void describe_transducers(json_t *out, const struct iso_transducers *t);
int describe_rows(json_t *out, const char *path);

#endif
