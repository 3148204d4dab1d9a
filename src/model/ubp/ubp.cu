/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp on CUDA. A block has a brick of 8 x 8 x 32 voxels and goes through all transducers. A
   warp has 4 x 4 x 2 neighbours at a time, which hear one transducer within a few samples of each
   other: its loads meet one or two lines of the cache. Each thread has EACH voxels, one above the
   other, that share the distance in the plane. A rank has its share of the bricks. */
#include "core/loop/bricks.cuh"
#include "tissue/tissue_view.cuh"
#include "ubp_kern.h"

#include <limits.h>

#define EACH 8   /* voxels of a thread, 2 apart along z */
#define NODES 5  /* of tables, that a thread's voxels pass at most: more are looked up one by one */
#define TILE 128 /* transducers in shared memory at a time; their terms are added in float */

static_assert(sizeof(struct ubp_pair) == sizeof(float2), "pairs are loaded as float2");
static_assert(sizeof(struct ubp_source) == sizeof(float4), "sources are loaded as float4");

/* Tissue, with its tables on the device. */
struct ubp_tissue {
	struct sound sound;
	const double *pos; /* (sources, 3) */
	float per_us;      /* samples */
};

struct ubp_cuda_work {
	float2 *pair;  /* (sources, pairs) */
	float *packed; /* of core/loop/bricks.cuh */
};

static __global__ void fill_pairs(float2 *pair, struct ubp_params p, const struct ubp_face *face,
                                  const int64_t *first, const float *y)
{
	ISO_GRID_LOOP (i, (int64_t)p.sources * p.pairs) {
		int64_t q = i / p.pairs;
		struct ubp_pair v = ubp_pair_of(y + q * p.samples, p.samples, first[q], (int)(i % p.pairs),
		                                2. * face[q].area);

		pair[i] = make_float2(v.p, v.slope);
	}
}

/* Voxels beyond the image hear what the last one does: its delays lie inside the tables. */
static __device__ float centre(const struct ubp_params &p, int axis, int64_t i)
{
	return (float)(p.first[axis] + (double)min(i, p.n[axis] - 1) * p.voxel);
}

#define HIGH 0x4b000000 /* the bits of 2^23 */

/* What a thread sums up for one voxel in a tile. */
struct sums {
	float near, slope, angle;
};

/* `trace` begins HIGH before the transducer's first pair: the whole part of a delay k, 0 <= k < 2^22, is found
   by rounding down at 2^23, which is quicker than a conversion, and is HIGH too great. */
template <bool ANGLES>
static __device__ __forceinline__ void add(struct sums *s, float own_per_mm, float per_d, float d, float k,
                                           const float2 *trace, float along, float area)
{
	float shifted = __fadd_rd(k, __int_as_float(HIGH)), f = k - (shifted - __int_as_float(HIGH));
	float2 v = __ldg(trace + __float_as_uint(shifted));
	struct ubp_pair pair = { v.x, v.y };

	if (ANGLES) {
		float w = ubp_angle(per_d, along);

		s->near = fmaf(w, ubp_term(d * own_per_mm, f, pair), s->near);
		s->angle = fmaf(w, area, s->angle);
	} else {
		s->near += ubp_near(per_d, f, pair);
		s->slope += v.y;
	}
}

template <bool ANGLES, int TISSUE>
static __global__ void __launch_bounds__(ISO_THREADS, TISSUE > TISSUE_SHAPE ? 2
                                                      : TISSUE || ANGLES    ? 3
                                                                            : 4)
	back_project(float *x, struct ubp_params p, struct iso_bricks b, const float4 *source,
                     const float4 *face, const float2 *pair, struct ubp_tissue m)
{
	__shared__ struct tissue_view view[TISSUE ? TILE : 1];
	__shared__ float4 at[TILE], normal[ANGLES ? TILE : 1];
	__shared__ int64_t brick[3];
	/* the thread's first voxel in the brick: x and y of 8 x 8, z of 2 halves with EACH pairs */
	const int lane = threadIdx.x % ISO_WARP, warp = threadIdx.x / ISO_WARP;
	const int3 t = make_int3(warp % 2 * 4 + lane % 4, warp / 2 % 2 * 4 + lane / 4 % 4,
	                         warp / 4 * (2 * EACH) + lane / 16);
	double sum[EACH] = { 0 }, angle[EACH] = { 0 };

	iso_brick_of_block(brick, b);
	float px = centre(p, 0, brick[0] + t.x), py = centre(p, 1, brick[1] + t.y), pz[EACH];

	for (int i = 0; i < EACH; i++) pz[i] = centre(p, 2, brick[2] + t.z + 2 * i);

	struct tissue_brick tb = {};
	float own_per_mm[EACH], ox = 0, oy = 0, mz = 0;

	for (int i = 0; i < EACH; i++) own_per_mm[i] = p.per_mm;
	if (TISSUE) {
		const double middle[3] = { p.first[0] + ((double)brick[0] + 3.5) * p.voxel,
			                   p.first[1] + ((double)brick[1] + 3.5) * p.voxel,
			                   p.first[2] + ((double)brick[2] + 2 * EACH - .5) * p.voxel };
		int64_t at[2] = { min(brick[0] + t.x, p.n[0] - 1), min(brick[1] + t.y, p.n[1] - 1) };

		tb = tissue_brick<TISSUE>(m.sound, middle);
		ox = (float)(p.first[0] + (double)at[0] * p.voxel - middle[0]);
		oy = (float)(p.first[1] + (double)at[1] * p.voxel - middle[1]);
		mz = (float)middle[2];
		for (int i = 0; i < EACH; i++) {
			int64_t z = min(brick[2] + t.z + 2 * i, p.n[2] - 1);

			own_per_mm[i] = p.per_mm * (float)(m.sound.c0 / m.sound.c1) *
			                m.sound.ratio[(z * p.n[1] + at[1]) * p.n[0] + at[0]];
		}
	}
	for (int from = 0; from < p.sources; from += TILE) {
		int n = min(TILE, p.sources - from);
		const float2 *trace = pair + (int64_t)from * p.pairs - HIGH;
		struct sums s[EACH] = {};

		__syncthreads();
		for (int i = threadIdx.x; i < n; i += blockDim.x) {
			at[i] = source[from + i];
			if (ANGLES) normal[i] = face[from + i];
			if (TISSUE) {
				const double *stands = m.pos + 3 * (int64_t)(from + i);

				view[i] = tissue_view<TISSUE>(m.sound, tb, from + i, stands, stands);
			}
		}
		__syncthreads();
		for (int q = 0; q < n; q++, trace += p.pairs) {
			float4 c = at[q], f = ANGLES ? normal[q] : make_float4(0, 0, 0, 0);
			float dx = px - c.x, dy = py - c.y, across = fmaf(dx, dx, dy * dy);
			float beside = fmaf(dx, f.x, dy * f.y);
			struct tissue_line line = {};

			if (TISSUE)
				line = tissue_line<TISSUE, 2, NODES>(m.sound, tb, view[q], ox, oy, 0,
				                                     pz[0] - mz, pz[EACH - 1] - mz);
#pragma unroll
			for (int i = 0; i < EACH; i++) {
				float dz = pz[i] - c.z, d2 = fmaf(dz, dz, across), per_d = iso_over_root(d2);
				float d = d2 * per_d, k = fmaf(d, p.per_mm, -c.w), unused = 1;

				if (TISSUE)
					k = fmaf(tissue_late<TISSUE, NODES>(&unused, m.sound, tb, view[q],
					                                    line, pz[i] - mz, ox, oy,
					                                    pz[i] - mz, d2, per_d),
					         m.per_us, k);
				add<ANGLES>(s + i, own_per_mm[i], per_d, d, k, trace, fmaf(dz, f.z, beside),
				            f.w);
			}
		}
		for (int i = 0; i < EACH; i++) {
			sum[i] += ANGLES ? s[i].near : s[i].near + .5f * own_per_mm[i] * s[i].slope;
			angle[i] += s[i].angle;
		}
	}
	for (int i = 0; i < EACH; i++) {
		double a = p.scale * sum[i];

		if (ANGLES) a = angle[i] > 0 ? a / angle[i] : 0;
		iso_brick_put(x, b, brick, t.x, t.y, t.z + 2 * i, (float)a);
	}
}

static struct iso_bricks bricks(const iso_op *op)
{
	return iso_bricks(op->ctx, ((const struct ubp_model *)op->data)->p.n, 8, 8, 4 * EACH);
}

#define OF_KINDS(angles)                                                                            \
	{                                                                                           \
		back_project<angles, TISSUE_NONE>, back_project<angles, TISSUE_BALL>,               \
			back_project<angles, TISSUE_SHAPE>, back_project<angles, TISSUE_BENT_BALL>, \
			back_project<angles, TISSUE_BENT>, back_project<angles, TISSUE_TABLE>       \
	}

static void (*const kernels[2][TISSUE_KINDS])(float *, struct ubp_params, struct iso_bricks, const float4 *,
                                              const float4 *, const float2 *,
                                              struct ubp_tissue) = { OF_KINDS(false), OF_KINDS(true) };

/* The pairs of all transducers, and this rank's bricks. */
static int back_project_own(const iso_op *op, float *x, const struct iso_bricks &b, const float *y)
{
	const struct ubp_model *m = (const struct ubp_model *)op->data;
	const struct ubp_cuda_work *w = (const struct ubp_cuda_work *)op->work;
	const struct ubp_tissue tissue = { m->sound, m->pos, (float)(m->p.per_mm * m->sound.c0) };
	auto kernel = kernels[m->weights == ISO_UBP_SPHERE ? 0 : 1][tissue_kind_of(m->delays)];
	cudaStream_t stream = iso_stream(op->ctx);
	int st;

	if (b.own.n == 0) return ISO_OK;
	fill_pairs<<<iso_blocks((int64_t)m->p.sources * m->p.pairs), ISO_THREADS, 0, stream>>>(
		w->pair, m->p, m->face, m->first, y);
	if ((st = iso_cuda_launched("pairs of samples"))) return st;
	kernel<<<(unsigned)b.own.n, ISO_THREADS, 0, stream>>>(x, m->p, b, (const float4 *)m->source,
	                                                      (const float4 *)m->face, w->pair, tissue);
	return iso_cuda_launched("filtered back-projection");
}

static int ubp_adjoint(const iso_op *op, int, float *x, const float *y)
{
	struct iso_bricks b = bricks(op);

	b.packed = ((const struct ubp_cuda_work *)op->work)->packed;
	return iso_bricks_gather(x, b, op->ctx, back_project_own(op, x, b, y));
}

static int ubp_open(iso_op *op)
{
	const struct ubp_model *m = (const struct ubp_model *)op->data;
	struct ubp_cuda_work *w = (struct ubp_cuda_work *)op->work;

	ISO_DEVICE(&op->room, w->pair, (int64_t)m->p.sources * m->p.pairs);
	w->packed = iso_bricks_room(&op->room, bricks(op));
	return op->room.status;
}

static const struct iso_op_fn ubp_fn_cuda = {
	NULL,
	ubp_adjoint,
	NULL,
	NULL,
	NULL,
	NULL,
	ubp_open,
	NULL,
	iso_ubp_free,
	NULL,
	sizeof(struct ubp_cuda_work),
	UBP_CANNOT,
	NULL,
	NULL,
};

/* The transducers move to the device; the host's copies go. */
extern "C" int iso_ubp_to_cuda(iso_op *op)
{
	struct ubp_model *m = (struct ubp_model *)op->data;
	struct iso_room *room = &op->shared->room;

	if (bricks(op).all > INT_MAX)
		return iso_fail(ISO_EARG, "ubp: %lld x %lld x %lld voxels, too many for CUDA",
		                (long long)m->p.n[0], (long long)m->p.n[1], (long long)m->p.n[2]);
	ISO_MOVE(room, m->source, m->p.sources);
	ISO_MOVE(room, m->face, m->p.sources);
	ISO_MOVE(room, m->first, m->p.sources);
	if (m->delays) {
		tissue_upload(room, &m->sound, m->delays);
		ISO_UPLOAD(room, m->pos, m->delays->pos, 3 * (int64_t)m->p.sources);
	}
	op->fn = &ubp_fn_cuda;
	return room->status;
}
