/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of events that the device does not keep: the copy engine brings one while kernels order the one before and take
   its step. */
#include "ray_respond.cuh"
#include "ray_load.cuh"

#include <stdlib.h>

enum { SLOTS = 2 };

struct slot {
	struct iso_event *e;
	iso_real *value[3]; /* counts, factors, additive terms */
	int64_t n;
	cudaEvent_t sent, used; /* the copy has ended; the kernels that look at it have */
};

struct ray_pass {
	iso_ctx *ctx;
	struct iso_room room;
	struct ray_model m;
	struct ray_packer *packer;
	struct ray_pack pack;
	struct ray_brick_work brick;
	cudaStream_t copy;
	struct slot slot[SLOTS];
	int64_t sends, adds;
	struct ray_pins pins;
};

static __global__ void mark_bad(struct iso_event *e, int64_t n)
{
	ISO_GRID_LOOP (i, n) e[i] = ray_good_event(e[i]);
}

static void pass_free(struct ray_pass *p)
{
	if (!p) return;
	if (p->copy) cudaStreamSynchronize(p->copy);
	cudaStreamSynchronize(iso_stream(p->ctx));
	iso_ray_unpin(&p->pins);
	for (int b = 0; b < SLOTS; b++) {
		if (p->slot[b].sent) cudaEventDestroy(p->slot[b].sent);
		if (p->slot[b].used) cudaEventDestroy(p->slot[b].used);
	}
	if (p->copy) cudaStreamDestroy(p->copy);
	iso_room_free(&p->room);
	free(p);
}

static int make_slots(struct ray_pass *p, const struct iso_ray_source *s)
{
	bool has[3] = { s->has_count, s->has_mult, s->has_add };
	cudaError_t e = cudaStreamCreateWithFlags(&p->copy, cudaStreamNonBlocking);

	for (int b = 0; b < SLOTS && !e; b++) {
		struct slot *to = p->slot + b;

		ISO_DEVICE(&p->room, to->e, p->m.n);
		for (int v = 0; v < 3; v++)
			if (has[v]) ISO_DEVICE(&p->room, to->value[v], p->m.n);
		if (!(e = cudaEventCreateWithFlags(&to->sent, cudaEventDisableTiming)))
			e = cudaEventCreateWithFlags(&to->used, cudaEventDisableTiming);
	}
	/* memory of the room is cleared on the context's stream */
	if (!e) e = cudaStreamSynchronize(iso_stream(p->ctx));
	return e ? iso_cuda_check("blocks of events", e) : p->room.status;
}

static int pass_create(struct ray_pass **pass, iso_ctx *ctx, const struct ray_model *m,
                       const struct iso_ray_source *s)
{
	struct ray_pass *p = (struct ray_pass *)calloc(1, sizeof *p);
	int64_t rays = m->n * m->spread.lines;
	int st;

	if (!p) return iso_fail_memory("blocks of events", sizeof *p);
	p->ctx = ctx;
	p->m = *m;
	p->room = iso_room_of(ctx, "blocks of events");
	if (!(st = make_slots(p, s)) && !(st = iso_ray_packer_create(&p->packer, &p->room, rays)) &&
	    !(st = iso_ray_pack_create(&p->pack, &p->room, m, m->n)))
		st = iso_ray_brick_open(&p->brick, &p->room, iso_ray_pack_slots(rays));
	if (st)
		pass_free(p);
	else
		*pass = p;
	return st;
}

static int pass_pin(struct ray_pass *p, const struct iso_events *b, int64_t n)
{
	iso_ray_pin(&p->pins, b, n);
	return ISO_OK;
}

static cudaError_t copy(struct ray_pass *p, void *to, const void *from, int64_t bytes)
{
	if (!to) return cudaSuccess;
	return cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, p->copy);
}

static int pass_send(struct ray_pass *p, const struct iso_events *b)
{
	struct slot *to = p->slot + p->sends % SLOTS;
	int64_t bytes = b->n * (int64_t)sizeof(iso_real);
	cudaError_t e = p->sends < SLOTS ? cudaSuccess : cudaStreamWaitEvent(p->copy, to->used, 0);

	to->n = b->n;
	if (!e) e = copy(p, to->e, b->v, b->n * (int64_t)sizeof *b->v);
	if (!e) e = copy(p, to->value[0], b->count, bytes);
	if (!e) e = copy(p, to->value[1], b->mult, bytes);
	if (!e) e = copy(p, to->value[2], b->add, bytes);
	if (!e) e = cudaEventRecord(to->sent, p->copy);
	p->sends++;
	return iso_cuda_check("events to the device", e);
}

static int pass_wait(struct ray_pass *p)
{
	return iso_cuda_check("events to the device", cudaStreamSynchronize(p->copy));
}

static int pass_add(struct ray_pass *p, void *sum, const struct ray_step *q)
{
	struct slot *from = p->slot + p->adds++ % SLOTS;
	struct iso_em_data d = ISO_ZERO;
	int st = iso_cuda_check("events to the device",
	                        cudaStreamWaitEvent(iso_stream(p->ctx), from->sent, 0));

	if (st) return st;
	d.y = from->value[0];
	d.mult = from->value[1];
	d.add = from->value[2];
	mark_bad<<<iso_blocks(from->n), ISO_THREADS, 0, iso_stream(p->ctx)>>>(from->e, from->n);
	if ((st = iso_cuda_launched("bad events")) ||
	    (st = iso_ray_brick_limit(&p->brick, p->ctx, ray_voxels(&p->m.grid), q->x)) ||
	    (q->u && (st = iso_ray_brick_limit_u(&p->brick, p->ctx, ray_voxels(&p->m.grid), q->u))) ||
	    (st = iso_ray_pack_fill(&p->pack, p->packer, p->ctx, &p->m, from->e, { 0, from->n }, NULL)) ||
	    (st = iso_ray_pack_step((const struct ray_sum *)sum, p->ctx, &p->m, &p->brick, &p->pack, q, &d)))
		return st;
	return iso_cuda_check("blocks of events", cudaEventRecord(from->used, iso_stream(p->ctx)));
}

extern "C" const struct ray_pass_fn iso_ray_cuda_pass = { pass_create, pass_pin, pass_send,
	                                                  pass_wait,   pass_add, pass_free };
