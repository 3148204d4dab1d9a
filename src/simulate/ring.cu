/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of an ideal ring on CUDA: a thread an event, a block of them at a time to the host. */
#include "core/cuda.cuh"
#include "ring.h"

#define BLOCK (1 << 22) /* events a launch: 112 MiB */

static __global__ void events(struct iso_event *e, struct ring q, int64_t first, int64_t n)
{
	ISO_GRID_LOOP (i, n) ring_event(e + i, &q, (uint64_t)(first + i));
}

extern "C" int iso_ring_events_cuda(struct iso_event *e, iso_ctx *ctx, const struct ring *q, int64_t first,
                                    int64_t n)
{
	int64_t block = n < BLOCK ? n : BLOCK;
	void *device = NULL;
	int st = ctx->vec->alloc(ctx, &device, block * (int64_t)sizeof *e);

	for (int64_t i = 0; i < n && !st; i += block) {
		int64_t m = n - i < block ? n - i : block;

		events<<<iso_blocks(m), ISO_THREADS, 0, iso_stream(ctx)>>>((struct iso_event *)device, *q,
		                                                           first + i, m);
		if ((st = iso_cuda_launched("ring events")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, e + i, device, m * (int64_t)sizeof *e);
	}
	ctx->vec->free(ctx, device);
	return st;
}
