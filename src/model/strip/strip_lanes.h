/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of LANES numbers. Sums, products and quotients of these are vector instructions by themselves; what
   C has no operator for is a loop over the lanes, of which the compiler makes one instruction. */
#ifndef ISO_STRIP_LANES_H
#define ISO_STRIP_LANES_H

#include "core/hd.h"

#include <stdint.h>

#define LANES 4
#define INLINE static inline __attribute__((always_inline))

typedef iso_real lanes __attribute__((vector_size(LANES * sizeof(iso_real))));
typedef lanes lanes_at __attribute__((aligned(sizeof(iso_real)), may_alias)); /* in an array */

/* What a comparison gives: all bits of a lane are set, or none. */
#ifdef ISO_DOUBLE
typedef int64_t lane_bits;
#else
typedef int32_t lane_bits;
#endif
typedef lane_bits lane_mask __attribute__((vector_size(LANES * sizeof(lane_bits))));

INLINE lanes load(const iso_real *v)
{
	return *(const lanes_at *)v;
}

INLINE void store(iso_real *v, lanes l)
{
	*(lanes_at *)v = l;
}

INLINE lanes all(iso_real v)
{
	return v - (lanes){ 0 };
}

INLINE lanes fused(lanes a, lanes b, lanes c)
{
	iso_real x[LANES], y[LANES], z[LANES];

	store(x, a);
	store(y, b);
	store(z, c);
#pragma omp simd
	for (int i = 0; i < LANES; i++) z[i] = iso_fma(x[i], y[i], z[i]);
	return load(z);
}

INLINE lanes root_of(lanes a)
{
	iso_real x[LANES];

	store(x, a);
#pragma omp simd
	for (int i = 0; i < LANES; i++) x[i] = iso_sqrt(x[i]);
	return load(x);
}

INLINE lanes magnitude(lanes a)
{
	iso_real x[LANES];

	store(x, a);
#pragma omp simd
	for (int i = 0; i < LANES; i++) x[i] = ISO_MATH(fabs)(x[i]);
	return load(x);
}

/* a where the mask is set, 0 elsewhere, also if a is not a number there. */
INLINE lanes only(lane_mask where, lanes a)
{
	return (lanes)((lane_mask)a & where);
}

INLINE bool everywhere(lane_mask m)
{
	lane_bits b = -1;

	for (int i = 0; i < LANES; i++) b &= m[i];
	return b;
}

#endif
