/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of the public interface that may grow begin with `size_t size`, which the caller sets to its
   sizeof: fields are only ever added at the end, so that a caller built against an older header gives
   a shorter struct. */
#ifndef ISO_SIZED_H
#define ISO_SIZED_H

#include <stddef.h>

/* *ours = *theirs, both struct `name`, of which ours has `size` bytes; what the caller's lacks is 0, and
   its size becomes ours. ISO_EARG if it is NULL, its size is not set, or it is larger than ours and not 0
   behind our end. */
int iso_sized_take(void *ours, const char *name, size_t size, const void *theirs);

/* A caller's struct `name` for results, or NULL: zeros behind its size. ISO_EARG if that is not set. */
int iso_sized_clear(void *theirs, const char *name, size_t size);

/* As much of *ours, of `size` bytes, as *theirs has room for; the caller's size stays. */
void iso_sized_give(void *theirs, size_t size, const void *ours);

/* Both at once: for a caller's struct that stays as it is after a failure. */
int iso_sized_put(void *theirs, const char *name, size_t size, const void *ours);

#endif
