/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transform by halving (Cooley and Tukey 1965), as much of it as the delays need. */
#include "svoxel_fft.h"

#include <math.h>

/* exp(-j 2 pi i / n) for i < n/2 */
void iso_svoxel_fft_table(double *table, int64_t n)
{
	for (int64_t i = 0; i < n / 2; i++) {
		double a = 2 * M_PI * (double)i / (double)n;

		table[2 * i] = cos(a);
		table[2 * i + 1] = -sin(a);
	}
}

static void swap(double *a, double *b)
{
	for (int c = 0; c < 2; c++) {
		double t = a[c];

		a[c] = b[c];
		b[c] = t;
	}
}

/* Each number to the place whose binary digits are its own, reversed. */
static void reverse_digits(double *z, int64_t n)
{
	for (int64_t i = 1, j = 0; i < n; i++) {
		int64_t bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j)
			swap(z + 2 * i, z + 2 * j);
	}
}

/* a + w b and a - w b from a and b. */
static void butterfly(double *a, double *b, double re, double im)
{
	double br = b[0] * re - b[1] * im, bi = b[0] * im + b[1] * re;

	b[0] = a[0] - br;
	b[1] = a[1] - bi;
	a[0] += br;
	a[1] += bi;
}

void iso_svoxel_fft(double *z, int64_t n, const double *table, int sign)
{
	reverse_digits(z, n);
	for (int64_t half = 1; half < n; half *= 2)
		for (int64_t start = 0; start < n; start += 2 * half)
			for (int64_t i = 0; i < half; i++) {
				const double *w = table + 2 * i * (n / (2 * half));

				butterfly(z + 2 * (start + i), z + 2 * (start + i + half), w[0],
					  sign < 0 ? w[1] : -w[1]);
			}
}
