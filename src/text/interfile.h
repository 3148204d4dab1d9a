/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfile headers, STIR's and Siemens' dialects: lines "key [index] := value", ; before a comment. In keys neither
   case nor "!", "%", "_" nor the number of blanks counts, so "!Matrix_size [1]" is key "matrix size" with index 1. */
#ifndef ISO_INTERFILE_H
#define ISO_INTERFILE_H

#include "file/element.h"

#include <limits.h>

struct iso_interfile {
	const char *path; /* the caller's */
	char *text;
	struct iso_interfile_line {
		const char *key, *value; /* the key in lower case, words one blank apart */
		int index;               /* of [n]; 0: none */
		int line;                /* from 1 */
	} * v;
	int n;
};

/* Whether a file that begins with these n bytes is a header of projection data, of an image. Headers of list modes are
   neither. */
bool iso_interfile_is_lines(const uint8_t *head, int64_t n);
bool iso_interfile_is_image(const uint8_t *head, int64_t n);

/* At most 1 MiB, first key "interfile"; ends at "end of interfile". Of a key that comes again the last value holds, as
   in STIR. Lines without ":=" are comments; one that ends in \ goes on in the next. */
int iso_interfile_read(struct iso_interfile *h, const char *path);
void iso_interfile_free(struct iso_interfile *h);

#define ISO_INTERFILE_GEOMETRY "scanner geometry (blocksoncylindrical/cylindrical/generic)"

/* Keys are written as above, in lower case. NULL: the header lacks the key, or gives it no value. */
const char *iso_interfile_find(const struct iso_interfile *h, const char *key, int index);
int iso_interfile_need(const char **value, const struct iso_interfile *h, const char *key, int index);

/* What a table says of a key with one number. */
struct iso_interfile_key {
	const char *key;
	int index;
	int64_t *integer; /* one of the two; it keeps what it has where the key is not there */
	double *real;
	double min, max;
	bool required;
};

/* All keys of a table, which ends with a key of NULL. */
int iso_interfile_take(const struct iso_interfile *h, const struct iso_interfile_key *table);

/* "{1, 2, 3}", or one number: from 1 to `most` whole numbers in +-1e9; a key that is missing is refused. */
int iso_interfile_ints(int64_t *v, int *n, int most, const struct iso_interfile *h, const char *key,
                       int index);

/* The same of any numbers; *n is 0 where the key is missing. */
int iso_interfile_reals(double *v, int *n, int most, const struct iso_interfile *h, const char *key,
                        int index);

/* Whether a value is that word, or a list "{a, b}" that has it, in any case. */
bool iso_interfile_has(const char *value, const char *word);

/* Where the data are, and what their numbers look like. */
struct iso_interfile_data {
	char path[PATH_MAX];
	struct iso_element element;
	int64_t offset; /* of the first, bytes */
};

/* The file that a key names, beside the header: refuses absolute names and "..". */
int iso_interfile_beside(char out[PATH_MAX], const struct iso_interfile *h, const char *key);
int iso_interfile_name(char out[PATH_MAX], const struct iso_interfile *h); /* of the data */
/* The same by the path of a header, and the map of crystals that a Generic scanner has: "" where the file is no header
   of projection data or an image. */
int iso_interfile_partner(char out[PATH_MAX], char map[PATH_MAX], const char *path);
int iso_interfile_data(struct iso_interfile_data *d, const struct iso_interfile *h);

/* STIR's axes are those of a patient on the bed, left-handed; sign[a] turns them to R, A, S. *known: the header says
   how the patient lies; else head first, supine. */
int iso_interfile_signs(int sign[3], bool *known, const struct iso_interfile *h);

#endif
