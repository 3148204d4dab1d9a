/* SPDX-License-Identifier: BSD-3-Clause */
/* A phantom on a grid on CUDA: a block a row of voxels, a thread a voxel. */
#include "core/cuda.cuh"
#include "raster_kern.h"

#define THREADS 128
#define BLOCKS (1ll << 11) /* at most */
#define LISTS \
	(1ll << 25) /* numbers of shapes in the lists of all blocks, or those of one list if these are more */

/* Of all volumes those that reach into slice and row, in their order, into list[]: by one warp; how many. */
static __device__ int thin_out(int32_t *list, const struct raster &r, const struct shape_box &slice,
                               const struct shape_box &row)
{
	const int lane = threadIdx.x % ISO_WARP;
	int n = 0;

	for (int i = 0; i < r.n; i += ISO_WARP) {
		const int k = i + lane;
		const bool in = k < r.n && shape_meets(r.shape + k, &slice) != SHAPE_OUTSIDE &&
		                shape_meets(r.shape + k, &row) != SHAPE_OUTSIDE;
		const unsigned who = __ballot_sync(ISO_FULL_WARP, in);

		if (in) list[n + __popc(who & ((1u << lane) - 1))] = k;
		n += __popc(who);
	}
	return n;
}

/* Slices z0 to z0 + slices - 1, into image; lists: r.n numbers a block. */
static __global__ void __launch_bounds__(THREADS)
	rows(iso_real *image, int32_t *lists, const struct raster r, int64_t z0, int64_t slices)
{
	__shared__ int count;
	int32_t *list = lists + (int64_t)blockIdx.x * r.n;

	for (int64_t i = blockIdx.x; i < slices * r.g.n[1]; i += gridDim.x) {
		struct shape_box slice, row;

		raster_slice_box(&slice, &r.g, z0 + i / r.g.n[1]);
		row = slice;
		raster_row_box(&row, &r.g, i % r.g.n[1]);
		if (threadIdx.x < ISO_WARP) {
			const int n = thin_out(list, r, slice, row);

			if (threadIdx.x == 0) count = n;
		}
		__syncthreads();
		const struct pile pile = { count, list };

		for (int64_t x = threadIdx.x; x < r.g.n[0]; x += THREADS)
			image[i * r.g.n[0] + x] = (iso_real)raster_voxel(&r, &pile, &row, x);
		__syncthreads(); /* the list and its length are in use until here */
	}
}

/* As raster_volumes of raster.c, with a context of CUDA. */
extern "C" int iso_raster_cuda(iso_real *image, iso_ctx *ctx, const struct raster *of)
{
	struct iso_room room = iso_room_of(ctx, "phantom");
	struct raster r = *of;
	const int64_t slice = r.g.n[0] * r.g.n[1], piece = slice < RASTER_PIECE ? RASTER_PIECE / slice : 1;
	const int64_t most = piece < r.g.n[2] ? piece : r.g.n[2]; /* slices at a time */
	const int64_t fit = r.n > LISTS / BLOCKS ? LISTS / r.n : BLOCKS, all = most * r.g.n[1];
	const int64_t blocks = fit < 1 ? 1 : fit < all ? fit : all;
	iso_real *device;
	int32_t *lists;
	int st = iso_cuda_use(ctx);

	ISO_UPLOAD(&room, r.shape, of->shape, of->n);
	ISO_DEVICE(&room, lists, blocks * r.n);
	ISO_DEVICE(&room, device, most * slice);
	if (!st) st = room.status;
	for (int64_t z = 0; z < r.g.n[2] && !st; z += most) {
		const int64_t slices = r.g.n[2] - z < most ? r.g.n[2] - z : most;

		rows<<<(int)blocks, THREADS, 0, iso_stream(ctx)>>>(device, lists, r, z, slices);
		if ((st = iso_cuda_launched("phantom")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, image + z * slice, device,
		                        slices * slice * (int64_t)sizeof *image);
	}
	iso_room_free(&room);
	return st;
}
