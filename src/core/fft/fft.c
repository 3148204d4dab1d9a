/* SPDX-License-Identifier: BSD-3-Clause */
/* Real Fourier transforms: picks the library of the device. */
#include "fft.h"
#include "core/size.h"

static int pick(const struct iso_fft_fn **fn, iso_ctx *ctx, bool wide)
{
	void *cufft = NULL;
	int st;

	*fn = wide ? &iso_fft_own_double : &iso_fft_own;
	if (!iso_ctx_is_cuda(ctx)) return ISO_OK;
	st = iso_cuda_symbol(&cufft, "iso_fft_cufft");
	*fn = cufft;
	return st;
}

int iso_fft_create_by(struct iso_fft **out, const struct iso_fft_fn *fn, iso_ctx *ctx, int64_t n,
                      int64_t rows, bool wide)
{
	struct iso_fft *f;
	int st;

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
	const struct iso_fft_fn *fn;
	int st = pick(&fn, ctx, false);

	return st ? st : iso_fft_create_by(f, fn, ctx, n, rows, false);
}

int iso_fft_create_double(struct iso_fft **f, iso_ctx *ctx, int64_t n, int64_t rows)
{
	const struct iso_fft_fn *fn;
	int st = pick(&fn, ctx, true);

	return st ? st : iso_fft_create_by(f, fn, ctx, n, rows, true);
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

static int multiply_cpu(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines)
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

int iso_fft_multiply(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines)
{
	return f->fn->multiply ? f->fn->multiply(f, spectrum, lines) : multiply_cpu(f, spectrum, lines);
}
