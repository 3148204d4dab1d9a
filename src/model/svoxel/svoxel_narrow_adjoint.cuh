/* SPDX-License-Identifier: BSD-3-Clause */
/* Adjoint of narrow kernels. The traces become terms: at each bin what a delay before it hears with each of its terms.
   A block of threads has a brick of voxels, a team of TEAM threads some rows of it. The block takes the windows that
   TEAM transducers hear the brick in to shared memory, laid out so that no two threads of a team meet: each hears its
   team's voxels with its own transducer, and adds up what it hears with those that follow. In the end a team adds up
   the sums of its threads. A rank has its share of the bricks. */
#ifndef ISO_SVOXEL_NARROW_ADJOINT_CUH
#define ISO_SVOXEL_NARROW_ADJOINT_CUH

#include "core/loop/bricks.cuh"
#include "svoxel_narrow.cuh"

/* Threads of a block and of a team; transducers that a block looks at together; voxels of a row. */
enum { GATHERERS = 256, TEAM = 16, SEEN = 128, ROW = 8 };

/* A brick, and rows of it that a team has, one above the other along y. */
template <bool FLAT> struct gather_shape {
	enum { X = ROW, Y = 8, Z = 8, ROWS = 4 };
};

template <> struct gather_shape<true> {
	enum { X = 4 * ROW, Y = 16, Z = 1, ROWS = 4 };
};

/* From a period of bins of each transducer and image, a block each. `imaginary`: as in to_pieces. */
template <int W, class R>
static __global__ void to_terms(struct svoxel_narrow m, cell<W> *to, const R *z, const R *imaginary)
{
	const struct svoxel &p = m.p;
	const int64_t row = blockIdx.x;

	for (int64_t i = threadIdx.x; i < p.span; i += blockDim.x) {
		struct terms<W> t = {
		};

#pragma unroll
		for (int j = 0; j < W; j++) {
			int64_t at = row * p.bins + svoxel_wrap(&p, p.low + i + j);
			double v = z[at];

			if (imaginary) v = v * p.turn[2 * (i + j)] - imaginary[at] * p.turn[2 * (i + j) + 1];
#pragma unroll
			for (int k = 0; k < W; k++) t.v[k] += m.taps.c[k][j] * (float)v;
		}
		to[row * p.span + i] = cell_with<W>(t);
	}
}

template <narrow_kind KIND> struct seen {
	struct narrow_view<KIND> v;
	float weight;
	int trace; /* whose it is */
};

/* Views of the next n transducers; those that fill the last group up weigh nothing. */
template <narrow_kind KIND>
static __device__ void look(struct seen<KIND> *s, const struct svoxel_narrow &m, int64_t first, int n,
                            const double from[3])
{
	const int64_t last = m.p.n_trans * m.p.points - 1;

	for (int k = threadIdx.x; k < n; k += GATHERERS) {
		int64_t i = min(first + k, last), q = i / m.p.points;
		float weight = see(&s[k].v, m, q, (int)(i % m.p.points), from);

		s[k].weight = first + k > last ? 0.f : weight;
		s[k].trace = (int)q;
	}
}

/* The windows of TEAM of them, times the weights, to shared memory; 0 where a trace has no bin, which nothing reads.
   Four threads read bins beside each other. */
template <int W, narrow_kind KIND>
static __device__ void take_windows(cell<W> *to, const struct svoxel_narrow &m, const struct seen<KIND> *s,
                                    const cell<W> *traces, int64_t image)
{
	enum { BESIDE = W == 2 ? 4 : 2, STEP = GATHERERS / TEAM };
	const int k = threadIdx.x / BESIDE % TEAM;
	const int begin = threadIdx.x % BESIDE + threadIdx.x / (BESIDE * TEAM) * BESIDE;
	const int first = s[k].v.bin - m.window_back.before;
	const cell<W> *from = traces + (image + s[k].trace) * m.p.span + first;
	const float weight = s[k].weight;

	for (int r = begin; r < m.window_back.rows; r += STEP) {
		struct terms<W> t = {
		};

		if (first + r >= 0 && first + r < m.p.span) t = terms_in<W>(from[r]);
#pragma unroll
		for (int j = 0; j < W; j++) t.v[j] *= weight;
		to[r * TEAM + k] = cell_with<W>(t);
	}
}

/* The terms of a bin at an address. */
template <int W> static __device__ __forceinline__ struct terms<W> terms_at(unsigned at) {
	if constexpr (W == 2)
		return terms_in<W>(iso_shared_two(at));
	else
		return terms_in<W>(iso_shared_four(at));
}

template <int W>
static __host__ __device__ constexpr unsigned row_bytes()
{
	return (unsigned)(TEAM * sizeof(cell<W>));
}

/* What a voxel hears of a thread's transducer; with a rectangle, at (x, y) along its sides. NARROW_ZERO of the
   transducer's window is at address `zero`. */
template <int W, narrow_kind KIND>
static __device__ __forceinline__ float heard(unsigned zero, const struct svoxel_narrow &m,
                                              const struct narrow_view<KIND> &v, float sum, float x, float y)
{
	float over_d, s, u = delay_to<KIND>(v, sum, &over_d);

	if constexpr (KIND == NARROW_RECT) {
		const struct corners c = corners_of(rectangle_at(v, (float)m.p.least, x, y, over_d), u);
		const unsigned from = zero + c.whole * row_bytes<W>();
		float four = 0;

#pragma unroll
		for (int k = 0; k < 4; k++) {
			const struct terms<W> t =
				terms_at<W>(bin_after(corner_delay(c, k), &s) * row_bytes<W>() + from);

			four = fmaf(sign_of(k), value_at(t, s, m.taps.bend), four);
		}
		return c.amplitude * four;
	} else {
		const struct terms<W> t = terms_at<W>(bin_after(u, &s) * row_bytes<W>() + zero);

		return over_d * value_at(t, s, m.taps.bend);
	}
}

/* The voxels of a team: coordinates. */
template <int ROWS> struct rows {
	float x[ROW], y[ROWS], z;
};

template <int ROWS>
static __device__ __forceinline__ struct rows<ROWS> rows_at(const struct narrow_frame &frame, int x, int y,
                                                            int z) {
	struct rows<ROWS> at;

#pragma unroll
	for (int i = 0; i < ROW; i++) at.x[i] = iso_kept(coordinate(frame, 0, x + i));
#pragma unroll
	for (int i = 0; i < ROWS; i++) at.y[i] = iso_kept(coordinate(frame, 1, y + i));
	at.z = iso_kept(coordinate(frame, 2, z));
	return at;
}

/* What all voxels of a team hear of a thread's transducer. */
template <int W, narrow_kind KIND, int ROWS>
static __device__ __forceinline__ void add_rows(float (&sum)[ROWS * ROW], const struct svoxel_narrow &m,
                                                const struct rows<ROWS> &at,
                                                const struct narrow_view<KIND> &v, unsigned zero)
{
	const float part_z = part_of<KIND>(v, 2, at.z);
	float part_x[ROW], way_x[ROW] = {}, way_y[ROW] = {}; /* what x alone makes */

#pragma unroll
	for (int i = 0; i < ROW; i++) {
		part_x[i] = iso_kept(part_of<KIND>(v, 0, at.x[i]));
		if constexpr (KIND == NARROW_RECT) {
			way_x[i] = v.x + at.x[i] * v.ex[0] + at.z * v.ex[2];
			way_y[i] = v.y + at.x[i] * v.ey[0] + at.z * v.ey[2];
		}
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		float beside = part_of<KIND>(v, 1, at.y[r]) + part_z, wx = 0, wy = 0;

		if constexpr (KIND == NARROW_RECT) {
			wx = at.y[r] * v.ex[1];
			wy = at.y[r] * v.ey[1];
		}
#pragma unroll
		for (int i = 0; i < ROW; i++)
			sum[r * ROW + i] +=
				heard<W, KIND>(zero, m, v, beside + part_x[i], wx + way_x[i], wy + way_y[i]);
	}
}

/* Sums over a team: its thread t is left with those of values t N / TEAM and so on, in front. HALF values are given to
   the thread ACROSS, and as many kept. */
template <int N, int HALF = N / 2, int ACROSS = TEAM / 2>
static __device__ __forceinline__ void add_team(float (&sum)[N])
{
	const bool upper = threadIdx.x & ACROSS;

#pragma unroll
	for (int i = 0; i < HALF; i++) {
		float give = upper ? sum[i] : sum[i + HALF], keep = upper ? sum[i + HALF] : sum[i];

		sum[i] = keep + __shfl_xor_sync(ISO_FULL_WARP, give, ACROSS);
	}
	if constexpr (ACROSS > 1) add_team<N, HALF / 2, ACROSS / 2>(sum);
}

/* A brick a block; images of the batch, from number `image` on, along y. */
template <int W, narrow_kind KIND, bool FLAT>
static __global__ void __launch_bounds__(GATHERERS, KIND == NARROW_RECT ? 2 : 3)
	adjoint_narrow(struct svoxel_narrow m, struct iso_bricks b, int64_t image, float *x,
                       const void *terms)
{
	typedef struct gather_shape<FLAT> shape;
	enum { ALONG = shape::X / ROW, UP = shape::Y / shape::ROWS, EACH = shape::ROWS * ROW };
	extern __shared__ float4 shared_rows[];
	__shared__ struct seen<KIND> seen[SEEN];
	__shared__ int64_t at[3]; /* the first voxel of the brick */
	const struct svoxel &p = m.p;
	const int64_t all = p.n_trans * p.points;
	const int mine = threadIdx.x % TEAM, team = threadIdx.x / TEAM;
	const int ix = team % ALONG * ROW, iy = team / ALONG % UP * shape::ROWS, iz = team / ALONG / UP;
	cell<W> *w = (cell<W> *)shared_rows;
	const unsigned zero =
		iso_shared_of(w + mine) + ((unsigned)m.window_back.before - NARROW_ZERO) * row_bytes<W>();

	image += blockIdx.y;
	iso_brick_of_block(at, b);
	const double middle[3] = { p.first[0] + ((double)at[0] + (shape::X - 1) / 2.) * p.ds,
		                   p.first[1] + ((double)at[1] + (shape::Y - 1) / 2.) * p.ds,
		                   p.first[2] + ((double)at[2] + (shape::Z - 1) / 2.) * p.ds };
	const int n[3] = { shape::X, shape::Y, shape::Z };
	const struct rows<shape::ROWS> voxels = rows_at<shape::ROWS>(frame_of<KIND>(m, at, n), ix, iy, iz);
	float sum[EACH] = {};

	for (int64_t first = 0; first < all; first += SEEN) {
		int n = (int)min((all - first + TEAM - 1) / TEAM * TEAM, (int64_t)SEEN);

		__syncthreads(); /* the views before are done with */
		look(seen, m, first, n, middle);
		for (int k = 0; k < n; k += TEAM) {
			__syncthreads(); /* the windows before are done with */
			take_windows<W>(w, m, seen + k, (const cell<W> *)terms, image * p.n_trans);
			__syncthreads();
			add_rows<W, KIND, shape::ROWS>(sum, m, voxels, seen[k + mine].v, zero);
		}
	}
	add_team(sum);
	x += image * (p.n[0] * p.n[1] * p.n[2]);
#pragma unroll
	for (int i = 0; i < EACH / TEAM; i++) {
		const int voxel = mine * (EACH / TEAM) + i;

		iso_brick_put(x, b, at, ix + voxel % ROW, iy + voxel / ROW, iz, sum[i]);
	}
}

#endif
