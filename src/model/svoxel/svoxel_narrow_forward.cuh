/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward of narrow kernels. A block of threads has a brick of voxels and 32 transducers, one for each thread of a warp.
   Each transducer has a window of delays in shared memory, laid out so that no two threads of a warp meet; the warps
   share the voxels, and add the terms of each to the windows, as whole numbers: any order gives the same sum. Then the
   terms become bins, which are added to the traces, as whole numbers again. */
#ifndef ISO_SVOXEL_NARROW_FORWARD_CUH
#define ISO_SVOXEL_NARROW_FORWARD_CUH

#include "svoxel_narrow.cuh"

enum { HEARERS = 8, ROW_X = 8 }; /* warps of a block; voxels along x that a thread takes together */

/* ---- whole numbers ---- */

/* Bits of the loudest voxel of each image: as whole numbers they have the order of the values, and what is not finite
   is above all that is. */
static __global__ void find_loudest(unsigned *loudest, int64_t n, const float *x)
{
	const float *image = x + blockIdx.y * n;
	unsigned most = 0;

	ISO_GRID_LOOP (i, n) most = max(most, __float_as_uint(image[i]) & 0x7fffffffu);
	most = iso_warp_max(most);
	if (threadIdx.x % ISO_WARP == 0 && most > 0) atomicMax(loudest + blockIdx.y, most);
}

/* The exponent of 2 by which values become whole numbers that can't overflow. */
static __device__ __forceinline__ int whole_bits(const struct svoxel_narrow &m, unsigned loudest)
{
	return 61 - (int)m.loud_bits - ((int)(loudest >> 23) - 126);
}

/* ---- what a block knows ---- */

struct narrow_brick {
	int64_t at[3];  /* its first voxel */
	int n[3];       /* voxels */
	double from[3]; /* its middle */
};

static __device__ struct narrow_brick brick_number(const struct svoxel_narrow &m, int64_t number)
{
	const int64_t row = number / m.bricks[0];
	struct narrow_brick b = { { number % m.bricks[0] * m.brick[0], row % m.bricks[1] * m.brick[1],
		                    row / m.bricks[1] * m.brick[2] } };

	for (int a = 0; a < 3; a++) {
		b.n[a] = (int)min(m.p.n[a] - b.at[a], (int64_t)m.brick[a]);
		b.from[a] = m.p.first[a] + ((double)b.at[a] + (b.n[a] - 1) / 2.) * m.p.ds;
	}
	return b;
}

/* Of its 32 transducers. */
template <narrow_kind KIND> struct hearers {
	enum { WARPS = KIND == NARROW_RECT ? HEARERS : 1 };
	struct narrow_view<KIND> view[ISO_WARP];
	float weight[ISO_WARP], unit[ISO_WARP];               /* of the windows, in that of the voxels */
	float loudest[HEARERS];                               /* of a warp's voxels */
	float all[WARPS][ISO_WARP], largest[WARPS][ISO_WARP]; /* and of their impulses, with rectangles */
};

/* Point k of the transducers from number q on, one a thread; beyond the last it is seen again. */
template <narrow_kind KIND>
static __device__ void look(struct hearers<KIND> *h, const struct svoxel_narrow &m,
                            const struct narrow_brick &b, int64_t q, int k)
{
	const int lane = threadIdx.x % ISO_WARP;

	h->weight[lane] = see(&h->view[lane], m, min(q + lane, m.own.first + m.own.n - 1), k, b.from);
}

/* The exponent of the loudest voxel of an image, with the bits of a float's. */
static __device__ __forceinline__ int exponent_of(unsigned loudest)
{
	return min((int)(loudest >> 23), 253);
}

/* The brick's values into shared memory, 0 where it has fewer, less that exponent; the loudest of each warp's. */
static __device__ void fetch(float *voxel, float loudest[HEARERS], const struct svoxel_narrow &m,
                             const struct narrow_brick &b, int exponent, const float *x)
{
	const int nx = m.brick[0], ny = m.brick[1], all = nx * ny * m.brick[2];
	const float scale = __int_as_float((254 - exponent) << 23);
	unsigned most = 0;

	for (int i = threadIdx.x; i < all; i += blockDim.x) {
		int ix = i % nx, iy = i / nx % ny, iz = i / nx / ny;
		bool inside = ix < b.n[0] && iy < b.n[1] && iz < b.n[2];
		float v = inside ? x[((b.at[2] + iz) * m.p.n[1] + b.at[1] + iy) * m.p.n[0] + b.at[0] + ix] *
		                           scale
		                 : 0;

		voxel[i] = v;
		most = max(most, __float_as_uint(v) & 0x7fffffffu);
	}
	most = iso_warp_max(most);
	if (threadIdx.x % ISO_WARP == 0) loudest[threadIdx.x / ISO_WARP] = __uint_as_float(most);
}

/* A number added to terms, whose last bit is then the unit of the window: the bits of the sum, less its own, are the
   term as a whole number. No term is above `largest`, and their sum not above `all`: a term has less than 2^22 units,
   a sum less than 2^31. */
struct magic {
	float number, unit;
};

static __device__ __forceinline__ struct magic magic_for(float all, float largest)
{
	const unsigned most = __float_as_uint(fmaxf(fmaxf(all / 512, largest), 1e-30f)) & 0x7f800000u;

	return { __uint_as_float(most + (2u << 23 | 1u << 22)), __uint_as_float(most - (21u << 23)) };
}

/* For a point: from what distances allow. */
template <int W>
static __device__ __forceinline__ struct magic magic_of_point(const struct svoxel_narrow &m,
                                                              const struct narrow_point &v, float loudest)
{
	const float kernel = W == 2 ? 1 + fabsf(m.taps.bend) : 1;
	const float largest = kernel * loudest / fmaxf(v.d - m.reach, (float)m.nearest);

	return magic_for((float)(m.brick[0] * m.brick[1] * m.brick[2]) * largest, largest);
}

/* ---- from voxels to windows ---- */

enum { NEXT = ISO_WARP * sizeof(int) }; /* bytes from one term of a bin to the next */

/* Adds to term I: the number that the bits of `sum`, with a magic number in it, stand for. */
template <int I> static __device__ __forceinline__ void add_term(unsigned at, float sum, float magic)
{
	iso_shared_add<I * NEXT>(at, __float_as_int(sum) - __float_as_int(magic));
}

/* The terms of an impulse of amplitude a at place s before a bin, to the window's numbers at an address. */
template <int W>
static __device__ __forceinline__ void add_impulse(unsigned at, float a, float s, float magic, float bend)
{
	const float first = a * s;

	if constexpr (W == 2) {
		add_term<0>(at, fmaf(first, bend * s, a) + magic, magic);
		add_term<1>(at, first + magic, magic);
	} else {
		add_term<0>(at, a + magic, magic);
		add_term<1>(at, first + magic, magic);
		add_term<2>(at, fmaf(first, s, magic), magic);
		if constexpr (W == 4) add_term<3>(at, fmaf(first * s, s, magic), magic);
	}
}

/* f(value, sum, x, y) of ROW_X columns of a brick of n voxels, from column `first` on: a warp's rows of them. With a
   rectangle they are at (x, y) along its sides. Beyond the brick they stand at its last column; nothing is there. */
template <narrow_kind KIND, class F>
static __device__ __forceinline__ void each_voxel(const struct svoxel_narrow &m,
                                                  const struct narrow_frame &frame,
                                                  const struct narrow_view<KIND> &v, const int n[3],
                                                  int first, const float *voxel, F f)
{
	float part_x[ROW_X], way_x[ROW_X] = {}, way_y[ROW_X] = {}; /* what x alone makes */

#pragma unroll
	for (int i = 0; i < ROW_X; i++) {
		float ox = coordinate(frame, 0, min(first + i, n[0] - 1));

		part_x[i] = iso_kept(part_of<KIND>(v, 0, ox));
		if constexpr (KIND == NARROW_RECT) {
			way_x[i] = v.x + ox * v.ex[0];
			way_y[i] = v.y + ox * v.ey[0];
		}
	}
	for (int y = threadIdx.x / ISO_WARP, z = 0; z < n[2]; y += HEARERS) {
		for (; y >= n[1]; y -= n[1]) z++;
		if (z >= n[2]) break;
		float oy = coordinate(frame, 1, y), oz = coordinate(frame, 2, z), wx = 0, wy = 0;
		float beside = part_of<KIND>(v, 1, oy) + part_of<KIND>(v, 2, oz);
		const float4 *row = (const float4 *)(voxel + (z * m.brick[1] + y) * m.brick[0] + first);

		if constexpr (KIND == NARROW_RECT) {
			wx = oy * v.ex[1] + oz * v.ex[2];
			wy = oy * v.ey[1] + oz * v.ey[2];
		}
#pragma unroll
		for (int i = 0; i < ROW_X; i += 4) {
			const float4 four = row[i / 4];
			const float value[4] = { four.x, four.y, four.z, four.w };

#pragma unroll
			for (int j = 0; j < 4; j++)
				f(value[j], beside + part_x[i + j], wx + way_x[i + j], wy + way_y[i + j]);
		}
	}
}

/* For a rectangle: the impulses of voxels near its axes are many times as large as others, so all are looked at. */
static __device__ struct magic magic_of_rectangle(struct hearers<NARROW_RECT> *h,
                                                  const struct svoxel_narrow &m,
                                                  const struct narrow_frame &frame, const int n[3],
                                                  const float *voxel)
{
	const int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	const struct narrow_view<NARROW_RECT> v = h->view[lane];
	float all = 0, largest = 0;

	for (int i = 0; i < n[0]; i += ROW_X)
		each_voxel<NARROW_RECT>(
			m, frame, v, n, i, voxel, [&](float value, float sum, float x, float y) {
				float over_d = iso_over_root(v.dd + sum);
				float a = fabsf(value) *
			                  rectangle_at(v, (float)m.p.least, x, y, over_d).amplitude;

				all += a;
				largest = fmaxf(largest, a);
			});
	h->all[warp][lane] = all;
	h->largest[warp][lane] = largest;
	__syncthreads();
	all = 0;
	for (int i = 0; i < HEARERS; i++) {
		all += h->all[i][lane];
		largest = fmaxf(largest, h->largest[i][lane]);
	}
	return magic_for(2.01f * all, largest); /* two corners of a sign can meet in a bin */
}

/* The brick's voxels as a thread's transducer hears them. NARROW_ZERO of its window is at address `zero`. */
template <int W, narrow_kind KIND>
static __device__ __forceinline__ void hear(unsigned zero, const struct svoxel_narrow &m,
                                            const struct narrow_frame &frame,
                                            const struct narrow_view<KIND> &v, float magic, const int n[3],
                                            const float *voxel)
{
	auto hear_voxel = [&](float value, float sum, float x, float y) {
		float over_d, s, u = delay_to<KIND>(v, sum, &over_d);

		if constexpr (KIND == NARROW_RECT) {
			const struct corners c =
				corners_of(rectangle_at(v, (float)m.p.least, x, y, over_d), u);
			const unsigned from = zero + c.whole * (W * NEXT);
			const float a = value * c.amplitude;

#pragma unroll
			for (int k = 0; k < 4; k++) {
				const unsigned bin = bin_after(corner_delay(c, k), &s);

				add_impulse<W>(bin * (W * NEXT) + from, sign_of(k) * a, s, magic,
				               m.taps.bend);
			}
		} else {
			const unsigned bin = bin_after(u, &s);

			add_impulse<W>(bin * (W * NEXT) + zero, value * over_d, s, magic, m.taps.bend);
		}
	};

	for (int i = 0; i < n[0]; i += ROW_X) each_voxel<KIND>(m, frame, v, n, i, voxel, hear_voxel);
}

/* ---- from windows to traces ---- */

/* Bins of a trace that a window's delays touch; as many rows has the window. */
template <int W> static __host__ __device__ __forceinline__ int touched(int rows)
{
	return rows + W - 1;
}

/* Where the bin of a transducer is put in its row: threads meet neither along rows nor across. */
template <int W> static __device__ __forceinline__ int turned(int row, int transducer)
{
	return row * W * ISO_WARP + (transducer + row) % ISO_WARP;
}

/* A row's terms go to W bins, of which the first is complete then. */
template <int W>
static __device__ __forceinline__ float next_bin(float (&bin)[W], const int *row,
                                                 const struct narrow_taps &taps)
{
	float whole;

#pragma unroll
	for (int i = 0; i < W; i++) {
		const float term = (float)row[i * ISO_WARP];

#pragma unroll
		for (int j = 0; j < W; j++) bin[j] = fmaf(taps.c[i][j], term, bin[j]);
	}
	whole = bin[0];
#pragma unroll
	for (int j = 0; j < W - 1; j++) bin[j] = bin[j + 1];
	bin[W - 1] = 0;
	return whole;
}

/* Bins take the place of terms. A warp has some of the rows, a thread its transducer's. The last W - 1 rows have no
   terms. */
template <int W> static __device__ void to_bins(int *window, const struct narrow_taps &taps, int rows)
{
	const int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	const int all = touched<W>(rows), each = (all + HEARERS - 1) / HEARERS;
	const int from = min(all, warp * each), to = min(all, from + each);
	float bin[W] = {};

	for (int r = max(from - (W - 1), 0); r < from; r++)
		next_bin<W>(bin, window + r * W * ISO_WARP + lane, taps);
	__syncthreads(); /* every warp has what it needs of the rows before its own */
	for (int r = from; r < to; r++) {
		const float whole = next_bin<W>(bin, window + r * W * ISO_WARP + lane, taps);

		__syncwarp();
		window[turned<W>(r, lane)] = __float_as_int(whole);
	}
}

/* A warp has some of the n transducers; `bits` from the voxels' unit to that of the traces. What lies outside of a trace
   was not touched. */
template <int W, narrow_kind KIND>
static __device__ void add_bins(unsigned long long *traces, const struct svoxel_narrow &m,
                                const struct hearers<KIND> &h, int64_t n, int bits, const int *window)
{
	const int lane = threadIdx.x % ISO_WARP, all = touched<W>(m.window.rows);
	const float scale = __int_as_float((127 + bits) << 23);

	for (int t = threadIdx.x / ISO_WARP; t < ISO_WARP && t < n; t += HEARERS) {
		const int begin = h.view[t].bin - m.window.before;
		const float unit = h.weight[t] * h.unit[t] * scale;
		unsigned long long *trace = traces + t * m.p.span + begin;

		for (int r = lane; r < all; r += ISO_WARP) {
			float v = __int_as_float(window[turned<W>(r, t)]);

			if (v != 0 && (unsigned)(begin + r) < m.p.span)
				atomicAdd(trace + r, (unsigned long long)__float2ll_rn(v * unit));
		}
	}
}

/* ---- */

/* Bytes of shared memory: windows and voxels. */
template <int W> static int64_t forward_bytes(int rows, const int brick[3])
{
	return (int64_t)sizeof(float) *
	       ((int64_t)ISO_WARP * W * touched<W>(rows) + (int64_t)brick[0] * brick[1] * brick[2]);
}

/* A brick and 32 transducers a block, the latter fastest; an image of the batch along y. */
template <int W, narrow_kind KIND>
static __global__ void __launch_bounds__(HEARERS *ISO_WARP, KIND == NARROW_RECT ? 2 : 3)
	forward_narrow(struct svoxel_narrow m, unsigned long long *traces, const unsigned *loudest,
                       const float *x)
{
	extern __shared__ float4 shared_rows[];
	__shared__ struct hearers<KIND> h;
	const int rows = m.window.rows, lane = threadIdx.x % ISO_WARP,
		  exponent = exponent_of(loudest[blockIdx.y]);
	const int64_t groups = (m.own.n + ISO_WARP - 1) / ISO_WARP, first = blockIdx.x % groups * ISO_WARP;
	const struct narrow_brick b = brick_number(m, blockIdx.x / groups);
	const struct narrow_frame frame = frame_of<KIND>(m, b.at, b.n);
	const int bits = exponent - 127 + whole_bits(m, loudest[blockIdx.y]);
	int *window = (int *)shared_rows;
	float *voxel = (float *)(window + touched<W>(rows) * W * ISO_WARP), loud = 0;
	const unsigned zero =
		iso_shared_of(window + lane) + ((unsigned)m.window.before - NARROW_ZERO) * (W * NEXT);

	fetch(voxel, h.loudest, m, b, exponent, x + blockIdx.y * (m.p.n[0] * m.p.n[1] * m.p.n[2]));
	for (int k = 0; k < m.p.points; k++) {
		if (threadIdx.x < ISO_WARP) look(&h, m, b, m.own.first + first, k);
		for (int i = threadIdx.x; i < touched<W>(rows) * W * (ISO_WARP / 4); i += blockDim.x)
			((int4 *)window)[i] = make_int4(0, 0, 0, 0);
		__syncthreads();
		for (int i = 0; i < HEARERS && k == 0; i++) loud = fmaxf(loud, h.loudest[i]);
		if (loud == 0) return;
		const struct narrow_view<KIND> v = h.view[lane];
		struct magic magic;

		if constexpr (KIND == NARROW_RECT)
			magic = magic_of_rectangle(&h, m, frame, b.n, voxel);
		else
			magic = magic_of_point<W>(m, v, loud);
		if (threadIdx.x < ISO_WARP) h.unit[lane] = magic.unit;
		hear<W, KIND>(zero, m, frame, v, magic.number, b.n, voxel);
		__syncthreads();
		to_bins<W>(window, m.taps, rows);
		__syncthreads();
		add_bins<W>(traces + (blockIdx.y * m.own.n + first) * m.p.span, m, h, m.own.n - first, bits,
		            window);
		__syncthreads(); /* this point is done with */
	}
}

#endif
