/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks for code that the C compiler and nvcc both compile. */
#ifndef ISO_HD_H
#define ISO_HD_H

#include "isotome.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__
#	define ISO_HD static __host__ __device__ inline
#else
#	define ISO_HD static inline
#endif

#ifdef __cplusplus
#	define ISO_C extern "C"
#else
#	define ISO_C extern
#endif

/* struct x v = ISO_ZERO; */
#define ISO_ZERO \
	{        \
	}

/* Mathematics in the storage type. */
#ifdef ISO_DOUBLE
#	define ISO_MATH(name) name
#else
#	define ISO_MATH(name) name##f
#endif
#define iso_floor ISO_MATH(floor)
#define iso_ceil ISO_MATH(ceil)
#define iso_sqrt ISO_MATH(sqrt)
#define iso_erf ISO_MATH(erf)
#define iso_fmin ISO_MATH(fmin)
#define iso_fmax ISO_MATH(fmax)

/* a b + c of floats, rounded once, in double: the product is exact there, and the sum's last bit is made odd where
   it was rounded, so that it lies on no tie of floats that was none (Boldo and Melquiond, 2008). */
ISO_HD float iso_fmaf_by_double(float a, float b, float c)
{
	double p = (double)a * b, s = p + c, t = s - p, lost = (p - (s - t)) + (c - t);
	int64_t bits;

	memcpy(&bits, &s, sizeof bits);
	if ((lost > 0 || lost < 0) && !(bits & 1)) bits += (lost > 0) == (s > 0) ? 1 : -1;
	memcpy(&s, &bits, sizeof bits);
	return (float)s;
}

/* The same by the instruction. x86-64 has none before v3; clang does not define FP_FAST_FMAF. */
#if defined(__CUDACC__) || defined(FP_FAST_FMAF)
#	define iso_fmaf fmaf
#elif defined(__FMA__) || defined(__aarch64__)
#	define iso_fmaf __builtin_fmaf
#else
#	define iso_fmaf iso_fmaf_by_double
#endif
#ifdef ISO_DOUBLE
#	define iso_fma fma
#else
#	define iso_fma iso_fmaf
#endif

/* The scale of a fixed-point sum whose magnitude stays within `bound`: a power of two, one bit to spare. */
ISO_HD double iso_fixed_scale(double bound)
{
	return bound > 0 ? ldexp(1., 61 - ilogb(bound)) : 1;
}

#endif
