/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward of narrow kernels. A block has a brick of voxels in shared memory; each of its warps hears it with 32
   transducers, one a thread. A thread has a window of delays of its own in shared memory, laid out so that no two
   threads meet; a voxel adds its terms there. Then the terms become bins, which are added to the traces as whole
   numbers: any order gives the same sum. The corners of a rectangle are heard one after the other. */
#ifndef ISO_SVOXEL_NARROW_FORWARD_CUH
#define ISO_SVOXEL_NARROW_FORWARD_CUH

#include "svoxel_narrow.cuh"

enum { HEARERS = 2, ROW_X = 8 }; /* warps of a block; voxels along x that a thread takes together */

/* ---- whole numbers ---- */

/* Bits of the loudest voxel of each image: as whole numbers they have the order of the values, and what is not finite
   is above all that is. */
static __global__ void find_loudest(unsigned *loudest, int64_t n, const float *x)
{
	const float *image = x + blockIdx.y * n;
	unsigned most = 0;

	ISO_GRID_LOOP (i, n) most = max(most, __float_as_uint(image[i]) & 0x7fffffffu);
	most = __reduce_max_sync(ISO_FULL_WARP, most);
	if (threadIdx.x % ISO_WARP == 0 && most > 0) atomicMax(loudest + blockIdx.y, most);
}

/* The exponent of 2 by which values become whole numbers that can't overflow. */
static __device__ __forceinline__ int whole_bits(const struct svoxel_narrow &m, unsigned loudest)
{
	return 61 - (int)m.loud_bits - ((int)(loudest >> 23) - 126);
}

/* ---- a brick ---- */

struct hearing {
	struct narrow_view v;
	/* a corner of a rectangle: its signs, and the whole bins by which its delay at the brick's middle differs from
	   that of the rectangle's own */
	float x, y, bins;
};

/* The brick's values into shared memory, 0 where it has fewer; false in all threads if every one is 0. */
static __device__ bool fetch(float *voxel, const struct svoxel_narrow &m, const int64_t at[3], const int n[3],
                             const float *x)
{
	const int nx = m.brick[0], ny = m.brick[1], all = nx * ny * m.brick[2];
	bool any = false;

	for (int i = threadIdx.x; i < all; i += blockDim.x) {
		int ix = i % nx, iy = i / nx % ny, iz = i / nx / ny;
		bool inside = ix < n[0] && iy < n[1] && iz < n[2];
		float v = inside ? x[((at[2] + iz) * m.p.n[1] + at[1] + iy) * m.p.n[0] + at[0] + ix] : 0;

		voxel[i] = v;
		any |= v != 0;
	}
	return __syncthreads_or(any);
}

static __device__ void corner_of(struct hearing *h, float least, int k)
{
	float hx, hy, unused = 1;

	h->x = k & 1 ? 1.f : -1.f;
	h->y = k & 2 ? 1.f : -1.f;
	halves(&hx, &hy, &unused, h->v, least, h->v.x, h->v.y, iso_over(h->v.d));
	h->bins = floorf(h->x * hx + h->y * hy);
}

/* Delay of a voxel, `whole` bins and what is returned; the amplitude goes over its distance, and over the delays of a
   rectangle. */
template <bool RECT>
static __device__ __forceinline__ float impulse(unsigned *whole, float *a, const struct svoxel &p,
                                                const struct hearing &h, float excess, float x, float y)
{
	float over_d, hx, hy, u = bins_to(h.v, excess, &over_d);

	*a *= over_d;
	*whole = 0;
	if (!RECT) return u;
	halves(&hx, &hy, a, h.v, (float)p.least, x, y, over_d);
	*whole = whole_bins(&u);
	return u + (fmaf(h.x, hx, h.y * hy) - h.bins);
}

/* Two impulses: both bins are read before one is written, so that the second need not wait for the first; if they are
   the same bin, it goes on with the first's sums. Bin NARROW_ZERO of the thread's column is at `zero`. */
template <int W>
static __device__ __forceinline__ void spread(const struct bank<W> &w, unsigned zero,
                                              const unsigned (&whole)[2], const float (&u)[2],
                                              const float (&a)[2], float bend)
{
	float t[2];
	const unsigned row[2] = { (bin_after(u[0], &t[0]) + whole[0]) * ISO_WARP + zero,
		                  (bin_after(u[1], &t[1]) + whole[1]) * ISO_WARP + zero };
	struct terms<W> m = get(w, row[0]), n = get(w, row[1]);

	add_impulse(&m, a[0], t[0], bend);
#pragma unroll
	for (int i = 0; i < W; i++) n.v[i] = row[0] == row[1] ? m.v[i] : n.v[i];
	add_impulse(&n, a[1], t[1], bend);
	put(w, row[0], m);
	put(w, row[1], n);
}

/* Four voxels of a row, from number i on. */
template <int W, bool RECT>
static __device__ __forceinline__ void hear_four(const struct bank<W> &w, unsigned zero,
                                                 const struct svoxel_narrow &m, const struct hearing &h,
                                                 float4 f, const float *excess, const float *x,
                                                 const float *y)
{
	const float value[4] = { f.x, f.y, f.z, f.w };

#pragma unroll
	for (int j = 0; j < 4; j += 2) {
		float a[2] = { value[j], value[j + 1] }, u[2];
		unsigned whole[2];

#pragma unroll
		for (int k = 0; k < 2; k++)
			u[k] = impulse<RECT>(&whole[k], &a[k], m.p, h, excess[j + k], x[j + k], y[j + k]);
		spread<W>(w, zero, whole, u, a, m.taps.bend);
	}
}

/* ROW_X columns of a brick of n voxels, from column `first` on, as one point of a transducer, or a corner, hears them.
   Beyond the brick they stand at its last column; nothing is there. */
template <int W, bool RECT>
static __device__ __forceinline__ void hear(const struct bank<W> &w, unsigned zero,
                                            const struct svoxel_narrow &m, const struct hearing &h,
                                            const int n[3], int first, const float *voxel)
{
	const float ds = (float)(m.p.ds * m.p.bins_per_mm);
	const struct narrow_view &v = h.v;
	float excess_x[ROW_X], way_x[ROW_X], way_y[ROW_X]; /* what x alone makes */

#pragma unroll
	for (int i = 0; i < ROW_X; i++) {
		float ox = ds * (min(first + i, n[0] - 1) - .5f * (n[0] - 1));

		excess_x[i] = ox * (ox + v.r2[0]);
		way_x[i] = ox * v.ex[0];
		way_y[i] = ox * v.ey[0];
	}
	for (int z = 0; z < n[2]; z++)
		for (int y = 0; y < n[1]; y++) {
			float oy = ds * (y - .5f * (n[1] - 1)), oz = ds * (z - .5f * (n[2] - 1));
			float beside = oy * (oy + v.r2[1]) + oz * (oz + v.r2[2]);
			float wx = v.x + oy * v.ex[1] + oz * v.ex[2], wy = v.y + oy * v.ey[1] + oz * v.ey[2];
			const float4 *row =
				(const float4 *)(voxel + (z * m.brick[1] + y) * m.brick[0] + first);

#pragma unroll
			for (int i = 0; i < ROW_X; i += 4) {
				float excess[4], x[4], across_y[4];

#pragma unroll
				for (int j = 0; j < 4; j++) {
					excess[j] = beside + excess_x[i + j];
					x[j] = wx + way_x[i + j];
					across_y[j] = wy + way_y[i + j];
				}
				hear_four<W, RECT>(w, zero, m, h, row[i / 4], excess, x, across_y);
			}
		}
}

/* ---- from windows to traces ---- */

/* A row of the window has W floats for each of 32 threads, or with three taps two of them. What a thread makes of it
   goes to place (thread + row) mod 32 of the row, so that threads meet neither along rows nor along columns. */
template <int W> static __device__ __forceinline__ int turned(int row, int thread)
{
	return row * ISO_WARP * (W == 3 ? 2 : W) + (thread + row) % ISO_WARP;
}

/* The bins of a thread's window, times a weight, take the place of its terms; the window is empty else. It has W - 1 rows more than
   delays begin in. */
template <int W>
static __device__ void to_bins(float *stage, const struct bank<W> &w, const struct narrow_taps &taps,
                               int rows, float weight)
{
	const int lane = threadIdx.x % ISO_WARP;
	float bin[W] = {};

	for (int r = 0; r < rows + W - 1; r++) {
		if (r < rows) {
			struct terms<W> m = get(w, r * ISO_WARP + lane);

#pragma unroll
			for (int j = 0; j < W; j++)
#pragma unroll
				for (int i = 0; i < W; i++) bin[j] = fmaf(taps.c[i][j], m.v[i], bin[j]);
			put(w, r * ISO_WARP + lane, terms<W>());
		}
		__syncwarp();
		stage[turned<W>(r, lane)] = weight * bin[0];
#pragma unroll
		for (int j = 0; j < W - 1; j++) bin[j] = bin[j + 1];
		bin[W - 1] = 0;
	}
	__syncwarp();
}

/* Bins to the traces of all threads, one after the other. `first` is where the thread's own trace has row 0; what lies
   outside of the trace was not touched. */
template <int W>
static __device__ void add_bins(unsigned long long *traces, int64_t span, int first, float *stage, int rows,
                                double scale)
{
	const int lane = threadIdx.x % ISO_WARP;

	for (int r = lane; r - lane < rows; r += ISO_WARP) {
		unsigned long long *trace = traces;
		bool mine = r < rows;

		for (int t = 0; t < ISO_WARP; t++, trace += span) {
			unsigned at = (unsigned)(__shfl_sync(ISO_FULL_WARP, first, t) + r);
			float v = mine ? stage[turned<W>(r, t)] : 0;

			if (mine) stage[turned<W>(r, t)] = 0;
			if (v != 0 && at < span)
				atomicAdd(trace + at, (unsigned long long)__double2ll_rn(v * scale));
		}
	}
	__syncwarp();
}

/* What a block knows of its brick. */
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

/* A brick and HEARERS warps of transducers a block, the latter fastest; an image of the batch along y. */
template <int W, bool RECT>
static __global__ void __launch_bounds__(HEARERS *ISO_WARP)
	forward_narrow(struct svoxel_narrow m, unsigned long long *traces, const unsigned *loudest,
                       const float *x)
{
	extern __shared__ float4 shared_rows[];
	const int rows = m.window.rows, held = (rows + W - 1) * ISO_WARP;
	const int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	const int64_t groups = (m.own.n + HEARERS * ISO_WARP - 1) / (HEARERS * ISO_WARP);
	const int64_t first = (blockIdx.x % groups * HEARERS + warp) * ISO_WARP,
		      q = m.own.first + first + lane;
	const struct narrow_brick b = brick_number(m, blockIdx.x / groups);
	const unsigned zero = (unsigned)(m.window.before * ISO_WARP + lane) - NARROW_ZERO * ISO_WARP;
	float *stage = (float *)shared_rows + warp * W * held,
	      *voxel = (float *)shared_rows + HEARERS * W * held;
	struct bank<W> w;

	if (!fetch(voxel, m, b.at, b.n, x + blockIdx.y * (m.p.n[0] * m.p.n[1] * m.p.n[2])) ||
	    first >= m.own.n)
		return;
	const double scale = ldexp(1., whole_bits(m, loudest[blockIdx.y]));

	bank_at(&w, stage, held);
	for (int i = lane; i < W * held; i += ISO_WARP) stage[i] = 0;
	__syncwarp();
	for (int k = 0; k < m.p.points; k++) {
		const bool hears = q < m.own.first + m.own.n;
		struct hearing h = {};
		double at[3], weight = 0;

		if (hears) {
			weight = SVOXEL_OVER_2_PI * m.p.bins_per_mm * svoxel_point(at, &m.p, q, k);
			h.v = narrow_view(m.p, q, at, b.from);
		}
		for (int e = 0; e < (RECT ? 4 : 1); e++) {
			if (RECT) corner_of(&h, (float)m.p.least, e);
			for (int i = 0; hears && i < b.n[0]; i += ROW_X)
				hear<W, RECT>(w, zero, m, h, b.n, i, voxel);
			__syncwarp();
			to_bins<W>(stage, w, m.taps, rows, (float)(RECT && h.x * h.y < 0 ? -weight : weight));
			add_bins<W>(traces + (blockIdx.y * m.own.n + first) * m.p.span, m.p.span,
			            h.v.bin + (int)h.bins - m.window.before, stage, rows + W - 1, scale);
		}
	}
}

#endif
