/* SPDX-License-Identifier: BSD-3-Clause */
/* Narrow kernels of model svoxel on CUDA: what the two ways share. A delay lies t bins before the first of the W that
   it touches, t from 0 to 1. It has W terms: 1, t, t^2, ... with three or four taps; 1 + bend s^2 and s = 2 t - 1 with
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
	if (W == 2) t = fmaf(2.f, t, -1.f);
	float higher = a * t;

	m->v[0] += W == 2 ? fmaf(higher, bend * t, a) : a;
	m->v[1] += higher;
#pragma unroll
	for (int i = 2; i < W; i++) m->v[i] += higher *= t;
}

/* What a delay hears of a bin with these terms. */
template <int W>
static __device__ __forceinline__ float value_at(const struct terms<W> &m, float t, float bend)
{
	float v = m.v[W - 1];

	if (W == 2) t = fmaf(2.f, t, -1.f);
#pragma unroll
	for (int i = W - 2; i > 0; i--) v = fmaf(v, t, m.v[i]);
	return fmaf(v, t, W == 2 ? fmaf(m.v[0] * t, bend * t, m.v[0]) : m.v[0]);
}

/* A point of a transducer as seen from the middle of a brick, R from the first to the second, with all lengths in bins.
   Made in double, as struct svoxel_view. */
struct narrow_view {
	float r2[3];                              /* 2 R */
	float d, dd, fraction;                    /* D = |R|, D^2; what the bin of D leaves */
	int bin;                                  /* of the trace: D less half the kernel, rounded down */
	float x, y, side_x, side_y, ex[3], ey[3]; /* R along the axes of a rectangle, its sides, the axes */
};

static __device__ struct narrow_view narrow_view(const struct svoxel &p, int64_t q, const double at[3],
                                                 const double from[3])
{
	const struct svoxel_view s = svoxel_view(&p, q, at, from);
	const double r[3] = { from[0] - at[0], from[1] - at[1], from[2] - at[2] }, per = p.bins_per_mm;
	const double dd = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) * per * per;
	struct narrow_view v = {};

	v.d = (float)sqrt(dd);
	v.dd = (float)dd;
	v.fraction = s.fraction;
	v.bin = (int)(s.bin - p.low);
	v.x = (float)(s.x * per);
	v.y = (float)(s.y * per);
	v.side_x = s.side_x;
	v.side_y = s.side_y;
	for (int a = 0; a < 3; a++) {
		v.r2[a] = (float)(2 * r[a] * per);
		v.ex[a] = s.ex[a];
		v.ey[a] = s.ey[a];
	}
	return v;
}

/* Delay in bins from v.bin, and one over the distance in bins, for a voxel whose square of the distance is D^2 and
   `excess`: d - D = excess / (d + D) has no cancellation. */
static __device__ __forceinline__ float bins_to(const struct narrow_view &v, float excess, float *over_d)
{
	float square = v.dd + excess;

	*over_d = iso_over_root(square);
	return fmaf(excess, iso_over(fmaf(square, *over_d, v.d)), v.fraction);
}

/* Half the delays across a rectangle for a voxel at (x, y) along its sides; the amplitude goes over their product. */
static __device__ __forceinline__ void halves(float *hx, float *hy, float *amplitude,
                                              const struct narrow_view &v, float least, float x, float y,
                                              float over_d)
{
	float tx = fmaxf(fabsf(x) * v.side_x * over_d, least),
	      ty = fmaxf(fabsf(y) * v.side_y * over_d, least);

	*hx = tx / 2;
	*hy = ty / 2;
	*amplitude *= iso_over(tx * ty);
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

/* The whole bins of a delay, whose rest stays in *u. Corners of a rectangle can lie so near each other that what a large
   delay rounds would matter. */
static __device__ __forceinline__ unsigned whole_bins(float *u)
{
	const float high = __uint_as_float(NARROW_ZERO);
	float shifted = *u + high;

	*u -= shifted - high;
	return __float_as_uint(shifted) - NARROW_ZERO;
}

#endif
