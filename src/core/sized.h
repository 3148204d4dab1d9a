/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of parameters that callers of other versions fill. */
#ifndef ISO_SIZED_H
#define ISO_SIZED_H

#include "isotome/status.h"

/* Copies the struct `given`, whose first member says its size, to `full`, which has `known` bytes in this
   version: an older caller's gets zeros for what it lacks. ISO_EARG, naming the struct: NULL, size 0, or a
   newer caller's that sets what this version does not know. */
int iso_sized(void *full, size_t known, const void *given, const char *name);

/* The same where NULL stands for all zeros. */
int iso_sized_or_zero(void *full, size_t known, const void *given, const char *name);

#endif
