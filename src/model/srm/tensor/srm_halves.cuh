/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as halves for tensor cores, and their layers.

   Tensor cores multiply halves, of 11 bits, and add in float. So every number read is a pair of halves,
   v = v1 + v2, at a scale of the greatest number of all: 2^-22 of itself is left out, or 2^-40 of the
   greatest. Where that would cost too many numbers too much, they go in layers of like size, one after
   the other. Of 16 products along k, two are a tap's: (w, w) by (v1, v2). A weight is one half where it
   fits, as counts below 2^11 do; of others the rest follows in rows of its own: those down to 2^-29 of the
   greatest are good to 2^-22 of themselves. */
#ifndef ISO_SRM_HALVES_CUH
#define ISO_SRM_HALVES_CUH

#include "core/cuda.cuh"

#include <cuda_fp16.h>

/* ---- pairs of halves ---- */

/* The power of 2 that takes numbers up to the greatest, given as bits, to below 2^15. */
static __host__ __device__ __forceinline__ int scale_of(unsigned greatest)
{
	return greatest ? 14 + 127 - (int)(greatest >> 23) : 0;
}

static __device__ __forceinline__ unsigned halves_of(float v, int scale)
{
	float scaled = scalbnf(v, scale);
	__half first = __float2half_rn(scaled), second = __float2half_rn(scaled - __half2float(first));

	return (unsigned)__half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

/* ---- layers ---- */

/* Absolute values of a layer: the greatest, as bits; how many are not 0; how many are so much smaller
   than the greatest that halves hold them badly, and how many that they do not hold them at all. And how many
   numbers are not finite: times weights of 0 they would be seen by rows that do not meet them. */
struct survey {
	unsigned greatest, some, small, lost, infinite;
};

/* Positive floats are in the order of their bits; whole powers of 2 apart, 2^23 apart. */
#define POWER_OF_2 (1u << 23)
#define INFINITE 0x7f800000u

static __device__ __forceinline__ unsigned size_of(float v)
{
	return __float_as_uint(fabsf(v));
}

/* The greatest below a limit. */
static __global__ void find_greatest(struct survey *s, const float *v, int64_t n, unsigned below)
{
	unsigned most = 0;

	ISO_GRID_LOOP (i, n) {
		unsigned size = size_of(v[i]);

		most = size < below ? max(most, size) : most;
	}
	for (int i = ISO_WARP / 2; i > 0; i /= 2) most = max(most, __shfl_xor_sync(ISO_FULL_WARP, most, i));
	if (threadIdx.x % ISO_WARP == 0) atomicMax(&s->greatest, most);
}

/* How numbers are dealt to layers: those that are `badly` powers of 2 below the greatest of a layer are for
   the next, if they are more than a share of all, or if one in 2^20 is `lost` powers of 2 below it. */
struct rule {
	unsigned badly, lost, share;
};

static __global__ void count_small(struct survey *s, const float *v, int64_t n, unsigned below, struct rule r)
{
	unsigned greatest = s->greatest, some = 0, small = 0, lost = 0, infinite = 0;

	ISO_GRID_LOOP (i, n) {
		unsigned size = size_of(v[i]);
		unsigned under = size > 0 && size < below && size < greatest ? greatest - size : 0;

		some += size > 0 && size < below;
		small += under > r.badly * POWER_OF_2;
		lost += under > r.lost * POWER_OF_2;
		infinite += size >= INFINITE;
	}
	some = iso_warp_sum(some);
	small = iso_warp_sum(small);
	lost = iso_warp_sum(lost);
	infinite = iso_warp_sum(infinite);
	if (threadIdx.x % ISO_WARP == 0) {
		atomicAdd(&s->some, some);
		atomicAdd(&s->small, small);
		atomicAdd(&s->lost, lost);
		atomicAdd(&s->infinite, infinite);
	}
}

/* Sizes from ... below - 1. */
struct layer {
	unsigned from, below;
};

static __device__ __forceinline__ float within(struct layer l, float v)
{
	unsigned size = size_of(v);

	return size >= l.from && size < l.below ? v : 0;
}

#endif
