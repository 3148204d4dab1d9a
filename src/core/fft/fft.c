/* SPDX-License-Identifier: BSD-3-Clause */
/* Real Fourier transforms: picks the library of the device. */
#include "fft.h"
#include "core/size.h"

static int pick(const struct iso_fft_fn **fn, iso_ctx *ctx, bool wide)
{
	void *cufft = NULL;
	int st = ISO_OK;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cufft, "iso_fft_cufft");
		*fn = cufft;
		return st;
	}
#ifdef ISO_FFTW
	*fn = wide ? &iso_fft_fftw_double : &iso_fft_fftw;
#else
	(void)wide;
	st = iso_fail(ISO_EDEVICE, "fft: this build has no FFTW, which transforms on the CPU need");
#endif
	return st;
}

static int create(struct iso_fft **out, iso_ctx *ctx, int64_t n, int64_t rows, bool wide)
{
	struct iso_fft *f;
	const struct iso_fft_fn *fn;
	int st = pick(&fn, ctx, wide);

	if (st) return st;
	if (n < 2 || n > INT32_MAX / 2 || rows < 1 || rows > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "fft: %" PRId64 " rows of %" PRId64 " values; must be at least 1 of 2 to %d",
		                rows, n, INT32_MAX / 2);
	f = size_alloc(1, sizeof *f);
	if (!f) return iso_fail_memory("fft", sizeof *f);
	*f = (struct iso_fft){ .ctx = ctx, .n = n, .rows = rows, .wide = wide, .fn = fn };
	if ((st = fn->make(f)))
		iso_fft_free(f);
	else
		*out = f;
	return st;
}

int iso_fft_create(struct iso_fft **f, iso_ctx *ctx, int64_t n, int64_t rows)
{
	return create(f, ctx, n, rows, false);
}

int iso_fft_create_double(struct iso_fft **f, iso_ctx *ctx, int64_t n, int64_t rows)
{
	return create(f, ctx, n, rows, true);
}

void iso_fft_free(struct iso_fft *f)
{
	if (!f) return;
	f->fn->release(f);
	free(f);
}

int iso_fft_forward(const struct iso_fft *f, void *spectrum, const void *x)
{
	return f->fn->forward(f, spectrum, x);
}

int iso_fft_inverse(const struct iso_fft *f, void *x, void *spectrum)
{
	return f->fn->inverse(f, x, spectrum);
}

int iso_fft_multiply(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines)
{
	return f->fn->multiply(f, spectrum, lines);
}
