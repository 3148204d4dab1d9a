/* SPDX-License-Identifier: BSD-3-Clause */
/* Real Fourier transforms of many rows at once: on the CPU by this project's own code (fft_two.h), on CUDA
   by cuFFT. */
#ifndef ISO_FFT_H
#define ISO_FFT_H

#include "core/ctx.h"

ISO_BEGIN_C

/* Rows of n real values, or of n/2 + 1 complex lines as interleaved pairs. */
struct iso_fft {
	iso_ctx *ctx;
	int64_t n, rows;
	bool wide; /* double, whatever iso_real is */
	const struct iso_fft_fn *fn;
	void *plan[2]; /* forward, inverse */
};

struct iso_fft_fn {
	int (*make)(struct iso_fft *f); /* plans; on failure release follows */
	void (*release)(struct iso_fft *f);
	int (*forward)(const struct iso_fft *f, void *spectrum, const void *x);
	int (*inverse)(const struct iso_fft *f, void *x, void *spectrum);
	int (*multiply)(const struct iso_fft *f, iso_real *spectrum,
	                const iso_real *lines); /* NULL: on the CPU */
};

extern const struct iso_fft_fn iso_fft_own, iso_fft_own_double;

/* Transforms of iso_real, or of double. */
int iso_fft_create(struct iso_fft **f, iso_ctx *ctx, int64_t n, int64_t rows);
int iso_fft_create_double(struct iso_fft **f, iso_ctx *ctx, int64_t n, int64_t rows);

/* By the functions given; `wide`: of double. */
int iso_fft_create_by(struct iso_fft **f, const struct iso_fft_fn *fn, iso_ctx *ctx, int64_t n, int64_t rows,
                      bool wide);
void iso_fft_free(struct iso_fft *f);

/* X_l = sum over k of x_k exp(-2 pi j k l / n), l = 0 ... n/2, of every row. All arrays are on the
   context's device, of the type that f was created for. On the CPU any number of threads may call at
   once where f->rows is 1. */
int iso_fft_forward(const struct iso_fft *f, void *spectrum, const void *x);

/* x_k = sum over l of X_l exp(+2 pi j k l / n), l = 0 ... n - 1 with X_(n-l) = conj X_l: n times
   the inverse. The spectrum is not kept. */
int iso_fft_inverse(const struct iso_fft *f, void *x, void *spectrum);

/* Every row of the spectrum times one row of complex lines, line by line; of iso_real alone. */
int iso_fft_multiply(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines);

ISO_END_C
#endif
