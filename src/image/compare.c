/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures of whole arrays: how far two are apart, how sharp an image is. */
#include "core/sized.h"
#include "core/status.h"

#include <math.h>

/* 0 / 0 is no difference. */
static double ratio(double difference, double reference)
{
	return difference == 0 ? 0 : difference / reference;
}

int iso_measure_diff(struct iso_diff *d, int64_t n, const iso_real *a, const iso_real *b)
{
	if (!d || !a || !b) return iso_fail_null(__func__);

	double top = 0, sum = 0, l1 = 0, l2 = 0, b1 = 0, b2 = 0;

	for (int64_t i = 0; i < n; i++) {
		double e = (double)a[i] - b[i];

		top = fmax(top, fabs(e));
		sum += e;
		l1 += fabs(e);
		l2 += e * e;
		b1 += fabs((double)b[i]);
		b2 += (double)b[i] * b[i];
	}
	struct iso_diff got = {
		.max_abs = top,
		.mean = sum / (double)n,
		.l2 = ratio(sqrt(l2), sqrt(b2)),
		.percent = 100 * ratio(l1, b1),
	};

	return iso_sized_put(d, "iso_diff", sizeof got, &got);
}

struct sums {
	int64_t n;
	double a, ref, a_a, a_ref;
};

static struct sums add_up(int64_t n, const iso_real *a, const iso_real *ref, const iso_real *mask)
{
	struct sums s = { 0 };

	for (int64_t i = 0; i < n; i++) {
		if (mask && mask[i] == 0) continue;
		s.n++;
		s.a += a[i];
		s.ref += ref[i];
		s.a_a += (double)a[i] * a[i];
		s.a_ref += (double)a[i] * ref[i];
	}
	return s;
}

static double squared_error(int64_t n, const iso_real *a, double k, const iso_real *ref, const iso_real *mask)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double e = k * a[i] - ref[i];

		sum += mask && mask[i] == 0 ? 0 : e * e;
	}
	return sum;
}

int iso_measure_rmse(struct iso_rmse *r, int64_t n, const iso_real *a, const iso_real *ref,
                     const iso_real *mask, enum iso_scale scale)
{
	if (!r || !a || !ref) return iso_fail_null(__func__);
	struct sums s = add_up(n, a, ref, mask);
	double k = scale == ISO_SCALE_SUM ? s.ref / s.a : scale == ISO_SCALE_FIT ? s.a_ref / s.a_a : 1;

	if (s.n == 0)
		return iso_fail(ISO_EINPUT, "rmse: no value is compared; the mask must not be 0 everywhere");
	if (!isfinite(k))
		return iso_fail(ISO_EINPUT, "rmse: the image can't be scaled, its %s is %g",
		                scale == ISO_SCALE_SUM ? "sum" : "sum of squares",
		                scale == ISO_SCALE_SUM ? s.a : s.a_a);
	struct iso_rmse got = {
		.n = s.n,
		.scale = k,
		.rmse = sqrt(squared_error(n, a, k, ref, mask) / (double)s.n),
	};

	got.nrmse = ratio(got.rmse, fabs(s.ref / (double)s.n));
	return iso_sized_put(r, "iso_rmse", sizeof got, &got);
}

/* n sum x^2 / (sum |x|)^2, from 1 where all values are alike to n where one voxel has it all. It does not
   depend on the scale; what a wrong speed of sound smears over the background adds to the second sum more
   than to the first. */
int iso_measure_sharpness(double *sharpness, const struct iso_array *x)
{
	if (!sharpness || !x) return iso_fail_null(__func__);
	double one = 0, two = 0;

	for (int64_t i = 0; i < x->n; i++) {
		one += fabs((double)x->v[i]);
		two += (double)x->v[i] * (double)x->v[i];
	}
	if (!(one > 0) || !isfinite(one))
		return iso_fail(ISO_EINPUT, "sharpness: the image is %s",
		                one == 0 ? "0 everywhere" : "not finite");
	*sharpness = two * (double)x->n / (one * one);
	return ISO_OK;
}
