/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a ring without photon physics on CUDA: a thread a history, then those that are events pushed together in
   their order. */
#include "history_scan.h"
#include "photon_select.cuh"

/* Histories of one launch: number i of them is first + i % n of block + i / n. */
struct piece {
	enum iso_history_kind kind;
	int64_t block, first;
	uint32_t n, all;
};

static __global__ void __launch_bounds__(ISO_THREADS, 3)
	histories(struct photon_event *e, const struct iso_histories h, const struct piece p)
{
	ISO_GRID_LOOP (i, p.all) {
		const uint32_t number = (uint32_t)i;
		struct photon_event made = { { 0, 0 }, 0, PHOTON_NONE, number };
		struct iso_hit hit;

		if (history_run(&hit, &h, p.kind,
		                history_number(p.block + number / p.n, p.first + number % p.n))) {
			made.crystal[0] = hit.crystal[0];
			made.crystal[1] = hit.crystal[1];
			made.dt_ps = hit.dt_ps;
			made.order = hit.order;
		}
		e[number] = made;
	}
}

extern "C" int iso_history_events_cuda(struct photon_event *e, int64_t *found,
                                       const struct iso_history_scan *scan, enum iso_history_kind kind,
                                       int64_t block, int64_t blocks, int64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	const struct piece p = { kind, block, first, (uint32_t)n, (uint32_t)(blocks * n) };
	int st = iso_cuda_use(ctx);

	if (st) return st;
	histories<<<iso_blocks(p.all), ISO_THREADS, 0, iso_stream(ctx)>>>(scan->made, scan->device, p);
	if ((st = iso_cuda_launched("histories"))) return st;
	return photon_select(e, found, ctx, scan->made, scan->kept, p.all);
}
