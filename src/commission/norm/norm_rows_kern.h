/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of two rings, row by row: crystal c of the one has partners b of the other with (b - c) mod n in d ... n - d, d the
   least distance. These are b in [c + d, c + n - d] and, below c, in [c - n + d, c - d], both cut to 0 ... n - 1. */
#ifndef ISO_NORM_ROWS_KERN_H
#define ISO_NORM_ROWS_KERN_H

#include "core/hd.h"

struct norm_stretch {
	int64_t from, n;
};

ISO_HD struct norm_stretch norm_stretch_of(int64_t from, int64_t to, int64_t n)
{
	struct norm_stretch s;

	s.from = from > 0 ? from : 0;
	to = to < n ? to : n - 1;
	s.n = to >= s.from ? to - s.from + 1 : 0;
	return s;
}

ISO_HD struct norm_stretch norm_stretch_above(int64_t c, int64_t d, int64_t n)
{
	return norm_stretch_of(c + d, c + n - d, n);
}

ISO_HD struct norm_stretch norm_stretch_below(int64_t c, int64_t d, int64_t n)
{
	return norm_stretch_of(c - n + d, c - d, n);
}

/* Place of the pair of `low` and `high` > low in the row of `low`; they are a pair. */
ISO_HD int64_t norm_rows_place(int64_t low, int64_t high, int64_t d, int64_t n)
{
	const int64_t apart = high / n - low / n, c = low % n, at = high % n;
	const struct norm_stretch under = norm_stretch_below(c, d, n), over = norm_stretch_above(c, d, n);

	if (apart == 0) return at - over.from;
	return over.n + (apart - 1) * (under.n + over.n) +
	       (at < c ? at - under.from : under.n + at - over.from);
}

#endif
