/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes of files for records: of every byte, or, above 1 GiB, of a sample of the file. */
#ifndef ISO_FILE_HASH_H
#define ISO_FILE_HASH_H

#include "isotome.h"

#include <limits.h>

struct iso_hash {
	char path[PATH_MAX]; /* "": not made */
	uint64_t value;      /* XXH64 */
	int64_t bytes;       /* of the file */
	bool sampled;
};

/* Of a regular file, which is read for it. The context's request to stop ends it; NULL: nobody's. */
int iso_hash_file(struct iso_hash *h, const char *path, const iso_ctx *ctx);

/* Of its size and of a sample, 1/64 of the file or 64 MiB at most; of a file up to 256 KiB, all of it. */
int iso_hash_sample(struct iso_hash *h, const char *path, const iso_ctx *ctx);

/* The same of a file that is read anyway, from its bytes in their order. All zero: not begun. */
struct iso_hasher {
	void *state; /* NULL: no hash is made */
	int64_t bytes;
};

/* `size`: of the file. One that is sampled is left to iso_hash_file, and so is one there is no memory for. */
void iso_hasher_begin(struct iso_hasher *s, int64_t size);
void iso_hasher_add(struct iso_hasher *s, const void *data, int64_t bytes);

/* The bytes before `end` of a file, read for it. */
int iso_hasher_head(struct iso_hasher *s, const char *path, int fd, int64_t end);

/* Ends it. The hash is made if `size` bytes, those of the whole file, have come. */
void iso_hasher_end(struct iso_hash *h, struct iso_hasher *s, const char *path, int64_t size);

/* Of values as floats, in their order, in however many pieces they come. All zero: none yet. */
struct iso_values_hash {
	void *state;
};

int iso_values_hash_add(struct iso_values_hash *h, int64_t n, const iso_real *v);
uint64_t iso_values_hash_now(const struct iso_values_hash *h);
void iso_values_hash_free(struct iso_values_hash *h);

#endif
