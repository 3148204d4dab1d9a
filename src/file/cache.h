/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's cache: a folder of results that take long to compute and can be computed again at any time. Nothing depends on
   an entry: one that is missing, damaged or of another key is as if it had never been. */
#ifndef ISO_FILE_CACHE_H
#define ISO_FILE_CACHE_H

#include "isotome.h"

#include <limits.h>

struct iso_cache {
	char folder[PATH_MAX]; /* "": nothing is kept, and nothing found */
	int64_t most_bytes;    /* of all entries */
	double least_s;        /* results that took less time are not worth a file */
	bool named;            /* somebody named the folder, for this purpose */
};

/* `folder`: "none" for no cache; NULL: $ISOTOME_CACHE, which may be "none" too, else $XDG_CACHE_HOME/isotome, else
   $HOME/.cache/isotome, and without all of these none. $ISOTOME_CACHE_MB and $ISOTOME_CACHE_SECONDS set the limits; ISO_EARG
   if they are no numbers. */
int iso_cache_open(struct iso_cache *c, const char *folder);

/* A key: the hash, 128 bits, of all that decides what a result is. All zero: not begun. */
struct iso_cache_hash {
	void *state[2];
};

#define ISO_CACHE_KEY 33 /* chars of a key, and the end */

int iso_cache_hash_begin(struct iso_cache_hash *h);
void iso_cache_hash_add(struct iso_cache_hash *h, const void *data, int64_t bytes);
void iso_cache_hash_end(struct iso_cache_hash *h, char key[ISO_CACHE_KEY]); /* frees it */

/* The file of an entry; false: the name is too long. */
bool iso_cache_path(char path[PATH_MAX], const struct iso_cache *c, const char *key);

/* The `bytes` bytes of an entry, and the number that was kept with them; true: every byte is as it was written. Marks the
   entry as used now. What was read of a damaged one may be in v. */
bool iso_cache_get(const struct iso_cache *c, const char *key, void *v, int64_t bytes, double *with);

/* Keeps an entry, then removes those that were not used for longest, until all fit `most_bytes`. A reader sees all of the
   entry or none, also where two processes write at once. ISO_OK too where an entry is larger than all may be, or the thread
   is mute (out.h): it is not kept. */
int iso_cache_put(const struct iso_cache *c, const char *key, const void *v, int64_t bytes, double with);

#endif
