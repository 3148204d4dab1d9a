/* SPDX-License-Identifier: BSD-3-Clause */
/* A warp's way along its stream (srm_stream.h), on the tensor cores.

   A warp holds 16 lanes by 2 cells of places in registers, and walks its stream: a row of a step's
   weights is one operand, what its 8 taps read at a row of places the other, straight from the cache. The
   next row of weights reads one row of places further, so that a row read serves up to 4 of them.

   Tensor cores cut off sums instead of rounding them, so a step's sum is added to the others by an
   ordinary addition. Nothing is added to by two warps: every run gives the same bits. */
#ifndef ISO_SRM_WALK_CUH
#define ISO_SRM_WALK_CUH

#include "model/srm/srm_cuda.cuh"
#include "srm_halves.cuh"
#include "srm_stream.h"

static_assert(sizeof(struct stream_weights) == ISO_WARP * sizeof(uint2), "a uint2 a lane");
static_assert(sizeof(struct stream_offsets) == 4 * sizeof(int2), "an int2 for each of 4 lanes");
static_assert(sizeof(struct stream_reach) == 4 * sizeof(unsigned), "words of it are loaded");
static_assert(sizeof(struct stream_range) == sizeof(int4), "loaded as one");

struct device_stream {
	const struct stream_block *block;
	const struct stream_range *range;
	const struct stream_out *out;
	const unsigned *reach; /* 2 words along x, 2 along z */
	const int2 *offset;
	uint2 *weight; /* halves of 4 weights over `unit`, a lane of a row */
	float unit;
	int row, step; /* words to the next row of places, and to the next place */
};

/* d = c + a b: 16 x 16 by 16 x 8, a warp together. */
static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                const float (&c)[4])
{
#if __CUDA_ARCH__ >= 800
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
	    "{%10, %11, %12, %13};"
	    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
	      "f"(c[2]), "f"(c[3]));
#else /* in two halves along k */
	asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%8}, {%10, %11, "
	    "%12, %13};\n\tmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%6, %7}, "
	    "{%9}, {%0, %1, %2, %3};"
	    : "=&f"(d[0]), "=&f"(d[1]), "=&f"(d[2]), "=&f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
	      "f"(c[2]), "f"(c[3]));
#endif
}

/* A lane's weights of a row, each half twice. */
static __device__ __forceinline__ void twice(unsigned (&a)[4], uint2 w)
{
	a[0] = __byte_perm(w.x, 0, 0x1010);
	a[1] = __byte_perm(w.x, 0, 0x3232);
	a[2] = __byte_perm(w.y, 0, 0x1010);
	a[3] = __byte_perm(w.y, 0, 0x3232);
}

/* A warp's first cell (x, z), the words from a row of places to the next, and the word that this lane reads
   for place (0, 0) of that cell. */
struct stand {
	int x, z, row;
	const unsigned *here;
};

/* The words that a lane reads in a step with ROWS rows of taps: for two taps each, the STREAM_CELLS x
   STREAM_CELL_X rows of its cells and ROWS - 1 rows more, as each row of taps reads one row of places
   further. */
template <int ROWS> struct window {
	unsigned v[STREAM_CELLS * STREAM_CELL_X + ROWS - 1][2];
};

/* A lane's share of a step. */
template <int ROWS> struct step {
	unsigned x, z; /* words of its reach */
	int2 from;
	uint2 weight[ROWS];
};

/* Loads written as assembly: where the compiler sees that all lanes load one address, it waits for the value
   at once. */
static __device__ __forceinline__ unsigned load(const unsigned *p)
{
	unsigned v;

	asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ int4 load(const int4 *p)
{
	int4 v;

	asm("ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4];"
	    : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
	    : "l"(p));
	return v;
}

/* Steps of a kind, range by range: the next one's number, its weights, how many of its range are left. */
struct cursor {
	const int4 *range; /* the next */
	int4 ahead;        /* what it holds */
	int step, row, left;
};

/* To the next step of a kind; from the last one no further, and left is 0. */
template <int KIND> static __device__ __forceinline__ void advance(struct cursor &c)
{
	if (--c.left > 0) {
		c.step++;
		c.row += stream_rows(KIND) * (1 + stream_pairs(KIND));
	} else if (c.ahead.w == KIND) {
		c.step = c.ahead.x;
		c.left = c.ahead.y;
		c.row = c.ahead.z;
		c.ahead = load(++c.range);
	}
}

template <int ROWS>
static __device__ __forceinline__ void fetch(struct step<ROWS> &f, const struct device_stream &s,
                                             const struct stand &at, int step, int row)
{
	const uint2 *w = s.weight + (int64_t)row * ISO_WARP + threadIdx.x;

	f.x = load(s.reach + (int64_t)step * 4 + at.x / 32);
	f.z = load(s.reach + (int64_t)step * 4 + 2 + at.z / 32);
	f.from = __ldg(s.offset + (int64_t)step * 4 + threadIdx.x % 4);
#pragma unroll
	for (int k = 0; k < ROWS; k++) f.weight[k] = __ldg(w + k * ISO_WARP);
}

/* A row of weights by a row of places is a product of matrices. */
template <int ROWS>
static __device__ __forceinline__ void add_cell(float (&acc)[STREAM_CELL_X][4], const unsigned (&a)[ROWS][4],
                                                const struct window<ROWS> &w, int cell, float times)
{
	float sum[STREAM_CELL_X][4] = {};

#pragma unroll
	for (int k = 0; k < ROWS; k++)
#pragma unroll
		for (int i = 0; i < STREAM_CELL_X; i++)
			multiply(sum[i], a[k], w.v[cell * STREAM_CELL_X + k + i], sum[i]);
#pragma unroll
	for (int i = 0; i < STREAM_CELL_X; i++)
#pragma unroll
		for (int j = 0; j < 4; j++) acc[i][j] += times * sum[i][j];
}

template <int ROWS>
static __device__ __forceinline__ void add_step(float (&acc)[STREAM_CELLS][STREAM_CELL_X][4],
                                                const unsigned (&a)[ROWS][4], const struct window<ROWS> &w,
                                                unsigned cells, float times)
{
	if (cells & 1) add_cell(acc[0], a, w, 0, times);
	if (cells & 2) add_cell(acc[1], a, w, 1, times);
}

/* All steps of a kind; returns the next range. What a step reads of the image is on its way while the other
   warps are at work, and its weights while the step before it is. */
template <int ROW, int KIND>
static __device__ __forceinline__ const int4 *walk(float (&acc)[STREAM_CELLS][STREAM_CELL_X][4],
                                                   const struct device_stream &s, const struct stand &at,
                                                   const int4 *range)
{
	constexpr int ROWS = KIND % STREAM_RUN + 1;
	int4 r = load(range);
	struct cursor c = { range + 1, load(range + 1), r.x, r.z, r.y };
	struct step<ROWS> f;

	fetch(f, s, at, c.step, c.row);
#pragma unroll 1
	while (c.left > 0) {
		const uint2 *rest = s.weight + (int64_t)(c.row + ROWS) * ISO_WARP + threadIdx.x;
		unsigned cells = f.z >> at.z % 32 & 1 ? f.x >> at.x % 32 & 3 : 0; /* bit k: reaches cell k */
		unsigned a[ROWS][4];
		int2 from = f.from;
		struct window<ROWS> w;

#pragma unroll
		for (int k = 0; k < ROWS; k++) twice(a[k], f.weight[k]);
		advance<KIND>(c);
		fetch(f, s, at, c.step, c.row);
		if (!cells) continue;
		const unsigned *first = at.here + from.x, *second = at.here + from.y;

#pragma unroll /* both cells, reached or not: padded memory has room beyond its ends */
		for (int i = 0; i < STREAM_CELLS * STREAM_CELL_X + ROWS - 1; i++) {
			w.v[i][0] = __ldg(first + i * (ROW ? ROW : at.row));
			w.v[i][1] = __ldg(second + i * (ROW ? ROW : at.row));
		}
		add_step(acc, a, w, cells, 1);
		if (KIND >= STREAM_RUN) {
#pragma unroll
			for (int k = 0; k < ROWS; k++) twice(a[k], __ldg(rest + k * ISO_WARP));
			add_step(acc, a, w, cells, 1 / (float)STREAM_REST);
		}
	}
	return c.range;
}

/* Of a row of a cell, a lane has the sums of two outputs at two places each. */
static __device__ __forceinline__ void leave(float *out, const float (&acc)[STREAM_CELLS][STREAM_CELL_X][4],
                                             const struct stream_out *o, int x, int z, float unit, int scale)
{
	float half = scalbnf(1, -scale / 2), rest = unit * scalbnf(1, -(scale - scale / 2));

#pragma unroll
	for (int j = 0; j < 2; j++) {
		struct stream_out to = o[threadIdx.x / 4 + 8 * j];

#pragma unroll
		for (int i = 0; i < STREAM_CELLS * STREAM_CELL_X * 2; i++) {
			int row = i / 2;
			unsigned ox = x + row - to.x0, oz = z + threadIdx.x % 4 * 2 + i % 2 - to.z0;

			if (ox < (unsigned)to.nx && oz < (unsigned)to.nz)
				out[to.base + (int64_t)ox * to.row + (int64_t)oz * to.step] =
					acc[row / STREAM_CELL_X][row % STREAM_CELL_X][2 * j + i % 2] * half *
					rest;
		}
	}
}

/* A warp a block: it waits for nobody. `out` has room for `n` a slice. ROW 0: any other. */
template <int ROW>
static __global__ void __launch_bounds__(ISO_WARP, SRM_RESIDENT(20))
	correlate(struct device_stream s, int64_t first, float *out, int64_t n, const unsigned *in,
                  const struct survey *survey)
{
	struct stream_block b = s.block[first + blockIdx.x];
	int across = (b.nz + STREAM_CELL_Z - 1) / STREAM_CELL_Z, row = ROW ? ROW : s.row;
	struct stand at = { b.warp / across * STREAM_CELLS, b.warp % across, row, in };
	int x = b.x0 + at.x * STREAM_CELL_X, z = b.z0 + at.z * STREAM_CELL_Z;
	const int4 *range = (const int4 *)s.range + b.range;
	float acc[STREAM_CELLS][STREAM_CELL_X][4] = {};

	at.here += x * row + (z + (int)threadIdx.x / 4) * s.step;
	for (int kind = __ldg(&range->w); kind >= 0; kind = __ldg(&range->w)) switch (kind) {
		case 0:
			range = walk<ROW, 0>(acc, s, at, range);
			break;
		case 1:
			range = walk<ROW, 1>(acc, s, at, range);
			break;
		case 2:
			range = walk<ROW, 2>(acc, s, at, range);
			break;
		case 3:
			range = walk<ROW, 3>(acc, s, at, range);
			break;
		case 4:
			range = walk<ROW, 4>(acc, s, at, range);
			break;
		case 5:
			range = walk<ROW, 5>(acc, s, at, range);
			break;
		case 6:
			range = walk<ROW, 6>(acc, s, at, range);
			break;
		default:
			range = walk<ROW, 7>(acc, s, at, range);
		}
	leave(out + b.slice * n, acc, s.out + b.out, x, z, s.unit, scale_of(survey->greatest));
}

static_assert(STREAM_KINDS == 8, "one walk each");

#endif
