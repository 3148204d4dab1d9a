/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by FFTW in one precision: one plan, threads along the rows. Whoever includes
   this says which: REAL is the type, FFTW(name) the name in its library. */
#include "core/fft/fft.h"
#include "core/size.h"

#include <fftw3.h>
#include <pthread.h>

extern pthread_mutex_t iso_fftw_planner; /* FFTW makes and frees plans in one thread at a time */

/* Estimated plans are the same on every run. Rows need not be aligned. */
static int make(struct iso_fft *f)
{
	int n = (int)f->n;
	REAL *x = size_alloc(n, sizeof *x), *y = size_alloc(n / 2 + 1, 2 * sizeof *y);

	if (x && y) {
		pthread_mutex_lock(&iso_fftw_planner);
		f->plan[0] = FFTW(plan_dft_r2c_1d)(n, x, (FFTW(complex) *)y, FFTW_ESTIMATE | FFTW_UNALIGNED);
		f->plan[1] = FFTW(plan_dft_c2r_1d)(n, (FFTW(complex) *)y, x, FFTW_ESTIMATE | FFTW_UNALIGNED);
		pthread_mutex_unlock(&iso_fftw_planner);
	}
	free(x);
	free(y);
	return f->plan[0] && f->plan[1] ? ISO_OK : iso_fail_memory("fft", n * 3 * (int64_t)sizeof *x);
}

static void release(struct iso_fft *f)
{
	pthread_mutex_lock(&iso_fftw_planner);
	for (int i = 0; i < 2; i++)
		if (f->plan[i]) FFTW(destroy_plan)(f->plan[i]);
	pthread_mutex_unlock(&iso_fftw_planner);
}

/* With one row there is no team of threads: the caller may be one of many. */
static int forward(const struct iso_fft *f, void *spectrum, const void *x)
{
	int64_t lines = f->n / 2 + 1;

#pragma omp parallel for num_threads(f->ctx->threads) if (f->rows > 1)
	for (int64_t r = 0; r < f->rows; r++) {
		FFTW(execute_dft_r2c)
		(f->plan[0], (REAL *)x + r * f->n, (FFTW(complex) *)spectrum + r * lines);
	}
	return ISO_OK;
}

static int inverse(const struct iso_fft *f, void *x, void *spectrum)
{
	int64_t lines = f->n / 2 + 1;

#pragma omp parallel for num_threads(f->ctx->threads) if (f->rows > 1)
	for (int64_t r = 0; r < f->rows; r++) {
		FFTW(execute_dft_c2r)
		(f->plan[1], (FFTW(complex) *)spectrum + r * lines, (REAL *)x + r * f->n);
	}
	return ISO_OK;
}
