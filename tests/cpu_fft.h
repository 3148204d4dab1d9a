/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests that need Fourier transforms on the CPU. */
#ifndef CPU_FFT_H
#define CPU_FFT_H

#include "test.h"

#include "core/fft/fft.h"

/* Skips the test in a build without them. */
static inline iso_ctx *cpu_with_fft(int threads)
{
	iso_ctx *ctx = cpu(threads);
	struct iso_fft *f = NULL;

	if (iso_fft_create(&f, ctx, 2, 1)) {
		iso_ctx_free(ctx);
		skip_without(iso_message());
	}
	iso_fft_free(f);
	return ctx;
}

#endif
