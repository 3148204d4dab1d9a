/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of delays to lines, and back: the transforms of model svoxel on the CPU. */
#include "svoxel_cpu.h"

#define REAL(x) ((iso_real)(x))

void iso_svoxel_to_lines(iso_real *y, const struct svoxel *p, struct iso_fft *fft, double *z)
{
	for (int k = 0; k < svoxel_periods(p); k++) {
		double *part = z + k * svoxel_period_size(p);

		for (int j = 0; j < SVOXEL_BEHIND; j++) part[j] += part[p->bins + j];
		/* a row on the CPU: it can't fail */
		iso_fft_forward(fft, part + p->bins, part);
	}
	/* Lines of the real part, plus j times those of the imaginary part: in a loop of their own, since gcc 12 makes wrong
	   vectors of 512 bits of a choice within the loop below. */
	double *a = z + p->bins + 2 * p->first_line;
	const double *b = a + svoxel_period_size(p);

	for (int64_t l = 0; p->turn && l < p->lines; l++) {
		a[2 * l] -= b[2 * l + 1];
		a[2 * l + 1] += b[2 * l];
	}
	for (int64_t l = 0; l < p->lines; l++) {
		const double *f = p->shaped + 2 * l;
		const double re = a[2 * l], im = a[2 * l + 1];

		y[2 * l] = REAL(f[0] * re - f[1] * im);
		y[2 * l + 1] = REAL(f[0] * im + f[1] * re);
	}
}

/* Real, or imaginary, part of sum over lines of conj(shaped) y exp(j 2 pi l m / bins), m a bin of one
   period: the real part of -j times the sum is its imaginary part. The transform adds each line's
   conjugate, so halves go in, but of number 0. */
static void to_period(double *z, const struct svoxel *p, struct iso_fft *fft, const iso_real *y,
                      bool imaginary)
{
	double *spectrum = z + p->bins;

	memset(spectrum, 0, (size_t)(p->bins + 2) * sizeof *spectrum);
	for (int64_t l = 0; l < p->lines; l++) {
		double *a = spectrum + 2 * (p->first_line + l), half = p->first_line + l > 0 ? .5 : 1;
		const double *f = p->shaped + 2 * l;
		double re = (f[0] * y[2 * l] + f[1] * y[2 * l + 1]) * half;
		double im = (f[0] * y[2 * l + 1] - f[1] * y[2 * l]) * half;

		a[0] = imaginary ? im : re;
		a[1] = imaginary ? -re : im;
	}
	iso_fft_inverse(fft, z, spectrum);
	memcpy(z + p->bins, z, SVOXEL_BEHIND * sizeof *z); /* no piece need be wrapped */
}

void iso_svoxel_to_periods(double *z, const struct svoxel *p, struct iso_fft *fft, const iso_real *y)
{
	for (int k = 0; k < svoxel_periods(p); k++)
		to_period(z + k * svoxel_period_size(p), p, fft, y, k == 1);
}
