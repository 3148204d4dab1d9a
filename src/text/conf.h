/* SPDX-License-Identifier: BSD-3-Clause */
/* Description files, YAML or JSON: a tree of nodes that know their line, and tables of keys that
   say what a map may hold. Messages name file, line, what was found, and the nearest known key. */
#ifndef ISO_CONF_H
#define ISO_CONF_H

#include "core/status.h"

enum conf_type { CONF_SCALAR, CONF_LIST, CONF_MAP };

struct conf_node {
	enum conf_type type;
	int line;                       /* from 1; 0: the root, the file as a whole */
	const char *file;               /* name of the whole file, for messages */
	char *key;                      /* inside a map; else NULL */
	char *text;                     /* of a scalar */
	bool quoted;                    /* a quoted scalar is a string, never a number */
	struct conf_node *child, *next; /* list and map */
	int n_child;
};

enum { CONF_MOST = 1 << 20 }; /* bytes of a description */

/* Reads a file (at most CONF_MOST, nesting at most 64); the root must be a map. A name that ends in
   .json must hold strict JSON. */
int iso_conf_read(struct conf_node **root, const char *path);
/* The same from memory; `name` stands for the file in messages. */
int iso_conf_parse(struct conf_node **root, const char *name, const char *text, size_t size);
void iso_conf_free(struct conf_node *root);

/* "FILE:LINE: " + message, ISO_EINPUT. */
int iso_conf_fail(const struct conf_node *at, const char *fmt, ...) ISO_PRINTF(2, 3);

/* The value of a key, NULL if the map does not hold it. */
const struct conf_node *iso_conf_find(const struct conf_node *map, const char *name);

/* Which of `words`, a list that ends with NULL, a key holds. If the map does not hold the key,
   *which keeps its value; a negative one says that there is no default: an error. */
int iso_conf_word(int *which, const struct conf_node *map, const char *name, const char *const *words);

enum conf_kind { CONF_REAL, CONF_INT, CONF_TEXT, CONF_BOOL, CONF_REALS, CONF_INTS, CONF_NODE };

/* One key of a map. `dst` is double *, int64_t *, const char **, bool *, double[count],
   int64_t[count], const struct conf_node **, or NULL for a key read by other means. Numbers must
   lie in [min, max]; NaN and infinity never pass. The name of the last entry is NULL. */
struct conf_key {
	const char *name;
	enum conf_kind kind;
	void *dst;
	int count;
	double min, max;
	bool required;
};

/* Fills the destinations from `map`; those of absent keys keep their value. Unknown and missing
   keys are errors. Texts and nodes belong to the tree. */
int iso_conf_keys(const struct conf_node *map, const struct conf_key *keys);

/* A file named in a description, relative to its folder; refuses absolute names and "..". */
int iso_conf_file(char *out, size_t size, const struct conf_node *root, const char *name);

#endif
