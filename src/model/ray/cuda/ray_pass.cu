/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of events that the device does not keep: the copy engine brings one while kernels order the one before and take
   its step. A block that the host holds comes ordered. */
#include "ray_respond.cuh"
#include "ray_held.cuh"
#include "ray_load.cuh"

#include <stdlib.h>

enum { SLOTS = 2 };

struct slot {
	struct held_values read; /* room for a block as it is read */
	int64_t n;
	const struct ray_held *held; /* what arrived instead, in `arrived`; NULL: the block was read */
	char *arrived;
	int64_t bytes;          /* of `arrived` */
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
	int64_t longest; /* bytes of a held block */
	struct ray_ends ends;
	struct ray_packed *packed; /* room for those of a block; NULL until one is to be held */
	struct held_values last;   /* what is held of the block that was added last */
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

		ISO_DEVICE(&p->room, to->read.e, p->m.n);
		for (int v = 0; v < 3; v++)
			if (has[v]) ISO_DEVICE(&p->room, to->read.value[v], p->m.n);
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

/* The next slot, once the kernels have done with what it had. */
static cudaError_t next_slot(struct ray_pass *p, struct slot **slot)
{
	*slot = p->slot + p->sends++ % SLOTS;
	return p->sends <= SLOTS ? cudaSuccess : cudaStreamWaitEvent(p->copy, (*slot)->used, 0);
}

static int pass_send(struct ray_pass *p, const struct iso_events *b)
{
	int64_t bytes = b->n * (int64_t)sizeof(iso_real);
	struct slot *to;
	cudaError_t e = next_slot(p, &to);

	to->n = b->n;
	to->held = NULL;
	if (!e) e = copy(p, to->read.e, b->v, b->n * (int64_t)sizeof *b->v);
	if (!e) e = copy(p, to->read.value[0], b->count, bytes);
	if (!e) e = copy(p, to->read.value[1], b->mult, bytes);
	if (!e) e = copy(p, to->read.value[2], b->add, bytes);
	if (!e) e = cudaEventRecord(to->sent, p->copy);
	return iso_cuda_check("events to the device", e);
}

static int pass_wait(struct ray_pass *p)
{
	return iso_cuda_check("events to the device", cudaStreamSynchronize(p->copy));
}

/* Events as they were read become a pack. */
static int order(struct ray_pass *p, const struct slot *from)
{
	mark_bad<<<iso_blocks(from->n), ISO_THREADS, 0, iso_stream(p->ctx)>>>(from->read.e, from->n);
	int st = iso_cuda_launched("bad events");

	return st ? st
	          : iso_ray_pack_fill(&p->pack, p->packer, p->ctx, &p->m, from->read.e, { 0, from->n }, NULL);
}

/* The step of a pack in hand. */
static int step(struct ray_pass *p, void *sum, const struct ray_step *q, const struct held_values *v)
{
	int64_t voxels = ray_voxels(&p->m.grid);
	struct iso_em_data d = ISO_ZERO;
	int st = iso_ray_brick_limit(&p->brick, p->ctx, voxels, q->x);

	d.y = v->value[0];
	d.mult = v->value[1];
	d.add = v->value[2];
	if (!st && q->u) st = iso_ray_brick_limit_u(&p->brick, p->ctx, voxels, q->u);
	return st ? st
	          : iso_ray_pack_step((const struct ray_sum *)sum, p->ctx, &p->m, &p->brick, &p->pack, q, &d);
}

/* A block that arrived as it was ordered becomes a pack. */
static int open_held(struct ray_pass *p, const struct slot *from, struct held_values *v)
{
	int st = ISO_OK;

	ray_held_open(v, &p->pack, from->held, from->arrived);
	if (v->packed) {
		v->e = from->read.e;
		st = ray_ends_unpack(v->e, &p->ends, p->ctx, v->packed, from->n);
	}
	return st ? st : iso_ray_pack_again(&p->pack, p->packer, p->ctx, &p->m, v->e);
}

static int pass_add(struct ray_pass *p, void *sum, const struct ray_step *q)
{
	struct slot *from = p->slot + p->adds++ % SLOTS;
	struct held_values here = from->read;
	int st = iso_cuda_check("events to the device",
	                        cudaStreamWaitEvent(iso_stream(p->ctx), from->sent, 0));

	if (!st && !from->held) st = order(p, from);
	if (!st && from->held) st = open_held(p, from, &here);
	if (!st) st = step(p, sum, q, &here);
	return st ? st : iso_cuda_check("blocks of events", cudaEventRecord(from->used, iso_stream(p->ctx)));
}

/* ---- blocks that the host holds ---- */

/* The events of the last block as they are held: packed, if their ends have numbers. */
static int pass_held_bytes(int64_t *bytes, struct ray_pass *p)
{
	const struct slot *slot = p->slot + (p->adds - 1) % SLOTS;
	bool packed = false;
	int st = ISO_OK;

	p->last = slot->read;
	if (!p->packed) {
		ISO_DEVICE(&p->room, p->packed, p->m.n);
		st = ray_ends_open(&p->ends, &p->room);
	}
	if (!st) st = ray_ends_pack(p->packed, &packed, &p->ends, p->ctx, slot->read.e, slot->n);
	if (packed) p->last.packed = p->packed;
	*bytes = st ? 0 : ray_held_layout(&p->pack, &p->last).at[HELD_ARRAYS];
	return st;
}

static void pass_let_go(struct ray_held *h)
{
	if (!h) return;
	cudaHostUnregister(h->memory);
	free(h);
}

/* Memory that can't be pinned holds nothing: a copy from it would stop the kernels. */
static int make_held(struct ray_held **held, void *memory, struct held_layout layout)
{
	struct ray_held *h = (struct ray_held *)calloc(1, sizeof *h);

	if (!h) return iso_fail_memory("blocks of events", sizeof *h);
	h->memory = (char *)memory;
	h->layout = layout;
	if (cudaHostRegister(memory, (size_t)layout.at[HELD_ARRAYS], cudaHostRegisterDefault) ==
	    cudaSuccess) {
		*held = h;
		return ISO_OK;
	}
	cudaGetLastError(); /* forget it */
	free(h);
	return ISO_OK;
}

static int pass_hold(struct ray_pass *p, struct ray_held **held, void *memory)
{
	struct slot *last = p->slot + (p->adds - 1) % SLOTS;
	struct held_layout layout = ray_held_layout(&p->pack, &p->last);
	struct ray_held *h = NULL;
	int st = make_held(&h, memory, layout);

	if (st || !h) return st;
	st = ray_held_take(h, p->ctx, &p->pack, &p->last);
	/* until then the slot must not be written to */
	if (!st) st = iso_cuda_check("blocks of events", cudaEventRecord(last->used, iso_stream(p->ctx)));
	if (st) {
		cudaStreamSynchronize(iso_stream(p->ctx));
		pass_let_go(h);
		return st;
	}
	if (layout.at[HELD_ARRAYS] > p->longest) p->longest = layout.at[HELD_ARRAYS];
	*held = h;
	return ISO_OK;
}

/* Room for the longest block that is held, in a slot that nobody looks at. */
static int make_room(struct ray_pass *p, struct slot *to, int64_t bytes)
{
	cudaError_t e;

	if (bytes > p->longest) p->longest = bytes;
	if (to->bytes >= bytes) return ISO_OK;
	if (!(e = cudaStreamSynchronize(p->copy))) e = cudaStreamSynchronize(iso_stream(p->ctx));
	if (e) return iso_cuda_check("blocks of events", e);
	iso_room_drop(&p->room, to->arrived);
	to->bytes = p->longest;
	ISO_DEVICE(&p->room, to->arrived, to->bytes);
	return p->room.status ? p->room.status
	                      : iso_cuda_check("blocks of events", cudaStreamSynchronize(iso_stream(p->ctx)));
}

static int pass_send_held(struct ray_pass *p, const struct ray_held *h)
{
	int64_t bytes = h->layout.at[HELD_ARRAYS];
	struct slot *to;
	cudaError_t e = next_slot(p, &to);
	int st = e ? ISO_OK : make_room(p, to, bytes);

	if (st) return st;
	to->n = h->n;
	to->held = h;
	if (!e) e = copy(p, to->arrived, h->memory, bytes);
	if (!e) e = cudaEventRecord(to->sent, p->copy);
	return iso_cuda_check("events to the device", e);
}

extern "C" const struct ray_pass_fn iso_ray_cuda_pass = {
	pass_create, pass_pin,       pass_send,   pass_wait,     pass_add,  pass_held_bytes,
	pass_hold,   pass_send_held, pass_let_go, ray_held_link, pass_free,
};
