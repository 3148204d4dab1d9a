/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward of model svoxel on CUDA. A block is a warp; a thread has a transducer and a window of delays
   in shared memory, laid out so that no two threads meet; the warp walks bricks of voxels. A voxel adds
   the powers of its place within a bin to the moments of that bin, moment 0 in double where impulses
   cancel. After a brick the moments become bins of the kernel, which go to the warp's own part of the
   traces; so the order of every sum is fixed. The corners of a rectangle are heard one after the other:
   the window of each is then as narrow as that of a point. A rank has its share of the transducers. */
#ifndef ISO_SVOXEL_FORWARD_CUH
#define ISO_SVOXEL_FORWARD_CUH

#include "svoxel_cuda.cuh"

#include <type_traits>

enum {
	HEAR = ISO_WARP,
	BEHIND = SVOXEL_TAPS - 1
}; /* rows behind a window that the last of its moments reach */

/* Seven moments of a bin: the first alone, then four, then two. */
static_assert(SVOXEL_DEGREE == 6, "a bin has seven moments");

template <class T> struct moments {
	T zeroth;
	float4 four;
	float2 two;
};

/* Those of a thread: [row][thread], from the thread's own on. */
template <class T> struct window {
	T *zeroth;
	float4 *four;
	float2 *two;
};

template <class T>
static __device__ __forceinline__ struct moments<T> get(const struct window<T> &w, int row) {
	return { w.zeroth[row * HEAR], w.four[row * HEAR], w.two[row * HEAR] };
}

template <class T>
static __device__ __forceinline__ void put(const struct window<T> &w, int row, const struct moments<T> &m)
{
	w.zeroth[row * HEAR] = m.zeroth;
	w.four[row * HEAR] = m.four;
	w.two[row * HEAR] = m.two;
}

/* ---- bricks ---- */

struct brick {
	int64_t ix, iy, iz; /* first voxel */
	int nx, ny, nz;
};

static __device__ struct brick brick_at(const struct svoxel_cuda &m, unsigned number)
{
	unsigned row = m.bricks[0], plane = row * m.bricks[1], in_plane = number % plane;
	struct brick b;

	b.ix = (int64_t)(in_plane % row) * m.edge;
	b.iy = (int64_t)(in_plane / row) * m.edge;
	b.iz = (int64_t)(number / plane) * m.edge;
	b.nx = (int)min(m.p.n[0] - b.ix, (int64_t)m.edge);
	b.ny = (int)min(m.p.n[1] - b.iy, (int64_t)m.edge);
	b.nz = (int)min(m.p.n[2] - b.iz, (int64_t)m.edge);
	return b;
}

/* The brick's values into shared memory, EDGE a side, 0 where it has fewer; false in all threads if every
   one is 0. */
template <int EDGE, bool TISSUE>
static __device__ bool fetch(float *voxel, const struct svoxel &p, const struct brick &b, const float *x)
{
	bool any = false;

	__syncwarp(); /* the brick before is done with */
	for (int row = threadIdx.x; row < EDGE * EDGE; row += HEAR) {
		int iy = row % EDGE, iz = row / EDGE;
		bool inside = iy < b.ny && iz < b.nz;
		int64_t first = ((b.iz + iz) * p.n[1] + b.iy + iy) * p.n[0] + b.ix;
		const float *from = x + first;

#pragma unroll
		for (int ix = 0; ix < EDGE; ix++) {
			float v = inside && ix < b.nx ? from[ix] : 0;

			if (TISSUE && inside && ix < b.nx)
				v *= p.sound.ratio[first + ix] * p.sound.ratio[first + ix];
			voxel[row * EDGE + ix] = v;
			any |= v != 0;
		}
	}
	__syncwarp();
	return __any_sync(~0u, any);
}

/* ---- voxels to moments ---- */

/* m + a (1, s, s^2, ...) */
template <class T>
static __device__ __forceinline__ struct moments<T> plus(struct moments<T> m, float a, float s) {
	m.zeroth += a;
	m.four.x += a *= s;
	m.four.y += a *= s;
	m.four.z += a *= s;
	m.four.w += a *= s;
	m.two.x += a *= s;
	m.two.y += a *= s;
	return m;
}

template <class T>
static __device__ __forceinline__ struct moments<T> choose(bool first, const struct moments<T> &a,
                                                           const struct moments<T> &b) {
	return { first ? a.zeroth : b.zeroth,
		 make_float4(first ? a.four.x : b.four.x, first ? a.four.y : b.four.y,
		             first ? a.four.z : b.four.z, first ? a.four.w : b.four.w),
		 make_float2(first ? a.two.x : b.two.x, first ? a.two.y : b.two.y) };
}

/* Two impulses: both rows are read before one is written, so that the second need not wait for the
   first; if they are the same row, it goes on with the first's sums. */
template <class T>
static __device__ __forceinline__ void spread(const struct window<T> &w, const float (&u)[2],
                                              const float (&a)[2])
{
	float s[2];
	const int row[2] = { first_bin(u[0], &s[0]), first_bin(u[1], &s[1]) };
	struct moments<T> m = get(w, row[0]), n = get(w, row[1]);

	m = plus(m, a[0], s[0]);
	n = plus(choose(row[0] == row[1], m, n), a[1], s[1]);
	put(w, row[0], m);
	put(w, row[1], n);
}

/* A corner of a rectangle: its signs, and the whole bins by which its delay at the brick's middle
   differs from that of the rectangle's own. Through tissue no
   delay may leave the window, `most` bins to both sides, whatever its bounds were made from. */
struct corner {
	float x, y, bins, most;
};

static __device__ struct corner corner(const struct svoxel_view &v, float least, int k)
{
	struct corner c = { k & 1 ? 1.f : -1.f, k & 2 ? 1.f : -1.f, 0, 0 };
	float hx, hy, unused = 1;

	across(&hx, &hy, &unused, v, least, v.x, v.y, iso_over(v.d));
	c.bins = floorf(c.x * hx + c.y * hy);
	return c;
}

/* Delay of a voxel; the amplitude goes over its distance, and over the delays of a rectangle. */
template <bool RECT, int TISSUE>
static __device__ __forceinline__ float impulse(float *a, const struct svoxel &p, const struct svoxel_view &v,
                                                const struct corner &c, float excess, float x, float y,
                                                const struct tissue_brick &tb, const struct tissue_view &tv,
                                                const struct tissue_line &line, float ox, float oy, float oz)
{
	float over_d, hx, hy, u = delay(v, (float)p.bins_per_mm, excess, &over_d);

	*a *= over_d;
	if (TISSUE) {
		float late = tissue_late<TISSUE, NODES>(a, p.sound, tb, tv, line, ox, ox, oy, oz,
		                                        v.dd + excess, over_d);

		u = fmaf(late, (float)p.bins_per_us, u) - c.bins;
	}
	if (RECT) {
		across(&hx, &hy, a, v, (float)p.least, x, y, over_d);
		u = fmaf(c.x, hx, fmaf(c.y, hy, TISSUE ? u : u - c.bins));
	}
	return TISSUE ? fminf(fmaxf(u, -c.most), c.most) : u;
}

/* A brick as one point of a transducer, or a corner, hears it. */
template <int EDGE, bool RECT, int TISSUE, class T>
static __device__ __forceinline__ void hear(const struct window<T> &to, const struct svoxel &p,
                                            const struct brick &b, const struct svoxel_view &v,
                                            const struct corner &c, float weight, const float *voxel,
                                            const struct tissue_brick &tb, const struct tissue_view &tv)
{
	const float ds = (float)p.ds, half = ds * .5f * (b.nx - 1);
	/* the columns of the brick: the excess that x alone makes, and the way along the sides of a rectangle.
	   Beyond the brick they stand at its last; nothing is there */
	float excess_x[EDGE], way_x[EDGE], way_y[EDGE];

#pragma unroll
	for (int i = 0; i < EDGE; i++) {
		float ox = ds * (min(i, b.nx - 1) - .5f * (b.nx - 1));

		excess_x[i] = ox * (ox + v.r2[0]);
		way_x[i] = ox * v.ex[0];
		way_y[i] = ox * v.ey[0];
	}

	for (int z = 0; z < b.nz; z++) {
		float oz = ds * (z - .5f * (b.nz - 1));
		const float2 *pair = (const float2 *)(voxel + z * EDGE * EDGE);

		for (int y = 0; y < b.ny; y++, pair += EDGE / 2) {
			float oy = ds * (y - .5f * (b.ny - 1));
			float excess = oy * (oy + v.r2[1]) + oz * (oz + v.r2[2]);
			float wx = v.x + oy * v.ex[1] + oz * v.ex[2], wy = v.y + oy * v.ey[1] + oz * v.ey[2];
			struct tissue_line line = {};

			if (TISSUE)
				line = tissue_line<TISSUE, 0, NODES>(p.sound, tb, tv, 0, oy, oz, -half, half);
#pragma unroll
			for (int i = 0; i < EDGE; i += 2) {
				float2 value = pair[i / 2];
				float a[2] = { weight * value.x, weight * value.y }, u[2];

#pragma unroll
				for (int j = 0; j < 2; j++)
					u[j] = impulse<RECT, TISSUE>(
						&a[j], p, v, c, excess + excess_x[i + j], wx + way_x[i + j],
						wy + way_y[i + j], tb, tv, line,
						TISSUE ? ds * (min(i + j, b.nx - 1) - .5f * (b.nx - 1)) : 0,
						oy, oz);
				spread(to, u, a);
			}
		}
	}
}

/* ---- moments to bins ---- */

/* Row r of the bins is turned by r: threads meet neither along a row nor along a column. */
static __device__ __forceinline__ int turned(int row, int column)
{
	return row * HEAR + (column + row) % HEAR;
}

/* Moments of one row to the bins that they reach. tap_{w-1-j}(s) = tap_j(-s): the even moments are one
   sum of both, the odd ones another; the middle tap has no odd ones. */
template <int W, class T>
static __device__ __forceinline__ void reach(T (&bin)[W], const struct moments<T> &m,
                                             const struct svoxel_taps &t)
{
#pragma unroll
	for (int j = 0; j < (W + 1) / 2; j++) {
		float even = fmaf(t.c[6][j], m.two.y, fmaf(t.c[4][j], m.four.w, t.c[2][j] * m.four.y));
		float odd = fmaf(t.c[5][j], m.two.x, fmaf(t.c[3][j], m.four.z, t.c[1][j] * m.four.x));
		T zeroth = (T)t.c[0][j] * m.zeroth;

		if (2 * j == W - 1) {
			bin[j] += zeroth + even;
		} else {
			bin[j] += zeroth + (even + odd);
			bin[W - 1 - j] += zeroth + (even - odd);
		}
	}
}

/* The bins of all threads take the place of moments 0; the window is empty else. */
template <int W, class T>
static __device__ void to_bins(T *bins, const struct window<T> &w, const struct svoxel_taps &t, int rows)
{
	T bin[W] = {};

	for (int r = 0; r < rows + W - 1; r++) {
		if (r < rows) {
			reach<W>(bin, get(w, r), t);
			w.four[r * HEAR] = make_float4(0, 0, 0, 0);
			w.two[r * HEAR] = make_float2(0, 0);
		}
		__syncwarp();
		bins[turned(r, threadIdx.x)] = bin[0];
#pragma unroll
		for (int j = 0; j < W - 1; j++) bin[j] = bin[j + 1];
		bin[W - 1] = 0;
	}
	__syncwarp();
}

/* Bins to the traces of all threads, one after the other. `first` is where the thread's own trace has
   row 0; what lies outside of the trace was not touched. No one else adds to these traces: it is by
   atomic operations only since those need not be waited for. */
template <class T>
static __device__ void add_bins(double *traces, unsigned span, int first, T *bins, int rows)
{
	for (int r = threadIdx.x; r - (int)threadIdx.x < rows; r += HEAR) {
		double *trace = traces;
		bool mine = r < rows;

#pragma unroll 4
		for (int t = 0; t < HEAR; t++, trace += span) {
			unsigned at = (unsigned)(__shfl_sync(~0u, first, t) + r);
			T v = mine ? bins[turned(r, t)] : 0;

			if (mine) bins[turned(r, t)] = 0;
			if (v != 0 && at < span) atomicAdd(trace + at, (double)v);
		}
	}
	__syncwarp();
}

/* Moment 0 has BEHIND rows more. */
template <class T> static __device__ struct window<T> own_window(void *shared, int rows) {
	T *zeroth = (T *)shared;
	float4 *four = (float4 *)(zeroth + (rows + BEHIND) * HEAR);
	float2 *two = (float2 *)(four + rows * HEAR);
	struct window<T> w = {
		zeroth + threadIdx.x, four + threadIdx.x, two + threadIdx.x
	};

	for (int r = 0; r < rows; r++) put(w, r, moments<T>());
	for (int r = rows; r < rows + BEHIND; r++) w.zeroth[r * HEAR] = 0;
	return w;
}

/* Whole bins by which tissue makes the brick's middle late. */
template <int TISSUE>
static __device__ float late_bins(const struct svoxel &p, const struct svoxel_view &v,
                                  const struct tissue_brick &tb, const struct tissue_view &tv)
{
	struct tissue_line line = tissue_line<TISSUE, 0, NODES>(p.sound, tb, tv, 0, 0, 0, 0, 0);
	float unused = 1;

	return floorf(tissue_late<TISSUE, NODES>(&unused, p.sound, tb, tv, line, 0, 0, 0, 0, v.dd, 1 / v.d) *
	              (float)p.bins_per_us);
}

template <int W, int EDGE, bool RECT, int TISSUE>
static __global__ void __launch_bounds__(HEAR)
	forward_bricks(struct svoxel_cuda m, double *parts, const float *x)
{
	typedef typename std::conditional<RECT, double, float>::type T;
	extern __shared__ double2 shared[];
	T *bins = (T *)shared;
	struct window<T> own = own_window<T>(shared, m.window.rows), mid = own;
	float *voxel = (float *)(own.two - threadIdx.x + m.window.rows * HEAR);
	int64_t q = m.own.first + blockIdx.x * (int64_t)HEAR + threadIdx.x, end = m.own.first + m.own.n;
	unsigned bricks = m.bricks[0] * m.bricks[1] * m.bricks[2];
	double *traces = parts + (blockIdx.y * m.own.n + blockIdx.x * (int64_t)HEAR) * m.p.span;

	mid.zeroth += m.window.before * HEAR;
	mid.four += m.window.before * HEAR;
	mid.two += m.window.before * HEAR;
	for (unsigned i = blockIdx.y; i < bricks; i += gridDim.y) {
		struct brick b = brick_at(m, i);

		if (!fetch<EDGE, TISSUE != TISSUE_NONE>(voxel, m.p, b, x)) continue;
		const double from[3] = { m.p.first[0] + ((double)b.ix + (b.nx - 1) / 2.) * m.p.ds,
			                 m.p.first[1] + ((double)b.iy + (b.ny - 1) / 2.) * m.p.ds,
			                 m.p.first[2] + ((double)b.iz + (b.nz - 1) / 2.) * m.p.ds };

		struct tissue_brick tb = {};

		if (TISSUE) tb = tissue_brick<TISSUE>(m.p.sound, from);
		for (int k = 0; k < m.p.points; k++) {
			struct svoxel_view v = {};
			struct tissue_view tv = {};
			float later = 0;
			double at[3], weight = 0;

			if (q < end) {
				weight = SVOXEL_OVER_2_PI * svoxel_point(at, &m.p, q, k);
				v = svoxel_view(&m.p, q, at, from);
				if (TISSUE) {
					tv = tissue_view<TISSUE>(m.p.sound, tb, q, m.p.pos + 3 * q, at);
					later = late_bins<TISSUE>(m.p, v, tb, tv);
				}
			}
			for (int e = 0; e < (RECT ? 4 : 1); e++) {
				struct corner c = {};

				if (RECT) c = corner(v, (float)m.p.least, e);
				if (TISSUE) {
					c.bins += later;
					c.most = (float)(m.window.rows - 1 - m.window.before);
				}
				if (q < end)
					hear<EDGE, RECT, TISSUE>(mid, m.p, b, v, c,
					                         (float)(c.x * c.y < 0 ? -weight : weight),
					                         voxel, tb, tv);
				to_bins<W>(bins, own, m.taps, m.window.rows);
				add_bins(traces, (unsigned)m.p.span,
				         (int)(v.bin - m.p.low) + (int)c.bins - m.window.before - m.shift,
				         bins, m.window.rows + BEHIND);
			}
		}
	}
}

#endif
