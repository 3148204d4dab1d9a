/* SPDX-License-Identifier: BSD-3-Clause */
/* Round numbers for scales: 1, 2 or 5 times a power of ten. */
#ifndef ISO_TICKS_H
#define ISO_TICKS_H

#include "isotome.h"

enum { ISO_TICKS = 16 };

struct iso_ticks {
	int n;
	double value[ISO_TICKS];  /* rising; the first and the last are the ends */
	char text[ISO_TICKS][24]; /* UTF-8 */
	char factor[24];          /* that the texts lack: "" or "×10³" */
};

/* The greatest round number that is not above `most`, which is positive and finite. */
double iso_round_below(double most);

/* At low, high, and at most `between` round numbers, none of them near an end. */
void iso_ticks_make(struct iso_ticks *t, double low, double high, int between);

/* "%.4g" with a true minus sign. */
void iso_tick_text(char *text, size_t size, double value);

#endif
