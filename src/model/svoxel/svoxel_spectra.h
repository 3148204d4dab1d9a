/* SPDX-License-Identifier: BSD-3-Clause */
/* Spectra of traces at lines f_l = f0 + l df, by transforms of real rows:

	X_l = sum over k of p_k exp(-j 2 pi f_l k dt)

   Where 1/(df dt) is a whole number n and f0 a multiple of df, they are lines of the trace folded to n samples:
   samples k, k + n, ... added. Elsewhere k l = [k^2 + l^2 - (l - k)^2] / 2 (Bluestein), so that with
   w(x) = exp(-j pi df dt x^2)

	X_l = w(l) sum over k of [p_k exp(-j 2 pi f0 k dt) w(k)] conj w(l - k)

   which is a convolution of complex numbers: the real and the imaginary parts are two rows. */
#ifndef ISO_SVOXEL_SPECTRA_H
#define ISO_SVOXEL_SPECTRA_H

#include "core/ctx.h"
#include "core/hd.h"

struct spectra {
	int64_t n; /* values of a row */
	int64_t samples, lines;
	int64_t first;  /* line of the transform that is line 0 of the spectra; of a convolution, value */
	int parts;      /* rows of a trace: 1 folded, 2 for a convolution */
	double *before; /* (samples, 2): what sample k is times; NULL: folded */
	double *chirp;  /* (2, n/2 + 1, 2): transforms of the two parts of conj w; NULL: folded */
	double *after;  /* (lines, 2): what X_l is times */
};

/* Value i of the row of part `part`. */
ISO_HD double spectra_row(const struct spectra *s, const iso_real *trace, int part, int64_t i)
{
	double sum = 0;

	if (s->before) return i < s->samples ? trace[i] * s->before[2 * i + part] : 0;
	for (int64_t k = i; k < s->samples; k += s->n) sum += trace[k];
	return sum;
}

/* Lines i of the two parts' transforms, a and b: those of their convolution with the chirp. */
ISO_HD void spectra_convolve(const struct spectra *s, double a[2], double b[2], int64_t i)
{
	const double *c = s->chirp + 2 * i, *d = c + s->n + 2;
	double re = a[0], im = a[1], re2 = b[0], im2 = b[1];

	a[0] = re * c[0] - im * c[1] - (re2 * d[0] - im2 * d[1]);
	a[1] = re * c[1] + im * c[0] - (re2 * d[1] + im2 * d[0]);
	b[0] = re * d[0] - im * d[1] + (re2 * c[0] - im2 * c[1]);
	b[1] = re * d[1] + im * d[0] + (re2 * c[1] + im2 * c[0]);
}

/* Line l of the data. */
ISO_HD void spectra_line(const struct spectra *s, iso_real u[2], double re, double im, int64_t l)
{
	const double *f = s->after + 2 * l;

	u[0] = (iso_real)(re * f[0] - im * f[1]);
	u[1] = (iso_real)(re * f[1] + im * f[0]);
}

/* svoxel_spectra.cu: of n traces, all of them on every rank. Arrays are the host's. */
ISO_C int iso_spectra_cuda(iso_real *u, iso_ctx *ctx, const struct spectra *s, int64_t n,
                           const iso_real *traces);
typedef int (*iso_spectra_cuda_fn)(iso_real *, iso_ctx *, const struct spectra *, int64_t, const iso_real *);

#endif
