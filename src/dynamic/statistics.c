/* SPDX-License-Identifier: BSD-3-Clause */
/* What replicates say of an image: mean and standard deviation of voxels, intervals and covariance of regions. */
#include "core/size.h"
#include "core/status.h"

#include <math.h>

struct iso_spread {
	int64_t n, count;
	double *mean, *squares; /* Welford */
};

int iso_spread_create(iso_spread **out, int64_t n)
{
	if (!out) return iso_fail_null(__func__);
	if (n < 1) return iso_fail(ISO_EARG, "spread: images of %" PRId64 " values, must be at least 1", n);
	iso_spread *s = size_alloc(1, sizeof *s);

	if (!s || !(s->mean = size_alloc(n, 2 * sizeof *s->mean))) {
		free(s);
		return iso_fail_memory("mean and standard deviation", 2 * n * (int64_t)sizeof *s->mean);
	}
	s->n = n;
	s->squares = s->mean + n;
	*out = s;
	return ISO_OK;
}

int iso_spread_add(iso_spread *s, const iso_real *x)
{
	if (!s || !x) return iso_fail_null(__func__);
	s->count++;
	for (int64_t i = 0; i < s->n; i++) {
		double d = x[i] - s->mean[i];

		s->mean[i] += d / (double)s->count;
		s->squares[i] += d * (x[i] - s->mean[i]);
	}
	return ISO_OK;
}

int iso_spread_get(iso_real *mean, iso_real *sd, const iso_spread *s)
{
	if (!s) return iso_fail_null(__func__);
	if (s->count < 2)
		return iso_fail(ISO_EARG, "spread: of %" PRId64 " images, must be at least 2", s->count);
	for (int64_t i = 0; mean && i < s->n; i++) mean[i] = (iso_real)s->mean[i];
	for (int64_t i = 0; sd && i < s->n; i++)
		sd[i] = (iso_real)sqrt(s->squares[i] / (double)(s->count - 1));
	return ISO_OK;
}

int64_t iso_spread_count(const iso_spread *s)
{
	return s ? s->count : 0;
}

void iso_spread_free(iso_spread *s)
{
	if (!s) return;
	free(s->mean);
	free(s);
}

/* ---- Student's t ---- */

/* 1 - P(|T| > t) of n degrees of freedom, by the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4. */
static double within(double t, int64_t n)
{
	double theta = atan(t / sqrt((double)n)), c = cos(theta), s = sin(theta);
	double term = n % 2 ? c : 1, sum = n == 1 ? 0 : term;

	for (int64_t k = n % 2 ? 3 : 2; k < n; k += 2) {
		term *= c * c * (double)(k - 1) / (double)k;
		sum += term;
	}
	return n % 2 ? 2 / M_PI * (theta + s * sum) : s * sum;
}

double iso_student_975(int64_t degrees)
{
	double low = 1.9, high = 13;

	if (degrees < 1) return NAN;
	for (int i = 0; i < 60; i++) {
		double t = (low + high) / 2;

		if (within(t, degrees) < .95)
			low = t;
		else
			high = t;
	}
	return (low + high) / 2;
}

/* ---- regions ---- */

static double mean_of(const double *v, int64_t n, int stride)
{
	double sum = 0;

	for (int64_t r = 0; r < n; r++) sum += v[r * stride];
	return sum / (double)n;
}

static double covary(const double *table, int64_t n, int regions, int i, int k, double mean_i, double mean_k)
{
	double sum = 0;

	for (int64_t r = 0; r < n; r++)
		sum += (table[r * regions + i] - mean_i) * (table[r * regions + k] - mean_k);
	return sum / (double)(n - 1);
}

int iso_intervals(struct iso_interval *v, double *covariance, int64_t replicates, int regions,
                  const double *table, const double *value)
{
	if (!v || !table || !value) return iso_fail_null(__func__);
	if (replicates < 2 || regions < 1)
		return iso_fail(ISO_EARG,
		                "intervals: %" PRId64
		                " replicates of %d regions, must be at least 2 of at least 1",
		                replicates, regions);
	double t = iso_student_975(replicates - 1);

	for (int i = 0; i < regions; i++) v[i].mean = mean_of(table + i, replicates, regions);
	for (int i = 0; i < regions; i++) {
		double sd = sqrt(covary(table, replicates, regions, i, i, v[i].mean, v[i].mean));
		double off = v[i].mean - value[i];

		v[i] = (struct iso_interval){ value[i],          v[i].mean,         sd,
			                      value[i] - t * sd, value[i] + t * sd, off == 0 ? 0 : off / sd };
		for (int k = 0; covariance && k < regions; k++)
			covariance[i * regions + k] =
				covary(table, replicates, regions, i, k, v[i].mean,
			               k > i ? mean_of(table + k, replicates, regions) : v[k].mean);
	}
	return ISO_OK;
}
