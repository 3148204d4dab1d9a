/* SPDX-License-Identifier: BSD-3-Clause */
/* Text headers of lines "key: value", # before a comment: those of CASToR. */
#ifndef ISO_KEYS_H
#define ISO_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct iso_keys {
	const char *path; /* the caller's */
	char *text;
	struct iso_keys_line {
		const char *key, *value;
		int line;  /* from 1 */
		bool used; /* it was asked for */
	} * v;
	int n;
};

/* At most 1 MiB; a key may come once. Case and blanks at the ends of keys and values do not
   count; lines without a colon are comments. */
int iso_keys_read(struct iso_keys *k, const char *path);
void iso_keys_free(struct iso_keys *k);

/* The value of a key: NULL if the file lacks it, or, of the second function, a failure that says so. */
const char *iso_keys_find(const struct iso_keys *k, const char *key);
int iso_keys_need(const char **value, const struct iso_keys *k, const char *key);

/* Numbers in [min, max]; *v stays as it is where the key is not there. */
int iso_keys_real(double *v, const struct iso_keys *k, const char *key, double min, double max);
int iso_keys_int(int64_t *v, const struct iso_keys *k, const char *key, int64_t min, int64_t max);
int iso_keys_flag(bool *v, const struct iso_keys *k, const char *key); /* 0 or 1 */

/* "a, b, c": up to `most` numbers; *n, the number of them, is 0 if the key is not there. */
int iso_keys_reals(double *v, int *n, int most, const struct iso_keys *k, const char *key);

/* The names of keys that nobody asked for, "'A', 'B'", as many as fit; "": none. */
void iso_keys_unused(char *list, int size, const struct iso_keys *k);

/* A plain name beside the file that the keys come from: refuses absolute names and "..". */
int iso_keys_beside(char *out, int size, const struct iso_keys *k, const char *name);

#endif
