/* SPDX-License-Identifier: BSD-3-Clause */
/* Filtered back-projection of sinograms: the ramp up to the Nyquist frequency, and straight lines between bins. */
#ifndef ISO_FBP_H
#define ISO_FBP_H

#include "ssrb.h"

/* weight: what a line integral of 1 makes in a cell. p = counts / weight; cells of weight 0 lie on a straight line
   between their neighbours of the row, or are 0 where there is none on one side. */
void iso_fbp_divide(double *p, const int32_t *counts, const double *weight, const struct ssrb *g);

/* Rows of p, in place: q = w (p * h) with h_0 = 1 / (4 w^2), h_k = -1 / (pi k w)^2 for odd k, else 0 (Kak and Slaney 1988,
   eq. 3.61). hann: the spectrum times (1 + cos(pi f / (hann f_N))) / 2 below hann f_N, 0 above; 0: no window. */
int iso_fbp_filter(double *p, iso_ctx *ctx, const struct ssrb *g, double hann);

/* f(x, y) = pi / angles sum of q_phi(x cos phi + y sin phi), linear between bins and between slices, 0 outside. */
int iso_fbp_image(iso_real *x, iso_ctx *ctx, const struct iso_grid *grid, const double *q,
                  const struct ssrb *g);

#endif
