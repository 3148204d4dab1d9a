/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays of an object that moves, block by block on CUDA: the host says when and where each decay is, the device follows
   it. */
#include "moving_scan.h"
#include "core/ctx.h"
#include "core/size.h"
#include "core/status.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

/* ---- tables ---- */

static void upload_matter(struct iso_woodcock *to, struct iso_room *room, const struct iso_woodcock *from)
{
	ISO_UPLOAD(room, to->mu, from->mu, from->n[0] * from->n[1] * from->n[2]);
}

int iso_moving_scan_create(struct iso_moving_scan *scan, iso_ctx *ctx, const struct iso_moving *m)
{
	struct iso_moving_scan s = { .device = iso_moving_object(m), .room = iso_room_of(ctx, "simulate") };
	const int64_t n = m->states.of ? m->states.n + 1 : 0;
	struct moving_state *state = NULL;

	upload_matter(&s.device.fixed, &s.room, &m->fixed);
	if (n > 0) ISO_HOST(&s.room, state, n);
	for (int64_t g = 0; state && g < n; g++) {
		const struct moving_state *from = m->states.of + g;

		state[g] = *from;
		for (int k = 0; k < 2; k++)
			ISO_UPLOAD(&s.room, state[g].emission[k].slot, from->emission[k].slot,
			           (int64_t)from->emission[k].n);
		upload_matter(&state[g].matter, &s.room, &from->matter);
	}
	if (state) ISO_UPLOAD(&s.room, s.device.state, state, n);
	int st = s.room.status;

	if (st)
		iso_moving_scan_free(&s);
	else
		*scan = s;
	return st;
}

void iso_moving_scan_free(struct iso_moving_scan *s)
{
	iso_room_free(&s->room);
	*s = (struct iso_moving_scan){ 0 };
}

/* ---- a block ---- */

struct moving_block {
	double *time;
	uint32_t *of;
	struct moving_place *place;
	int64_t places, room;
};

static void free_block(struct moving_block *b)
{
	free(b->time);
	free(b->of);
	free(b->place);
	*b = (struct moving_block){ 0 };
}

bool iso_scan_grow(void *array, size_t item, int64_t n)
{
	void *p = realloc(*(void **)array, (size_t)n * item);

	if (p) *(void **)array = p;
	return p;
}

static bool add_place(struct moving_block *b, const struct moving_place *p)
{
	if (b->places == b->room) {
		int64_t room = b->room > 0 ? 2 * b->room : FIRST_ROOM;

		if (!iso_scan_grow(&b->place, sizeof *b->place, room)) return false;
		b->room = room;
	}
	b->place[b->places++] = *p;
	return true;
}

/* When and where the decays of a block are: a place a millisecond. false: there is no memory. */
static bool make_block(struct moving_block *b, const struct moving_decays *d, const struct photon_hits *h)
{
	struct moving_pose at = { .ms = -1 };

	b->time = size_alloc(h->limit + 1, sizeof *b->time);
	b->of = size_alloc(h->limit + 1, sizeof *b->of);
	if (!b->time || !b->of) return false;
	d->times(b->time, d->arg, d->kind, h);
	for (int64_t i = 0; i < h->limit; i++) {
		const int64_t before = at.ms;

		iso_moving_at(&at, d->moving, b->time[i]);
		if (at.ms != before && !add_place(b, &at.place)) return false;
		b->of[i] = (uint32_t)(b->places - 1);
	}
	return true;
}

bool iso_moving_add(struct photon_hits *h, const struct iso_hit *hit, double time_s)
{
	if (h->n == h->room) {
		int64_t room = h->room > 0 ? 2 * h->room : FIRST_ROOM;

		if (!iso_scan_grow(&h->v, sizeof *h->v, room) ||
		    !iso_scan_grow(&h->time, sizeof *h->time, room))
			return false;
		h->room = room;
	}
	h->time[h->n] = time_s;
	h->v[h->n++] = *hit;
	return true;
}

/* The hits of a block. A list may have more histories than a launch has room for. */
static int follow(struct photon_hits *h, struct photon_event *e, const struct moving_block *b,
                  const struct moving_decays *d, iso_moving_events_fn *events)
{
	bool fits = true;
	int st = ISO_OK;

	if (h->limit > PHOTON_PIECE)
		return iso_fail(ISO_EARG,
		                "simulate: %" PRId64 " decays in a slice of time, at most %d are possible",
		                h->limit, PHOTON_PIECE);
	const struct moving_list list = {
		.place = b->place, .of = b->of, .block = h->block, .n = h->limit, .places = b->places
	};
	int64_t found = 0;

	if (h->limit > 0) st = events(e, &found, d->histories, &d->scan->device, d->kind, &list);
	for (int64_t i = 0; i < found && !st && fits; i++) {
		const struct iso_hit hit = { { e[i].crystal[0], e[i].crystal[1] },
			                     e[i].dt_ps,
			                     (uint8_t)e[i].order };

		fits = iso_moving_add(h, &hit, b->time[e[i].history]);
	}
	h->histories = h->limit;
	return st || fits ? st : iso_fail_memory("simulate", h->n * (int64_t)sizeof *h->v);
}

/* ---- blocks ---- */

/* As many blocks as there are threads at a time. */
static int some_blocks(struct photon_hits *h, int n, iso_ctx *ctx, struct photon_event *e,
                       const struct moving_decays *d, iso_moving_events_fn *events)
{
	struct moving_block *b = size_alloc(n, sizeof *b);
	bool fits = b;
	int st = ISO_OK;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic) reduction(&& : fits)
	for (int i = 0; i < (b ? n : 0); i++) fits = fits && make_block(b + i, d, h + i);
	if (!fits) st = iso_fail_memory("simulate", n * (int64_t)sizeof *b);
	for (int i = 0; i < n && !st; i++)
		if (!(st = iso_ctx_poll(ctx))) st = follow(h + i, e, b + i, d, events);
	for (int i = 0; b && i < n; i++) free_block(b + i);
	free(b);
	return st;
}

int iso_moving_hits_device(struct photon_hits *h, int n, iso_ctx *ctx, const struct moving_decays *d)
{
	struct photon_event *e = size_alloc(PHOTON_PIECE, sizeof *e);
	void *events = NULL;
	int st = e ? iso_cuda_symbol(&events, ISO_MOVING_EVENTS_CUDA)
	           : iso_fail_memory("simulate", PHOTON_PIECE * (int64_t)sizeof *e);

	for (int i = 0; i < n && !st; i += ctx->threads)
		st = some_blocks(h + i, n - i < ctx->threads ? n - i : ctx->threads, ctx, e, d,
		                 (iso_moving_events_fn *)events);
	free(e);
	return st;
}
