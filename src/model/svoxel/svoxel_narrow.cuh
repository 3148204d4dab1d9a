/* SPDX-License-Identifier: BSD-3-Clause */
/* Narrow kernels of model svoxel on CUDA: what the two ways share. Lengths and delays are in half bins. A delay lies
   s + 1 of them before the first of the W bins that it touches, s from -1 to 1. It has W terms: 1, s, s^2, ..., but two
   taps have 1 + bend s^2 and s. Tap j is sum over i of c[i][j] times term i.

   There are three kinds of views of a transducer. QUICK: distances are made in float from the middle of the image, by
   one root a voxel; they are good to 1e-7. EXACT: from the middle of a brick, whose own distance is made in double.
   RECT: as EXACT, and the delays across a rectangle. */
#ifndef ISO_SVOXEL_NARROW_CUH
#define ISO_SVOXEL_NARROW_CUH

#include "core/machine.cuh"
#include "svoxel_cuda.cuh"

enum narrow_kind { NARROW_QUICK, NARROW_EXACT, NARROW_RECT };

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
	float reach;                      /* of a brick, half bins */
	struct svoxel_window window_back; /* adjoint: of its bricks */
	enum narrow_kind kind;
	double middle[3]; /* of the image */
	double nearest;   /* half bins from a point of a transducer to a voxel */
	double loud_bits; /* log2 of the most that a bin can be, over the loudest voxel */
};

/* The W terms of a bin, as a thread reads and writes them in one step. */
template <int W> struct cell_of {
	typedef float4 type;
};

template <> struct cell_of<2> {
	typedef float2 type;
};

template <int W> using cell = typename cell_of<W>::type;

template <int W> struct terms {
	float v[W];
};

template <int W> static __device__ __forceinline__ struct terms<W> terms_in(const cell<W> &c) {
	if constexpr (W == 2)
		return { { c.x, c.y } };
	else if constexpr (W == 3)
		return { { c.x, c.y, c.z } };
	else
		return { { c.x, c.y, c.z, c.w } };
}

template <int W>
static __device__ __forceinline__ cell<W> cell_with(const struct terms<W> &t)
{
	if constexpr (W == 2)
		return make_float2(t.v[0], t.v[1]);
	else
		return make_float4(t.v[0], t.v[1], t.v[2], W > 3 ? t.v[W - 1] : 0.f);
}

/* What a delay at place s hears of a bin with these terms. */
template <int W>
static __device__ __forceinline__ float value_at(const struct terms<W> &m, float s, float bend)
{
	if constexpr (W == 2) return fmaf(fmaf(bend * m.v[0], s, m.v[1]), s, m.v[0]);
	float v = m.v[W - 1];

#pragma unroll
	for (int i = W - 2; i >= 0; i--) v = fmaf(v, s, m.v[i]);
	return v;
}

/* ---- a transducer ---- */

static __host__ __device__ __forceinline__ double half_bins_per_mm(const struct svoxel &p)
{
	return 2 * p.bins_per_mm;
}

/* Where voxels are: number i of a brick along an axis is at first + (start + i) ds. */
struct narrow_frame {
	float first[3], ds;
	int start[3];
};

static __device__ __forceinline__ float coordinate(const struct narrow_frame &f, int axis, int i)
{
	return fmaf((float)(f.start[axis] + i), f.ds, f.first[axis]);
}

/* Of a brick of n voxels whose first is `at`: the origin is the middle of the image, or of the brick. */
template <narrow_kind KIND>
static __device__ struct narrow_frame frame_of(const struct svoxel_narrow &m, const int64_t at[3],
                                               const int n[3])
{
	const double per = half_bins_per_mm(m.p);
	struct narrow_frame f = {};

	f.ds = (float)(m.p.ds * per);
	for (int a = 0; a < 3; a++) {
		f.first[a] =
			(float)(-.5 * m.p.ds * per * (double)((KIND == NARROW_QUICK ? m.p.n[a] : n[a]) - 1));
		f.start[a] = KIND == NARROW_QUICK ? (int)at[a] : 0;
	}
	return f;
}

/* A point of a transducer, P from the origin. The square of a voxel's distance from it, less D^2, is the sum of a part
   for each axis; QUICK has D = 0. */
struct narrow_point {
	float p[3];  /* QUICK: P; else -2 P */
	float d, dd; /* |P| and its square; QUICK: from the brick's middle, and 0 */
	float before; /* delays are counted from bin, and half a bin less: QUICK: all of it, else what d leaves */
	int bin;      /* of the trace: that of the brick's middle less half the kernel, rounded down */
};

/* P along the axes of a rectangle, half its sides, the axes. */
struct narrow_face {
	float x, y, half_x, half_y, ex[3], ey[3];
};

template <narrow_kind KIND> struct narrow_view : narrow_point {
};

template <> struct narrow_view<NARROW_RECT> : narrow_point, narrow_face {
};

/* `r`: from the transducer to the brick's middle; `origin`: to the image's. */
static __device__ __forceinline__ void see_quickly(struct narrow_point *v, const struct svoxel &p,
                                                   const double r[3], const double origin[3])
{
	const float per = (float)half_bins_per_mm(p), x = (float)r[0], y = (float)r[1], z = (float)r[2];
	const float d = sqrtf(x * x + y * y + z * z) * per, bin = floorf(d / 2 - .5f * p.taps.width);

	v->d = d;
	v->dd = 0;
	v->before = -(2 * bin + (p.taps.width - 1));
	v->bin = (int)((int64_t)bin - p.low);
	for (int a = 0; a < 3; a++) v->p[a] = (float)(-origin[a] * half_bins_per_mm(p));
}

static __device__ __forceinline__ void see_exactly(struct narrow_point *v, const struct svoxel &p,
                                                   const double r[3])
{
	const double per = half_bins_per_mm(p);
	const double dd = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) * per * per, d = sqrt(dd);
	const double first = d / 2 - .5 * p.taps.width, bin = floor(first);

	v->d = (float)d;
	v->dd = (float)dd;
	v->before = (float)(2 * (first - bin) + 1);
	v->bin = (int)((int64_t)bin - p.low);
	for (int a = 0; a < 3; a++) v->p[a] = (float)(2 * r[a] * per);
}

static __device__ __forceinline__ void see_face(struct narrow_face *v, const struct svoxel &p, int64_t q,
                                                const double r[3])
{
	const double per = half_bins_per_mm(p), *ex = p.ex + 3 * q, *ey = p.ey + 3 * q;

	v->x = (float)((r[0] * ex[0] + r[1] * ex[1] + r[2] * ex[2]) * per);
	v->y = (float)((r[0] * ey[0] + r[1] * ey[1] + r[2] * ey[2]) * per);
	v->half_x = (float)(p.side[2 * q] / 2 * per);
	v->half_y = (float)(p.side[2 * q + 1] / 2 * per);
	for (int a = 0; a < 3; a++) {
		v->ex[a] = (float)ex[a];
		v->ey[a] = (float)ey[a];
	}
}

/* Point k of transducer q, with a brick whose middle is `from`; returns its weight. */
template <narrow_kind KIND>
static __device__ __forceinline__ float see(struct narrow_view<KIND> *v, const struct svoxel_narrow &m,
                                            int64_t q, int k, const double from[3])
{
	double at[3], weight = SVOXEL_OVER_2_PI * half_bins_per_mm(m.p) * svoxel_point(at, &m.p, q, k);
	const double r[3] = { from[0] - at[0], from[1] - at[1], from[2] - at[2] };

	if constexpr (KIND == NARROW_QUICK) {
		const double origin[3] = { m.middle[0] - at[0], m.middle[1] - at[1], m.middle[2] - at[2] };

		see_quickly(v, m.p, r, origin);
	} else {
		see_exactly(v, m.p, r);
	}
	if constexpr (KIND == NARROW_RECT) see_face(v, m.p, q, r);
	return (float)weight;
}

/* ---- a voxel ---- */

/* What coordinate o along an axis adds to the square. Both ways round it alike. */
template <narrow_kind KIND>
static __device__ __forceinline__ float part_of(const struct narrow_point &v, int axis, float o)
{
	if constexpr (KIND == NARROW_QUICK)
		return __fmul_rn(__fsub_rn(o, v.p[axis]), __fsub_rn(o, v.p[axis]));
	else
		return o * (o + v.p[axis]);
}

/* Delay from v.bin, and one over the distance, for a voxel with this sum of parts. EXACT: d - D = sum / (d + D) has no
   cancellation. */
template <narrow_kind KIND>
static __device__ __forceinline__ float delay_to(const struct narrow_point &v, float sum, float *over_d)
{
	if constexpr (KIND == NARROW_QUICK) {
		*over_d = iso_over_root(sum);
		return fmaf(sum, *over_d, v.before);
	}
	float square = v.dd + sum;

	*over_d = iso_over_root(square);
	return fmaf(sum, iso_over(fmaf(square, *over_d, v.d)), v.before);
}

/* The bits of a float at which the last bit is one bin. Rounding there is quicker than a conversion, and whoever counts
   bins from NARROW_ZERO saves a subtraction. */
#define NARROW_ZERO 0x4bc00000u

/* The first bin that a delay touches, plus NARROW_ZERO, and the place s before it. */
static __device__ __forceinline__ unsigned bin_after(float u, float *s)
{
	const float high = __uint_as_float(NARROW_ZERO), shifted = u + high;

	*s = (shifted - high) - u;
	return __float_as_uint(shifted);
}

/* Half the delays across a rectangle for a voxel at (x, y) along its sides, and the amplitude of its impulses: these are
   whole delays in bins. */
struct rectangle {
	float hx, hy, amplitude;
};

static __device__ __forceinline__ struct rectangle rectangle_at(const struct narrow_face &v, float least,
                                                                float x, float y, float over_d)
{
	const float hx = fmaxf(fabsf(x) * v.half_x * over_d, least),
		    hy = fmaxf(fabsf(y) * v.half_y * over_d, least);

	return { hx, hy, over_d * iso_over(hx * hy) };
}

/* Four impulses of a rectangle: at delays middle - y - x and so on, with signs. `whole` bins are left out, since the four
   can lie so near each other that what a float rounds of large delays would matter. */
struct corners {
	float middle, sum, difference, amplitude; /* of x and y */
	unsigned whole;
};

/* `u`: the delay of the rectangle's middle. */
static __device__ __forceinline__ struct corners corners_of(const struct rectangle &r, float u)
{
	const float high = __uint_as_float(NARROW_ZERO), shifted = u + high;

	return { u - (shifted - high), r.hx + r.hy, r.hx - r.hy, r.amplitude,
		 __float_as_uint(shifted) - NARROW_ZERO };
}

static __device__ __forceinline__ float corner_delay(const struct corners &c, int k)
{
	const float beside = k == 0 || k == 3 ? c.sum : c.difference;

	return k & 1 ? c.middle + beside : c.middle - beside;
}

static __device__ __forceinline__ float sign_of(int k)
{
	return k == 0 || k == 3 ? 1.f : -1.f;
}

#endif
