/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events of two strips on CUDA: a thread an event, a block of them at a time to the host. */
#include "core/cuda.cuh"
#include "strip_simulate.h"

#define BLOCK (1 << 22) /* events a launch: 48 MiB */

static __global__ void events(struct iso_strip_event *e, unsigned long long *decays, struct strip_scan s,
                              int64_t first, int64_t n)
{
	unsigned long long sum = 0;

	ISO_GRID_LOOP (i, n) sum += (unsigned long long)strip_event(e + i, &s, (uint64_t)(first + i));
	atomicAdd(decays, sum);
}

extern "C" int iso_strip_simulate_cuda(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx,
                                       const struct strip_scan *s, int64_t first, int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "strip events");
	int64_t block = n < BLOCK ? n : BLOCK;
	struct iso_strip_event *device;
	unsigned long long *count;
	struct strip_scan q = *s;
	int st;

	ISO_UPLOAD(&room, q.row, s->row, s->n);
	ISO_DEVICE(&room, count, 1);
	ISO_DEVICE(&room, device, block);
	st = room.status;
	for (int64_t i = 0; i < n && !st; i += block) {
		int64_t m = n - i < block ? n - i : block;

		events<<<iso_blocks(m), ISO_THREADS, 0, iso_stream(ctx)>>>(device, count, q, first + i, m);
		if ((st = iso_cuda_launched("strip events")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, e + i, device, m * (int64_t)sizeof *e);
	}
	if (!st) st = ctx->vec->download(ctx, decays, count, sizeof *decays);
	iso_room_free(&room);
	return st;
}
