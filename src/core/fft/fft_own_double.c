/* SPDX-License-Identifier: BSD-3-Clause */
/* The project's own Fourier transforms, in double whatever the storage type. */
#define REAL double
#include "fft_two.h"

const struct iso_fft_fn iso_fft_own_double = { make, release, forward, inverse, NULL };
