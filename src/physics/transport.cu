/* SPDX-License-Identifier: BSD-3-Clause */
/* Coincidences of a point source on CUDA: a thread a decay, sums in shared memory. */
#include "core/cuda.cuh"
#include "transport.h"

struct point {
	float v[3];
};

static __global__ void coincidences(unsigned long long *count, const struct transport *reading,
                                    int n_readings, struct point at, uint32_t stream, int64_t first,
                                    int64_t n)
{
	__shared__ unsigned long long part[TRANSPORT_READINGS];

	if (threadIdx.x < TRANSPORT_READINGS) part[threadIdx.x] = 0;
	__syncthreads();
	ISO_GRID_LOOP (i, n) {
		struct transport_track k[2];
		struct transport_hit hit[2];
		uint64_t history = (uint64_t)(first + i);

		if (!transport_tracks(k, reading, at.v, stream, history)) continue;
		for (int r = 0; r < n_readings; r++)
			if (transport_combine(hit, reading + r, k, k + 1, 0, stream, history))
				atomicAdd(part + r, 1ull);
	}
	__syncthreads();
	if ((int)threadIdx.x < n_readings) atomicAdd(count + threadIdx.x, part[threadIdx.x]);
}

extern "C" int iso_transport_count_cuda(int64_t *count, iso_ctx *ctx, const struct transport *reading,
                                        int n_readings, const float point[3], uint32_t stream, int64_t first,
                                        int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "transport");
	struct point at = { { point[0], point[1], point[2] } };
	unsigned long long part[TRANSPORT_READINGS], *sum;
	const struct transport *device;
	int st;

	ISO_UPLOAD(&room, device, reading, n_readings);
	ISO_DEVICE(&room, sum, n_readings);
	if (!(st = room.status)) {
		coincidences<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(sum, device, n_readings, at,
		                                                                 stream, first, n);
		st = iso_cuda_launched("transport");
	}
	if (!st) st = ctx->vec->download(ctx, part, sum, n_readings * (int64_t)sizeof *part);
	for (int r = 0; r < n_readings && !st; r++) count[r] += (int64_t)part[r];
	iso_room_free(&room);
	return st;
}
