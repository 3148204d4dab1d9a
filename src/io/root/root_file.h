/* SPDX-License-Identifier: BSD-3-Clause */
/* ROOT files: a directory of keys, each with an object, packed or not; trees of simple branches, a branch a column
   of numbers in baskets. Every place and size is compared with the file's before anything is read or allocated. */
#ifndef ISO_ROOT_FILE_H
#define ISO_ROOT_FILE_H

#include "root_bytes.h"
#include "isotome.h"

#include <pthread.h>

struct root_file {
	const char *path; /* the caller's, in messages */
	int fd;           /* the caller's */
	int64_t size;     /* bytes of the file */
};

/* What stands before an object, and where the object lies. */
struct root_key {
	int64_t at;           /* of the key in the file */
	int64_t head, packed; /* bytes of the key, and of the object behind it as it is stored */
	int64_t bytes;        /* of the object unpacked */
	int version, cycle;
	char class[ROOT_NAME], name[ROOT_NAME];
};

/* Key at byte `at` of the file, which must lie in it with its object. `b`: what lies in memory of it. */
int root_key_parse(struct root_key *k, const struct root_file *f, struct root_bytes *b, int64_t at);

/* The keys of the top directory; free(*keys). */
int root_keys(struct root_key **keys, int64_t *n, const struct root_file *f);

/* The object of a key, k->bytes long, in memory of malloc; k->bytes is one that the caller believes. `what` it is for
   messages; `buffer` of `size` bytes may be used. */
int root_object_read(uint8_t **object, const struct root_file *f, const struct root_key *k, const char *what,
                     uint8_t *buffer, int64_t size);

/* The same of directories and trees, which no packer makes smaller than a thousandth. */
int root_index_read(uint8_t **object, const struct root_file *f, const struct root_key *k, const char *what);

/* ---- trees ---- */

/* A column of numbers: type 'd' or 'f' of IEEE, 'i' of an integer, 'u' of one without a sign. */
struct root_branch {
	char name[ROOT_NAME];
	char type;       /* 0: not a simple branch; it can't be read */
	int size;        /* bytes of a number */
	int64_t entries; /* numbers, the tree's */
	int64_t baskets;
	int64_t *place;              /* of each basket in the file; one allocation with `first` */
	int64_t *first;              /* entry of each basket, and, in element `baskets`, the end of all */
	struct root_basket **loaded; /* of each basket, by root_basket.c; NULL: it is not in memory */
};

struct root_tree {
	int64_t entries;
	int64_t n;
	struct root_branch *branch;
};

/* Every branch that can be read has the tree's entries, and these are no more than the file has bytes. */
int root_tree_read(struct root_tree *t, const struct root_file *f, const struct root_key *k);
void root_tree_free(struct root_tree *t);

/* By name; NULL: the tree has none. */
const struct root_branch *root_tree_find(const struct root_tree *t, const char *name);

/* ---- baskets, unpacked, which threads share ---- */

/* Numbers first ... end - 1 of a branch, as the file has them: big-endian, one behind the other. */
struct root_basket {
	const struct root_branch *of;
	int64_t number;
	uint8_t *data; /* of malloc; NULL: some thread is unpacking it */
	int64_t bytes;
	int64_t holders;                   /* threads that read it */
	struct root_basket *older, *newer; /* in the list of those that nobody holds */
};

struct root_cache {
	const struct root_file *f;
	pthread_mutex_t lock;
	pthread_cond_t change; /* a basket was unpacked, or could not be */
	int64_t idle, most;    /* bytes of the baskets in the list, at most: the oldest go first */
	struct root_basket *oldest, *newest;
};

/* most: bytes that are kept of baskets that nobody holds. */
int root_cache_begin(struct root_cache *c, const struct root_file *f, int64_t most);

/* Of a cache that began; nobody holds a basket any more. */
void root_cache_end(struct root_cache *c);

/* The basket of an entry, to be given back by root_basket_put. Where another thread is unpacking it: *b = NULL, or, if
   `wait`, it when that is done. `buffer` of `size` bytes may be used. */
int root_basket_get(struct root_basket **b, struct root_cache *c, const struct root_branch *of, int64_t entry,
                    bool wait, uint8_t *buffer, int64_t size);
void root_basket_put(struct root_cache *c, struct root_basket *b);

/* ---- unpacking ---- */

/* Blocks of {two letters, level, packed and unpacked size in 3 bytes each, data} one behind the other, which must
   fill dst. ISO_EINPUT with what is wrong, or with the library that this build has not. */
int root_unpack(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed, const char *path);

/* Where the libraries are: ISO_OK, if src is such a block and fills dst, ISO_EINPUT or ISO_ENOMEM, without a message. */
int root_unpack_lz4(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed);
int root_unpack_zstd(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed);
int root_unpack_lzma(uint8_t *dst, int64_t bytes, const uint8_t *src, int64_t packed);

#endif
