/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean": the known word nearest to a mistyped one. */
#ifndef ISO_NEAREST_H
#define ISO_NEAREST_H

/* The word of known[0..n-1] nearest to `word` by edit distance; if none is near, one that begins
   with `word` (radius: radius_mm); else NULL. */
const char *iso_nearest(const char *word, int n, const char *const *known);

#endif
