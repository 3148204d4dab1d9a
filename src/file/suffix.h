/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file's name says: its end, in any case of letters, and what stands beside it. */
#ifndef ISO_SUFFIX_H
#define ISO_SUFFIX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Equal but for the case of A to Z, in any locale: strcasecmp takes I and i apart in Turkish ones. */
bool iso_same_word(const char *a, const char *b);
bool iso_same_letters(const char *a, const char *b, size_t n); /* both have n letters */

/* The variable of a MATLAB file that a name tells, x.mat:p; NULL: none. The suffix of such a name is .mat. */
const char *iso_variable(const char *path);
const char *iso_without_variable(char file[PATH_MAX],
                                 const char *path); /* the file alone: `file`, or path itself */
bool iso_has_suffix(const char *path, const char *suffix);
const char *iso_base_name(const char *path); /* what follows the last slash */

/* The file to read beside `path`: the same name with another suffix (lower case), which is taken in
   upper case where there is only that, as Scan.BIN beside Scan.MSOT. ISO_EINPUT: too long. */
int iso_suffix_partner(char *out, size_t size, const char *path, const char *suffix);

#endif
