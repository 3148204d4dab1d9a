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

static int multiply(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines)
{
	int64_t n = f->n / 2 + 1;

#pragma omp parallel for num_threads(f->ctx->threads)
	for (int64_t r = 0; r < f->rows; r++) {
		iso_real *s = spectrum + 2 * r * n;

		for (int64_t l = 0; l < n; l++) {
			iso_real re = s[2 * l] * lines[2 * l] - s[2 * l + 1] * lines[2 * l + 1];

			s[2 * l + 1] = s[2 * l] * lines[2 * l + 1] + s[2 * l + 1] * lines[2 * l];
			s[2 * l] = re;
		}
	}
	return ISO_OK;
}

const struct iso_fft_fn iso_fft_fftw = { make, release, forward, inverse, multiply };
