/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of an image by two panels: its tables, and the loops of the CPU. */
#include "panel_scan.h"
#include "panel_turn.h"
#include "core/comm.h"
#include "core/size.h"

enum { TURN = 8192 }; /* decays of one thread's turn */

/* The object must fit between the heads. */
static int check_object(const struct iso_array *mu, double gap)
{
	const struct iso_grid *g = &mu->grid;
	int st = iso_photon_check_mu(mu);

	for (int64_t i = 0; i < mu->n && !st; i++) {
		double y = g->centre[1] +
		           ((double)(i / g->n[0] % g->n[1]) - .5 * (double)(g->n[1] - 1)) * g->voxel[1];

		if (mu->v[i] > 0 && fabs(y) > .5 * gap)
			st = iso_fail(ISO_EINPUT,
			              "simulate: the map has matter at y = %.4g mm: the object reaches the "
			              "heads, which are %.4g mm apart",
			              y, gap);
	}
	return st;
}

static int make_object(struct iso_panel_scan *s, const struct iso_array *activity, const struct iso_array *mu,
                       bool rayleigh, double gap)
{
	const struct photon_setting set = { .least_kev = MATERIAL_LOW,
		                            .rayleigh = rayleigh,
		                            .seed = s->host.t.seed };
	int st = check_object(mu, gap);

	if (!st) st = iso_photon_make_of(&s->device.object, &s->room, &set, activity, mu);
	s->device.through = !st;
	return st;
}

int iso_panel_scan_create(struct iso_panel_scan *scan, iso_ctx *ctx, const struct iso_panels *p,
                          const struct iso_transport_options *o, const struct iso_array *activity,
                          const struct iso_array *mu, bool rayleigh)
{
	struct iso_panel_scan s = { .ctx = ctx, .room = { .ctx = ctx, .what = "transport" } };
	const struct iso_grid *g = &activity->grid;
	struct transport_table *table;
	int st;

	if (!ISO_HOST(&s.room, table, 1)) return s.room.status;
	if ((st = iso_transport_make(&s.host.t, table, p, o)) ||
	    (st = iso_emission_create(&s.emission, activity, 0, 0, ISO_ALL_DECAYS)))
		goto done;
	s.host.slot = s.emission.slot;
	s.host.voxels = s.emission.n;
	for (int a = 0; a < 3; a++) {
		s.host.low[a] = (float)s.emission.low[a];
		s.host.voxel[a] = (float)g->voxel[a];
		if (a < 2) s.host.n[a] = (uint32_t)g->n[a];
		if (a < 2) s.host.crystals[a] = p->crystals[a];
	}
	s.device = s.host;
	st = iso_transport_move(&s.device.t, &s.room, &s.host.t);
	if (!st && mu) st = make_object(&s, activity, mu, rayleigh, p->gap);
	if (!st && iso_ctx_is_cuda(ctx)) {
		ISO_UPLOAD(&s.room, s.device.slot, s.emission.slot, (int64_t)s.emission.n);
		st = s.room.status;
	}
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

/* Each turn fills its own place, then they are pushed together. */
static int events_cpu(struct panel_event *e, int64_t *found, iso_ctx *ctx, const struct panel_scan *s,
                      enum panel_kind kind, int64_t first, int64_t n)
{
	int64_t turns = (n + TURN - 1) / TURN, *count = calloc((size_t)turns + 1, sizeof *count);

	if (!count) return iso_fail_memory("simulate", turns * (int64_t)sizeof *count);
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t k = 0; k < turns; k++) {
		struct panel_event *own = e + k * TURN;

		for (int64_t i = k * TURN; i < n && i < (k + 1) * TURN; i++)
			if (panel_make_event(own + count[k], s, kind, (uint64_t)(first + i)))
				own[count[k]++].decay = (uint32_t)i;
	}
	*found = 0;
	for (int64_t k = 0; k < turns; k++) {
		memmove(e + *found, e + k * TURN, (size_t)count[k] * sizeof *e);
		*found += count[k];
	}
	free(count);
	return ISO_OK;
}

/* Decay `number` at its own time. */
static bool moved_event(struct panel_event *e, const struct iso_panel_scan *scan, enum panel_kind kind,
                        int64_t number)
{
	struct panel_pose z;
	uint32_t ms;

	iso_panel_turn_when(&ms, scan->turn, number);
	return iso_panel_turn_at(&z, scan->turn, ms) &&
	       panel_true(e, &scan->device, &z, PANEL_STREAMS + (uint32_t)kind, (uint64_t)number);
}

static int moved_events(struct panel_event *e, int64_t *found, const struct iso_panel_scan *scan,
                        enum panel_kind kind, int64_t first, int64_t n)
{
	int64_t kept = 0;

#pragma omp parallel for schedule(dynamic, 1024) num_threads(scan->ctx->threads)
	for (int64_t i = 0; i < n; i++)
		e[i].decay = moved_event(e + i, scan, kind, first + i) ? (uint32_t)i : PANEL_NONE;
	for (int64_t i = 0; i < n; i++)
		if (e[i].decay != PANEL_NONE) e[kept++] = e[i];
	*found = kept;
	return ISO_OK;
}

/* This rank's share of them. */
static int my_events(struct panel_event *e, int64_t *found, const struct iso_panel_scan *scan,
                     enum panel_kind kind, int64_t first, struct iso_rows mine)
{
	void *cuda = NULL;
	int st = ISO_OK;

	*found = 0;
	if (iso_ctx_is_cuda(scan->ctx)) st = iso_cuda_symbol(&cuda, "iso_panel_events_cuda");
	if (!st && mine.n > 0 && scan->turn)
		st = moved_events(e, found, scan, kind, first + mine.first, mine.n);
	else if (!st && mine.n > 0)
		st = (cuda ? (__typeof__(&events_cpu))cuda : events_cpu)(e, found, scan->ctx, &scan->device,
		                                                         kind, first + mine.first, mine.n);
	for (int64_t i = 0; i < *found && mine.first > 0; i++) e[i].decay += (uint32_t)mine.first;
	return st ? st : iso_ctx_poll(scan->ctx);
}

/* `found` events of this rank at e + at become those of all, in the order of ranks; *found: how many. */
static int gather_events(struct panel_event *e, int64_t *found, iso_ctx *ctx, int64_t at, int st)
{
	int ranks = iso_ranks(ctx), rank = iso_rank(ctx);
	int64_t *n, *first; /* events, and bytes, of each rank */

	if (ranks == 1) return st;
	n = calloc((size_t)ranks, sizeof *n);
	first = calloc((size_t)ranks + 1, sizeof *first);
	if (!st && !(n && first)) st = iso_fail_memory("simulate", ranks * (int64_t)sizeof *n);
	if (!st) n[rank] = *found;
	if ((st = iso_comm_sum(ctx, st, n, ranks))) goto done;
	for (int r = 0; r < ranks; r++) first[r + 1] = first[r] + n[r] * (int64_t)sizeof *e;
	memmove((char *)e + first[rank], e + at, (size_t)*found * sizeof *e);
	st = iso_comm_gather_host(ctx, st, e, first);
	*found = first[ranks] / (int64_t)sizeof *e;
done:
	free(first);
	free(n);
	return st;
}

int iso_panel_scan_events(struct panel_event *e, int64_t *found, const struct iso_panel_scan *scan,
                          enum panel_kind kind, int64_t first, int64_t n)
{
	struct iso_rows mine = iso_share(scan->ctx, n);
	int st;

	if (first < 0 || n < 0 || n >= UINT32_MAX)
		return iso_fail(ISO_EARG,
		                "simulate: %" PRId64 " decays from %" PRId64 ", not negative and below 2^32",
		                n, first);
	st = my_events(e + mine.first, found, scan, kind, first, mine);
	st = gather_events(e, found, scan->ctx, mine.first, st);
	if (!st && panel_is_random(kind) && *found < n)
		st = iso_fail(ISO_EINPUT, "simulate: %d decays lie outside the scanner's view", PANEL_TRIES);
	return st;
}

int iso_panel_scan_rates(double rate[3], const struct iso_panel_scan *scan, int64_t n)
{
	static const enum panel_kind kind[3] = { PANEL_PILOT_UPPER, PANEL_PILOT_LOWER, PANEL_PILOT };
	struct panel_event *e = size_alloc(n, sizeof *e);
	int st = e ? ISO_OK : iso_fail_memory("simulate", n * (int64_t)sizeof *e);

	for (int i = 0; i < 3 && !st; i++) {
		int64_t found;

		st = iso_panel_scan_events(e, &found, scan, kind[i], 0, n);
		rate[i] = (double)found / (double)n;
	}
	free(e);
	if (st || rate[2] > 0) return st;
	return iso_fail(ISO_EINPUT, "simulate: %" PRId64 " decays lie outside the scanner's view", n);
}
