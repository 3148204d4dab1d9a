/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that come in pieces, in the order of a file: each goes to its row, in the pack that it will be ordered with. */
#include "ray_load.cuh"

#include <stdlib.h>

#define PIECE (1 << 20) /* events on their way at a time */
#define FEW (1 << 15)   /* the same where all are at most a piece: memory that a processor's cache keeps */

/* ---- from the host ---- */

void iso_ray_sender_close(struct ray_sender *s)
{
	for (int b = 0; b < 2; b++) {
		if (s->sent[b]) cudaEventDestroy(s->sent[b]);
		if (s->pinned)
			cudaFreeHost(s->stage[b]);
		else
			free(s->stage[b]);
	}
	*s = ISO_ZERO;
}

static cudaError_t make_stage(struct ray_sender *s, int b)
{
	size_t bytes = (size_t)s->most * sizeof **s->stage;

	if (s->pinned) return cudaHostAlloc((void **)(s->stage + b), bytes, 0);
	s->stage[b] = (struct iso_event *)malloc(bytes);
	return s->stage[b] ? cudaSuccess : cudaErrorMemoryAllocation;
}

int iso_ray_sender_open(struct ray_sender *s, int64_t n)
{
	cudaError_t e = cudaSuccess;

	*s = ISO_ZERO;
	s->pinned = n > PIECE;
	s->most = s->pinned ? PIECE : n < FEW ? n : FEW;
	for (int b = 0; b < 2 && !e; b++)
		if (!(e = make_stage(s, b)))
			e = cudaEventCreateWithFlags(s->sent + b, cudaEventDisableTiming);
	return iso_cuda_check("buffers for events", e);
}

int iso_ray_send(struct iso_event *to, struct ray_sender *s, const struct ray_model *m, iso_ctx *ctx,
                 struct iso_rows rows)
{
	const int64_t each = ray_stored(m), most = s->most / each;
	cudaError_t e = cudaSuccess;

	for (int64_t i = 0; i < rows.n && !e && !iso_stopped(ctx); i += most, s->next = !s->next) {
		int64_t n = rows.n - i < most ? rows.n - i : most;
		struct iso_event *stage = s->stage[s->next];

		if ((e = cudaEventSynchronize(s->sent[s->next]))) break;
		iso_ray_take(stage, m, ctx, rows.first + i, n);
		if (!(e = cudaMemcpyAsync(to + each * i, stage, (size_t)(each * n) * sizeof *to,
		                          cudaMemcpyHostToDevice, iso_stream(ctx))))
			e = cudaEventRecord(s->sent[s->next], iso_stream(ctx));
	}
	return e ? iso_cuda_check("events to the device", e) : iso_ctx_poll(ctx);
}

static void pin(struct ray_pins *pins, void *memory, int64_t bytes)
{
	if (!memory || pins->n == (int)(sizeof pins->memory / sizeof *pins->memory)) return;
	if (cudaHostRegister(memory, (size_t)bytes, cudaHostRegisterDefault) == cudaSuccess)
		pins->memory[pins->n++] = memory;
	else
		cudaGetLastError(); /* forget it */
}

void iso_ray_pin(struct ray_pins *pins, const struct iso_events *b, int64_t n)
{
	pin(pins, b->v, n * (int64_t)sizeof *b->v);
	pin(pins, b->count, n * (int64_t)sizeof(iso_real));
	pin(pins, b->mult, n * (int64_t)sizeof(iso_real));
	pin(pins, b->add, n * (int64_t)sizeof(iso_real));
}

void iso_ray_unpin(struct ray_pins *pins)
{
	while (pins->n > 0) cudaHostUnregister(pins->memory[--pins->n]);
}

/* ---- to the rows ---- */

int iso_ray_number_packs(int *first, const struct ray_model *m, int64_t most)
{
	int n_sub = m->order.n_sub;
	int64_t n = 0;

	for (int s = 0; s < n_sub; s++) {
		first[s] = (int)n;
		n += most > 0 ? (order_rows(&m->order, s).n + most - 1) / most : 0;
	}
	return first[n_sub] = (int)n;
}

struct destination {
	struct iso_order order;
	const int *first;
	struct iso_event *const *e;
	iso_real *value[3];
};

/* Events from .. from + n - 1 of the source. */
static __global__ void place(struct destination to, const struct iso_event *e, const iso_real *count,
                             const iso_real *mult, const iso_real *add, int64_t from, int64_t n)
{
	const iso_real *value[3] = { count, mult, add };

	ISO_GRID_LOOP (i, n) {
		int64_t row = order_row(&to.order, from + i);
		int sub = order_subset(&to.order, row), packs = to.first[sub + 1] - to.first[sub];
		struct iso_rows all = order_share(&to.order, sub);
		int k = ray_pack_of_row(all, row - all.first, packs);

		to.e[to.first[sub] + k][row - ray_rows_of_pack(all, k, packs).first] = e[i];
		for (int v = 0; v < 3; v++)
			if (value[v]) to.value[v][row] = value[v][i];
	}
}

static const iso_real *value_of(const struct iso_events *b, int v)
{
	return v == 0 ? b->count : v == 1 ? b->mult : b->add;
}

static int send(struct ray_load *l, void *to, const void *from, int64_t bytes)
{
	return iso_cuda_check(
		"events to the device",
		cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, iso_stream(l->ctx)));
}

static int add_piece(struct ray_load *l, const struct iso_events *b, int64_t first, struct iso_rows piece)
{
	struct destination to = {
		l->m.order, l->first_there, l->e_there, { l->value[0], l->value[1], l->value[2] }
	};
	int st = send(l, l->in, b->v + piece.first, piece.n * (int64_t)sizeof *l->in);

	for (int v = 0; v < 3 && !st; v++)
		if (l->value[v])
			st = send(l, l->in_value[v], value_of(b, v) + piece.first,
			          piece.n * (int64_t)sizeof(iso_real));
	if (st) return st;
	place<<<iso_blocks(piece.n), ISO_THREADS, 0, iso_stream(l->ctx)>>>(
		to, l->in, l->in_value[0], l->in_value[1], l->in_value[2], first + piece.first, piece.n);
	return iso_cuda_launched("events to their rows");
}

static int load_add(struct ray_load *l, const struct iso_events *b, int64_t first)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < b->n && !st; i += PIECE)
		st = add_piece(l, b, first, { i, b->n - i < PIECE ? b->n - i : PIECE });
	/* then the block may change */
	return st ? st : iso_cuda_check("events to the device", cudaStreamSynchronize(iso_stream(l->ctx)));
}

static int load_pin(struct ray_load *l, const struct iso_events *block, int64_t n)
{
	iso_ray_pin(&l->pins, block, n);
	return ISO_OK;
}

static void load_unpin(struct ray_load *l)
{
	iso_ray_unpin(&l->pins);
}

/* ---- memory ---- */

static void load_free(struct ray_load *l)
{
	if (!l) return;
	iso_ray_load_end(l);
	iso_room_free(&l->room);
	free(l);
}

void iso_ray_load_end(struct ray_load *l)
{
	iso_ray_unpin(&l->pins);
	iso_room_free(&l->passing);
	l->e = NULL;
}

static int make_packs(struct ray_load *l)
{
	int n_sub = l->m.order.n_sub, packs;

	if (!ISO_HOST(&l->passing, l->first, n_sub + 1)) return l->passing.status;
	packs = iso_ray_number_packs(l->first, &l->m, l->most);
	ISO_HOST(&l->passing, l->e, packs + 1);
	for (int s = 0; s < n_sub && !l->passing.status; s++) {
		int n = l->first[s + 1] - l->first[s];

		for (int k = 0; k < n; k++)
			ISO_DEVICE(&l->passing, l->e[l->first[s] + k],
			           ray_rows_of_pack(order_rows(&l->m.order, s), k, n).n);
	}
	ISO_UPLOAD(&l->passing, l->first_there, l->first, n_sub + 1);
	ISO_UPLOAD(&l->passing, l->e_there, l->e, packs + 1);
	return l->passing.status;
}

static int make_values(struct ray_load *l, const struct iso_ray_source *s)
{
	bool has[3] = { s->has_count, s->has_mult, s->has_add };
	int64_t n = l->m.n;

	for (int v = 0; v < 3; v++) {
		if (!has[v]) continue;
		ISO_DEVICE(&l->room, l->value[v], n);
		ISO_DEVICE(&l->passing, l->in_value[v], n < PIECE ? n : PIECE);
	}
	ISO_DEVICE(&l->passing, l->in, n < PIECE ? n : PIECE);
	return l->room.status ? l->room.status : l->passing.status;
}

static int load_create(struct ray_load **load, iso_ctx *ctx, const struct ray_model *m,
                       const struct iso_ray_source *s)
{
	struct ray_load *l = (struct ray_load *)calloc(1, sizeof *l);
	int st;

	if (!l) return iso_fail_memory("events", sizeof *l);
	l->ctx = ctx;
	l->m = *m;
	l->room = iso_room_of(ctx, "events");
	l->passing = iso_room_of(ctx, "events");
	l->most = iso_ray_pack_rows(ctx, m, order_most_rows(&m->order));
	if ((st = make_packs(l)) || (st = make_values(l, s)))
		load_free(l);
	else
		*load = l;
	return st;
}

static struct iso_em_data load_data(const struct ray_load *l)
{
	struct iso_em_data d = ISO_ZERO;

	d.y = l->value[0];
	d.mult = l->value[1];
	d.add = l->value[2];
	return d;
}

extern "C" const struct ray_load_fn iso_ray_cuda_load = { load_create, load_pin,  load_add,
	                                                  load_unpin,  load_data, load_free };
