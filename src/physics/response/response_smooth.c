/* SPDX-License-Identifier: BSD-3-Clause */
/* Effective areas without their counting noise: crystal by crystal a polynomial of total degree 4 in the two angles. The variance of
   a count is first that of the mean crystal in its direction, then that of the curve, so that no weight follows the noise. */
#include "response.h"

enum { DEGREE = 4, TERMS = (DEGREE + 1) * (DEGREE + 2) / 2, PASSES = 2 };

/* x^i y^j, i + j <= DEGREE, of angles in -1 .. 1. */
static void terms_of(double t[TERMS], int direction)
{
	double x = 2. * (direction / RESPONSE_THETAS) / (RESPONSE_PHIS - 1) - 1;
	double y = 2. * (direction % RESPONSE_THETAS) / (RESPONSE_THETAS - 1) - 1, xi = 1;
	int n = 0;

	for (int i = 0; i <= DEGREE; i++, xi *= x) {
		double yj = 1;

		for (int j = 0; i + j <= DEGREE; j++, yj *= y) t[n++] = xi * yj;
	}
}

/* a b = c in place, by Cholesky's factors; a is symmetric and positive. */
static void solve(double a[TERMS][TERMS], double b[TERMS])
{
	for (int i = 0; i < TERMS; i++)
		for (int j = 0; j <= i; j++) {
			double s = a[i][j];

			for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k];
			a[i][j] = i == j ? sqrt(s > 1e-300 ? s : 1e-300) : s / a[j][j];
		}
	for (int i = 0; i < TERMS; i++) {
		for (int k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
	for (int i = TERMS - 1; i >= 0; i--) {
		for (int k = i + 1; k < TERMS; k++) b[i] -= a[k][i] * b[k];
		b[i] /= a[i][i];
	}
}

/* fit[d] of values v[d] with variances s2[d]. */
static void fit_once(double *fit, const double *v, const double *s2, const double (*term)[TERMS])
{
	double a[TERMS][TERMS] = { { 0 } }, b[TERMS] = { 0 };

	for (int d = 0; d < RESPONSE_DIRECTIONS; d++)
		for (int i = 0; i < TERMS; i++) {
			double w = term[d][i] / s2[d];

			b[i] += w * v[d];
			for (int j = 0; j <= i; j++) a[i][j] += w * term[d][j];
		}
	solve(a, b);
	for (int d = 0; d < RESPONSE_DIRECTIONS; d++) {
		fit[d] = 0;
		for (int i = 0; i < TERMS; i++) fit[d] += b[i] * term[d][i];
	}
}

/* chi^2 of one crystal. */
static double smooth_crystal(float *d, const uint32_t *count, const double *mm2, const double *mean,
                             int64_t crystals, const double (*term)[TERMS])
{
	double v[RESPONSE_DIRECTIONS], s2[RESPONSE_DIRECTIONS], fit[RESPONSE_DIRECTIONS], chi2 = 0;

	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
		v[i] = count[i * crystals] * mm2[i];
		s2[i] = fmax(mean[i], .5) * mm2[i] * mm2[i];
	}
	for (int pass = 0; pass < PASSES; pass++) {
		fit_once(fit, v, s2, term);
		for (int i = 0; i < RESPONSE_DIRECTIONS; i++)
			s2[i] = fmax(fit[i], .05 * mean[i] * mm2[i] + .5 * mm2[i]) * mm2[i];
	}
	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
		chi2 += (v[i] - fit[i]) * (v[i] - fit[i]) / s2[i];
		d[i * crystals] = (float)fmax(fit[i], 0);
	}
	return chi2;
}

void response_smooth(float *d, double *chi2, const uint32_t *count, const double *mm2, int64_t crystals)
{
	double mean[RESPONSE_DIRECTIONS], term[RESPONSE_DIRECTIONS][TERMS], sum = 0;

	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
		terms_of(term[i], i);
		mean[i] = 0;
		for (int64_t c = 0; c < crystals; c++) mean[i] += count[i * crystals + c];
		mean[i] /= (double)crystals;
	}
	for (int64_t c = 0; c < crystals; c++)
		sum += smooth_crystal(d + c, count + c, mm2, mean, crystals, (const double(*)[TERMS])term);
	*chi2 = sum / ((double)crystals * (RESPONSE_DIRECTIONS - TERMS));
}
