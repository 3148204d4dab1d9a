/* SPDX-License-Identifier: BSD-3-Clause */
/* Coincidences of a point source on CUDA: a thread a decay, sums in shared memory, readings on the device. */
#include "core/cuda.cuh"
#include "transport.h"

static __global__ void coincidences(unsigned long long *count, struct transport_source s,
                                    const struct transport *reading, int64_t first, int64_t n)
{
	__shared__ unsigned long long part[TRANSPORT_READINGS];

	if (threadIdx.x < TRANSPORT_READINGS) part[threadIdx.x] = 0;
	__syncthreads();
	ISO_GRID_LOOP (i, n) {
		struct transport_track k[2];
		struct transport_hit hit[2];
		uint64_t history = (uint64_t)(first + i);

		if (!transport_tracks(k, reading, s.point, s.stream, history)) continue;
		for (int r = 0; r < s.readings; r++)
			if (transport_combine(hit, reading + r, k, k + 1, 0, s.stream, history))
				atomicAdd(part + r, 1ull);
	}
	__syncthreads();
	if ((int)threadIdx.x < s.readings) atomicAdd(count + threadIdx.x, part[threadIdx.x]);
}

extern "C" int iso_transport_count_cuda(int64_t *count, iso_ctx *ctx, const struct transport_source *s,
                                        int64_t first, int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "transport");
	unsigned long long part[TRANSPORT_READINGS], *sum;
	const struct transport *device;
	int st;

	ISO_UPLOAD(&room, device, s->reading, s->readings);
	ISO_DEVICE(&room, sum, s->readings);
	if (!(st = room.status)) {
		coincidences<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(sum, *s, device, first, n);
		st = iso_cuda_launched("transport");
	}
	if (!st) st = ctx->vec->download(ctx, part, sum, s->readings * (int64_t)sizeof *part);
	for (int r = 0; r < s->readings && !st; r++) count[r] += (int64_t)part[r];
	iso_room_free(&room);
	return st;
}
