/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces (n, samples) in host memory: impulse response, frequency bands, noise. Frequencies are MHz.

   Threads: the traces that a function writes belong to one thread. */
#ifndef ISOTOME_TRACES_H
#define ISOTOME_TRACES_H

#include "isotome/array.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

/* ISO_EINPUT unless the array is (n, samples). */
ISO_CHECKED int iso_traces_check(const struct iso_array *y, const struct iso_transducers *t);

/* Convolves every row of host traces with the impulse response, if there is one; ctx may be NULL. */
ISO_CHECKED int iso_traces_eir(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t);

/* Divides host traces by the impulse response, under a Hann window that falls to 0 at cutoff_mhz:
   eq. (32)-(33); without a response the window alone. nfft 0: the smallest power of 2 that keeps
   the ends apart. ISO_EINPUT where the response passes nothing below the cut-off. */
ISO_CHECKED int iso_traces_deconvolve(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t,
                                      double cutoff_mhz, int64_t nfft);

/* Leaves of host traces what lies between two frequencies, each of which passes by half: smooth
   edges, see deconvolve.c. low_mhz 0: no lower edge. */
ISO_CHECKED int iso_traces_band(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, double low_mhz,
                                double high_mhz);

/* Adds Gaussian noise of width sigma; value i depends on the seed and i alone. */
void iso_traces_noise(iso_real *y, int64_t n, double sigma, uint64_t seed);

ISO_END_C
#endif
