/* SPDX-License-Identifier: BSD-3-Clause */
/* Single directions (srm_single.h): a thread has 8 x 3 places in registers, and a warp walks the strips
   of its direction. Nothing is added to by two threads: every run gives the same bits. For srm_correlate.cu. */
#ifndef ISO_SRM_SINGLE_CUH
#define ISO_SRM_SINGLE_CUH

#include "model/srm/srm_cuda.cuh"
#include "srm_single.h"

static_assert(sizeof(struct single_strip) == sizeof(uint4), "loaded as one");
static_assert(sizeof(struct single_quad) == sizeof(float4), "loaded as one");
static_assert(SINGLE_THREADS == ISO_WARP, "they walk together");
static_assert(SINGLE_ROWS == 4, "a case each in single_forward");
static_assert((SINGLE_COLUMNS + SINGLE_Z - 1) * SINGLE_ROWS <= 64, "bits of a mask");

/* What the warps of a subset walk. */
struct single_walk {
	const struct single_block *block;
	const uint4 *strip;
	const float4 *quad;
	struct single_image image;
};

/* The quads that a column of a strip reads: one for each of a thread's SINGLE_X places, and ROWS - 1 more, as
   row r of the strip reads r cells further. */
template <int ROWS> struct single_window {
	float4 v[SINGLE_X + ROWS - 1];
};

/* Column c of the image meets column c - j of the weights at place j along z: bits 4 (SINGLE_Z - 1 - j) ...
   of `taps` say which rows it has, none outside the strip. */
template <int ROWS>
static __device__ __forceinline__ void add_column(float (&sum)[SINGLE_Z][SINGLE_X], const float4 *weight,
                                                  const struct single_window<ROWS> &at, unsigned taps)
{
#pragma unroll
	for (int j = 0; j < SINGLE_Z; j++)
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			if (!(taps >> ((SINGLE_Z - 1 - j) * SINGLE_ROWS + r) & 1)) continue;
			float4 w = __ldg(weight - j * ROWS + r);

#pragma unroll
			for (int i = 0; i < SINGLE_X; i++) {
				sum[j][i] = fmaf(w.x, at.v[i + r].x, sum[j][i]);
				sum[j][i] = fmaf(w.y, at.v[i + r].y, sum[j][i]);
				sum[j][i] = fmaf(w.z, at.v[i + r].z, sum[j][i]);
				sum[j][i] = fmaf(w.w, at.v[i + r].w, sum[j][i]);
			}
		}
}

template <int ROWS>
static __device__ __forceinline__ void add_strip(float (&sum)[SINGLE_Z][SINGLE_X], const float4 *from,
                                                 const float4 *weight, uint4 strip,
                                                 const struct single_image &m)
{
	int columns = (strip.y >> 8 & 255) + SINGLE_Z - 1, part = strip.y >> 16 & 255;
	uint64_t mask = ((uint64_t)strip.w << 32 | strip.z) << (SINGLE_Z - 1) * SINGLE_ROWS;

#pragma unroll 1
	for (int c = 0; c < columns; c++) {
		struct single_window<ROWS> at;

#pragma unroll
		for (int i = 0; i < SINGLE_X + ROWS - 1; i++) at.v[i] = __ldg(from + i * (SINGLE_Z * m.part));
		add_column(sum, weight, at, (unsigned)mask);
		mask >>= SINGLE_ROWS;
		weight += ROWS;
		from += single_next(m, part);
		part = (part + 1) % SINGLE_Z;
	}
}

static __global__ void __launch_bounds__(ISO_WARP, SRM_RESIDENT(18))
	single_forward(struct single_walk s, float *out, struct iso_rows rows, const float4 *image)
{
	struct single_block b = s.block[blockIdx.x];
	int across = (b.nz + SINGLE_Z - 1) / SINGLE_Z, last = single_threads(b.nx, b.nz) - 1;
	int thread = min(b.warp * ISO_WARP + (int)threadIdx.x, last);
	int x = thread / across * SINGLE_X, z = thread % across * SINGLE_Z;
	const float4 *here = image + (int64_t)x * SINGLE_Z * s.image.part + z / SINGLE_Z;
	const float4 *weight = s.quad + b.quad;
	float sum[SINGLE_Z][SINGLE_X] = {};

#pragma unroll 1
	for (int i = 0; i < b.n; i++) {
		uint4 strip = __ldg(s.strip + b.strip + i);
		const float4 *from = here + (int)strip.x;

		switch (strip.y & 255) {
		case 1:
			add_strip<1>(sum, from, weight, strip, s.image);
			break;
		case 2:
			add_strip<2>(sum, from, weight, strip, s.image);
			break;
		case 3:
			add_strip<3>(sum, from, weight, strip, s.image);
			break;
		default:
			add_strip<4>(sum, from, weight, strip, s.image);
		}
		weight += (strip.y & 255) * (strip.y >> 8 & 255);
	}
#pragma unroll
	for (int i = 0; i < SINGLE_Z * SINGLE_X; i++) {
		int px = x + i % SINGLE_X, pz = z + i / SINGLE_X;

		if (px < b.nx && pz < b.nz)
			out[b.slice * rows.n + b.row - rows.first + (int64_t)px * b.nz + pz] =
				sum[i / SINGLE_X][i % SINGLE_X];
	}
}

static __global__ void pad_quads(float *to, unsigned *infinite, const float *x, struct srm_shape s,
                                 struct single_image m)
{
	srm_turn(
		x, s,
		[&](float v) {
			if (!isfinite(v)) atomicAdd(infinite, 1);
		},
		[&](int y, int ix, int iz, float v) { to[single_voxel(m, y, ix, iz)] = v; });
}

/* Strips of all directions, and their blocks, onto the device. */
static int single_upload(struct srm_single *s, struct iso_room *room, const struct srm_op *m,
                         const struct iso_srm_rows *taps)
{
	int st = iso_single_make(s, room, m, taps);

	if (st) return st;
	ISO_MOVE(room, s->block, s->block_of[s->n_sub]);
	ISO_MOVE(room, s->strip, s->n_strip);
	ISO_MOVE(room, s->quad, s->n_quad);
	return room->status;
}

#endif
