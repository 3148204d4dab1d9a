/* SPDX-License-Identifier: BSD-3-Clause */
/* The band of frequencies in which traces hold sound of the object, found from the traces. */
#ifndef ISO_BAND_H
#define ISO_BAND_H

#include "core/status.h"

struct iso_band {
	double low_mhz, high_mhz; /* edges; 0: the traces need none there */
	double beyond;            /* share of the power of the traces' derivative above the high edge */
};

/* Finds the band in samples first ... first + n - 1 of host traces (t->n, t->samples). */
int iso_band_of(struct iso_band *b, const iso_real *y, const struct iso_transducers *t, int64_t first,
                int64_t n);

#endif
