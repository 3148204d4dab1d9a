/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks for code that the C compiler and nvcc both compile. */
#ifndef ISO_HD_H
#define ISO_HD_H

#include "isotome.h"

#include <math.h>

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
/* Of floats, one rounding where the machine has the instruction; never a library call. */
#if defined(ISO_DOUBLE) || defined(__CUDACC__) || defined(FP_FAST_FMAF)
#	define iso_fma ISO_MATH(fma)
#else
#	define iso_fma(a, b, c) ((a) * (b) + (c))
#endif

/* The scale of a fixed-point sum whose magnitude stays within `bound`: a power of two, one bit to spare. */
ISO_HD double iso_fixed_scale(double bound)
{
	return bound > 0 ? ldexp(1., 61 - ilogb(bound)) : 1;
}

#endif
