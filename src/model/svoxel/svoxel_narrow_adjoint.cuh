/* SPDX-License-Identifier: BSD-3-Clause */
/* Adjoint of narrow kernels. The traces become terms: at each bin what a delay before it hears with each of its terms.
   A block has a brick of voxels, a thread a column of them. The block takes the windows that some transducers hear it
   in to shared memory; a voxel finds its delay to each and adds what it reads there. A rank has its share of the
   bricks. */
#ifndef ISO_SVOXEL_NARROW_ADJOINT_CUH
#define ISO_SVOXEL_NARROW_ADJOINT_CUH

#include "core/loop/bricks.cuh"
#include "svoxel_narrow.cuh"

enum { GATHERERS = 128, SEEN = 128 }; /* threads of a block; transducers that it looks at together */

/* A brick: voxels across, and those of a thread's column, which goes along z; in an image of one plane along y, in
   steps of ACROSS. */
template <bool FLAT> struct gather_shape;

template <> struct gather_shape<false> {
	enum { X = 8, ACROSS = 16, EACH = 16, Y = 16, Z = 16 };
};

template <> struct gather_shape<true> {
	enum { X = 16, ACROSS = 8, EACH = 4, Y = 32, Z = 1 };
};

/* From a period of bins of each transducer and image, a block each. `imaginary`: as in to_pieces. */
template <int W, class R>
static __global__ void to_terms(struct svoxel_narrow m, float *to, const R *z, const R *imaginary)
{
	const struct svoxel &p = m.p;
	const int64_t row = blockIdx.x;
	struct bank<W> b;

	bank_at(&b, to, p.batch * p.n_trans * p.span);
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
		put(b, row * p.span + i, t);
	}
}

struct seen {
	struct narrow_view v;
	float weight;
	int trace; /* whose it is */
};

/* Views of the next transducers. */
static __device__ void look(struct seen *s, const struct svoxel_narrow &m, int64_t first, int n,
                            const double from[3])
{
	const struct svoxel &p = m.p;

	for (int k = threadIdx.x; k < n; k += GATHERERS) {
		int64_t i = first + k, q = i / p.points;
		double at[3], weight = svoxel_point(at, &p, q, (int)(i % p.points));

		s[k].weight = (float)(SVOXEL_OVER_2_PI * p.bins_per_mm * weight);
		s[k].v = narrow_view(p, q, at, from);
		s[k].trace = (int)q;
	}
}

/* Their windows, times the weights, to shared memory, one behind the other; 0 where a trace has no bin, which nothing
   reads. */
template <int W>
static __device__ void take_windows(const struct bank<W> &to, const struct svoxel_narrow &m,
                                    const struct seen *s, int n, const struct bank<W> &from, int64_t image)
{
	const int rows = m.window_back.rows;

	for (int i = threadIdx.x; i < n * rows; i += GATHERERS) {
		int k = i / rows, bin = s[k].v.bin - m.window_back.before + i % rows;
		struct terms<W> t = {
		};

		if (bin >= 0 && bin < m.p.span) t = get(from, (image + s[k].trace) * m.p.span + bin);
#pragma unroll
		for (int j = 0; j < W; j++) t.v[j] *= s[k].weight;
		put(to, i, t);
	}
}

/* What a column hears of one transducer. */
template <int W, bool RECT, bool FLAT>
static __device__ __forceinline__ void add_column(float (&sum)[gather_shape<FLAT>::EACH],
                                                  const struct svoxel_narrow &m, const struct seen &s,
                                                  const struct bank<W> &w, unsigned zero,
                                                  const float (&at)[3],
                                                  const float (&along)[gather_shape<FLAT>::EACH])
{
	enum { A = FLAT ? 1 : 2, B = FLAT ? 2 : 1 }; /* the column's axis, and the other but x */
	const struct narrow_view &v = s.v;
	const float beside = at[0] * (at[0] + v.r2[0]) + at[B] * (at[B] + v.r2[B]);
	const float x = v.x + at[0] * v.ex[0] + at[B] * v.ex[B], y = v.y + at[0] * v.ey[0] + at[B] * v.ey[B];

#pragma unroll
	for (int i = 0; i < gather_shape<FLAT>::EACH; i++) {
		float over_d, t, u = bins_to(v, fmaf(along[i], along[i] + v.r2[A], beside), &over_d);
		float a = over_d;

		if (!RECT) {
			struct terms<W> c = get(w, bin_after(u, &t) + zero);

			sum[i] = fmaf(a, value_at(c, t, m.taps.bend), sum[i]);
			continue;
		}
		const unsigned first = whole_bins(&u) + zero;
		float hx, hy, four = 0;

		halves(&hx, &hy, &a, v, (float)m.p.least, fmaf(along[i], v.ex[A], x),
		       fmaf(along[i], v.ey[A], y), over_d);
#pragma unroll
		for (int k = 0; k < 4; k++) {
			float corner = (k & 1 ? hx : -hx) + (k & 2 ? hy : -hy);
			struct terms<W> c = get(w, bin_after(u + corner, &t) + first);
			float value = value_at(c, t, m.taps.bend);

			four += k == 0 || k == 3 ? value : -value;
		}
		sum[i] = fmaf(a, four, sum[i]);
	}
}

/* A brick a block; images of the batch, from number `image` on, along y. */
template <int W, bool RECT, bool FLAT>
static __global__ void __launch_bounds__(GATHERERS)
	adjoint_narrow(struct svoxel_narrow m, struct iso_bricks b, int64_t image, float *x, float *terms)
{
	typedef struct gather_shape<FLAT> shape;
	extern __shared__ float4 shared_rows[];
	__shared__ struct seen seen[SEEN];
	__shared__ int64_t at[3]; /* the first voxel of the brick */
	const struct svoxel &p = m.p;
	const int64_t all = p.n_trans * p.points;
	const int rows = m.window_back.rows, tx = threadIdx.x % shape::X, ty = threadIdx.x / shape::X;
	const float ds = (float)(p.ds * p.bins_per_mm); /* bins */
	struct bank<W> w, from;

	image += blockIdx.y;
	iso_brick_of_block(at, b);
	bank_at(&w, (float *)shared_rows, (int64_t)m.at_a_time * rows);
	bank_at(&from, terms, p.batch * p.n_trans * p.span);
	const double middle[3] = { p.first[0] + ((double)at[0] + (shape::X - 1) / 2.) * p.ds,
		                   p.first[1] + ((double)at[1] + (shape::Y - 1) / 2.) * p.ds,
		                   p.first[2] + ((double)at[2] + (shape::Z - 1) / 2.) * p.ds };
	const float place[3] = { ds * (tx - (shape::X - 1) / 2.f), ds * (ty - (shape::Y - 1) / 2.f), 0 };
	float along[shape::EACH], total[shape::EACH] = {};

	for (int i = 0; i < shape::EACH; i++)
		along[i] = ds *
		           (FLAT ? ty + i * shape::ACROSS - (shape::Y - 1) / 2.f : i - (shape::Z - 1) / 2.f);
	for (int64_t first = 0; first < all; first += SEEN) {
		int n = all - first < SEEN ? (int)(all - first) : SEEN;
		float sum[shape::EACH] = {};

		__syncthreads(); /* the views before are done with */
		look(seen, m, first, n, middle);
		for (int k = 0; k < n; k += m.at_a_time) {
			int some = min(n - k, m.at_a_time);

			__syncthreads(); /* the windows before are done with */
			take_windows<W>(w, m, seen + k, some, from, image * p.n_trans);
			__syncthreads();
			for (int j = 0; j < some; j++)
				add_column<W, RECT, FLAT>(sum, m, seen[k + j], w,
				                          (unsigned)(j * rows + m.window_back.before) -
				                                  NARROW_ZERO,
				                          place, along);
		}
		for (int i = 0; i < shape::EACH; i++) total[i] += sum[i];
	}
	x += image * (p.n[0] * p.n[1] * p.n[2]);
	for (int i = 0; i < shape::EACH; i++)
		iso_brick_put(x, b, at, tx, FLAT ? ty + i * shape::ACROSS : ty, FLAT ? 0 : i, total[i]);
}

#endif
