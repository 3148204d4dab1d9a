/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint: named vectors with a key of the inputs and options they belong to. The file is
   magic, lengths, a JSON header, the vectors, and a hash of all that (XXH64). */
#ifndef ISO_CHECKPOINT_H
#define ISO_CHECKPOINT_H

#include "isotome.h"

enum iso_item_type { ISO_ITEM_REAL, ISO_ITEM_DOUBLE, ISO_ITEM_INT64 };

struct iso_item {
	const char *name;
	enum iso_item_type type;
	int64_t n;
	void *v;
};

/* Replaces `path` at once, or leaves it as it was. */
int iso_checkpoint_write(const char *path, uint64_t key, int n, const struct iso_item *item);

/* Fills the vectors; names, types, lengths and key must be those written. What they hold after a
   failure is undefined. */
int iso_checkpoint_read(const char *path, uint64_t key, int n, const struct iso_item *item);

/* The JSON header of a whole and undamaged checkpoint, to be freed: isotome, key, items. */
int iso_checkpoint_info(char **header, const char *path);

#endif
