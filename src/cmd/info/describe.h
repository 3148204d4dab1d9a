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

#define DESCRIBE_LITTLE_MM 3. /* phantoms of strips, and their events, are larger */

/* By kind, into an object that has "bytes" and "warnings". */
int describe_array(json_t *out, const char *path,
                   const struct iso_events_options *o); /* or events, in .npy */
int describe_scanner(json_t *out, const char *path);
int describe_strips(json_t *out, const char *path); /* events of strips */
int describe_phantom(json_t *out, const char *path);
int describe_srm(json_t *out, const char *path);
/* A file of commissioning, whose JSON is root; false: it is none. */
bool describe_commission(int *st, json_t *o, const json_t *root, const char *path);
int describe_poses(json_t *out, const char *path);
int describe_recording(json_t *out, const char *path);
int describe_volume(json_t *out, const char *path);
int describe_oblique(json_t *out, const char *path); /* the axes of an oblique image, and a grid around it */
int describe_events(json_t *out, const char *path, const struct iso_events_options *o);

/* Of a scanner of crystals: their distances from the axis and their z, and the grid that recon takes where none is
   given. */
void describe_extent(json_t *out, const iso_scanner *s);
void describe_field(json_t *out, const iso_scanner *s);

/* A picture of the scanner of a file, a description or events, with lines of the events. */
int plot_file(const char *png, const char *path, const struct iso_events_options *o);

void describe_transducers(json_t *out, const struct iso_transducers *t, const struct iso_faces *faces);

/* Of struct iso_panels: a word each. */
extern const char *const describe_readouts[];

#endif
