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

extern "C" int iso_panel_events_cuda(struct panel_event *e, int64_t *found, iso_ctx *ctx,
                                     const struct panel_scan *s, enum panel_kind kind, int64_t first,
                                     int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "events of panels");
	struct panel_event *all, *kept;
	int64_t *count;
	size_t temp_bytes = 0;
	int st = iso_cuda_use(ctx);

	ISO_DEVICE(&room, all, n);
	ISO_DEVICE(&room, kept, n);
	ISO_DEVICE(&room, count, 1);
	if (!st) st = room.status;
	if (!st)
		st = iso_cuda_check("events of panels",
		                    cub::DeviceSelect::If(NULL, temp_bytes, all, kept, count, n, is_event()));
	void *temp = iso_room_device(&room, (int64_t)temp_bytes, 1);

	if (st || (st = room.status)) goto done;
	events<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(all, *s, kind, first, n);
	if ((st = iso_cuda_launched("events of panels")) ||
	    (st = iso_cuda_check("events of panels",
	                         cub::DeviceSelect::If(temp, temp_bytes, all, kept, count, n, is_event(),
	                                               iso_stream(ctx)))) ||
	    (st = ctx->vec->download(ctx, found, count, sizeof *found)))
		goto done;
	st = ctx->vec->download(ctx, e, kept, *found * (int64_t)sizeof *e);
done:
	iso_room_free(&room);
	return st;
}
