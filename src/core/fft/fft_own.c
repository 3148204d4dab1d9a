/* SPDX-License-Identifier: BSD-3-Clause */
/* The project's own Fourier transforms, in the storage type. */
#define REAL iso_real
#include "fft_two.h"

const struct iso_fft_fn iso_fft_own = { make, release, forward, inverse, NULL };
