/* SPDX-License-Identifier: BSD-3-Clause */
/* List-mode events of a ring scanner, in the order of time, a block at a time.

   The scan is cut into slices of time that hold about BLOCK events each. How many of each kind
   fall into a slice is Poisson; their histories and times are indexed by the slice's number. So a
   block depends on the seed and its number alone: neither threads nor the length of the list
   change it, and memory is that of one round of blocks. */
#include "ring_scan.h"
#include "base/constants.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"
#include "fans.h"
#include "photon_history.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 8192           /* expected events of a block */
#define ROUND 64             /* blocks between two calls of emit */
#define HOPELESS (1ll << 25) /* histories without a single event */

/* Draws that belong to a block as a whole stand beyond those of histories. */
enum { TIMES = HISTORY_KINDS };

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
		return iso_fail(
			ISO_EINPUT,
			"simulate: scanner %s is not a cylinder, the one kind whose faces this can hit",
			p->scanner->name);
	if (!(p->counts >= 1) || !(p->counts <= 1e12))
		return iso_fail(ISO_EARG, "simulate: %g counts, must be 1 to 1e12", p->counts);
	if (!(p->randoms >= 0) || !(p->scatters >= 0) || !(p->randoms + p->scatters <= 1))
		return iso_fail(ISO_EARG,
		                "simulate: shares of randoms (%g) and scatters (%g) must be 0 to 1 together",
		                p->randoms, p->scatters);
	if (!(p->tof_fwhm_ps >= 0) || !isfinite(p->tof_fwhm_ps))
		return iso_fail(ISO_EARG, "simulate: TOF resolution is %g ps, must be 0 (none) or above",
		                p->tof_fwhm_ps);
	if (!(p->duration_s >= 0) || !(p->duration_s <= 4e6))
		return iso_fail(ISO_EARG, "simulate: duration is %g s, must be 0 (no times) to 4e6",
		                p->duration_s);
	if (!(p->half_life_s >= 0) || !isfinite(p->half_life_s))
		return iso_fail(ISO_EARG, "simulate: half life is %g s, must be 0 (none) or above",
		                p->half_life_s);
	if (!p->activity->has_grid || (p->mu && !p->mu->has_grid))
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	return ISO_OK;
}

static int check_efficiencies(double *most, const struct iso_simulate *p)
{
	*most = 0;
	for (int64_t a = 0; p->eff && a < p->scanner->n; a++) {
		if (!(p->eff[a] >= 0) || !isfinite(p->eff[a]))
			return iso_fail(ISO_EINPUT,
			                "simulate: efficiency of crystal %" PRId64
			                " is %g, must be 0 or above",
			                a, (double)p->eff[a]);
		*most = fmax(*most, (double)p->eff[a]);
	}
	return ISO_OK;
}

/* Randoms and their correction must agree on the window; the longest line stands in for one. */
double iso_simulate_window_ps(const iso_scanner *s)
{
	double axial = (double)s->pairs.rings * s->ring_pitch;

	if (s->coincidence_ns > 0) return 1e3 * s->coincidence_ns;
	return sqrt(4 * s->radius * s->radius + axial * axial) / ISO_C_MM_PER_PS;
}

int iso_simulate_randoms_per_pair(double *r, const struct iso_simulate *p)
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

struct scan_rate iso_simulate_rate(const struct iso_simulate *p, int power)
{
	bool decays = p->duration_s > 0 && p->half_life_s > 0;

	return (struct scan_rate){ .duration = p->duration_s > 0 ? p->duration_s : 1,
		                   .lambda = decays ? power * log(2) / p->half_life_s : 0 };
}

/* Singles follow the activity, so randoms its square. */
static void set_rates(struct sim *s)
{
	const struct iso_simulate *p = s->p;

	for (int k = 0; k < HISTORY_KINDS; k++)
		s->rate[k] = iso_simulate_rate(p, k == HISTORY_RANDOM || k == HISTORY_DELAYED ? 2 : 1);
	if (p->delayed) {
		s->mean[HISTORY_DELAYED] = p->counts * p->randoms;
	} else {
		s->mean[HISTORY_TRUE] = p->counts * (1 - p->randoms - p->scatters);
		s->mean[HISTORY_SCATTER] = p->counts * p->scatters;
		s->mean[HISTORY_RANDOM] = p->counts * p->randoms;
	}
	s->blocks = (int64_t)ceil((p->delayed ? s->mean[HISTORY_DELAYED] : p->counts) / BLOCK);
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
		.half = .5 * (double)p->scanner->pairs.rings * p->scanner->ring_pitch,
		.sigma_ps = p->tof_fwhm_ps / ISO_FWHM_PER_SIGMA,
		.window_ps = iso_simulate_window_ps(p->scanner),
	};
	if ((st = check_efficiencies(&h->most_eff, p))) return st;
	set_rates(s);
	if (s->mean[HISTORY_TRUE] > 0 &&
	    (st = iso_emission_create(&h->trues, p->activity, p->scanner->radius, h->half, ISO_BOTH_PHOTONS)))
		return st;
	if (s->mean[HISTORY_SCATTER] > 0 &&
	    (st = iso_emission_create(&h->scatters, p->activity, p->scanner->radius, h->half,
	                              ISO_FIRST_PHOTON)))
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
	int64_t have = 0, i;

	for (i = 0; have < b->n[k] && !iso_stopped(s->ctx) && !s->hopeless; i++) {
		have += iso_history_run(hit + have, &s->h, (enum iso_history_kind)k,
		                        (uint64_t)b->number << 32 | (uint64_t)i);
		if (have == 0 && i >= HOPELESS) {
#pragma omp atomic write
			s->hopeless = 1;
		}
	}
	b->histories[k] = i;
}

/* One kind of a block: its hits and their times, in order; `next` walks through them. */
struct strand {
	struct iso_hit *hit;
	double *time;
	int64_t n, next;
};

static int make_strand(struct strand *t, struct sim *s, struct block *b, int k)
{
	double from = slice_start(s, b->number), to = slice_start(s, b->number + 1);

	*t = (struct strand){ .n = b->n[k],
		              .hit = size_alloc(b->n[k] + 1, sizeof *t->hit),
		              .time = size_alloc(b->n[k], sizeof *t->time) };
	if (!t->hit || !t->time) return ISO_ENOMEM; /* told by the caller: messages belong to threads */
	run_histories(t->hit, s, b, k);
	iso_scan_times(t->time, t->n, &s->rate[k], from, to, s->p->seed, (uint64_t)b->number,
	               (uint64_t)(TIMES + k) << HISTORY_SHIFT);
	return ISO_OK;
}

/* The strand whose next event comes first. */
static struct strand *earliest(struct strand *t)
{
	struct strand *best = NULL;

	for (int k = 0; k < HISTORY_KINDS; k++)
		if (t[k].next < t[k].n && (!best || t[k].time[t[k].next] < best->time[best->next]))
			best = t + k;
	return best;
}

static void put_event(struct iso_events *e, int64_t i, const struct sim *s, struct iso_hit hit, double time_s)
{
	const double *pos = s->p->scanner->pos;

	for (int a = 0; a < 3; a++) {
		e->v[i].p1[a] = (float)pos[3 * hit.crystal[0] + a];
		e->v[i].p2[a] = (float)pos[3 * hit.crystal[1] + a];
	}
	e->v[i].dt_ps = hit.dt_ps;
	e->crystal[2 * i] = hit.crystal[0];
	e->crystal[2 * i + 1] = hit.crystal[1];
	if (e->time_ms) e->time_ms[i] = (uint32_t)(1e3 * time_s);
}

static int make_block(struct iso_events *e, struct sim *s, struct block *b)
{
	struct strand strand[HISTORY_KINDS] = { 0 }, *t;
	int64_t i = b->first;
	int st = ISO_OK;

	for (int k = 0; k < HISTORY_KINDS && !st; k++) st = make_strand(&strand[k], s, b, k);
	while (!st && (t = earliest(strand))) {
		put_event(e, i++, s, t->hit[t->next], t->time[t->next]);
		t->next++;
	}
	for (int k = 0; k < HISTORY_KINDS; k++) {
		free(strand[k].hit);
		free(strand[k].time);
	}
	return st;
}

/* Sizes and places of up to ROUND blocks from number `first`; how many events. */
static int64_t lay_out(struct block *b, const struct sim *s, int64_t first, int n)
{
	int64_t events = 0;

	for (int i = 0; i < n; i++) {
		b[i] = (struct block){ .number = first + i, .first = events };
		for (int k = 0; k < HISTORY_KINDS; k++) events += b[i].n[k] = slice_events(s, k, first + i);
	}
	return events;
}

static int make_room(struct iso_events *e, int64_t n, bool times)
{
	iso_events_free(e);
	e->n = n;
	e->v = size_alloc(n, sizeof *e->v);
	e->crystal = size_alloc(n, 2 * sizeof *e->crystal);
	e->time_ms = times ? size_alloc(n, sizeof *e->time_ms) : NULL;
	if (!e->v || !e->crystal || (times && !e->time_ms))
		return iso_fail_memory("simulate", n * (int64_t)(sizeof *e->v + 12));
	return ISO_OK;
}

static void describe(struct iso_events *e, const struct iso_simulate *p)
{
	e->tof_fwhm_ps = p->tof_fwhm_ps;
	e->duration_s = p->duration_s;
	snprintf(e->isotope, sizeof e->isotope, "%s", p->isotope ? p->isotope : "");
}

static int make_round(struct iso_events *e, struct sim *s, struct block *b, int n)
{
	int failed = 0;

#pragma omp parallel for num_threads(s->ctx->threads) schedule(dynamic) reduction(+ : failed)
	for (int i = 0; i < n; i++) failed += make_block(e, s, &b[i]) != ISO_OK;
	if (failed) return iso_fail_memory("simulate", BLOCK * (int64_t)(sizeof(struct iso_hit) + 8));
	if (s->hopeless)
		return iso_fail(ISO_EINPUT,
		                "simulate: none of %lld decays gave an event; does the activity lie inside "
		                "scanner %s?",
		                HOPELESS, s->p->scanner->name);
	return iso_ctx_poll(s->ctx);
}

static void count(struct iso_simulated *info, const struct sim *s, const struct block *b)
{
	info->trues += b->n[HISTORY_TRUE];
	info->scatters += b->n[HISTORY_SCATTER];
	info->randoms += b->n[HISTORY_RANDOM] + b->n[HISTORY_DELAYED];
	if (b->n[HISTORY_TRUE]) info->decays += (double)b->histories[HISTORY_TRUE] / s->h.trues.share;
	if (b->n[HISTORY_SCATTER])
		info->decays += (double)b->histories[HISTORY_SCATTER] / s->h.scatters.share;
}

static int run(struct iso_simulated *info, struct sim *s, iso_emit_fn emit, void *arg)
{
	struct iso_clock clock = iso_clock_start(s->ctx, "simulate", 0, s->blocks);
	struct iso_events e = { 0 };
	struct block b[ROUND];
	int st = ISO_OK;

	for (int64_t first = 0; first < s->blocks && !st; first += ROUND) {
		int n = s->blocks - first < ROUND ? (int)(s->blocks - first) : ROUND;
		int64_t events = lay_out(b, s, first, n);

		if (events == 0) continue;
		if ((st = make_room(&e, events, s->p->duration_s > 0)) || (st = make_round(&e, s, b, n)))
			break;
		describe(&e, s->p);
		for (int i = 0; i < n; i++) count(info, s, &b[i]);
		if (!(st = emit(arg, &e))) iso_clock_step(&clock, first + n, NULL);
	}
	iso_events_free(&e);
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

	if (st) return st;
	p = &full;
	if ((st = check(p)) || (st = prepare(&s))) goto done;
	if (p->randoms > 0 && (st = iso_simulate_randoms_per_pair(&made.randoms_per_pair, p))) goto done;
	made.window_ps = s.h.window_ps;
	/* uniform over |dt| <= tau: R / (c tau) per mm of s_c */
	made.randoms_per_pair_mm = made.randoms_per_pair / (ISO_C_MM_PER_PS * s.h.window_ps);
	if ((st = run(&made, &s, emit, arg))) goto done;
	*info = made;
done:
	iso_emission_free(&s.h.trues);
	iso_emission_free(&s.h.scatters);
	return st;
}
