/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories of one launch on CUDA, and their events, pushed together in the order of the histories. */
#ifndef ISO_PHOTON_SELECT_CUH
#define ISO_PHOTON_SELECT_CUH

#include "core/cuda.cuh"
#include "photon_scan.h"

#include <cub/device/device_select.cuh>

struct photon_is_event {
	__device__ bool operator()(const struct photon_event &e) const
	{
		return e.order != PHOTON_NONE;
	}
};

/* Of made[0..n-1] on the device, those that are events, in their order: by way of `kept`, which has room for n, to e on
   the host. */
static inline int photon_select(struct photon_event *e, int64_t *found, iso_ctx *ctx,
                                const struct photon_event *made, struct photon_event *kept, int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "photons");
	size_t temp_bytes = 0;
	int64_t *count;
	int st;

	ISO_DEVICE(&room, count, 1);
	st = room.status;
	if (!st)
		st = iso_cuda_check("photons", cub::DeviceSelect::If(NULL, temp_bytes, made, kept, count, n,
		                                                     photon_is_event()));
	void *temp = iso_room_device(&room, (int64_t)temp_bytes, 1);

	if (st || (st = room.status) ||
	    (st = iso_cuda_check("photons", cub::DeviceSelect::If(temp, temp_bytes, made, kept, count, n,
	                                                          photon_is_event(), iso_stream(ctx)))) ||
	    (st = ctx->vec->download(ctx, found, count, sizeof *found)) || (st = iso_ctx_poll(ctx)))
		goto done;
	st = ctx->vec->download(ctx, e, kept, *found * (int64_t)sizeof *e);
done:
	iso_room_free(&room);
	return st;
}

#endif
