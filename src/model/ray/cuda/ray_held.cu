/* SPDX-License-Identifier: BSD-3-Clause */
#include "ray_held.cuh"

#define ALIGN 256 /* bytes: every array begins where any type may */

/* Where an array of the block is on the device, and how long it is. */
struct source {
	const void *from;
	int64_t bytes;
};

struct sources {
	struct source of[HELD_ARRAYS];
};

static struct source values_of(const struct ray_pack *p, const iso_real *value)
{
	return { value, value ? p->rows.n * (int64_t)sizeof *value : 0 };
}

static struct source events_of(const struct ray_pack *p, const struct held_values *v)
{
	if (v->packed) return { v->packed, p->rows.n * (int64_t)sizeof *v->packed };
	return { v->e, p->rows.n * (int64_t)sizeof *v->e };
}

static struct sources sources_of(const struct ray_pack *p, const struct held_values *v)
{
	const struct ray_lists *l = &p->lists;

	return { {
		events_of(p, v),
		values_of(p, v->value[0]),
		values_of(p, v->value[1]),
		values_of(p, v->value[2]),
		{ p->sorted, p->rows.n * p->lines * (int64_t)sizeof *p->sorted },
		{ l->order, l->entries * (int64_t)sizeof *l->order },
		{ l->part.base, l->parts * (int64_t)sizeof *l->part.base },
		{ l->part.off, l->parts * RAY_PACKET * (int64_t)sizeof *l->part.off },
		{ l->unit, l->units * (int64_t)sizeof *l->unit },
	} };
}

struct held_layout ray_held_layout(const struct ray_pack *p, const struct held_values *v)
{
	struct sources s = sources_of(p, v);
	struct held_layout to = ISO_ZERO;

	for (int a = 0; a < HELD_ARRAYS; a++)
		to.at[a + 1] = to.at[a] + (s.of[a].bytes + ALIGN - 1) / ALIGN * ALIGN;
	return to;
}

int ray_held_take(struct ray_held *h, iso_ctx *ctx, const struct ray_pack *p, const struct held_values *v)
{
	struct sources s = sources_of(p, v);
	cudaError_t e = cudaSuccess;

	h->n = p->rows.n;
	h->packed = v->packed;
	h->pack = *p;
	for (int a = 0; a < HELD_ARRAYS && !e; a++)
		if (s.of[a].bytes > 0)
			e = cudaMemcpyAsync(h->memory + h->layout.at[a], s.of[a].from, (size_t)s.of[a].bytes,
			                    cudaMemcpyDeviceToHost, iso_stream(ctx));
	return iso_cuda_check("ordered events to the host", e);
}

/* Array a, or NULL if the block has none. */
static char *array_of(const struct ray_held *h, char *arrived, enum held_array a)
{
	const int64_t *at = h->layout.at + a;

	return at[1] > at[0] ? arrived + at[0] : NULL;
}

void ray_held_open(struct held_values *v, struct ray_pack *pack, const struct ray_held *h, char *arrived)
{
	struct ray_lists *l = &pack->lists;

	char *events = array_of(h, arrived, HELD_EVENTS);

	v->e = h->packed ? NULL : (struct iso_event *)events;
	v->packed = h->packed ? (struct ray_packed *)events : NULL;
	for (int i = 0; i < 3; i++)
		v->value[i] = (iso_real *)array_of(h, arrived, (enum held_array)(HELD_COUNT + i));
	pack->slots = h->pack.slots;
	pack->rows = h->pack.rows;
	pack->rule = h->pack.rule;
	pack->at = h->pack.at;
	for (int b = 0; b < 3; b++) pack->bundle[b] = h->pack.bundle[b];
	pack->sorted = (const unsigned *)array_of(h, arrived, HELD_SORTED);
	*l = h->pack.lists;
	l->order = (const unsigned *)array_of(h, arrived, HELD_ENTRIES);
	l->part.base = (uint2 *)array_of(h, arrived, HELD_BASE);
	l->part.off = (uint16_t *)array_of(h, arrived, HELD_OFF);
	l->unit = (struct ray_unit *)array_of(h, arrived, HELD_UNITS);
}

/* ---- the link ---- */

static cudaError_t time_copies(float *ms, void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	enum { TIMES = 4 };
	cudaEvent_t mark[2] = { NULL, NULL };
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < 2 && !e; i++) e = cudaEventCreate(mark + i);
	if (!e) e = cudaEventRecord(mark[0], stream);
	for (int i = 0; i < TIMES && !e; i++)
		e = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
	if (!e) e = cudaEventRecord(mark[1], stream);
	if (!e) e = cudaEventSynchronize(mark[1]);
	if (!e) e = cudaEventElapsedTime(ms, mark[0], mark[1]);
	for (int i = 0; i < 2; i++)
		if (mark[i]) cudaEventDestroy(mark[i]);
	*ms /= TIMES;
	return e;
}

int ray_held_link(double *bytes_per_s, iso_ctx *ctx)
{
	const size_t bytes = 8 << 20;
	void *here = NULL, *there = NULL;
	float ms = 0;
	int st = iso_cuda_use(ctx);
	cudaError_t e;

	if (st) return st;
	e = cudaHostAlloc(&here, bytes, cudaHostAllocDefault);

	if (!e) e = cudaMalloc(&there, bytes);
	if (!e) e = time_copies(&ms, there, here, bytes, iso_stream(ctx));
	cudaFree(there);
	cudaFreeHost(here);
	*bytes_per_s = ms > 0 ? (double)bytes / (1e-3 * ms) : 0;
	return iso_cuda_check("a copy to the device", e);
}
