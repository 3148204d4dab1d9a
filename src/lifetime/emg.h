/* SPDX-License-Identifier: BSD-3-Clause */
/* An exponential of some rate behind a Gaussian error sigma, at time t; compiled as C and as CUDA. */
#ifndef ISO_EMG_H
#define ISO_EMG_H

#include "core/hd.h"

#define EMG_ROOT_2 1.41421356237309504880
#define EMG_ROOT_2PI 2.50662827463100050242
#define EMG_ROOT_PI 1.77245385090551602730
#define EMG_FAR 25 /* from here on erfcx by its series: five terms leave 1e-14 */

/* The Gaussian alone, and its integral. */
ISO_HD double emg_normal(double t, double sigma)
{
	const double x = t / sigma;

	return exp(-x * x / 2) / (sigma * EMG_ROOT_2PI);
}

ISO_HD double emg_normal_integral(double t, double sigma)
{
	return erfc(-t / (sigma * EMG_ROOT_2)) / 2;
}

/* exp(x^2) erfc(x), x >= 0. The rounding of x^2 is put back: exp would make 600 times as much of it. */
ISO_HD double emg_erfcx(double x)
{
	const double square = x * x, left = fma(x, x, -square), s = 1 / (2 * square);

	if (x < EMG_FAR) return exp(square) * (1 + left) * erfc(x);
	return (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s))))) / (x * EMG_ROOT_PI);
}

ISO_HD double emg(double t, double rate, double sigma)
{
	const double x = (rate * sigma - t / sigma) / EMG_ROOT_2;

	if (x > 0) return rate / 2 * exp(-t * t / (2 * sigma * sigma)) * emg_erfcx(x);
	return rate / 2 * exp(rate * (rate * sigma * sigma / 2 - t)) * (x < -6 ? 2 : erfc(x));
}

/* Phi - E/rate. */
ISO_HD double emg_integral(double t, double rate, double sigma)
{
	return emg_normal_integral(t, sigma) - emg(t, rate, sigma) / rate;
}

/* value: emg there. */
ISO_HD double emg_by_rate(double value, double t, double rate, double sigma)
{
	return value * (1 / rate + rate * sigma * sigma - t) - rate * sigma * sigma * emg_normal(t, sigma);
}

/* Integrals of t^k emg from lo to hi, k = 0, 1, 2: J_k = G_k - [t^k E]/rate + k/rate J_(k-1), G_k the same of the Gaussian
   alone. */
ISO_HD void emg_moments(double j[3], double lo, double hi, double rate, double sigma)
{
	const double phi[2] = { emg_normal(lo, sigma), emg_normal(hi, sigma) };
	const double e[2] = { emg(lo, rate, sigma), emg(hi, rate, sigma) }, s2 = sigma * sigma;
	const double g0 = emg_normal_integral(hi, sigma) - emg_normal_integral(lo, sigma);

	j[0] = g0 - (e[1] - e[0]) / rate;
	j[1] = -s2 * (phi[1] - phi[0]) - (hi * e[1] - lo * e[0]) / rate + j[0] / rate;
	j[2] = s2 * (g0 - (hi * phi[1] - lo * phi[0])) - (hi * hi * e[1] - lo * lo * e[0]) / rate +
	       2 * j[1] / rate;
}

#endif
