/* SPDX-License-Identifier: BSD-3-Clause */
/* The shift-correlation projector on CUDA: streams of small matrices (srm_stream.h) on the tensor
   cores.

   A warp holds 16 lanes by 2 cells of places in registers, and walks its stream: a row of a step's
   weights is one operand, what its 8 taps read at a row of places the other, straight from the cache. The
   next row of weights reads one row of places further, so that a row read serves up to 4 of them.

   Tensor cores multiply halves, of 11 bits, and add in float. So every number read is a pair of halves,
   v = v1 + v2, at a scale of the greatest number of all: 2^-22 of itself is left out, or 2^-40 of the
   greatest. Where that would cost too many numbers too much, they go in layers of like size, one after
   the other. Of 16 products along k, two are a tap's: (w, w) by (v1, v2). A weight is one half where it
   fits, as counts below 2^11 do; of others the rest follows in rows of its own: those down to 2^-29 of the
   greatest are good to 2^-22 of themselves.

   Tensor cores cut off sums instead of rounding them, so a step's sum is added to the others by an
   ordinary addition. Nothing is added to by two warps: every run gives the same bits. */
#include "srm_cuda.cuh"
#include "srm_stream.h"

#include <cuda_fp16.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SQUARE 32	/* voxels of an edge of what pad_image moves at a time */
/* Warps of a multiprocessor: as many hide the cache's delay, and some cards have room for fewer blocks. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 750 || __CUDA_ARCH__ == 860)
#define RESIDENT 16
#else
#define RESIDENT 20
#endif

static_assert(sizeof(struct stream_weights) == ISO_WARP * sizeof(float4), "a float4 a lane");
static_assert(sizeof(struct stream_offsets) == 4 * sizeof(int2), "an int2 for each of 4 lanes");
static_assert(sizeof(struct stream_reach) == 4 * sizeof(unsigned), "words of it are loaded");
static_assert(sizeof(struct stream_range) == sizeof(int4), "loaded as one");

struct device_stream {
	const struct stream_block *block;
	const struct stream_range *range;
	const struct stream_out *out;
	const unsigned *reach;		/* 2 words along x, 2 along z */
	const int2 *offset;
	uint2 *weight;			/* halves of 4 weights over `unit`, a lane of a row */
	float unit;
	int row, step;			/* words to the next row of places, and to the next place */
};

/* Where a direction's rows and its padded plane lie. */
struct direction_place {
	int64_t row, plane;
	int nx, nz;
};

struct correlate_cuda {
	struct stream_layout layout;
	struct srm_stream forward, adjoint;	/* on the host: blocks of subsets, slices, work */
	struct device_stream on_forward, on_adjoint;
	struct direction_place *place;
	float row_most;				/* no row's weights sum up to more */
};

/* Absolute values of a layer: the greatest, as bits; how many are not 0; how many are so much smaller
   than the greatest that halves hold them badly, and how many that they do not hold them at all. And how many
   numbers are not finite: times weights of 0 they would be seen by rows that do not meet them. */
struct survey {
	unsigned greatest, some, small, lost, infinite;
};

struct correlate_work {
	struct srm_step_work step;
	unsigned *image, *data;		/* padded, pairs of halves */
	struct survey *survey;		/* of what they hold */
	float *slices;			/* partial sums */
	const struct iso_em_data *em;	/* of the EM step at work, or NULL */
};

/* ---- pairs of halves ---- */

/* The power of 2 that takes numbers up to the greatest, given as bits, to below 2^15. */
static __host__ __device__ __forceinline__ int scale_of(unsigned greatest)
{
	return greatest ? 14 + 127 - (int)(greatest >> 23) : 0;
}

static __device__ __forceinline__ unsigned halves_of(float v, int scale)
{
	float scaled = scalbnf(v, scale);
	__half first = __float2half_rn(scaled), second = __float2half_rn(scaled - __half2float(first));

	return (unsigned)__half_as_ushort(first) | (unsigned)__half_as_ushort(second) << 16;
}

/* Positive floats are in the order of their bits; whole powers of 2 apart, 2^23 apart. */
#define POWER_OF_2 (1u << 23)
#define INFINITE 0x7f800000u

static __device__ __forceinline__ unsigned size_of(float v)
{
	return __float_as_uint(fabsf(v));
}

/* The greatest below a limit. */
static __global__ void find_greatest(struct survey *s, const float *v, int64_t n, unsigned below)
{
	unsigned most = 0;

	ISO_GRID_LOOP(i, n) {
		unsigned size = size_of(v[i]);

		most = size < below ? max(most, size) : most;
	}
	for (int i = ISO_WARP / 2; i > 0; i /= 2)
		most = max(most, __shfl_xor_sync(ISO_FULL_WARP, most, i));
	if (threadIdx.x % ISO_WARP == 0)
		atomicMax(&s->greatest, most);
}

/* How numbers are dealt to layers: those that are `badly` powers of 2 below the greatest of a layer are for
   the next, if they are more than a share of all, or if one in 2^20 is `lost` powers of 2 below it. */
struct rule {
	unsigned badly, lost, share;
};

static __global__ void count_small(struct survey *s, const float *v, int64_t n, unsigned below,
				   struct rule r)
{
	unsigned greatest = s->greatest, some = 0, small = 0, lost = 0, infinite = 0;

	ISO_GRID_LOOP(i, n) {
		unsigned size = size_of(v[i]);
		unsigned under = size > 0 && size < below && size < greatest ? greatest - size : 0;

		some += size > 0 && size < below;
		small += under > r.badly * POWER_OF_2;
		lost += under > r.lost * POWER_OF_2;
		infinite += size >= INFINITE;
	}
	some = iso_warp_sum(some);
	small = iso_warp_sum(small);
	lost = iso_warp_sum(lost);
	infinite = iso_warp_sum(infinite);
	if (threadIdx.x % ISO_WARP == 0) {
		atomicAdd(&s->some, some);
		atomicAdd(&s->small, small);
		atomicAdd(&s->lost, lost);
		atomicAdd(&s->infinite, infinite);
	}
}

/* Sizes from ... below - 1. */
struct layer {
	unsigned from, below;
};

static __device__ __forceinline__ float within(struct layer l, float v)
{
	unsigned size = size_of(v);

	return size >= l.from && size < l.below ? v : 0;
}

static __device__ __forceinline__ unsigned two_halves(float a, float b, double unit)
{
	return __half_as_ushort(__double2half(a / unit)) |
	       (unsigned)__half_as_ushort(__double2half(b / unit)) << 16;
}

static __global__ void to_halves(uint2 *to, const float4 *w, int64_t n, double unit)
{
	ISO_GRID_LOOP(i, n)
		to[i] = make_uint2(two_halves(w[i].x, w[i].y, unit), two_halves(w[i].z, w[i].w, unit));
}

/* d = c + a b: 16 x 16 by 16 x 8, a warp together. */
static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4],
						const unsigned (&b)[2], const float (&c)[4])
{
#if __CUDA_ARCH__ >= 800
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
	    "{%8, %9}, {%10, %11, %12, %13};"
	    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
	      "f"(c[2]), "f"(c[3]));
#else	/* in two halves along k */
	asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%8}, "
	    "{%10, %11, %12, %13};\n\t"
	    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%6, %7}, {%9}, "
	    "{%0, %1, %2, %3};"
	    : "=&f"(d[0]), "=&f"(d[1]), "=&f"(d[2]), "=&f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
	      "f"(c[2]), "f"(c[3]));
#endif
}

/* ---- a warp ---- */

/* A lane's weights of a row, each half twice. */
static __device__ __forceinline__ void twice(unsigned (&a)[4], uint2 w)
{
	a[0] = __byte_perm(w.x, 0, 0x1010);
	a[1] = __byte_perm(w.x, 0, 0x3232);
	a[2] = __byte_perm(w.y, 0, 0x1010);
	a[3] = __byte_perm(w.y, 0, 0x3232);
}

/* Where a warp stands: its first cell, and for place (0, 0) of it, what a lane reads. */
struct stand {
	int x, z, row;
	const unsigned *here;
};

/* What a lane reads of a step of so many rows of taps: two taps a row of its cells, and the rows further on
   that the rows of taps reach. */
template <int ROWS> struct window {
	unsigned v[STREAM_CELLS * STREAM_CELL_X + ROWS - 1][2];
};

/* A lane's share of a step. */
template <int ROWS> struct step {
	unsigned x, z;			/* words of its reach */
	int2 from;
	uint2 weight[ROWS];
};

/* Loads that stay with their lane: as the same for all lanes they would be waited for at once. */
static __device__ __forceinline__ unsigned load(const unsigned *p)
{
	unsigned v;

	asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

static __device__ __forceinline__ int4 load(const int4 *p)
{
	int4 v;

	asm("ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
	return v;
}

/* Steps of a kind, range by range: the next one's number, its weights, how many of its range are left. */
struct cursor {
	const int4 *range;		/* the next */
	int4 ahead;			/* what it holds */
	int step, row, left;
};

static __device__ __forceinline__ void begin(struct cursor &c, const int4 *range)
{
	int4 r = load(range);

	c = { range + 1, load(range + 1), r.x, r.z, r.y };
}

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
	for (int k = 0; k < ROWS; k++)
		f.weight[k] = __ldg(w + k * ISO_WARP);
}

/* Bit k: whether a step reaches cell k of the warp. */
template <int ROWS>
static __device__ __forceinline__ unsigned cells_reached(const struct step<ROWS> &f, const struct stand &at)
{
	return f.z >> at.z % 32 & 1 ? f.x >> at.x % 32 & 3 : 0;
}

/* Both cells, reached or not: padded memory has room beyond its ends. */
template <int ROW, int ROWS>
static __device__ __forceinline__ void read(struct window<ROWS> &w, int2 from, const struct stand &at)
{
	const unsigned *first = at.here + from.x, *second = at.here + from.y;

#pragma unroll
	for (int i = 0; i < STREAM_CELLS * STREAM_CELL_X + ROWS - 1; i++) {
		w.v[i][0] = __ldg(first + i * (ROW ? ROW : at.row));
		w.v[i][1] = __ldg(second + i * (ROW ? ROW : at.row));
	}
}

/* A row of weights by a row of places is a product of matrices. */
template <int ROWS>
static __device__ __forceinline__ void add_products(float (&sum)[STREAM_CELL_X][4],
						    const unsigned (&a)[ROWS][4], const struct window<ROWS> &w,
						    int first)
{
#pragma unroll
	for (int k = 0; k < ROWS; k++)
#pragma unroll
		for (int i = 0; i < STREAM_CELL_X; i++)
			multiply(sum[i], a[k], w.v[first + k + i], sum[i]);
}

template <int ROWS>
static __device__ __forceinline__ void add_cell(float (&acc)[STREAM_CELL_X][4], const unsigned (&a)[ROWS][4],
						const struct window<ROWS> &w, int cell, float times)
{
	float sum[STREAM_CELL_X][4] = { };

	add_products(sum, a, w, cell * STREAM_CELL_X);
#pragma unroll
	for (int i = 0; i < STREAM_CELL_X; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			acc[i][j] += times * sum[i][j];
}

template <int ROWS>
static __device__ __forceinline__ void add_step(float (&acc)[STREAM_CELLS][STREAM_CELL_X][4],
						const unsigned (&a)[ROWS][4], const struct window<ROWS> &w,
						unsigned cells, float times)
{
	if (cells & 1)
		add_cell(acc[0], a, w, 0, times);
	if (cells & 2)
		add_cell(acc[1], a, w, 1, times);
}

/* All steps of a kind; returns the next range. What a step reads of the image is on its way while the other
   warps are at work, and its weights while the step before it is. */
template <int ROW, int KIND>
static __device__ __forceinline__ const int4 *walk(float (&acc)[STREAM_CELLS][STREAM_CELL_X][4],
						   const struct device_stream &s, const struct stand &at,
						   const int4 *range)
{
	constexpr int ROWS = KIND % STREAM_RUN + 1;
	struct step<ROWS> f;
	struct cursor c;

	begin(c, range);
	fetch(f, s, at, c.step, c.row);
#pragma unroll 1
	while (c.left > 0) {
		const uint2 *rest = s.weight + (int64_t)(c.row + ROWS) * ISO_WARP + threadIdx.x;
		unsigned cells = cells_reached(f, at), a[ROWS][4];
		int2 from = f.from;
		struct window<ROWS> w;

#pragma unroll
		for (int k = 0; k < ROWS; k++)
			twice(a[k], f.weight[k]);
		advance<KIND>(c);
		fetch(f, s, at, c.step, c.row);
		if (!cells)
			continue;
		read<ROW>(w, from, at);
		add_step(acc, a, w, cells, 1);
		if (KIND >= STREAM_RUN) {
#pragma unroll
			for (int k = 0; k < ROWS; k++)
				twice(a[k], __ldg(rest + k * ISO_WARP));
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
					acc[row / STREAM_CELL_X][row % STREAM_CELL_X][2 * j + i % 2] * half * rest;
		}
	}
}

/* A warp a block: it waits for nobody. `out` has room for `n` a slice. ROW 0: any other. */
template <int ROW>
static __global__ void __launch_bounds__(ISO_WARP, RESIDENT)
correlate(struct device_stream s, int64_t first, float *out, int64_t n, const unsigned *in,
	  const struct survey *survey)
{
	struct stream_block b = s.block[first + blockIdx.x];
	int across = (b.nz + STREAM_CELL_Z - 1) / STREAM_CELL_Z, row = ROW ? ROW : s.row;
	struct stand at = { b.warp / across * STREAM_CELLS, b.warp % across, row, in };
	int x = b.x0 + at.x * STREAM_CELL_X, z = b.z0 + at.z * STREAM_CELL_Z;
	const int4 *range = (const int4 *)s.range + b.range;
	float acc[STREAM_CELLS][STREAM_CELL_X][4] = { };

	at.here += x * row + (z + (int)threadIdx.x / 4) * s.step;
	for (int kind = __ldg(&range->w); kind >= 0; kind = __ldg(&range->w))
		switch (kind) {
		case 0: range = walk<ROW, 0>(acc, s, at, range); break;
		case 1: range = walk<ROW, 1>(acc, s, at, range); break;
		case 2: range = walk<ROW, 2>(acc, s, at, range); break;
		case 3: range = walk<ROW, 3>(acc, s, at, range); break;
		case 4: range = walk<ROW, 4>(acc, s, at, range); break;
		case 5: range = walk<ROW, 5>(acc, s, at, range); break;
		case 6: range = walk<ROW, 6>(acc, s, at, range); break;
		default: range = walk<ROW, 7>(acc, s, at, range);
		}
	leave(out + b.slice * n, acc, s.out + b.out, x, z, s.unit, scale_of(survey->greatest));
}

static_assert(STREAM_KINDS == 8, "one walk each");

/* ---- to padded memory, and back from slices ---- */

/* A block takes a square of a plane through shared memory: it reads along x and writes along z. */
static __global__ void pad_image(unsigned *to, const float *x, struct srm_shape s, struct stream_image plane,
				 const struct survey *survey, struct layer l)
{
	__shared__ float tile[SQUARE][SQUARE + 1];
	int scale = scale_of(survey->greatest), nx = s.nc[0] * s.d[0], nz = s.nc[1] * s.d[1], y = blockIdx.z;
	int first_x = blockIdx.x * SQUARE, first_z = blockIdx.y * SQUARE;

	for (int i = threadIdx.x; i < SQUARE * SQUARE; i += blockDim.x) {
		int ix = first_x + i % SQUARE, iz = first_z + i / SQUARE;

		if (ix < nx && iz < nz)
			tile[i / SQUARE][i % SQUARE] = x[srm_voxel_index(&s, y, ix, iz)];
	}
	__syncthreads();
	for (int i = threadIdx.x; i < SQUARE * SQUARE; i += blockDim.x) {
		int ix = first_x + i / SQUARE, iz = first_z + i % SQUARE;

		if (ix < nx && iz < nz)
			to[stream_voxel(plane, y, ix, iz)] =
				halves_of(within(l, tile[i % SQUARE][i / SQUARE]), scale);
	}
}

static dim3 squares_of(const struct srm_shape *s)
{
	return dim3((unsigned)((s->nc[0] * s->d[0] + SQUARE - 1) / SQUARE),
		    (unsigned)((s->nc[1] * s->d[1] + SQUARE - 1) / SQUARE), (unsigned)s->planes);
}

static __global__ void pad_data(unsigned *to, const float *y, const struct direction_place *place,
				int row, const struct survey *survey, struct layer l)
{
	int scale = scale_of(survey->greatest);
	struct direction_place d = place[blockIdx.x];

	for (int i = threadIdx.x; i < d.nx * d.nz; i += blockDim.x)
		to[d.plane + (int64_t)(i / d.nz) * row + i % d.nz] =
			halves_of(within(l, y[d.row + i]), scale);
}

static __global__ void add_slices(float *out, const float *in, int slices, int64_t n, bool more)
{
	ISO_GRID_LOOP(i, n) {
		float sum = more ? out[i] : 0;

		for (int k = 0; k < slices; k++)
			sum += in[k * n + i];
		out[i] = sum;
	}
}

/* ---- the operator ---- */

static void launch(const iso_op *op, const struct srm_stream *s, const struct device_stream *on, int sub,
		   float *out, int64_t n, const unsigned *in)
{
	const struct survey *survey = ((const struct correlate_work *)op->work)->survey;
	int64_t first = s->block_of[sub], blocks = s->block_of[sub + 1] - first;
	auto kernel = on->row == 128 ? correlate<128> : on->row == 1024 ? correlate<1024> :
		      on->row == 1536 ? correlate<1536> : correlate<0>;

	kernel<<<(unsigned)blocks, ISO_WARP, 0, iso_stream(op->ctx)>>>(*on, first, out, n, in, survey);
}

/* An image is exact enough down to where its halves end; in the layers of an EM step each voxel is good to
   2^-19 of itself. Of data, quotients of the EM step, few may be great, which must not cost all others. */
static const struct rule image_rule = { 36, 255, 100 }, em_image_rule = { 20, 255, ~0u },
			 data_rule = { 24, 30, 100 };

/* The layer below `below`; the last one takes all that is left. */
static int next_layer(struct layer *l, const iso_op *op, const float *v, int64_t n, struct rule r,
		      unsigned below)
{
	struct survey *s = ((const struct correlate_work *)op->work)->survey, found;
	cudaStream_t stream = iso_stream(op->ctx);
	int st = iso_cuda_check("srm scale", cudaMemsetAsync(s, 0, sizeof *s, stream));

	if (st)
		return st;
	find_greatest<<<iso_blocks(n), ISO_THREADS, 0, stream>>>(s, v, n, below);
	count_small<<<iso_blocks(n), ISO_THREADS, 0, stream>>>(s, v, n, below, r);
	if ((st = iso_cuda_launched("srm scale")) ||
	    (st = op->ctx->vec->download(op->ctx, &found, s, sizeof found)))
		return st;
	if (found.infinite)
		return iso_fail(ISO_EARG, "srm: a value to project or to back project is not finite");
	bool more = (uint64_t)found.small * r.share > found.some || found.lost > found.some >> 20;

	l->from = more ? found.greatest - r.badly * POWER_OF_2 : 0;
	l->below = below;
	return ISO_OK;
}

/* The rows of a subset alone have room in the slices. */
static int forward_of(const iso_op *op, int sub, iso_real *y, bool more)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);

	launch(op, &c->forward, &c->on_forward, sub, w->slices - rows.first, rows.n, w->image);
	add_slices<<<iso_blocks(rows.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		y + rows.first, w->slices, c->forward.slices, rows.n, more);
	return iso_cuda_launched("srm forward");
}

/* Rows with counts whose mean is below `least`. */
static __global__ void count_faint(struct survey *s, struct iso_rows rows, const float *ax,
				   struct iso_em_data d, float least)
{
	unsigned n = 0;

	ISO_GRID_LOOP(i, rows.n) {
		int64_t row = rows.first + i;

		n += (!d.y || d.y[row] > 0) && (!d.mult || d.mult[row] != 0) &&
		     ax[row] + (d.add ? d.add[row] : 0) < least;
	}
	n = iso_warp_sum(n);
	if (threadIdx.x % ISO_WARP == 0)
		atomicAdd(&s->small, n);
}

/* Whether voxels below `from` matter to an EM step: to a row with counts, whose mean is less than 2^power
   times what any row has of voxels of that size. */
static int more_wanted(bool *wanted, const iso_op *op, int sub, const float *y, unsigned from, int power)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	struct survey found;
	float size;
	int st;

	*wanted = from > 0;
	if (!w->em || !*wanted)
		return ISO_OK;
	memcpy(&size, &from, sizeof size);
	if ((st = iso_cuda_check("srm layers", cudaMemsetAsync(w->survey, 0, sizeof *w->survey,
							       iso_stream(op->ctx)))))
		return st;
	count_faint<<<iso_blocks(rows.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		w->survey, rows, y, *w->em, ldexpf(size * c->row_most, power));
	if ((st = iso_cuda_launched("srm layers")) ||
	    (st = op->ctx->vec->download(op->ctx, &found, w->survey, sizeof found)))
		return st;
	*wanted = found.small > 0;
	return ISO_OK;
}

/* One layer; the survey is of it. */
static int forward_layer(const iso_op *op, int sub, iso_real *y, const iso_real *x, struct layer l, bool more)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	int end = sub == ISO_ALL ? m->n_sub : sub + 1, st = ISO_OK;

	pad_image<<<squares_of(&m->shape), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		w->image, x, m->shape, c->layout.plane, w->survey, l);
	for (int k = sub == ISO_ALL ? 0 : sub; k < end && !st; k++)
		st = forward_of(op, k, y, more);
	return st;
}

/* Layer by layer; in an EM step until those below add less than 2^-20 to any row with counts. */
static int forward_layers(const iso_op *op, int sub, iso_real *y, const iso_real *x, struct rule r)
{
	struct layer l = { INFINITE, 0 };
	bool wanted = true;
	int st = ISO_OK;

	for (bool more = false; wanted && !st; more = true)
		if (!(st = next_layer(&l, op, x, ((const struct srm_op *)op->data)->voxels, r, l.from)) &&
		    !(st = forward_layer(op, sub, y, x, l, more)))
			st = more_wanted(&wanted, op, sub, y, l.from, 20);
	return st;
}

/* At first all of the image at once, which leaves out up to 2^-39 of the greatest of each voxel: that is
   2^-13 of a row whose voxels have 2^-26 of the greatest, and counts from fainter ones are rare. Only where
   there are any, the image goes in layers. */
static int em_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct layer l, all = { 0, INFINITE };
	bool wanted;
	int st = next_layer(&l, op, x, ((const struct srm_op *)op->data)->voxels, em_image_rule, INFINITE);

	if (st || (st = forward_layer(op, sub, y, x, all, false)) ||
	    (st = more_wanted(&wanted, op, sub, y, l.from, -6)) || !wanted)
		return st;
	return forward_layers(op, sub, y, x, em_image_rule);
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	if (((const struct correlate_work *)op->work)->em)
		return em_forward(op, sub, y, x);
	return forward_layers(op, sub, y, x, image_rule);
}

static int adjoint_of(const iso_op *op, int sub, iso_real *x, const iso_real *y, bool more)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	const struct correlate_work *w = (const struct correlate_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	cudaStream_t stream = iso_stream(op->ctx);
	struct layer l = { INFINITE, 0 };
	int st = ISO_OK;

	for (; l.from > 0 && !st; more = true) {
		if ((st = next_layer(&l, op, y + rows.first, rows.n, data_rule, l.from))) break;
		pad_data<<<(unsigned)(m->sub[sub + 1] - m->sub[sub]), 128, 0, stream>>>(
			w->data, y, c->place + m->sub[sub], c->layout.row_data, w->survey, l);
		launch(op, &c->adjoint, &c->on_adjoint, sub, w->slices, m->voxels, w->data);
		add_slices<<<iso_blocks(m->voxels), ISO_THREADS, 0, stream>>>(x, w->slices,
									     c->adjoint.slices, m->voxels, more);
		st = iso_cuda_launched("srm adjoint");
	}
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	int st = ISO_OK;

	if (sub != ISO_ALL)
		return adjoint_of(op, sub, x, y, false);
	for (int k = 0; k < m->n_sub && !st; k++)
		st = adjoint_of(op, k, x, y, k > 0);
	return st;
}

static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		   const struct iso_em_data *d, struct iso_em_stat *stat)
{
	struct correlate_work *w = (struct correlate_work *)op->work;
	int st;

	w->em = d;
	st = iso_srm_step(op, sub, acc, x, d, stat, &w->step);
	w->em = NULL;
	return st;
}

/* ---- memory ---- */

static void close_work(iso_op *op)
{
	struct correlate_work *w = (struct correlate_work *)op->work;

	iso_srm_step_close(&w->step);
	cudaFree(w->image);
	cudaFree(w->data);
	cudaFree(w->survey);
	cudaFree(w->slices);
	free(w);
}

static int open_work(iso_op *op)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct correlate_cuda *c = (const struct correlate_cuda *)m->device;
	struct correlate_work *w = (struct correlate_work *)calloc(1, sizeof *w);
	int64_t forward_size = 0, adjoint_size = c->adjoint.slices * m->voxels;
	const struct iso_vec *v = op->ctx->vec;
	int st;

	if (!w)
		return iso_fail_memory("srm", sizeof *w);
	for (int k = 0; k < m->n_sub; k++)
		forward_size = max(forward_size, c->forward.slices * iso_op_rows(op, k).n);
	op->work = w;	/* from here close_work cleans up; memory comes zeroed */
	if ((st = iso_srm_step_open(&w->step, op)) ||
	    (st = v->alloc(op->ctx, (void **)&w->image, c->layout.image * (int64_t)sizeof(unsigned))) ||
	    (st = v->alloc(op->ctx, (void **)&w->data, c->layout.data * (int64_t)sizeof(unsigned))) ||
	    (st = v->alloc(op->ctx, (void **)&w->survey, sizeof *w->survey)))
		return st;
	return v->alloc(op->ctx, (void **)&w->slices,
			max(forward_size, adjoint_size) * (int64_t)sizeof(float));
}

static void free_stream(struct device_stream *d)
{
	cudaFree((void *)d->block);
	cudaFree((void *)d->range);
	cudaFree((void *)d->out);
	cudaFree((void *)d->reach);
	cudaFree((void *)d->offset);
	cudaFree(d->weight);
}

static void free_tables(struct correlate_cuda *c)
{
	free_stream(&c->on_forward);
	free_stream(&c->on_adjoint);
	iso_stream_free(&c->forward);
	iso_stream_free(&c->adjoint);
	iso_stream_layout_free(&c->layout);
	cudaFree(c->place);
	free(c);
}

static int put(iso_ctx *ctx, void *to, const void *from, int64_t bytes)
{
	void **p = (void **)to;
	int st = ctx->vec->alloc(ctx, p, bytes > 0 ? bytes : 1);

	return st ? st : ctx->vec->upload(ctx, *p, from, bytes);
}

/* Rows of weights that are uploaded at a time. */
#define STAGE 65536

static int put_weights(iso_ctx *ctx, struct device_stream *d, const struct srm_stream *s)
{
	float4 *stage = NULL;
	int st;

	d->unit = (float)s->unit;
	if ((st = ctx->vec->alloc(ctx, (void **)&d->weight,
				  max((int64_t)1, s->n_row * ISO_WARP * (int64_t)sizeof *d->weight))))
		return st;
	st = ctx->vec->alloc(ctx, (void **)&stage, STAGE * (int64_t)sizeof *s->weight);
	for (int64_t i = 0; i < s->n_row && !st; i += STAGE) {
		int64_t rows = min((int64_t)STAGE, s->n_row - i), n = rows * ISO_WARP;

		if ((st = ctx->vec->upload(ctx, stage, s->weight + i, rows * (int64_t)sizeof *s->weight))) break;
		to_halves<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(d->weight + i * ISO_WARP, stage, n,
									      s->unit);
		st = iso_cuda_launched("srm weights");
	}
	if (!st)
		st = iso_cuda_check("srm weights", cudaStreamSynchronize(iso_stream(ctx)));
	cudaFree(stage);
	return st;
}

/* Uploads; of the host's copy stays what says which blocks a subset has. */
static int put_stream(iso_ctx *ctx, struct device_stream *d, struct srm_stream *s)
{
	int64_t blocks = s->block_of[s->n_sub];
	int st;

	if ((st = put(ctx, &d->block, s->block, blocks * (int64_t)sizeof *s->block)) ||
	    (st = put(ctx, &d->range, s->range, s->n_range * (int64_t)sizeof *s->range)) ||
	    (st = put(ctx, &d->out, s->out, s->n_out * (int64_t)sizeof *s->out)) ||
	    (st = put(ctx, &d->reach, s->reach, s->n_step * (int64_t)sizeof *s->reach)) ||
	    (st = put(ctx, &d->offset, s->offset, s->n_step * (int64_t)sizeof *s->offset)) ||
	    (st = put_weights(ctx, d, s)))
		return st;
	free(s->block);
	free(s->range);
	free(s->out);
	free(s->reach);
	free(s->offset);
	free(s->weight);
	s->block = NULL;
	s->range = NULL;
	s->out = NULL;
	s->reach = NULL;
	s->offset = NULL;
	s->weight = NULL;
	return ISO_OK;
}

static int put_places(iso_ctx *ctx, struct correlate_cuda *c, const struct srm_op *m)
{
	struct direction_place *p = (struct direction_place *)calloc((size_t)m->n_direction, sizeof *p);
	int st;

	if (!p)
		return iso_fail_memory("srm", m->n_direction * (int64_t)sizeof *p);
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		p[j] = (struct direction_place){ d->first, c->layout.direction[j], d->nx, d->nz };
	}
	st = put(ctx, &c->place, p, m->n_direction * (int64_t)sizeof *p);
	free(p);
	return st;
}

/* The greatest sum of a direction's taps; rows at the edge have fewer. */
static float row_most(const struct iso_srm_rows *r)
{
	double most = 0;

	for (int64_t d = 0; d < r->directions; d++) {
		double sum = 0;

		for (int64_t i = d; i < r->n; i += r->directions)
			for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++)
				sum += r->w[k];
		most = sum > most ? sum : most;
	}
	return (float)most;
}

static int make_streams(iso_ctx *ctx, struct correlate_cuda *c, const struct srm_op *m)
{
	int layers = m->shape.layers, n = layers * layers, st = ISO_OK;
	struct iso_srm_rows *taps = (struct iso_srm_rows *)calloc((size_t)n, sizeof *taps);

	if (!taps)
		return iso_fail_memory("srm", n * (int64_t)sizeof *taps);
	for (int i = 0; i < n && !st; i++) {
		struct iso_srm_order o = { i / layers, i % layers, false, false };

		if (!(st = iso_srm_taps(&taps[i], ctx, m->srm, &o)))
			c->row_most = max(c->row_most, row_most(&taps[i]));
	}
	c->on_forward.row = c->layout.row_image;
	c->on_forward.step = m->shape.d[1];
	c->on_adjoint.row = c->layout.row_data;
	c->on_adjoint.step = 1;
	if (!st && !(st = iso_stream_forward(&c->forward, ctx, m, taps, &c->layout)))
		st = put_stream(ctx, &c->on_forward, &c->forward);
	if (!st && !(st = iso_stream_adjoint(&c->adjoint, ctx, m, taps, &c->layout)))
		st = put_stream(ctx, &c->on_adjoint, &c->adjoint);
	for (int i = 0; i < n; i++)
		iso_srm_rows_free(&taps[i]);
	free(taps);
	return st;
}

static void correlate_free(iso_op *op)
{
	free_tables((struct correlate_cuda *)((struct srm_op *)op->data)->device);
	iso_srm_op_free(op);
}

static const struct iso_op_fn correlate_fn = {
	forward, adjoint, em_step, iso_srm_op_rows, iso_srm_op_file_row, open_work, close_work,
	correlate_free, NULL,
};

int iso_srm_correlate_cuda(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	struct correlate_cuda *c = (struct correlate_cuda *)calloc(1, sizeof *c);
	int st;

	if (!c)
		return iso_fail_memory("srm", sizeof *c);
	if ((st = iso_stream_layout(&c->layout, m)) || (st = make_streams(op->ctx, c, m)) ||
	    (st = put_places(op->ctx, c, m))) {
		free_tables(c);
		return st;
	}
	m->device = c;
	op->fn = &correlate_fn;
	return ISO_OK;
}
