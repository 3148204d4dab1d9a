/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulses of a scan on CUDA: a thread follows a decay, and adds its pulses to one list for all cells. Their order there is
   by chance; the readout sorts them. */
#include "activity_scan.h"
#include "core/cuda.cuh"

enum { COUNTS = sizeof(struct rates_counts) / sizeof(int64_t) };

struct work {
	const struct rates_cell *cell;
	const int64_t *begin; /* first history of each cell, and all */
	int64_t cells, room;
	struct pulse *out;
	unsigned long long *found, *count;
};

static __device__ int64_t cell_of(const struct work &w, int64_t i)
{
	int64_t low = 0, high = w.cells - 1;

	while (low < high) {
		int64_t middle = (low + high + 1) / 2;

		if (w.begin[middle] <= i)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static __global__ void __launch_bounds__(ISO_THREADS) follow(const struct rates_world r, const struct work w)
{
	struct rates_counts own = ISO_ZERO;
	struct crystal_trace trace;
	struct decay decay;
	struct pulse made[PULSE_MOST];

	ISO_GRID_LOOP (i, w.begin[w.cells]) {
		int64_t k = cell_of(w, i);
		int n = rates_pulses(made, &trace, &decay, &r, w.cell + k, i - w.begin[k]);

		rates_count(&own, &decay, &trace);
		if (n == 0) continue;
		unsigned long long at = atomicAdd(w.found, (unsigned long long)n);

		for (int j = 0; j < n; j++)
			if (at + j < (unsigned long long)w.room) w.out[at + j] = made[j];
	}
	const int64_t *v = (const int64_t *)&own;

	for (int j = 0; j < COUNTS; j++)
		if (v[j] > 0) atomicAdd(w.count + j, (unsigned long long)v[j]);
}

/* Runs the kernel with room for so many pulses; *found: how many there were. */
static int launch(struct iso_pulses *list, int64_t *found, int64_t counts[COUNTS], const struct rates *r,
                  struct iso_room *room, struct work w, int64_t all)
{
	cudaStream_t stream = iso_stream(r->ctx);
	unsigned long long n = 0;
	int st;

	ISO_DEVICE(room, w.out, w.room);
	if (room->status ||
	    (st = iso_cuda_check("rates", cudaMemsetAsync(w.found, 0, sizeof *w.found, stream))) ||
	    (st = iso_cuda_check("rates", cudaMemsetAsync(w.count, 0, COUNTS * sizeof *w.count, stream))))
		return room->status ? room->status : st;
	follow<<<iso_blocks(all), ISO_THREADS, 0, stream>>>(r->world, w);
	if ((st = iso_cuda_launched("rates")) ||
	    (st = iso_cuda_check("rates",
	                         cudaMemcpyAsync(&n, w.found, sizeof n, cudaMemcpyDeviceToHost, stream))) ||
	    (st = iso_cuda_check("rates", cudaMemcpyAsync(counts, w.count, COUNTS * sizeof *counts,
	                                                  cudaMemcpyDeviceToHost, stream))) ||
	    (st = iso_cuda_check("rates", cudaStreamSynchronize(stream))))
		return st;
	*found = (int64_t)n;
	if (*found > w.room) {
		iso_room_drop(room, w.out);
		return ISO_OK;
	}
	list->n = 0;
	if ((st = iso_pulses_more(list, *found))) return st;
	list->n = *found;
	st = iso_cuda_check("rates", cudaMemcpyAsync(list->p, w.out, (size_t)*found * sizeof *w.out,
	                                             cudaMemcpyDeviceToHost, stream));
	if (!st) st = iso_cuda_check("rates", cudaStreamSynchronize(stream));
	return st;
}

extern "C" int iso_rates_cells_cuda(struct rates_list *list, struct rates_counts *count,
                                    const struct rates *r, const struct rates_cell *cell, int64_t cells)
{
	struct iso_room room = iso_room_of(r->ctx, "simulate");
	int64_t *begin, counts[COUNTS], found = 0;
	struct work w = ISO_ZERO;
	int st = iso_cuda_use(r->ctx);

	if (st) return st;
	for (int64_t k = 0; k < cells; k++) list[k].pulses.n = 0;
	ISO_HOST(&room, begin, cells + 1);
	if (room.status) return iso_room_free(&room);
	for (int64_t k = 0; k < cells; k++) begin[k + 1] = begin[k] + rates_histories(&r->world, cell + k);
	int64_t all = begin[cells];

	w.cells = cells;
	ISO_UPLOAD(&room, w.cell, cell, cells);
	ISO_UPLOAD(&room, w.begin, begin, cells + 1);
	ISO_DEVICE(&room, w.found, 1);
	ISO_DEVICE(&room, w.count, COUNTS);
	w.room = all / 2 + 65536;
	st = room.status;
	if (!st) st = launch(&list->pulses, &found, counts, r, &room, w, all);
	if (!st && found > w.room) { /* once more, with room for all */
		w.room = found;
		st = launch(&list->pulses, &found, counts, r, &room, w, all);
	}
	for (int j = 0; j < COUNTS && !st; j++) ((int64_t *)count)[j] += counts[j];
	int freed = iso_room_free(&room);

	return st ? st : freed ? freed : iso_ctx_poll(r->ctx);
}
