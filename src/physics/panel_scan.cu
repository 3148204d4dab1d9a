/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of two panels on CUDA: a thread a decay, then those that are events pushed together in
   their order. */
#include "core/cuda.cuh"
#include "panel_scan.h"

#include <cub/device/device_select.cuh>

static __global__ void events(struct panel_event *e, struct panel_scan s, enum panel_kind kind, int64_t first,
                              int64_t n)
{
	ISO_GRID_LOOP (i, n) {
		struct panel_event made = ISO_ZERO;
		bool is = panel_make_event(&made, &s, kind, (uint64_t)(first + i));

		made.decay = is ? (uint32_t)i : PANEL_NONE;
		e[i] = made;
	}
}

struct is_event {
	__device__ bool operator()(const struct panel_event &e) const
	{
		return e.decay != PANEL_NONE;
	}
};

/* Device memory of one call. */
struct work {
	void *all, *kept, *count, *temp;
	size_t temp_bytes;
};

static int prepare(struct work *w, iso_ctx *ctx, int64_t n)
{
	int64_t bytes = n * (int64_t)sizeof(struct panel_event);
	int st;

	if ((st = iso_cuda_use(ctx)) ||
	    (st = iso_cuda_check("events of panels",
	                         cub::DeviceSelect::If(NULL, w->temp_bytes, (struct panel_event *)NULL,
	                                               (struct panel_event *)NULL, (int64_t *)NULL, n,
	                                               is_event()))) ||
	    (st = ctx->vec->alloc(ctx, &w->all, bytes)) || (st = ctx->vec->alloc(ctx, &w->kept, bytes)) ||
	    (st = ctx->vec->alloc(ctx, &w->count, sizeof(int64_t))))
		return st;
	return ctx->vec->alloc(ctx, &w->temp, (int64_t)w->temp_bytes);
}

extern "C" int iso_panel_events_cuda(struct panel_event *e, int64_t *found, iso_ctx *ctx,
                                     const struct panel_scan *s, enum panel_kind kind, int64_t first,
                                     int64_t n)
{
	struct work w = ISO_ZERO;
	int st = prepare(&w, ctx, n);

	if (st) goto done;
	events<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>((struct panel_event *)w.all, *s, kind,
	                                                           first, n);
	if ((st = iso_cuda_launched("events of panels")) ||
	    (st = iso_cuda_check("events of panels",
	                         cub::DeviceSelect::If(w.temp, w.temp_bytes, (struct panel_event *)w.all,
	                                               (struct panel_event *)w.kept, (int64_t *)w.count, n,
	                                               is_event(), iso_stream(ctx)))) ||
	    (st = ctx->vec->download(ctx, found, w.count, sizeof *found)))
		goto done;
	st = ctx->vec->download(ctx, e, w.kept, *found * (int64_t)sizeof *e);
done:
	ctx->vec->free(ctx, w.all);
	ctx->vec->free(ctx, w.kept);
	ctx->vec->free(ctx, w.count);
	ctx->vec->free(ctx, w.temp);
	return st;
}
