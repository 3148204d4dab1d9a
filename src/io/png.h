/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixels as PNG. */
#ifndef ISO_PNG_H
#define ISO_PNG_H

#include "isotome.h"

/* The file in memory; free(*bytes). */
int iso_png_encode(void **bytes, size_t *n, const struct iso_pixels *p);

#endif
