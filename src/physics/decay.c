/* SPDX-License-Identifier: BSD-3-Clause */
/* Radioactive decay: the mean activity over a time. */
#include "isotome.h"

#include <math.h>

/* exp(-k from) (1 - exp(-k d)) / (k d), k = ln 2 / half-life, d = to - from. */
double iso_decay_mean(double half_life, double from_s, double to_s)
{
	if (half_life == 0) return 1;
	double k = log(2) / half_life, d = to_s - from_s;

	return exp(-k * from_s) * (k * d > 0 ? -expm1(-k * d) / (k * d) : 1);
}
