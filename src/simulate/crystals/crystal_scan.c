/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays through the crystals of a scanner on the CPU, and the tables of a scan for either device. */
#include "crystal_scan.h"
#include "base/constants.h"
#include "core/comm.h"
#include "core/library.h"
#include "core/plan.h"
#include "core/size.h"

#include <omp.h>

enum { TURN = 2048 }; /* decays that a thread takes at a time */

/* ---- tables ---- */

/* Crystals by unit, for the centroid. */
static void fill_many(uint32_t *first, uint32_t *many, const uint32_t *unit, int64_t n, int64_t units)
{
	for (int64_t i = 0; i < n; i++) first[unit[i] + 1]++;
	for (int64_t u = 0; u < units; u++) first[u + 1] += first[u];
	for (int64_t i = n - 1; i >= 0; i--) many[--first[unit[i] + 1]] = (uint32_t)i;
	/* first[u + 1] is now where unit u begins */
	memmove(first, first + 1, (size_t)units * sizeof *first);
	first[units] = (uint32_t)n;
}

int iso_crystal_map(struct pulse_map *map, struct iso_room *room, const struct iso_modules *m)
{
	int64_t n = modules_crystals(m), units = modules_units(m);
	uint32_t *unit, *first = NULL, *many = NULL;
	float(*place)[3] = NULL;

	ISO_HOST(room, unit, n);
	if (m->centroid) {
		ISO_HOST(room, first, units + 1);
		ISO_HOST(room, many, n);
		ISO_HOST(room, place, n);
	}
	if (room->status) return room->status;
	for (int64_t i = 0; i < n; i++) unit[i] = (uint32_t)modules_unit(m, (int32_t)i);
	if (m->centroid) fill_many(first, many, unit, n, units);
	for (int64_t i = 0; m->centroid && i < n; i++) {
		double p[3];

		modules_point(p, m, (int32_t)i);
		for (int a = 0; a < 3; a++) place[i][a] = (float)p[a];
	}
	map->unit = ISO_MOVE(room, unit, n);
	map->place = m->centroid ? (const float(*)[3])ISO_MOVE(room, place, n) : NULL;
	map->first = m->centroid ? ISO_MOVE(room, first, units + 1) : NULL;
	map->many = m->centroid ? ISO_MOVE(room, many, n) : NULL;
	return room->status;
}

/* Whether one photon alone can't make two singles: then a pair needs both. */
static bool both_needed(const struct iso_modules *m, double prompt_kev)
{
	double low = m->window[0], g = 6 * m->resolution / PULSE_FWHM * sqrt(WATER_E0);
	double root = .5 * (sqrt(g * g + 4 * low) - g);

	return !(prompt_kev > 0) && 2 * root * root > WATER_E0;
}

/* Of events as they come, their order, and what the sort needs. */
static int make_device(struct iso_crystal_scan *s)
{
	int (*temp)(int64_t * bytes) = NULL;
	int st = iso_cuda_symbol((void **)&temp, "iso_crystal_sort_bytes_cuda");

	if (st || (st = temp(&s->temp_bytes))) return st;
	ISO_DEVICE(&s->room, s->on_device, 1);
	ISO_DEVICE(&s->room, s->made, CRYSTAL_ROOM);
	ISO_DEVICE(&s->room, s->kept, CRYSTAL_ROOM);
	ISO_DEVICE(&s->room, s->number, 2 * (int64_t)CRYSTAL_ROOM);
	ISO_DEVICE(&s->room, s->slot, 2 * (int64_t)CRYSTAL_ROOM);
	ISO_DEVICE(&s->room, s->may, CRYSTAL_PIECE);
	ISO_DEVICE(&s->room, s->count, 2 + CRYSTAL_COUNTS);
	s->temp = iso_room_device(&s->room, s->temp_bytes, 1);
	return s->room.status;
}

int iso_crystal_scan_create(struct iso_crystal_scan *scan, iso_ctx *ctx, const struct crystal_setting *set,
                            const double at[3], double prompt_kev)
{
	const struct iso_modules *m = set->modules;
	struct iso_crystal_scan s = { .ctx = ctx, .room = iso_room_of(ctx, "simulate") };
	struct iso_modules *copy;
	int st = iso_crystal_make(&s.device.w, &s.room, set);

	if (!st && set->activity) st = iso_crystal_source(&s.device.source, &s.room, set->activity);
	if (!st && !set->activity)
		for (int a = 0; a < 3; a++) s.device.source.low[a] = (float)at[a];
	if (!st) st = iso_crystal_map(&s.device.map, &s.room, m);
	if (!st && ISO_HOST(&s.room, copy, 1)) {
		*copy = *m;
		s.device.modules = ISO_MOVE(&s.room, copy, 1);
	}
	s.device.source.prompt_kev = (float)prompt_kev;
	s.device.blur = (struct pulse_blur){ set->seed, m->resolution,
		                             m->single_fwhm_ps * DEPOSIT_TICKS / PULSE_FWHM };
	memcpy(s.device.window, m->window, sizeof m->window);
	memcpy(s.device.prompt, m->prompt, sizeof m->prompt);
	s.device.trigger = m->trigger;
	if (!st) st = s.room.status;
	if (!st && iso_ctx_is_cuda(ctx)) st = make_device(&s);
	if (st)
		iso_crystal_scan_free(&s);
	else
		*scan = s;
	return st;
}

void iso_crystal_scan_lazy(struct iso_crystal_scan *scan, const struct iso_modules *m)
{
	scan->device.lazy = both_needed(m, (double)scan->device.source.prompt_kev);
}

void iso_crystal_scan_free(struct iso_crystal_scan *s)
{
	iso_room_free(&s->room);
	*s = (struct iso_crystal_scan){ 0 };
}

void iso_crystal_scan_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct crystal_setting *s)
{
	iso_crystal_plan(plan, ctx, s);
	iso_plan_add(plan, "units of crystals", modules_crystals(s->modules), s->modules->centroid ? 20 : 4,
	             iso_ctx_is_cuda(ctx));
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "coincidences on the device", CRYSTAL_ROOM,
		             2 * sizeof(struct crystal_event) + 48, true);
	iso_plan_add(plan, "coincidences", iso_ctx_is_cuda(ctx) ? CRYSTAL_ROOM : CRYSTAL_PIECE / 16,
	             sizeof(struct crystal_event) + sizeof(struct iso_event) + 8, false);
}

/* ---- decays ---- */

/* Each turn fills its own place, then they are pushed together. */
static int events_cpu(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                      const struct iso_crystal_scan *scan, uint64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	int64_t turns = (n + TURN - 1) / TURN, *own = size_alloc(turns, sizeof *own);

	if (!own) return iso_fail_memory("simulate", turns * (int64_t)sizeof *own);
#pragma omp parallel num_threads(ctx->threads)
	{
		int64_t sum[CRYSTAL_COUNTS] = { 0 };

#pragma omp for schedule(dynamic)
		for (int64_t k = 0; k < turns; k++) {
			uint32_t part[CRYSTAL_COUNTS] = { 0 };
			int64_t end = (k + 1) * TURN < n ? (k + 1) * TURN : n;

			for (int64_t i = k * TURN; i < end && !iso_stopped(ctx); i++)
				own[k] += crystal_run(e + k * TURN + own[k], part, &scan->device,
				                      first + (uint64_t)i);
			for (int c = 0; c < CRYSTAL_COUNTS; c++) sum[c] += part[c];
		}
		for (int c = 0; c < CRYSTAL_COUNTS; c++)
#pragma omp atomic
			count[c] += sum[c];
	}
	*found = 0;
	for (int64_t k = 0; k < turns; k++) {
		memmove(e + *found, e + k * TURN, (size_t)own[k] * sizeof *e);
		*found += own[k];
	}
	free(own);
	return iso_ctx_poll(ctx);
}

/* What a lazy scan does not count: it depends on how much is left out. */
static void forget_photons(int64_t count[CRYSTAL_COUNTS])
{
	for (int c = CRYSTAL_MET; c <= CRYSTAL_OUTSIDE; c++) count[c] = 0;
	for (int c = CRYSTAL_FATE_LEFT; c <= CRYSTAL_FULL; c++) count[c] = 0;
}

int iso_crystal_scan_events(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                            const struct iso_crystal_scan *scan, uint64_t first, int64_t n)
{
	int64_t part[CRYSTAL_COUNTS] = { 0 };
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(scan->ctx) ? iso_cuda_symbol(&cuda, "iso_crystal_events_cuda") : ISO_OK;

	if (st) return st;
	st = (cuda ? (__typeof__(&events_cpu))cuda : events_cpu)(e, found, part, scan, first, n);
	if (scan->device.lazy) forget_photons(part);
	for (int c = 0; c < CRYSTAL_COUNTS; c++) count[c] += part[c];
	return st;
}

int iso_crystal_scan_round(struct crystal_event *e, int64_t *found, int64_t count[CRYSTAL_COUNTS],
                           const struct iso_crystal_scan *scan, uint64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	int ranks = iso_ranks(ctx), rank = iso_rank(ctx);
	struct iso_rows mine = iso_share(ctx, n);
	int64_t part[CRYSTAL_COUNTS] = { 0 }, *from, own = 0;
	int st;

	if (ranks == 1) return iso_crystal_scan_events(e, found, count, scan, first, n);
	if (!(from = size_alloc(2 * (ranks + 1), sizeof *from)))
		return iso_comm_agree(ctx, iso_fail_memory("simulate", (int64_t)sizeof *from));
	st = iso_crystal_scan_events(e, &own, part, scan, first + (uint64_t)mine.first, mine.n);
	from[rank] = own;
	st = iso_comm_sum(ctx, st, from, ranks);
	st = iso_comm_sum(ctx, st, part, CRYSTAL_COUNTS);
	int64_t *at = from + ranks + 1;

	for (int r = 0; r < ranks; r++) at[r + 1] = at[r] + from[r] * (int64_t)sizeof *e;
	if (!st) {
		memmove((char *)e + at[rank], e, (size_t)own * sizeof *e);
		st = iso_comm_gather_host(ctx, st, e, at);
	}
	*found = at[ranks] / (int64_t)sizeof *e;
	for (int c = 0; c < CRYSTAL_COUNTS; c++) count[c] += part[c];
	free(from);
	return st;
}

/* ---- deposits ---- */

/* Deposits of one turn, which grow. */
struct turn {
	struct deposit *d;
	int64_t n, room;
};

static bool add(struct turn *t, const struct crystal_trace *k)
{
	if (t->n + k->n > t->room) {
		int64_t room = 2 * (t->n + k->n) + TURN;
		struct deposit *d = realloc(t->d, (size_t)room * sizeof *d);

		if (!d) return false;
		t->d = d;
		t->room = room;
	}
	memcpy(t->d + t->n, k->d, (size_t)k->n * sizeof *k->d);
	t->n += k->n;
	return true;
}

static int join(struct deposit **d, int64_t *found, int64_t *room, const struct turn *t, int64_t turns)
{
	int64_t n = 0;

	for (int64_t k = 0; k < turns; k++) n += t[k].n;
	if (n > *room) {
		struct deposit *more = realloc(*d, (size_t)n * sizeof *more);

		if (!more) return iso_fail_memory("deposits", n * (int64_t)sizeof *more);
		*d = more;
		*room = n;
	}
	*found = 0;
	for (int64_t k = 0; k < turns; k++) {
		if (t[k].n > 0) memcpy(*d + *found, t[k].d, (size_t)t[k].n * sizeof **d);
		*found += t[k].n;
	}
	return ISO_OK;
}

int iso_crystal_scan_deposits(struct deposit **d, int64_t *found, int64_t *room,
                              int64_t count[CRYSTAL_COUNTS], const struct iso_crystal_scan *scan,
                              uint64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	int64_t turns = (n + TURN - 1) / TURN;
	struct turn *turn = size_alloc(turns, sizeof *turn);
	int failed = 0, st;

	if (iso_ctx_is_cuda(ctx)) {
		free(turn);
		return iso_fail(ISO_EARG, "simulate: deposits are made on the CPU: take device 'cpu'");
	}
	if (!turn) return iso_fail_memory("simulate", turns * (int64_t)sizeof *turn);
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads) reduction(+ : failed)
	for (int64_t k = 0; k < turns; k++) {
		uint32_t part[CRYSTAL_COUNTS] = { 0 };
		int64_t end = (k + 1) * TURN < n ? (k + 1) * TURN : n;
		struct crystal_photon p[3];
		struct crystal_trace t;

		for (int64_t i = k * TURN; i < end && !iso_stopped(ctx); i++) {
			int photons = crystal_decay(&t, p, &scan->device, first + (uint64_t)i, false);

			crystal_count_photons(part, &t, photons);
			failed += !add(turn + k, &t);
		}
		for (int c = 0; c < CRYSTAL_COUNTS; c++)
#pragma omp atomic
			count[c] += part[c];
	}
	st = failed ? iso_fail_memory("deposits", n * (int64_t)sizeof **d)
	            : join(d, found, room, turn, turns);
	for (int64_t k = 0; k < turns; k++) free(turn[k].d);
	free(turn);
	return st ? st : iso_ctx_poll(ctx);
}
