/* SPDX-License-Identifier: BSD-3-Clause */
/* Narrow kernels of model svoxel on CUDA: what the two ways share. A delay lies t bins before the first of the W that
   it touches, t from 0 to 1. It has W terms: 1, t, t^2, ... with three or four taps; 1 + bend t (t - 1) and t with
   two. Tap j is sum over i of c[i][j] times term i. */
#ifndef ISO_SVOXEL_NARROW_CUH
#define ISO_SVOXEL_NARROW_CUH

#include "svoxel_cuda.cuh"

struct narrow_taps {
	float c[SVOXEL_NARROW][SVOXEL_NARROW], bend;
};

struct svoxel_narrow {
	struct svoxel p;           /* its tables on the device */
	const struct svoxel *host; /* as made on the host */
	struct narrow_taps taps;
	struct iso_rows own; /* transducers that this rank hears with */
	/* forward: bricks, and the window of the traces that one is heard in */
	int brick[3];
	int64_t bricks[3];
	struct svoxel_window window;
	/* adjoint: its bricks' window, and the transducers whose windows a block has at a time */
	struct svoxel_window window_back;
	int at_a_time;
	double loud_bits; /* log2 of the most that a bin can be, over the loudest voxel */
};

/* W numbers each of many bins, where a thread reads and writes them in as few steps as can be. */
template <int W> struct bank;

template <> struct bank<2> {
	float2 *two;
};

template <> struct bank<3> {
	float2 *two;
	float *one;
};

template <> struct bank<4> {
	float4 *four;
};

template <int W> struct terms {
	float v[W];
};

/* A bank of n bins in memory that holds W n floats, from `at` on. */
static __device__ __forceinline__ void bank_at(struct bank<2> *b, float *at, int64_t)
{
	b->two = (float2 *)at;
}

static __device__ __forceinline__ void bank_at(struct bank<3> *b, float *at, int64_t n)
{
	b->two = (float2 *)at;
	b->one = at + 2 * n;
}

static __device__ __forceinline__ void bank_at(struct bank<4> *b, float *at, int64_t)
{
	b->four = (float4 *)at;
}

template <class I> static __device__ __forceinline__ struct terms<2> get(const struct bank<2> &b, I i) {
	float2 a = b.two[i];

	return { { a.x, a.y } };
}

template <class I>
static __device__ __forceinline__ struct terms<3> get(const struct bank<3> &b, I i) {
	float2 a = b.two[i];

	return { { a.x, a.y, b.one[i] } };
}

template <class I>
static __device__ __forceinline__ struct terms<4> get(const struct bank<4> &b, I i) {
	float4 a = b.four[i];

	return { { a.x, a.y, a.z, a.w } };
}

template <class I>
static __device__ __forceinline__ void put(const struct bank<2> &b, I i, const struct terms<2> &t)
{
	b.two[i] = make_float2(t.v[0], t.v[1]);
}

template <class I>
static __device__ __forceinline__ void put(const struct bank<3> &b, I i, const struct terms<3> &t)
{
	b.two[i] = make_float2(t.v[0], t.v[1]);
	b.one[i] = t.v[2];
}

template <class I>
static __device__ __forceinline__ void put(const struct bank<4> &b, I i, const struct terms<4> &t)
{
	b.four[i] = make_float4(t.v[0], t.v[1], t.v[2], t.v[3]);
}

/* What an impulse of amplitude a adds to the terms of its bin. */
template <int W>
static __device__ __forceinline__ void add_impulse(struct terms<W> *m, float a, float t, float bend)
{
	float higher = a * t;

	m->v[0] += W == 2 ? fmaf(higher, fmaf(bend, t, -bend), a) : a;
	m->v[1] += higher;
#pragma unroll
	for (int i = 2; i < W; i++) m->v[i] += higher *= t;
}

/* What a delay hears of a bin with these terms. */
template <int W>
static __device__ __forceinline__ float value_at(const struct terms<W> &m, float t, float bend)
{
	float v = m.v[W - 1];

#pragma unroll
	for (int i = W - 2; i > 0; i--) v = fmaf(v, t, m.v[i]);
	return fmaf(v, t, W == 2 ? fmaf(m.v[0] * t, fmaf(bend, t, -bend), m.v[0]) : m.v[0]);
}

/* The first bin that a delay u touches, plus NARROW_ZERO, and how far before it the delay lies. Rounding up at 2^23 is
   quicker than a conversion, and whoever counts bins from NARROW_ZERO saves a subtraction. */
#define NARROW_ZERO 0x4b400000u

static __device__ __forceinline__ unsigned bin_after(float u, float *t)
{
	const float high = __uint_as_float(NARROW_ZERO);
	float shifted = __fadd_ru(u, high);

	*t = (shifted - high) - u;
	return __float_as_uint(shifted);
}

#endif
