/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms by cuFFT, on the context's stream. */
#include "core/cuda.cuh"
#include "fft.h"

#include <cufft.h>
#include <stdlib.h>

static int check(cufftResult r)
{
	if (r == CUFFT_SUCCESS) return ISO_OK;
	return iso_fail(r == CUFFT_ALLOC_FAILED ? ISO_ENOMEM : ISO_EDEVICE, "CUDA: cuFFT error %d", (int)r);
}

static int make_one(struct iso_fft *f, int which, cufftType type)
{
	int n = (int)f->n, lines = n / 2 + 1;
	int real = n, in = which ? lines : real, out = which ? real : lines;
	cufftHandle *plan = (cufftHandle *)malloc(sizeof *plan);
	int st;

	if (!plan) return iso_fail_memory("fft", sizeof *plan);
	st = check(cufftPlanMany(plan, 1, &n, &in, 1, in, &out, 1, out, type, (int)f->rows));
	if (st)
		free(plan);
	else
		f->plan[which] = plan;
	return st ? st : check(cufftSetStream(*plan, iso_stream(f->ctx)));
}

static int make(struct iso_fft *f)
{
	int st = iso_cuda_use(f->ctx);

	if (!st) st = make_one(f, 0, f->wide ? CUFFT_D2Z : CUFFT_R2C);
	return st ? st : make_one(f, 1, f->wide ? CUFFT_Z2D : CUFFT_C2R);
}

static void release(struct iso_fft *f)
{
	for (int i = 0; i < 2; i++)
		if (f->plan[i]) {
			cufftDestroy(*(cufftHandle *)f->plan[i]);
			free(f->plan[i]);
		}
}

static int forward(const struct iso_fft *f, void *spectrum, const void *x)
{
	cufftHandle plan = *(cufftHandle *)f->plan[0];

	return check(f->wide ? cufftExecD2Z(plan, (cufftDoubleReal *)x, (cufftDoubleComplex *)spectrum)
	                     : cufftExecR2C(plan, (cufftReal *)x, (cufftComplex *)spectrum));
}

static int inverse(const struct iso_fft *f, void *x, void *spectrum)
{
	cufftHandle plan = *(cufftHandle *)f->plan[1];

	return check(f->wide ? cufftExecZ2D(plan, (cufftDoubleComplex *)spectrum, (cufftDoubleReal *)x)
	                     : cufftExecC2R(plan, (cufftComplex *)spectrum, (cufftReal *)x));
}

static __global__ void times_lines(int64_t n, int64_t lines, float2 *s, const float2 *w)
{
	ISO_GRID_LOOP (i, n) {
		float2 a = s[i], b = w[i % lines];

		s[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
	}
}

static int multiply(const struct iso_fft *f, iso_real *spectrum, const iso_real *lines)
{
	int64_t per_row = f->n / 2 + 1, n = f->rows * per_row;

	times_lines<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(f->ctx)>>>(n, per_row, (float2 *)spectrum,
	                                                                   (const float2 *)lines);
	return iso_cuda_launched("multiply a spectrum");
}

extern "C" const struct iso_fft_fn iso_fft_cufft = { make, release, forward, inverse, multiply };
