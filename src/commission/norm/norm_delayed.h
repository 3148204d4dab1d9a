/* SPDX-License-Identifier: BSD-3-Clause */
/* Randoms from a file of delayed coincidences that is not read whole. */
#ifndef ISO_NORM_DELAYED_H
#define ISO_NORM_DELAYED_H

#include "isotome/events.h"

/* As iso_randoms_from_delayed, piece by piece; *n: delayeds of the file. */
int iso_norm_delayed(double *rate, int64_t *bad, int64_t *n, iso_ctx *ctx, const iso_scanner *s,
                     const iso_event_file *f);

#endif
