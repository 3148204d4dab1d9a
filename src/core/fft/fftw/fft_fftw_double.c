/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by FFTW in double, whatever the storage type. */
#define FFTW(name) fftw_##name
#define REAL double
#include "fft_rows.h"

const struct iso_fft_fn iso_fft_fftw_double = { make, release, forward, inverse, NULL };
