/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transform of a power of two complex numbers, in place. */
#ifndef ISO_SVOXEL_FFT_H
#define ISO_SVOXEL_FFT_H

#include <stdint.h>

/* Table for n points, n a power of two: n numbers. */
void iso_svoxel_fft_table(double *table, int64_t n);

/* z_l = sum over m of z_m exp(sign j 2 pi l m / n), z of n pairs. */
void iso_svoxel_fft(double *z, int64_t n, const double *table, int sign);

#endif
