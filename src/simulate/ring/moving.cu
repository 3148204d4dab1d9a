/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays of an object that moves on CUDA: a thread a decay, then those that are events pushed together in their order. */
#include "moving_scan.h"
#include "photon_select.cuh"

struct piece {
	enum iso_history_kind kind;
	int64_t block;
	uint32_t n;
	const struct moving_place *place;
	const uint32_t *of;
};

static __global__ void __launch_bounds__(ISO_THREADS, 2)
	decays(struct photon_event *e, const struct iso_histories h, const struct moving_object m,
               const struct piece p)
{
	ISO_GRID_LOOP (i, p.n) {
		const uint32_t number = (uint32_t)i;
		struct photon_event made = { { 0, 0 }, 0, PHOTON_NONE, number };
		struct iso_hit hit;

		if (moving_run(&hit, &h, &m, p.place + p.of[i], p.kind, history_number(p.block, i))) {
			made.crystal[0] = hit.crystal[0];
			made.crystal[1] = hit.crystal[1];
			made.dt_ps = hit.dt_ps;
			made.order = hit.order;
		}
		e[number] = made;
	}
}

extern "C" int iso_moving_events_cuda(struct photon_event *e, int64_t *found,
                                      const struct iso_history_scan *scan, const struct moving_object *object,
                                      enum iso_history_kind kind, const struct moving_list *list)
{
	iso_ctx *ctx = scan->ctx;
	struct iso_room room = iso_room_of(ctx, "simulate");
	struct piece p = { kind, list->block, (uint32_t)list->n, NULL, NULL };
	int st = iso_cuda_use(ctx);

	if (st) return st;
	ISO_UPLOAD(&room, p.place, list->place, list->places);
	ISO_UPLOAD(&room, p.of, list->of, list->n);
	if (!(st = room.status)) {
		decays<<<iso_blocks(p.n), ISO_THREADS, 0, iso_stream(ctx)>>>(scan->made, scan->device,
		                                                             *object, p);
		st = iso_cuda_launched("decays");
	}
	if (!st) st = photon_select(e, found, ctx, scan->made, scan->kept, p.n);
	iso_room_free(&room);
	return st;
}
