/* SPDX-License-Identifier: BSD-3-Clause */
/* Four floats at a time, by the vector types of gcc and clang. What these have no operator for is an
   instruction of the machine where it is known, else a loop. */
#ifndef ISO_FOUR_H
#define ISO_FOUR_H

#include "core/hd.h"

#include <string.h>

#if defined(__aarch64__)
#	include <arm_neon.h>
#elif defined(__SSE4_1__)
#	include <immintrin.h>
#endif

typedef float float4 __attribute__((vector_size(16)));
typedef int int4 __attribute__((vector_size(16)));
typedef double double2 __attribute__((vector_size(16)));
typedef int64_t long2 __attribute__((vector_size(16)));

static inline float4 four_of(float v)
{
	return (float4){ v, v, v, v };
}

static inline int4 four_ints(int v)
{
	return (int4){ v, v, v, v };
}

static inline float4 four_load(const float *from)
{
	float4 v;

	memcpy(&v, from, sizeof v);
	return v;
}

static inline void four_store(float *to, float4 v)
{
	memcpy(to, &v, sizeof v);
}

static inline void four_store_ints(int *to, int4 v)
{
	memcpy(to, &v, sizeof v);
}

/* { a[1], a[2], a[3], b[0] } */
static inline float4 four_next(float4 a, float4 b)
{
	return __builtin_shufflevector(a, b, 1, 2, 3, 4); /* gcc 12, clang */
}

/* mask ? a : b in each lane; a mask is -1 or 0, as comparisons give it. */
static inline float4 four_choose(int4 mask, float4 a, float4 b)
{
	return (float4)((mask & (int4)a) | (~mask & (int4)b));
}

static inline int4 four_choose_ints(int4 mask, int4 a, int4 b)
{
	return (mask & a) | (~mask & b);
}

/* ---- some of four ----

   Lanes are chosen by bits, bit i for lane i. */

/* How many are chosen. */
static const unsigned char four_count[16] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };

#if defined(__aarch64__) || defined(__SSE4_1__)

/* Bytes of lane i; none, which the instructions know by the upper bit. */
#	define L(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#	define O 255, 255, 255, 255

/* Lane i of the result is which one of the source. */
static const unsigned char four_packing[16][16] __attribute__((aligned(16))) = {
	{ O, O, O, O },       { L(0), O, O, O },       { L(1), O, O, O },       { L(0), L(1), O, O },
	{ L(2), O, O, O },    { L(0), L(2), O, O },    { L(1), L(2), O, O },    { L(0), L(1), L(2), O },
	{ L(3), O, O, O },    { L(0), L(3), O, O },    { L(1), L(3), O, O },    { L(0), L(1), L(3), O },
	{ L(2), L(3), O, O }, { L(0), L(2), L(3), O }, { L(1), L(2), L(3), O }, { L(0), L(1), L(2), L(3) },
};
static const unsigned char four_spreading[16][16] __attribute__((aligned(16))) = {
	{ O, O, O, O },       { L(0), O, O, O },       { O, L(0), O, O },       { L(0), L(1), O, O },
	{ O, O, L(0), O },    { L(0), O, L(1), O },    { O, L(0), L(1), O },    { L(0), L(1), L(2), O },
	{ O, O, O, L(0) },    { L(0), O, O, L(1) },    { O, L(0), O, L(1) },    { L(0), L(1), O, L(2) },
	{ O, O, L(0), L(1) }, { L(0), O, L(1), L(2) }, { O, L(0), L(1), L(2) }, { L(0), L(1), L(2), L(3) },
};

#	undef L
#	undef O
#endif

/* ---- what the machine does ----

   four_bits(a, b): bit i is lane i of mask a, bit 4 + i lane i of mask b.
   four_pack(a, bits): the chosen lanes, one after the other; those behind them are anything.
   four_spread(a, bits, others): the other way: chosen lanes get a[0], a[1], ..., the others stay. */

#if defined(__aarch64__)

static inline float4 four_min(float4 a, float4 b)
{
	return (float4)vminnmq_f32((float32x4_t)a, (float32x4_t)b);
}

static inline float4 four_max(float4 a, float4 b)
{
	return (float4)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b);
}

static inline float4 four_trunc(float4 a)
{
	return (float4)vrndq_f32((float32x4_t)a);
}

/* The two lower, the two upper ones. */
static inline double2 four_low(float4 a)
{
	return (double2)vcvt_f64_f32(vget_low_f32((float32x4_t)a));
}

static inline double2 four_high(float4 a)
{
	return (double2)vcvt_high_f64_f32((float32x4_t)a);
}

static inline unsigned four_bits(int4 a, int4 b)
{
	uint64_t bytes = vget_lane_u64((uint64x1_t)vmovn_u16(vuzp1q_u16((uint16x8_t)a, (uint16x8_t)b)), 0);

	return (unsigned)((bytes & 0x8040201008040201) * 0x0101010101010101 >> 56);
}

static inline int4 four_pack_ints(int4 a, unsigned bits)
{
	return (int4)vqtbl1q_u8((uint8x16_t)a, vld1q_u8(four_packing[bits]));
}

static inline float4 four_spread(float4 a, unsigned bits, float4 others)
{
	return (float4)vqtbx1q_u8((uint8x16_t)others, (uint8x16_t)a, vld1q_u8(four_spreading[bits]));
}

#elif defined(__SSE4_1__)

static inline float4 four_min(float4 a, float4 b)
{
	return (float4)_mm_min_ps((__m128)a, (__m128)b);
}

static inline float4 four_max(float4 a, float4 b)
{
	return (float4)_mm_max_ps((__m128)a, (__m128)b);
}

static inline float4 four_trunc(float4 a)
{
	return (float4)_mm_round_ps((__m128)a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

static inline double2 four_low(float4 a)
{
	return (double2)_mm_cvtps_pd((__m128)a);
}

static inline double2 four_high(float4 a)
{
	return (double2)_mm_cvtps_pd(_mm_movehl_ps((__m128)a, (__m128)a));
}

static inline unsigned four_bits(int4 a, int4 b)
{
	return (unsigned)_mm_movemask_ps((__m128)a) | (unsigned)_mm_movemask_ps((__m128)b) << 4;
}

static inline int4 four_pack_ints(int4 a, unsigned bits)
{
	return (int4)_mm_shuffle_epi8((__m128i)a, *(const __m128i *)four_packing[bits]);
}

static inline float4 four_spread(float4 a, unsigned bits, float4 others)
{
	__m128i by = *(const __m128i *)four_spreading[bits], spread = _mm_shuffle_epi8((__m128i)a, by);

	return (float4)_mm_blendv_epi8(spread, (__m128i)others, by);
}

#else

static inline float4 four_min(float4 a, float4 b)
{
	return four_choose(a < b, a, b);
}

static inline float4 four_max(float4 a, float4 b)
{
	return four_choose(a > b, a, b);
}

static inline float4 four_trunc(float4 a)
{
	return __builtin_convertvector(__builtin_convertvector(a, int4), float4);
}

static inline double2 four_low(float4 a)
{
	return (double2){ a[0], a[1] };
}

static inline double2 four_high(float4 a)
{
	return (double2){ a[2], a[3] };
}

static inline unsigned four_bits(int4 a, int4 b)
{
	unsigned bits = 0;

	for (int i = 0; i < 4; i++) bits |= (a[i] & 1u) << i | (b[i] & 1u) << (4 + i);
	return bits;
}

static inline int4 four_pack_ints(int4 a, unsigned bits)
{
	int4 r = a;

	for (int i = 0, n = 0; i < 4; i++)
		if (bits >> i & 1) r[n++] = a[i];
	return r;
}

static inline float4 four_spread(float4 a, unsigned bits, float4 others)
{
	for (int i = 0, n = 0; i < 4; i++)
		if (bits >> i & 1) others[i] = a[n++];
	return others;
}

#endif

static inline float4 four_pack(float4 a, unsigned bits)
{
	return (float4)four_pack_ints((int4)a, bits);
}

/* a b + c, rounded once. */
static inline float4 four_fma(float4 a, float4 b, float4 c)
{
#if defined(__aarch64__)
	return (float4)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__FMA__)
	return (float4)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
#else
	return (float4){ iso_fmaf(a[0], b[0], c[0]), iso_fmaf(a[1], b[1], c[1]), iso_fmaf(a[2], b[2], c[2]),
		         iso_fmaf(a[3], b[3], c[3]) };
#endif
}

#endif
