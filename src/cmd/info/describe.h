/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file holds, as a JSON object: "file", "kind", "bytes", what belongs to its kind, and "warnings". */
#ifndef ISO_DESCRIBE_H
#define ISO_DESCRIBE_H

#include "cmd/facts.h"

/* One fact by itself. */
static inline void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

/* ISO_EINPUT if the file can't be read or is of no known kind; `o`: how events are read. */
int describe(json_t **out, const char *path, const struct iso_events_options *o);

/* By kind, into an object that has "bytes" and "warnings". */
int describe_array(json_t *out, const char *path);
int describe_scanner(json_t *out, const char *path);
int describe_phantom(json_t *out, const char *path);
int describe_srm(json_t *out, const char *path);
int describe_recording(json_t *out, const char *path);
int describe_events(json_t *out, const char *path, const struct iso_events_options *o);

/* Rows of an array that may be events: under "as_events" if they are. */
int describe_rows(json_t *out, const char *path);
void describe_transducers(json_t *out, const struct iso_transducers *t);

/* Of struct iso_panels: a word each. */
extern const char *const describe_readouts[];

#endif
