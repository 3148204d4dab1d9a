/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a source lies where it was said. */
#ifndef ISO_NORM_PLACE_H
#define ISO_NORM_PLACE_H

#include "norm_own.h"

/* Of pairs that the source misses by all their lines: q is 0 there, and -0 where it misses some of them. */
int norm_missed(struct norm_missed *m, const struct norm_q *q, const struct norm_scan *s, const iso_ctx *ctx);

/* ISO_EINPUT where they count more than randoms, by over 1 % of the events. */
int norm_missed_check(const struct norm_missed *m);

enum { NORM_LOOK_PAIRS = 4000000 }; /* that norm_place_look looks at, at most */

/* How far the source of a fitted scan rather lies from its place, in x and y, and the errors: a step of the fit from its
   factors, with efficiencies and place, over the pairs of some crystals. sd 0: it can't be told. */
int norm_place_look(double mm[2], double sd[2], const struct norm_fit *f, int scan);

#endif
