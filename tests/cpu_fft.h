/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests that need Fourier transforms on the CPU. */
#ifndef CPU_FFT_H
#define CPU_FFT_H

#include "test.h"

#include "core/fft/fft.h"

/* Skips the test, saying why, in a build without them. */
static inline iso_ctx *cpu_with_fft(int threads)
{
	iso_ctx *ctx = cpu(threads);

	if (iso_fft_check(ctx)) {
		iso_ctx_free(ctx);
		print_message("%s\n", iso_message());
		skip();
	}
	return ctx;
}

#endif
