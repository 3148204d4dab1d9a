/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of scatter read at events on CUDA: a thread an event, a block of them at a time. */
#include "core/cuda.cuh"
#include "core/room.h"
#include "table.h"

#define BLOCK (1 << 22) /* events a launch: 112 MiB */

static __global__ void values(iso_real *h, struct scatter_grid g, const float *table,
                              const struct iso_event *e, int64_t n, double bin)
{
	ISO_GRID_LOOP (i, n) h[i] = (iso_real)table_event(&g, table, &e[i], bin);
}

extern "C" int iso_scatter_events_cuda(iso_real *h, const iso_scatter_table *t, iso_ctx *ctx,
                                       const struct iso_events *e, double bin)
{
	struct iso_room room = iso_room_of(ctx, "scatter of events");
	int64_t block = e->n < BLOCK ? e->n : BLOCK;
	const float *table = t->ctx == ctx ? t->device : NULL;
	struct iso_event *events;
	iso_real *value;
	int st = iso_cuda_use(ctx);

	if (st) return st;
	if (!table) ISO_UPLOAD(&room, table, t->h, table_rows(&t->grid) * t->grid.cells);
	ISO_DEVICE(&room, events, block);
	ISO_DEVICE(&room, value, block);
	st = room.status;
	for (int64_t i = 0; i < e->n && !st; i += block) {
		int64_t m = e->n - i < block ? e->n - i : block;

		if ((st = ctx->vec->upload(ctx, events, e->v + i, m * (int64_t)sizeof *events))) break;
		values<<<iso_blocks(m), ISO_THREADS, 0, iso_stream(ctx)>>>(value, t->grid, table, events, m,
		                                                           bin);
		if ((st = iso_cuda_launched("scatter of events")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, h + i, value, m * (int64_t)sizeof *h);
	}
	iso_room_free(&room);
	return st;
}
