/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of strip events, by suffix. */
#ifndef ISO_IO_STRIP_EVENTS_H
#define ISO_IO_STRIP_EVENTS_H

#include "isotome.h"

enum iso_strip_format { ISO_STRIP_UNKNOWN, ISO_STRIP_FLOATS, ISO_STRIP_TEXT, ISO_STRIP_NPY };

enum iso_strip_format iso_strip_format(const char *path);

/* All that `from` holds, to be freed with iso_strip_events_free. */
int iso_strip_events_copy(struct iso_strip_events *to, const struct iso_strip_events *from);

#endif
