/* SPDX-License-Identifier: BSD-3-Clause */
/* What the end of a file's name says, in any case of letters. */
#ifndef ISO_SUFFIX_H
#define ISO_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Equal but for the case of A to Z, in any locale: strcasecmp takes I and i apart in Turkish ones. */
bool iso_same_word(const char *a, const char *b);
bool iso_same_letters(const char *a, const char *b, size_t n); /* both have n letters */

bool iso_has_suffix(const char *path, const char *suffix);

/* The file to read beside `path`: the same name with another suffix (lower case), which is taken in
   upper case where there is only that, as Scan.BIN beside Scan.MSOT. ISO_EINPUT: too long. */
int iso_suffix_partner(char *out, size_t size, const char *path, const char *suffix);

#endif
