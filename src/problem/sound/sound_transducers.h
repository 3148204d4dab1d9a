/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers from a file that a user names, whatever kind of file it is. */
#ifndef ISO_SOUND_TRANSDUCERS_H
#define ISO_SOUND_TRANSDUCERS_H

#include "problem/param.h"
#include "problem/record.h"

#define TRANSDUCERS_FILES "YAML or JSON, kind: transducers; or a file of traces that holds them"

/* One of s and r is set; t is of that one. */
struct transducers {
	iso_scanner *s;                  /* a description */
	iso_recording *r;                /* a file of traces */
	const struct iso_transducers *t; /* its speed may be 0: not said */
};

/* The file becomes an input of the record, and what it warns of a warning. */
int transducers_load(struct transducers *f, struct record *record, const char *path);
void transducers_free(struct transducers *f);

/* What was read of traces otherwise than the file has it. */
void transducers_warn(struct record *record, const iso_recording *r);

/* iso_recording_of an array that was read from `path`, whose name all that is told has. */
int transducers_traces(iso_recording **r, struct record *record, const struct iso_transducers *t,
                       const struct iso_array *y, const char *path);

#endif
