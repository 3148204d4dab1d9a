/* SPDX-License-Identifier: BSD-3-Clause */
/* Scattered coincidences of a source of a norm: h of each pair, the integral over times of flight, for efficiencies 1. */
#ifndef ISO_NORM_SCATTER_H
#define ISO_NORM_SCATTER_H

#include "norm_q.h"

/* The estimate from the source at this place, unless there is one that scatters too little to make it anew. */
int norm_scatter_estimate(struct norm_q *q, const double shift[NORM_SHIFTS], iso_ctx *ctx);

/* h of every pair with used > 0; 0 of the others. */
int norm_scatter_fill(struct norm_q *q, const float *used, iso_ctx *ctx);

/* Scattered events that the fit expects on used pairs. */
double norm_scattered(const struct norm_fit *f, const struct norm_scan *s, const struct norm_q *q);

#endif
