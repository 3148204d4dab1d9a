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
#	define iso_floor floor
#	define iso_ceil ceil
#	define iso_sqrt sqrt
#	define iso_erf erf
#	define iso_fmin fmin
#	define iso_fmax fmax
#	define iso_fma fma
#else
#	define iso_floor floorf
#	define iso_ceil ceilf
#	define iso_sqrt sqrtf
#	define iso_erf erff
#	define iso_fmin fminf
#	define iso_fmax fmaxf
/* One rounding where the machine has the instruction; never a library call. */
#	if defined(__CUDACC__) || defined(FP_FAST_FMAF)
#		define iso_fma fmaf
#	else
#		define iso_fma(a, b, c) ((a) * (b) + (c))
#	endif
#endif

/* The scale of a fixed-point sum whose magnitude stays within `bound`: a power of two, one bit to spare. */
ISO_HD double iso_fixed_scale(double bound)
{
	return bound > 0 ? ldexp(1., 61 - ilogb(bound)) : 1;
}

#endif
