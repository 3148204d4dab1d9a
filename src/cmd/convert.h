/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome convert in parts: traces in convert_sound.c, all else in convert.c. */
#ifndef ISO_CONVERT_H
#define ISO_CONVERT_H

#include "cmd.h"

/* One of the two is a recording, or both; an array needs a scanner (else NULL). */
int convert_sound(struct cmd *c, const char *from, const char *to, const char *scanner);

/* What IPASC files, such as `to`, have no place for. */
void convert_sound_warn(struct cmd *c, const char *to, const char *scanner, const struct iso_transducers *t);

#endif
