/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of an image by two panels: its tables, and the loops of the CPU. */
#include "panel_scan.h"
#include "core/ctx.h"

#include <stdlib.h>
#include <string.h>

enum { TURN = 8192 }; /* decays of one thread's turn */

/* ---- tables ---- */

static void set_source(struct panel_source *s, const struct iso_emission *e)
{
	const struct iso_grid *g = &e->grid;

	s->slot = e->slot;
	s->voxels = e->n;
	for (int a = 0; a < 3; a++) {
		if (a < 2) s->n[a] = (uint32_t)g->n[a];
		s->low[a] = (float)e->low[a];
		s->voxel[a] = (float)g->voxel[a];
	}
}

static int move(struct iso_panel_scan *s)
{
	int st;

	s->device = s->host;
	if ((st = iso_transport_move(&s->device.t, &s->room, &s->host.t)) || !iso_ctx_is_cuda(s->ctx))
		return st;
	ISO_UPLOAD(&s->room, s->device.source.slot, s->emission.slot, (int64_t)s->emission.n);
	return s->room.status;
}

int iso_panel_scan_create(struct iso_panel_scan *scan, iso_ctx *ctx, const struct iso_panels *p,
                          const struct iso_transport_options *o, const struct iso_array *activity)
{
	struct iso_panel_scan s = { .ctx = ctx, .room = { .ctx = ctx, .what = "transport" } };
	struct transport_table *table;
	int st;

	if (!ISO_HOST(&s.room, table, 1)) return s.room.status;
	s.host.crystals[0] = p->crystals[0];
	s.host.crystals[1] = p->crystals[1];
	if ((st = iso_transport_make(&s.host.t, table, p, o))) goto done;
	if ((st = iso_emission_create(&s.emission, activity, 0, 0, ISO_ALL_DECAYS))) goto done;
	set_source(&s.host.source, &s.emission);
	st = move(&s);
done:
	if (st)
		iso_panel_scan_free(&s);
	else
		*scan = s;
	return st;
}

void iso_panel_scan_free(struct iso_panel_scan *s)
{
	iso_room_free(&s->room);
	iso_emission_free(&s->emission);
	memset(s, 0, sizeof *s);
}

/* ---- loops ---- */

/* Events of one turn, to the front of e; how many. */
static int64_t events_turn(struct panel_event *e, const struct panel_scan *s, enum panel_kind kind,
                           int64_t first, int64_t from, int64_t to)
{
	int64_t found = 0;

	for (int64_t i = from; i < to; i++)
		if (panel_make_event(e + found, s, kind, (uint64_t)(first + i)))
			e[found++].decay = (uint32_t)i;
	return found;
}

/* Each turn fills its own place, then they are pushed together. */
static int events_cpu(struct panel_event *e, int64_t *found, iso_ctx *ctx, const struct panel_scan *s,
                      enum panel_kind kind, int64_t first, int64_t n)
{
	int64_t turns = (n + TURN - 1) / TURN, *count = calloc((size_t)turns + 1, sizeof *count);

	if (!count) return iso_fail_memory("simulate", turns * (int64_t)sizeof *count);
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t k = 0; k < turns; k++) {
		int64_t to = (k + 1) * TURN < n ? (k + 1) * TURN : n;

		count[k] = events_turn(e + k * TURN, s, kind, first, k * TURN, to);
	}
	*found = 0;
	for (int64_t k = 0; k < turns; k++) {
		memmove(e + *found, e + k * TURN, (size_t)count[k] * sizeof *e);
		*found += count[k];
	}
	free(count);
	return ISO_OK;
}

int iso_panel_scan_events(struct panel_event *e, int64_t *found, const struct iso_panel_scan *scan,
                          enum panel_kind kind, int64_t first, int64_t n)
{
	bool randoms = kind == PANEL_RANDOMS || kind == PANEL_DELAYED;
	void *cuda = NULL;
	int st;

	if (first < 0 || n < 0 || n >= UINT32_MAX)
		return iso_fail(ISO_EARG,
		                "simulate: decays from %" PRId64 ", %" PRId64
		                " of them, must not be negative and below 2^32 at once",
		                first, n);
	if (iso_ctx_is_cuda(scan->ctx) && (st = iso_cuda_symbol(&cuda, ISO_PANEL_EVENTS_CUDA))) return st;
	st = (cuda ? (panel_events_fn)cuda : events_cpu)(e, found, scan->ctx, &scan->device, kind, first, n);
	if (!st && randoms && *found < n)
		st = iso_fail(ISO_EINPUT,
		              "simulate: in %d decays no photon was seen: the activity lies outside the "
		              "scanner's view",
		              PANEL_TRIES);
	return st ? st : iso_ctx_poll(scan->ctx);
}

int iso_panel_scan_rates(double rate[3], const struct iso_panel_scan *scan, int64_t n)
{
	const struct panel_scan *s = &scan->host;
	int64_t upper = 0, lower = 0, both = 0;
	uint32_t stream = PANEL_STREAMS + PANEL_PILOT;

#pragma omp parallel for schedule(dynamic, TURN) num_threads(scan->ctx->threads) \
	reduction(+ : upper, lower, both)
	for (int64_t i = 0; i < n; i++) {
		struct panel_event e;

		upper += panel_single(&e.upper, s, 0, stream, (uint64_t)i);
		lower += panel_single(&e.lower, s, 1, stream, (uint64_t)i);
		both += panel_true(&e, s, stream, (uint64_t)i);
	}
	rate[0] = (double)upper / (double)n;
	rate[1] = (double)lower / (double)n;
	rate[2] = (double)both / (double)n;
	if (both == 0)
		return iso_fail(
			ISO_EINPUT,
			"simulate: in %" PRId64
			" decays there was no coincidence: the activity lies outside the scanner's view",
			n);
	return iso_ctx_poll(scan->ctx);
}
