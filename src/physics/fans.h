/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over the crystals in coincidence with one crystal: its fan. */
#ifndef ISO_FANS_H
#define ISO_FANS_H

#include "scanner/scanner.h"

/* fan[a] = sum over the partners b of crystal a of v[b], for every crystal; v not negative. `work`
   has iso_fans_work values. */
void iso_fans(double *fan, double *work, const iso_scanner *s, const double *v);
int64_t iso_fans_work(const iso_scanner *s);

#endif
