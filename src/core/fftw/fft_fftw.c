/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by FFTW: one plan, threads along the rows. */
#include "core/fft.h"
#include "core/size.h"

#include <fftw3.h>
#include <pthread.h>

#ifdef ISO_DOUBLE
#define FFTW(name) fftw_##name
#else
#define FFTW(name) fftwf_##name
#endif

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;	/* not safe for threads */

/* Estimated plans are the same on every run. Rows need not be aligned. */
static int make(struct iso_fft *f)
{
	int n = (int)f->n;
	iso_real *x = size_alloc(n, sizeof *x), *y = size_alloc(n / 2 + 1, 2 * sizeof *y);

	if (x && y) {
		pthread_mutex_lock(&planner);
		f->plan[0] = FFTW(plan_dft_r2c_1d)(n, x, (FFTW(complex) *)y,
						   FFTW_ESTIMATE | FFTW_UNALIGNED);
		f->plan[1] = FFTW(plan_dft_c2r_1d)(n, (FFTW(complex) *)y, x,
						   FFTW_ESTIMATE | FFTW_UNALIGNED);
		pthread_mutex_unlock(&planner);
	}
	free(x);
	free(y);
	return f->plan[0] && f->plan[1] ? ISO_OK : iso_fail_memory("fft", n * 3 * (int64_t)sizeof *x);
}

static void release(struct iso_fft *f)
{
	pthread_mutex_lock(&planner);
	for (int i = 0; i < 2; i++)
		if (f->plan[i])
			FFTW(destroy_plan)(f->plan[i]);
	pthread_mutex_unlock(&planner);
}

static int forward(const struct iso_fft *f, iso_real *spectrum, const iso_real *x)
{
	int64_t lines = f->n / 2 + 1;

#pragma omp parallel for num_threads(f->ctx->threads)
	for (int64_t r = 0; r < f->rows; r++)
		FFTW(execute_dft_r2c)(f->plan[0], (iso_real *)x + r * f->n,
				      (FFTW(complex) *)(spectrum + 2 * r * lines));
	return ISO_OK;
}

static int inverse(const struct iso_fft *f, iso_real *x, iso_real *spectrum)
{
	int64_t lines = f->n / 2 + 1;

#pragma omp parallel for num_threads(f->ctx->threads)
	for (int64_t r = 0; r < f->rows; r++)
		FFTW(execute_dft_c2r)(f->plan[1], (FFTW(complex) *)(spectrum + 2 * r * lines),
				      x + r * f->n);
	return ISO_OK;
}

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
