/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers as the scanner reader fills them. */
#ifndef ISO_TRANSDUCERS_H
#define ISO_TRANSDUCERS_H

#include "isotome.h"

enum { TRANSDUCERS_MAX = 1000000 }; /* a hundred times the paper's array */

/* After pos, and normal unless NULL, are there: the missing normals (towards the centre), axes,
   radius (unless above 0) and spread. Frees nothing on failure. */
int iso_transducers_finish(struct iso_transducers *t, const char *who);

/* As iso_transducers_check, but the speed may be 0: a file need not say it. */
int iso_transducers_check_file(const struct iso_transducers *t);

#endif
