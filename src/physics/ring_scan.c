/* SPDX-License-Identifier: BSD-3-Clause */
/* List-mode events of a ring scanner, in the order of time, a block at a time or all in memory; and the
   singles of its crystals.

   The scan is cut into slices of time that hold about BLOCK events each. How many of each kind
   fall into a slice is Poisson; their histories and times are indexed by the slice's number. So a
   block depends on the seed and its number alone: neither threads nor ranks nor the length of the list
   change it, and memory is that of one round of blocks. Ranks share the blocks of a round, and all get all events. */
#include "base/constants.h"
#include "core/comm.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"
#include "photon_history.h"
#include "randoms.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 8192                   /* expected events of a block */
#define ROUND 64                     /* blocks between two calls of emit */
#define HOPELESS (1ll << 25)         /* histories without a single event */
#define SINGLES_HISTORY (1ull << 62) /* beyond those of events */

struct sim {
	const struct iso_simulate *p;
	iso_ctx *ctx;
	struct iso_histories h;
	struct scan_rate rate[HISTORY_KINDS];
	double mean[HISTORY_KINDS]; /* events of each kind, over the scan */
	int64_t blocks;
	int hopeless; /* set by any thread */
};

/* A block in the making: where its events go, and how many of each kind. */
struct block {
	int64_t number, first, n[HISTORY_KINDS];
	int64_t histories[HISTORY_KINDS];
};

static int check(const struct iso_simulate *p)
{
	if (!p->scanner || !p->activity) return iso_fail_null("struct iso_simulate");
	if (p->scanner->kind != ISO_CYLINDER)
		return iso_fail(ISO_EINPUT, "simulate: scanner %s is not a cylinder", p->scanner->name);
	if (!(p->counts >= 1) || !(p->counts <= 1e12))
		return iso_fail(ISO_EARG, "simulate: %g counts, must be 1 to 1e12", p->counts);
	if (!(p->randoms >= 0) || !(p->scatters >= 0) || !(p->randoms + p->scatters <= 1))
		return iso_fail(ISO_EARG,
		                "simulate: shares of randoms (%g) and scatters (%g), must be 0 to 1",
		                p->randoms, p->scatters);
	if (!(p->tof_fwhm_ps >= 0) || !isfinite(p->tof_fwhm_ps))
		return iso_fail(ISO_EARG, "simulate: TOF resolution is %g ps, must be 0 or above",
		                p->tof_fwhm_ps);
	if (!(p->duration_s >= 0) || !(p->duration_s <= 4e6))
		return iso_fail(ISO_EARG, "simulate: duration is %g s, must be 0 to 4e6", p->duration_s);
	if (!(p->half_life_s >= 0) || !isfinite(p->half_life_s))
		return iso_fail(ISO_EARG, "simulate: half life is %g s, must be 0 or above", p->half_life_s);
	if (!p->activity->has_grid || (p->mu && !p->mu->has_grid))
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	return ISO_OK;
}

/* |dt| <= window, on which randoms and their correction must agree; the longest line stands in for one. */
static double window_ps(const iso_scanner *s)
{
	double axial = iso_cylinder_length(s);

	if (s->coincidence_ns > 0) return 1e3 * s->coincidence_ns;
	return sqrt(4 * s->radius * s->radius + axial * axial) / ISO_C_MM_PER_PS;
}

/* Expected randoms over the scan of a pair of crystals of efficiency 1. */
static int randoms_per_pair(double *r, const struct iso_simulate *p)
{
	const iso_scanner *s = p->scanner;
	double *eff = size_alloc(2 * s->n, sizeof *eff), pairs = 0;
	struct iso_fans f = { 0 };
	int st;

	if (!eff) return iso_fail_memory("simulate", 2 * s->n * (int64_t)sizeof *eff);
	if ((st = iso_fans_create(&f, s))) goto done;
	for (int64_t a = 0; a < s->n; a++) eff[a] = p->eff ? (double)p->eff[a] : 1;
	iso_fans_sum(eff + s->n, &f, eff);
	for (int64_t a = 0; a < s->n; a++) pairs += .5 * eff[a] * eff[s->n + a];
	*r = p->counts * p->randoms / pairs;
	if (!(pairs > 0))
		st = iso_fail(ISO_EINPUT, "simulate: no crystal pair of scanner %s has an efficiency above 0",
		              s->name);
done:
	iso_fans_free(&f);
	free(eff);
	return st;
}

/* The activity over the scan, or a power of it. Without a duration the scan lasts 1. */
static struct scan_rate rate_of(const struct iso_simulate *p, int power)
{
	bool decays = p->duration_s > 0 && p->half_life_s > 0;

	return (struct scan_rate){ .duration = p->duration_s > 0 ? p->duration_s : 1,
		                   .lambda = decays ? power * log(2) / p->half_life_s : 0 };
}

static int prepare(struct sim *s)
{
	const struct iso_simulate *p = s->p;
	struct iso_histories *h = &s->h;
	int st;

	*h = (struct iso_histories){
		.scanner = p->scanner,
		.eff = p->eff,
		.seed = p->seed,
		.half = .5 * iso_cylinder_length(p->scanner),
		.sigma_ps = p->tof_fwhm_ps / ISO_FWHM_PER_SIGMA,
		.window_ps = window_ps(p->scanner),
	};
	if ((st = iso_check_values(p->eff, p->scanner->n, "simulate: efficiency of crystal"))) return st;
	for (int64_t a = 0; p->eff && a < p->scanner->n; a++)
		if ((double)p->eff[a] > h->most_eff) h->most_eff = (double)p->eff[a];
	for (int k = 0; k < HISTORY_KINDS; k++) /* singles follow the activity, so randoms its square */
		s->rate[k] = rate_of(p, k == HISTORY_RANDOM || k == HISTORY_DELAYED ? 2 : 1);
	s->mean[p->delayed ? HISTORY_DELAYED : HISTORY_RANDOM] = p->counts * p->randoms;
	if (!p->delayed) {
		s->mean[HISTORY_TRUE] = p->counts * (1 - p->randoms - p->scatters);
		s->mean[HISTORY_SCATTER] = p->counts * p->scatters;
	}
	s->blocks = (int64_t)ceil((p->delayed ? s->mean[HISTORY_DELAYED] : p->counts) / BLOCK);
	for (int k = HISTORY_TRUE; k <= HISTORY_SCATTER; k++)
		if (s->mean[k] > 0 &&
		    (st = iso_emission_create(&h->emission[k], p->activity, p->scanner->radius, h->half,
		                              k == HISTORY_TRUE ? ISO_BOTH_PHOTONS : ISO_FIRST_PHOTON)))
			return st;
	return iso_woodcock_create(&h->mu, p->mu);
}

/* Slices end where equal shares of the trues have come. */
static double slice_start(const struct sim *s, int64_t number)
{
	return iso_scan_when(&s->rate[HISTORY_TRUE], (double)number / (double)s->blocks);
}

/* Events of kind k in slice `number`: Poisson, or with exact counts the rounded share. */
static int64_t slice_events(const struct sim *s, int k, int64_t number)
{
	double from = iso_scan_share(&s->rate[k], slice_start(s, number));
	double to = number + 1 < s->blocks ? iso_scan_share(&s->rate[k], slice_start(s, number + 1)) : 1;

	if (!s->p->exact_counts)
		return iso_poisson(s->mean[k] * (to - from), s->p->seed,
		                   UINT64_MAX - (uint64_t)(number * HISTORY_KINDS + k));
	double all = k == HISTORY_TRUE ? round(s->p->counts) - round(s->mean[HISTORY_SCATTER]) -
	                                         round(s->mean[HISTORY_RANDOM])
	                               : round(s->mean[k]);

	return s->mean[k] > 0 ? llround(all * to) - llround(all * from) : 0;
}

/* The first n events of kind k in the slice, in the order of their histories. */
static void run_histories(struct iso_hit *hit, struct sim *s, struct block *b, int k)
{
	const uint64_t first = (uint64_t)b->number << 32;
	int64_t have = 0, i = 0, run;

	while (have < b->n[k] && !iso_stopped(s->ctx) && !s->hopeless) {
		have += iso_history_batch(hit + have, b->n[k] - have, &s->h, (enum iso_history_kind)k,
		                          first + (uint64_t)i, &run);
		i += run;
		if (have == 0 && i >= HOPELESS) {
#pragma omp atomic write
			s->hopeless = 1;
		}
	}
	b->histories[k] = i;
}

static void put_event(struct iso_events *e, int64_t i, const double *pos, struct iso_hit hit, double time_s)
{
	for (int a = 0; a < 3; a++) {
		e->v[i].p1[a] = (float)pos[3 * hit.crystal[0] + a];
		e->v[i].p2[a] = (float)pos[3 * hit.crystal[1] + a];
	}
	e->v[i].dt_ps = hit.dt_ps;
	memcpy(e->crystal + 2 * i, hit.crystal, sizeof hit.crystal);
	if (e->time_ms) e->time_ms[i] = (uint32_t)(1e3 * time_s);
}

/* Hits and times of kind k lie from next[k] to end[k]; draws of a block's times beyond those of histories. */
static int make_block(struct iso_events *e, struct sim *s, struct block *b)
{
	double from = slice_start(s, b->number), to = slice_start(s, b->number + 1);
	int64_t n = 0, next[HISTORY_KINDS], end[HISTORY_KINDS];

	for (int k = 0; k < HISTORY_KINDS; k++) {
		next[k] = n;
		end[k] = n += b->n[k];
	}
	struct iso_hit *hit = size_alloc(n, sizeof *hit);
	double *time = size_alloc(n, sizeof *time);
	bool fits = hit && time;

	for (int k = 0; k < HISTORY_KINDS && fits; k++) {
		run_histories(hit + next[k], s, b, k);
		iso_scan_times(time + next[k], b->n[k], &s->rate[k], from, to, s->p->seed,
		               (uint64_t)b->number, (uint64_t)(HISTORY_KINDS + k) << HISTORY_SHIFT);
	}
	for (int64_t i = 0; i < n && fits; i++) {
		int first = -1;

		for (int k = 0; k < HISTORY_KINDS; k++)
			if (next[k] < end[k] && (first < 0 || time[next[k]] < time[next[first]])) first = k;
		put_event(e, b->first + i, s->p->scanner->pos, hit[next[first]], time[next[first]]);
		next[first]++;
	}
	free(hit);
	free(time);
	return fits ? ISO_OK : ISO_ENOMEM; /* told by the caller: messages belong to threads */
}

static bool grow(void *array, size_t item, int64_t n)
{
	void *p = realloc(*(void **)array, (size_t)n * item);

	if (p) *(void **)array = p;
	return p;
}

/* Room for n events, n > 0, that keeps those already there. */
static int make_room(struct iso_events *e, int64_t n, bool times)
{
	if (grow(&e->v, sizeof *e->v, n) && grow(&e->crystal, 2 * sizeof *e->crystal, n) &&
	    (!times || grow(&e->time_ms, sizeof *e->time_ms, n)))
		return ISO_OK;
	return iso_fail_memory("simulate", n * (int64_t)(sizeof *e->v + 12));
}

/* This rank's blocks of a round. */
static int make_blocks(struct iso_events *e, struct sim *s, struct block *b, int n)
{
	struct iso_rows mine = iso_share(s->ctx, n);
	int failed = 0;

#pragma omp parallel for num_threads(s->ctx->threads) schedule(dynamic) reduction(+ : failed)
	for (int64_t i = mine.first; i < mine.first + mine.n; i++)
		failed += make_block(e, s, &b[i]) != ISO_OK;
	if (failed) return iso_fail_memory("simulate", BLOCK * (int64_t)(sizeof(struct iso_hit) + 8));
	if (s->hopeless)
		return iso_fail(ISO_EINPUT, "simulate: none of %lld decays gave an event in scanner %s",
		                HOPELESS, s->p->scanner->name);
	return iso_ctx_poll(s->ctx);
}

/* An array of the events of a round, `item` bytes each: first[r] is where those of rank r begin. */
static int gather(void *v, int64_t item, iso_ctx *ctx, const int64_t *first, int64_t *bytes, int st)
{
	for (int r = 0; r <= iso_ranks(ctx); r++) bytes[r] = first[r] * item;
	return v ? iso_comm_gather_host(ctx, st, v, bytes) : st;
}

/* What the other ranks made of a round. */
static int gather_round(struct iso_events *e, struct sim *s, struct block *b, int n, int st)
{
	int ranks = iso_ranks(s->ctx);
	int64_t histories[ROUND * HISTORY_KINDS], *first;

	if (ranks == 1) return st;
	if (!(first = size_alloc(2 * (ranks + 1), sizeof *first)) && !st)
		st = iso_fail_memory("ranks", 2 * (ranks + 1) * (int64_t)sizeof *first);
	if ((st = iso_comm_agree(s->ctx, st))) goto done;
	for (int r = 0; r <= ranks; r++) {
		int64_t block = r < ranks ? iso_share_of(n, r, ranks).first : n;

		first[r] = block < n ? b[block].first : e->n;
	}
	for (int i = 0; i < n; i++)
		memcpy(histories + i * HISTORY_KINDS, b[i].histories, sizeof b->histories);
	st = gather(e->v, sizeof *e->v, s->ctx, first, first + ranks + 1, st);
	st = gather(e->crystal, 2 * sizeof *e->crystal, s->ctx, first, first + ranks + 1, st);
	st = gather(e->time_ms, sizeof *e->time_ms, s->ctx, first, first + ranks + 1, st);
	st = iso_comm_sum(s->ctx, st, histories, n * HISTORY_KINDS);
	for (int i = 0; i < n; i++)
		memcpy(b[i].histories, histories + i * HISTORY_KINDS, sizeof b->histories);
done:
	free(first);
	return st;
}

static int make_round(struct iso_events *e, struct sim *s, struct block *b, int n)
{
	int st = make_room(e, e->n, e->duration_s > 0);

	return gather_round(e, s, b, n, st ? st : make_blocks(e, s, b, n));
}

static int run(struct iso_simulated *info, struct sim *s, iso_emit_fn emit, void *arg)
{
	struct iso_clock clock = iso_clock_start(s->ctx, "simulate", 0, s->blocks);
	struct iso_events e = { .tof_fwhm_ps = s->p->tof_fwhm_ps, .duration_s = s->p->duration_s };
	struct block b[ROUND];
	int st = ISO_OK;

	snprintf(e.isotope, sizeof e.isotope, "%s", s->p->isotope ? s->p->isotope : "");
	for (int64_t first = 0; first < s->blocks && !st; first += ROUND) {
		int n = s->blocks - first < ROUND ? (int)(s->blocks - first) : ROUND;

		e.n = 0;
		for (int i = 0; i < n; i++) {
			b[i] = (struct block){ .number = first + i, .first = e.n };
			for (int k = 0; k < HISTORY_KINDS; k++)
				e.n += b[i].n[k] = slice_events(s, k, first + i);
		}
		if (e.n == 0) continue;
		if ((st = make_round(&e, s, b, n))) break;
		for (int i = 0; i < n; i++) {
			info->trues += b[i].n[HISTORY_TRUE];
			info->scatters += b[i].n[HISTORY_SCATTER];
			info->randoms += b[i].n[HISTORY_RANDOM] + b[i].n[HISTORY_DELAYED];
			for (int k = HISTORY_TRUE; k <= HISTORY_SCATTER; k++)
				if (b[i].n[k])
					info->decays += (double)b[i].histories[k] / s->h.emission[k].share;
		}
		if (!(st = emit(arg, &e))) iso_clock_step(&clock, first + n, NULL);
	}
	iso_events_free(&e);
	st = iso_comm_agree(s->ctx, st); /* `emit` may have failed on one rank alone */
	if (!st && info->trues + info->scatters + info->randoms == 0)
		st = iso_fail(ISO_EARG, "simulate: the Poisson number for %g counts came out as 0",
		              s->p->delayed ? s->mean[HISTORY_DELAYED] : s->p->counts);
	return st;
}

int iso_simulate_blocks(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p,
                        iso_emit_fn emit, void *arg)
{
	if (!info || !ctx || !p || !emit) return iso_fail_null(__func__);
	struct iso_simulate full;
	struct sim s = { .p = &full, .ctx = ctx };
	struct iso_simulated made = { 0 };
	int st = iso_sized_take(&full, "iso_simulate", sizeof full, p);

	if (st || (st = check(&full)) || (st = prepare(&s)) ||
	    (full.randoms > 0 && (st = randoms_per_pair(&made.randoms_per_pair, &full))))
		goto done;
	made.window_ps = s.h.window_ps;
	/* uniform over |dt| <= tau: R / (c tau) per mm of s_c */
	made.randoms_per_pair_mm = made.randoms_per_pair / (ISO_C_MM_PER_PS * s.h.window_ps);
	if (!(st = run(&made, &s, emit, arg))) *info = made;
done:
	for (int k = 0; k < 2; k++) iso_emission_free(&s.h.emission[k]);
	return st;
}

/* All events in memory. */
struct list {
	struct iso_events e;
	int64_t room;
};

static int append(void *arg, const struct iso_events *b)
{
	struct list *l = arg;
	int64_t n = l->e.n + b->n;
	int st;

	if (n > l->room) {
		l->room = n + n / 2;
		if ((st = make_room(&l->e, l->room, b->time_ms))) return st;
	}
	memcpy(l->e.v + l->e.n, b->v, (size_t)b->n * sizeof *b->v);
	memcpy(l->e.crystal + 2 * l->e.n, b->crystal, 2 * (size_t)b->n * sizeof *b->crystal);
	if (b->time_ms) memcpy(l->e.time_ms + l->e.n, b->time_ms, (size_t)b->n * sizeof *b->time_ms);
	l->e.n = n;
	l->e.tof_fwhm_ps = b->tof_fwhm_ps;
	l->e.duration_s = b->duration_s;
	memcpy(l->e.isotope, b->isotope, sizeof b->isotope);
	return ISO_OK;
}

int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p)
{
	if (!e || !info || !ctx || !p) return iso_fail_null(__func__);
	struct list l = { 0 };
	int st = iso_simulate_blocks(info, ctx, p, append, &l);

	if (st)
		iso_events_free(&l.e);
	else
		*e = l.e;
	return st;
}

/* Randoms of a pair are R = 2 tau times the integral of s_a s_b over the scan, with s the singles a second;
   for singles S over a scan of length T that decay together this is 2 tau S_a S_b pile-up / T. */
int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p)
{
	if (!singles || !p) return iso_fail_null(__func__);
	struct iso_simulate full;
	int st = iso_sized_take(&full, "iso_simulate", sizeof full, p);

	if (st) return st;
	if (!full.scanner) return iso_fail_null("struct iso_simulate");
	p = &full;
	if (!(p->duration_s > 0) || !(p->randoms > 0))
		return iso_fail(ISO_EARG, "simulate: singles need randoms (%g) and a duration (%g s)",
		                p->randoms, p->duration_s);
	struct scan_rate rate = rate_of(p, 1);
	double tau_s = 1e-12 * window_ps(p->scanner), r;

	if ((st = randoms_per_pair(&r, p))) return st;
	double mean = sqrt(r * p->duration_s / (2 * tau_s * iso_scan_pile_up(&rate)));

	for (int64_t a = 0; a < p->scanner->n; a++)
		singles[a] = (iso_real)iso_poisson(mean * (p->eff ? (double)p->eff[a] : 1), p->seed,
		                                   SINGLES_HISTORY + (uint64_t)a);
	return ISO_OK;
}
