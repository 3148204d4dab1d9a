/* SPDX-License-Identifier: BSD-3-Clause */
/* Adjoint of model svoxel on CUDA. The traces become pieces: at each bin a polynomial in the place
   within it, which holds what the taps would gather there. A thread has voxels, each of which finds
   its delay to every transducer and evaluates the piece; a warp has 4 x 4 x 2 neighbours at a time,
   whose pieces lie next to each other. A rank has its share of the bricks, one for each block of threads. */
#ifndef ISO_SVOXEL_ADJOINT_CUH
#define ISO_SVOXEL_ADJOINT_CUH

#include "core/loop/bricks.cuh"
#include "svoxel_cuda.cuh"

enum {
	GATHER_X = 8,
	GATHER_Y = 8,
	GATHER_Z = 16,
	EACH = 4
}; /* voxels of a block; of a thread, 2 apart along z */
enum { GATHER = GATHER_X * GATHER_Y * GATHER_Z / EACH };
enum { RESIDENT = 4, VIEWS = 128 }; /* blocks of a multiprocessor; transducers that a block sees at a time */

/* The coefficients of a piece are in two tables, one behind the other: four and three. Impulses of a
   rectangle cancel: their constant is in double, which takes the place of two; so three and four. */
static_assert(SVOXEL_DEGREE == 6, "a piece has seven coefficients");
static_assert(2 * sizeof(float4) == SVOXEL_PIECE_BYTES, "the plan knows its size");

/* From a period of bins of each transducer, a block each. `imaginary`: z has also an imaginary part, and
   the trace is the real part of its product with exp(j 2 pi offset t); else NULL. */
static __global__ void to_pieces(struct svoxel_cuda m, float4 *pieces, const double *z,
                                 const double *imaginary)
{
	const struct svoxel &p = m.p;
	int64_t q = blockIdx.x;
	bool rect = p.sir == ISO_SIR_RECT;
	float4 *low = pieces + 2 * q * p.span, *high = low + p.span;

	for (int64_t i = threadIdx.x; i < p.span; i += blockDim.x) {
		double c[SVOXEL_DEGREE + 1] = {};

#pragma unroll
		for (int j = 0; j < SVOXEL_TAPS; j++) {
			int64_t at = q * p.bins + svoxel_wrap(&p, p.low + i + j);
			double v = z[at];

			if (imaginary) v = v * p.turn[2 * (i + j)] - imaginary[at] * p.turn[2 * (i + j) + 1];
#pragma unroll
			for (int k = 0; k <= SVOXEL_DEGREE; k++) c[k] += v * p.taps.c[k][j];
		}
		low[i] = rect ? make_float4(__int_as_float(__double2loint(c[0])),
		                            __int_as_float(__double2hiint(c[0])), (float)c[1], (float)c[2])
		              : make_float4((float)c[0], (float)c[1], (float)c[2], (float)c[3]);
		high[i] = rect ? make_float4((float)c[3], (float)c[4], (float)c[5], (float)c[6])
		               : make_float4((float)c[4], (float)c[5], (float)c[6], 0);
	}
}

static __device__ __forceinline__ float at_point(const float4 *low, int64_t span, float u)
{
	float s;
	const float4 *from = low + first_bin(u, &s);
	float4 a = __ldg(from), b = __ldg(from + span);

	return fmaf(fmaf(fmaf(fmaf(fmaf(fmaf(b.z, s, b.y), s, b.x), s, a.w), s, a.z), s, a.y), s, a.x);
}

/* The piece without its constant, which goes to c0. */
static __device__ __forceinline__ float at_corner(double *c0, const float4 *low, int64_t span, float u)
{
	float s;
	const float4 *from = low + first_bin(u, &s);
	float4 a = __ldg(from), b = __ldg(from + span);

	*c0 = __hiloint2double(__float_as_int(a.y), __float_as_int(a.x));
	return s * fmaf(fmaf(fmaf(fmaf(fmaf(b.w, s, b.z), s, b.y), s, b.x), s, a.w), s, a.z);
}

static __device__ __forceinline__ float at_rectangle(const float4 *low, int64_t span, float u, float hx,
                                                     float hy)
{
	double c0[4];
	float sum =
		(at_corner(&c0[0], low, span, u - (hx + hy)) - at_corner(&c0[1], low, span, u + (hx - hy))) -
		(at_corner(&c0[2], low, span, u - (hx - hy)) - at_corner(&c0[3], low, span, u + (hx + hy)));

	return sum + (float)((c0[0] - c0[1]) - (c0[2] - c0[3]));
}

/* A thread's voxels: offsets from the middle of the block. */
struct column {
	float x, y, z[EACH];
};

/* Adds to each voxel of the column what one point of a transducer projects back to it. */
template <bool RECT, int TISSUE>
static __device__ __forceinline__ void add_point(float (&sum)[EACH], const struct svoxel &p,
                                                 const struct svoxel_view &v, float weight,
                                                 const struct column &c, const float4 *pieces,
                                                 const struct tissue_brick &tb, const struct tissue_view &tv)
{
	const float4 *low = pieces + v.bin;
	float beside = c.x * (c.x + v.r2[0]) + c.y * (c.y + v.r2[1]);
	float x = v.x + c.x * v.ex[0] + c.y * v.ex[1], y = v.y + c.x * v.ey[0] + c.y * v.ey[1];
	struct tissue_line line = {};

	if (TISSUE) line = tissue_line<TISSUE, 2, NODES>(p.sound, tb, tv, c.x, c.y, 0, c.z[0], c.z[EACH - 1]);
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		float over_d, hx, hy, z = c.z[i];
		float excess = fmaf(z, z + v.r2[2], beside);
		float u = delay(v, (float)p.bins_per_mm, excess, &over_d);
		float a = weight * over_d;

		if (TISSUE)
			u = fmaf(tissue_late<TISSUE, NODES>(&a, p.sound, tb, tv, line, z, c.x, c.y, z,
			                                    v.dd + excess, over_d),
			         (float)p.bins_per_us, u);

		if (RECT) {
			across(&hx, &hy, &a, v, (float)p.least, fmaf(z, v.ex[2], x), fmaf(z, v.ey[2], y),
			       over_d);
			sum[i] = fmaf(a, at_rectangle(low, p.span, u, hx, hy), sum[i]);
		} else {
			sum[i] = fmaf(a, at_point(low, p.span, u), sum[i]);
		}
	}
}

/* Views of the next transducers; v.bin counts from the first piece of the first transducer. */
template <int TISSUE>
static __device__ void look(struct svoxel_view *view, struct tissue_view *late, float *weight,
                            const struct svoxel &p, int64_t first, int n, const double from[3],
                            const struct tissue_brick &tb)
{
	for (int k = threadIdx.x; k < n; k += blockDim.x) {
		int64_t i = first + k, q = i / p.points;
		double at[3];

		weight[k] = (float)SVOXEL_OVER_2_PI * (float)svoxel_point(at, &p, q, (int)(i % p.points));
		view[k] = svoxel_view(&p, q, at, from);
		view[k].bin += 2 * q * p.span - p.low;
		if (TISSUE) late[k] = tissue_view<TISSUE>(p.sound, tb, q, p.pos + 3 * q, at);
	}
}

template <bool RECT, int TISSUE>
static __global__ void __launch_bounds__(GATHER, TISSUE ? RESIDENT - 1 : RESIDENT)
	adjoint_voxels(struct svoxel_cuda m, struct iso_bricks b, float *x, const float4 *pieces)
{
	__shared__ struct svoxel_view view[VIEWS];
	__shared__ float weight[VIEWS];
	__shared__ struct tissue_view late[TISSUE ? VIEWS : 1];
	__shared__ int64_t at[3]; /* the first voxel of the brick */
	const struct svoxel &p = m.p;
	const int64_t all = p.n_trans * p.points;
	const int lane = threadIdx.x % ISO_WARP,
		  warp = threadIdx.x / ISO_WARP; /* t: the thread's first voxel */
	const int3 t = make_int3(warp % 2 * 4 + lane % 4, warp / 2 % 2 * 4 + lane / 4 % 4,
	                         warp / 4 * (2 * EACH) + lane / 16);
	iso_brick_of_block(at, b);
	const bool inside = at[0] + t.x < p.n[0] && at[1] + t.y < p.n[1];
	float ds = (float)p.ds;
	struct column c = { ds * (t.x - (GATHER_X - 1) / 2.f), ds * (t.y - (GATHER_Y - 1) / 2.f), {} };
	double from[3] = {
		p.first[0] + ((double)at[0] + (GATHER_X - 1) / 2.) * p.ds,
		p.first[1] + ((double)at[1] + (GATHER_Y - 1) / 2.) * p.ds,
		p.first[2] + ((double)at[2] + (GATHER_Z - 1) / 2.) * p.ds,
	};
	double total[EACH] = {};
	struct tissue_brick tb = {};

	if (TISSUE) tb = tissue_brick<TISSUE>(p.sound, from);
	for (int i = 0; i < EACH; i++) /* what lies beyond the image stands at its edge, and is not kept */
		c.z[i] = ds * (min((int64_t)(t.z + 2 * i), p.n[2] - 1 - at[2]) - (GATHER_Z - 1) / 2.f);
	for (int64_t first = 0; first < all; first += VIEWS) {
		int n = all - first < VIEWS ? (int)(all - first) : VIEWS;
		float sum[EACH] = {};

		__syncthreads(); /* the views before are done with */
		look<TISSUE>(view, late, weight, p, first, n, from, tb);
		__syncthreads();
		for (int k = 0; inside && k < n; k++)
			add_point<RECT, TISSUE>(sum, p, view[k], weight[k], c, pieces, tb,
			                        late[TISSUE ? k : 0]);
		for (int i = 0; i < EACH; i++) total[i] += sum[i];
	}
	for (int i = 0; i < EACH; i++) {
		int64_t z = at[2] + t.z + 2 * i;

		if (TISSUE && inside && z < p.n[2]) {
			double ratio = p.sound.ratio[(z * p.n[1] + at[1] + t.y) * p.n[0] + at[0] + t.x];

			total[i] *= ratio * ratio;
		}
		iso_brick_put(x, b, at, t.x, t.y, t.z + 2 * i, (float)total[i]);
	}
}

#endif
