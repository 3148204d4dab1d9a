/* SPDX-License-Identifier: BSD-3-Clause */
#include "ray_ends.cuh"

#include "model/ray/ray_load.h"

#define CLAIMED 0xffffffffu /* a cell whose number is being written */

int ray_ends_open(struct ray_ends *t, struct iso_room *room)
{
	*t = ISO_ZERO;
	ISO_DEVICE(room, t->end, RAY_ENDS);
	ISO_DEVICE(room, t->cell, RAY_END_CELLS);
	ISO_DEVICE(room, t->met, 1);
	return room->status;
}

static __device__ unsigned hash_of(const struct ray_end *e)
{
	unsigned h = 0;

	for (int c = 0; c < 3; c++) {
		h = (h ^ __float_as_uint(e->p[c])) * 0x9e3779b1u;
		h ^= h >> 15;
	}
	return h;
}

static __device__ bool is_end(const struct ray_end *e, const float p[3])
{
	const volatile float *q = e->p;
	bool same = true;

	for (int c = 0; c < 3; c++) same = same && __float_as_uint(q[c]) == __float_as_uint(p[c]);
	return same;
}

/* The number in a cell, which another thread may just be writing; 0: the cell was free, and is this thread's. */
static __device__ unsigned claim(unsigned *cell)
{
	unsigned now = *(volatile unsigned *)cell;

	if (now == 0) now = atomicCAS(cell, 0, CLAIMED);
	while (now == CLAIMED) now = *(volatile unsigned *)cell;
	__threadfence();
	return now;
}

/* The number of an end, which is new or was met before; any where there are too many. */
static __device__ unsigned number_of(struct ray_ends *t, const float p[3])
{
	struct ray_end end = { { p[0], p[1], p[2] } };

	for (unsigned h = hash_of(&end); *(volatile unsigned *)t->met < RAY_ENDS; h++) {
		unsigned *cell = t->cell + h % RAY_END_CELLS, taken = claim(cell);

		if (taken == 0) {
			unsigned number = min(atomicAdd(t->met, 1), RAY_ENDS - 1);

			t->end[number] = end;
			__threadfence();
			atomicExch(cell, number + 1);
			return number;
		}
		if (is_end(t->end + taken - 1, p)) return taken - 1;
	}
	return 0;
}

static __global__ void pack(struct ray_packed *to, struct ray_ends t, const struct iso_event *e, int64_t n)
{
	ISO_GRID_LOOP (i, n) to[i] = { { number_of(&t, e[i].p1), number_of(&t, e[i].p2) }, e[i].dt_ps };
}

int ray_ends_pack(struct ray_packed *to, bool *packed, struct ray_ends *t, iso_ctx *ctx,
                  const struct iso_event *e, int64_t n)
{
	unsigned met = RAY_ENDS;
	int st = ISO_OK;

	if (!t->full) {
		pack<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(to, *t, e, n);
		st = iso_cuda_launched("ends of events");
		if (!st) st = ctx->vec->download(ctx, &met, t->met, sizeof met);
		t->full = met >= RAY_ENDS;
	}
	*packed = !t->full;
	return st;
}

static __global__ void unpack(struct iso_event *e, struct ray_ends t, const struct ray_packed *from,
                              int64_t n)
{
	ISO_GRID_LOOP (i, n) {
		struct ray_packed f = from[i];
		struct ray_end a = t.end[f.end[0]], b = t.end[f.end[1]];

		e[i] = { { a.p[0], a.p[1], a.p[2] }, { b.p[0], b.p[1], b.p[2] }, f.dt_ps };
	}
}

int ray_ends_unpack(struct iso_event *e, const struct ray_ends *t, iso_ctx *ctx,
                    const struct ray_packed *from, int64_t n)
{
	unpack<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(e, *t, from, n);
	return iso_cuda_launched("events of ends");
}
