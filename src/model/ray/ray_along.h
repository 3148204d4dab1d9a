/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums along the list of a ray, and additions to an image along it. */
#ifndef ISO_RAY_ALONG_H
#define ISO_RAY_ALONG_H

#include "core/loop/fixed.h"
#include "core/loop/four.h"
#include "ray_trace.h"

#include <omp.h>

#define FOURS(n) (((n) + 3) / 4 * 4)

/* The terms of a forward sum: of doubles, as they are added, or of floats. */
#ifdef ISO_DOUBLE

static inline double sum_along(const struct ray_list *l, const iso_real *restrict x)
{
	double q = 0;

	for (int i = 0; i < l->n; i++) q += l->w[i] * x[l->voxel[i]];
	return q;
}

static inline double multiply_along(const struct ray_list *l, const iso_real *restrict x)
{
	for (int i = 0; i < FOURS(l->n); i++) l->term[i] = l->w[i] * x[l->voxel[i]];
	return sum_along(l, x);
}

static inline double multiply_pairs(const struct ray_list *l, const iso_real *restrict pair, double *most)
{
	double q = 0;

	*most = 0;
	for (int i = 0; i < FOURS(l->n); i++) {
		const iso_real *v = pair + 2 * (int64_t)l->voxel[i];

		q += l->w[i] * v[0];
		l->term[i] = l->w[i] * v[1];
		*most += l->term[i];
	}
	return q;
}

#else

static inline float4 gather(const float *x, const int *voxel)
{
	return (float4){ x[voxel[0]], x[voxel[1]], x[voxel[2]], x[voxel[3]] };
}

static inline double sum_along(const struct ray_list *l, const float *restrict x)
{
	const int *restrict voxel = l->voxel;
	const float *restrict w = l->w;
	double2 low = { 0 }, high = { 0 };

	for (int i = 0; i < l->n; i += 4) {
		float4 v = gather(x, voxel + i), f = four_load(w + i);

		low += four_low(f) * four_low(v);
		high += four_high(f) * four_high(v);
	}
	low += high;
	return low[0] + low[1];
}

/* term = w x along the ray; their sum. */
static inline double multiply_along(const struct ray_list *l, const float *restrict x)
{
	const int *restrict voxel = l->voxel;
	const float *restrict w = l->w;
	double2 *restrict term = (double2 *)l->term, low = { 0 }, high = { 0 };
	const int n = l->n;

	for (int i = 0; i < n; i += 4) {
		float4 t = gather(x, voxel + i) * four_load(w + i);
		double2 a = four_low(t), b = four_high(t);

		*term++ = a;
		*term++ = b;
		low += a;
		high += b;
	}
	low += high;
	return low[0] + low[1];
}

/* x and u of four voxels. */
static inline void gather_pairs(float4 *x, float4 *u, const float *pair, const int *voxel)
{
	double v[4];

	for (int i = 0; i < 4; i++) memcpy(v + i, pair + 2 * (int64_t)voxel[i], sizeof *v);
	float4 low = (float4)(double2){ v[0], v[1] }, high = (float4)(double2){ v[2], v[3] };

	*x = __builtin_shufflevector(low, high, 0, 2, 4, 6);
	*u = __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

/* term = w u along the ray, *most their sum; the sum of w x. */
static inline double multiply_pairs(const struct ray_list *l, const float *restrict pair, double *most)
{
	const int *restrict voxel = l->voxel;
	const float *restrict w = l->w;
	double2 *restrict term = (double2 *)l->term, low = { 0 }, high = { 0 }, all = { 0 };
	const int n = l->n;

	for (int i = 0; i < n; i += 4) {
		float4 x, u, f = four_load(w + i);

		gather_pairs(&x, &u, pair, voxel + i);
		x *= f;
		u *= f;
		double2 a = four_low(u), b = four_high(u);

		*term++ = a;
		*term++ = b;
		low += four_low(x);
		high += four_high(x);
		all += a + b;
	}
	low += high;
	*most = all[0] + all[1];
	return low[0] + low[1];
}

#endif

/* Adding this to a double |v| < 2^51 rounds v as llrint does, and leaves it in the lower bits. */
#define ROUND 0x1.8p52

/* v += factor * term along the ray, where no product reaches 2^51. */
static inline void add_small(int64_t *restrict v, const struct ray_list *l, double factor)
{
	const double2 *restrict term = (const double2 *)l->term, round = { ROUND, ROUND },
				f = { factor, factor };
	const int *restrict voxel = l->voxel;
	const int n = l->n;

	for (int i = 0; i < n; i += 4, voxel += 4) {
		long2 a = (long2)(*term++ * f + round) - (long2)round;
		long2 b = (long2)(*term++ * f + round) - (long2)round;

		v[voxel[0]] += a[0];
		v[voxel[1]] += a[1];
		v[voxel[2]] += b[0];
		v[voxel[3]] += b[1];
	}
}

/* acc += factor * term along the ray; no term exceeds `most`. Where all is very small the factor exceeds a
   float. */
static inline void add_along(const struct iso_fixed *acc, const struct ray_list *l, double factor,
                             double most)
{
	int64_t *restrict v = iso_fixed_of(acc, omp_get_thread_num());

	if (acc->atomic)
		for (int i = 0; i < l->n; i++)
			__atomic_fetch_add(v + l->voxel[i], llrint(l->term[i] * factor), __ATOMIC_RELAXED);
	else if (most * fabs(factor) < 0x1p50)
		add_small(v, l, factor);
	else
		for (int i = 0; i < l->n; i++) v[l->voxel[i]] += llrint(l->term[i] * factor);
}

/* The same where terms may exceed `limit`, over the scale: they are cut to it, and counted. */
static inline void add_cut(const struct iso_fixed *acc, const struct ray_list *l, double send, double limit,
                           int64_t *cut)
{
	int thread = omp_get_thread_num();

	for (int i = 0; i < l->n; i++)
		iso_fixed_add(acc, thread, l->voxel[i],
		              ratio_cut(l->term[i] * send, limit, cut) * acc->scale);
}

#endif
