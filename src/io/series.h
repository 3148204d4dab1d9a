/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of a series, kept in a file as they come, so that memory holds one, and a run that was
   killed finds those that it had finished. */
#ifndef ISO_SERIES_H
#define ISO_SERIES_H

#include "isotome.h"

typedef struct iso_series iso_series;

/* Images of n values each. `resume`: goes on with the file, if there is one, which must be of this
   key; else the file begins anew. Of a mute thread (file/out.h) it has no file: it finds, keeps and writes nothing. */
int iso_series_open(iso_series **s, const char *path, uint64_t key, int64_t n, bool resume);

/* The next of the images found, into x, and the text about it, to be freed. *found is false behind
   the last that is whole: what follows in the file is cut off, and iso_series_add goes on there. */
int iso_series_next(iso_series *s, bool *found, iso_real *x, char **text);

/* One more image behind the last, safe on the disk when this returns. */
int iso_series_add(iso_series *s, const iso_real *x, const char *text);

/* Hash of the values of all images so far, as file/hash.h has it. */
uint64_t iso_series_hash(const iso_series *s);

/* The key of such a file; *has is false where it ends within its head. */
int iso_series_key(uint64_t *key, bool *has, const char *path);

/* All images as one array like `shape`, whose first axis counts the images. x: room for one. The context's
   request to stop ends it; NULL: nobody's. */
int iso_series_write(iso_series *s, const iso_ctx *ctx, const char *path, const struct iso_array *shape,
                     iso_real *x, const char *sidecar);

int64_t iso_series_count(const iso_series *s);
void iso_series_free(iso_series *s); /* the file stays */

#endif
