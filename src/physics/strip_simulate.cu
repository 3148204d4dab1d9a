/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events of two strips on CUDA: a thread an event, a block of them at a time to the
   host. */
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

/* `s` with its rows on the device. */
static int run(struct iso_strip_event *e, iso_ctx *ctx, const struct strip_scan *s,
               struct iso_strip_event *device, void *decays, int64_t first, int64_t n)
{
	int64_t block = n < BLOCK ? n : BLOCK;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i += block) {
		int64_t m = n - i < block ? n - i : block;

		events<<<iso_blocks(m), ISO_THREADS, 0, iso_stream(ctx)>>>(
			device, (unsigned long long *)decays, *s, first + i, m);
		if ((st = iso_cuda_launched("strip events")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, e + i, device, m * (int64_t)sizeof *e);
	}
	return st;
}

extern "C" int iso_strip_simulate_cuda(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx,
                                       const struct strip_scan *s, int64_t first, int64_t n)
{
	int64_t rows = s->n * (int64_t)sizeof *s->row, block = n < BLOCK ? n : BLOCK;
	void *row = NULL, *device = NULL, *count = NULL;
	struct strip_scan q = *s;
	int st;

	if ((st = ctx->vec->alloc(ctx, &row, rows)) || (st = ctx->vec->alloc(ctx, &count, sizeof *decays)) ||
	    (st = ctx->vec->alloc(ctx, &device, block * (int64_t)sizeof *e)) ||
	    (st = ctx->vec->upload(ctx, row, s->row, rows)))
		goto done;
	q.row = (const struct strip_row *)row;
	if ((st = run(e, ctx, &q, (struct iso_strip_event *)device, count, first, n))) goto done;
	st = ctx->vec->download(ctx, decays, count, sizeof *decays);
done:
	ctx->vec->free(ctx, row);
	ctx->vec->free(ctx, count);
	ctx->vec->free(ctx, device);
	return st;
}
