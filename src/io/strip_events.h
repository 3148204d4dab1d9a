/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of strip events, by suffix. */
#ifndef ISO_IO_STRIP_EVENTS_H
#define ISO_IO_STRIP_EVENTS_H

#include "isotome.h"

enum iso_strip_format { ISO_STRIP_FLOATS, ISO_STRIP_TEXT, ISO_STRIP_NPY, ISO_STRIP_UNKNOWN };

enum iso_strip_format iso_strip_format(const char *path);
int iso_strip_format_unknown(int code, const char *path);

#endif
