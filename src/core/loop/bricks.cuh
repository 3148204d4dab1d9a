/* SPDX-License-Identifier: BSD-3-Clause */
/* An image that a kernel makes brick by brick, each by a block of threads. A rank has its share of the bricks, which
   are numbered with x fastest. One rank alone puts them in their places of the image; several put them one behind the
   other, so that shares can be gathered, and then in their places. */
#ifndef ISO_BRICKS_CUH
#define ISO_BRICKS_CUH

#include "core/comm.h"
#include "core/cuda.cuh"
#include "core/hd.h"

struct iso_bricks {
	int64_t n[3];          /* voxels of the image along x, y, z */
	int edge[3];           /* of a brick */
	int64_t along[3], all; /* bricks */
	struct iso_rows own;   /* this rank's */
	float *packed;         /* all bricks, whole ones, their voxels x fastest; NULL: one rank */
};

ISO_HD int64_t iso_brick_voxels(const struct iso_bricks &b)
{
	return (int64_t)b.edge[0] * b.edge[1] * b.edge[2];
}

static inline struct iso_bricks iso_bricks(const iso_ctx *ctx, const int64_t n[3], int ex, int ey, int ez)
{
	struct iso_bricks b = { { n[0], n[1], n[2] }, { ex, ey, ez }, {}, 1, {}, NULL };

	for (int a = 0; a < 3; a++) {
		b.along[a] = (n[a] + b.edge[a] - 1) / b.edge[a];
		b.all *= b.along[a];
	}
	b.own = iso_share(ctx, b.all);
	return b;
}

/* Room for the bricks of all ranks, where there are several. */
static inline float *iso_bricks_room(struct iso_room *room, const struct iso_bricks &b)
{
	bool several = iso_ranks(room->ctx) > 1;

	return several ? (float *)iso_room_device(room, b.all, iso_brick_voxels(b) * (int64_t)sizeof(float))
	               : NULL;
}

/* The first voxel of the brick of this block of threads, which wait for it: `first` is in their shared memory, so that
   no thread keeps it in registers all the way to iso_brick_put. */
static __device__ inline void iso_brick_of_block(int64_t first[3], const struct iso_bricks &b)
{
	int64_t number = b.own.first + blockIdx.x, row = number / b.along[0];

	if (threadIdx.x == 0) {
		first[0] = number % b.along[0] * b.edge[0];
		first[1] = row % b.along[1] * b.edge[1];
		first[2] = row / b.along[1] * b.edge[2];
	}
	__syncthreads();
}

/* Where voxel (x, y, z) of the image lies among the packed bricks. */
static __device__ inline int64_t iso_brick_voxel(const struct iso_bricks &b, int64_t x, int64_t y, int64_t z)
{
	int64_t brick = (z / b.edge[2] * b.along[1] + y / b.edge[1]) * b.along[0] + x / b.edge[0];

	return brick * iso_brick_voxels(b) + (z % b.edge[2] * b.edge[1] + y % b.edge[1]) * b.edge[0] +
	       x % b.edge[0];
}

/* Voxel (ix, iy, iz) of the brick whose first is `first`; it may lie beyond the image. */
static __device__ inline void iso_brick_put(float *image, const struct iso_bricks &b, const int64_t first[3],
                                            int ix, int iy, int iz, float value)
{
	int64_t x = first[0] + ix, y = first[1] + iy, z = first[2] + iz;

	if (x >= b.n[0] || y >= b.n[1] || z >= b.n[2]) return;
	if (b.packed)
		b.packed[iso_brick_voxel(b, x, y, z)] = value;
	else
		image[(z * b.n[1] + y) * b.n[0] + x] = value;
}

static __global__ void iso_bricks_place(float *image, struct iso_bricks b)
{
	ISO_GRID_LOOP (i, b.n[0] * b.n[1] * b.n[2])
		image[i] = b.packed[iso_brick_voxel(b, i % b.n[0], i / b.n[0] % b.n[1], i / b.n[0] / b.n[1])];
}

/* The image from the bricks of all ranks; collective, see comm.h. */
static inline int iso_bricks_gather(float *x, const struct iso_bricks &b, iso_ctx *ctx, int st)
{
	if (!b.packed) return iso_comm_agree(ctx, st);
	if ((st = iso_comm_gather(ctx, st, b.packed, b.all, iso_brick_voxels(b) * (int64_t)sizeof *x)))
		return st;
	iso_bricks_place<<<iso_blocks(b.n[0] * b.n[1] * b.n[2]), ISO_THREADS, 0, iso_stream(ctx)>>>(x, b);
	return iso_cuda_launched("bricks of ranks");
}

#endif
