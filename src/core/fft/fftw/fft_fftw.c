/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by FFTW in the storage type. */
#ifdef ISO_DOUBLE
#	define FFTW(name) fftw_##name
#else
#	define FFTW(name) fftwf_##name
#endif
#define REAL iso_real
#include "fft_rows.h"

pthread_mutex_t iso_fftw_planner = PTHREAD_MUTEX_INITIALIZER;

const struct iso_fft_fn iso_fft_fftw = { make, release, forward, inverse, NULL };
