/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR files: what the reader, the writer and the record of a run share. */
#ifndef ISO_CASTOR_H
#define ISO_CASTOR_H

#include "events.h"

#include <limits.h>

/* The files that a header brings: its records, and the .hscan of its scanner, "" if there is none
   beside it. */
int iso_castor_files(char data[PATH_MAX], char scanner[PATH_MAX], const char *path);

/* The writer, see struct iso_event_format. */
int iso_castor_create(iso_event_writer *w, const char *path, int64_t n);
int iso_castor_begin(iso_event_writer *w, const struct iso_events *e);
int iso_castor_encode(iso_event_writer *w, unsigned char *record, const struct iso_events *e, int64_t i);
int iso_castor_finish(iso_event_writer *w, const char *sidecar);
void iso_castor_release(iso_event_writer *w);

#endif
