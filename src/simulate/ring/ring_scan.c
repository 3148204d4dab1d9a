/* SPDX-License-Identifier: BSD-3-Clause */
/* List-mode events of a ring scanner, in the order of time, a block at a time or all in memory; and the
   singles of its crystals.

   The scan is cut into slices of time that hold about BLOCK events each. How many of each kind
   fall into a slice is Poisson; their histories and times are indexed by the slice's number. So a
   block depends on the seed and its number alone: neither threads nor ranks nor the length of the list
   change it, and memory is that of one round of blocks. Ranks share the blocks of a round, and all get all events. */
#include "ring_scan.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"
#include "detection.h"
#include "history_scan.h"
#include "moving_scan.h"
#include "photon_history.h"
#include "physics/randoms.h"

#include <omp.h>
#include <stdio.h>

#define BLOCK 8192             /* expected events of a block */
#define BLOCK_DECAYS (1 << 19) /* decays of a block, where these are counted */
#define BLOCKS_MOST (1 << 27)  /* that a history's number has room for */
#define ROUND 64               /* blocks between two calls of emit */
#define HOPELESS (1ll << 25)   /* histories without a single event */
#define TURN 4096              /* histories between two looks at a request to stop */
#define PILOT (1 << 21)        /* histories that tell a rate */
#define PILOT_EVENTS (1 << 18) /* that tell how many decays an event of a moving object takes, at most */
#define PILOT_LEAST 4096       /* of them */
#define PILOT_MOST (1 << 20)   /* decays of which none is an event */
#define SINGLES_HISTORY (1ull << 62) /* beyond those of events */
#define NO_WIDTH_PS 1e-6             /* above 0: events have times */
#define TICKS 1000                   /* of the clock, a block */

/* How far a round of blocks is; threads add to it. */
struct round {
	int64_t first, n, own; /* blocks; of these, this rank's */
	int64_t goal;          /* of these: hits to be found, or histories where decays are counted; */
	int64_t behind;        /* of the goal, so far */
	int64_t events;        /* found so far */
};

struct sim {
	const struct iso_simulate *p;
	iso_ctx *ctx;
	struct iso_histories h;
	struct iso_photon_scan photons;    /* with physics */
	struct iso_history_scan histories; /* on CUDA: kinds without photons, if there are any */
	struct iso_moving moving;
	struct iso_moving_scan decays; /* on CUDA, of an object that moves */
	struct iso_detection detection;
	struct photon_yield yield[HISTORY_KINDS];
	struct scan_rate rate[HISTORY_KINDS];
	double mean
		[HISTORY_KINDS]; /* events of each kind, over the scan; of kinds that count decays: decays */
	int64_t blocks;
	int hopeless; /* set by any thread */
	struct iso_clock clock;
	struct round round;
	struct iso_simulated_photons found;
};

/* A block in the making: its hits by kind, each in the order of histories; where its events go. */
struct block {
	int64_t number, first;
	struct photon_hits hits[HISTORY_KINDS];
};

static int check_physics(const struct iso_simulate *p)
{
	if (!p->physics && (p->decays != 0 || p->by_rate || p->rayleigh))
		return iso_fail(
			ISO_EARG,
			"simulate: a number of decays, randoms by rate and Rayleigh scatter need physics");
	if (!p->physics) return ISO_OK;
	if (!(p->decays >= 0) || !(p->decays <= 1e13))
		return iso_fail(ISO_EARG, "simulate: %g decays, must be 0 to 1e13", p->decays);
	if (p->bent > 0)
		return iso_fail(ISO_EARG,
		                "simulate: bent ones stand in for scatter, which physics has itself");
	if (p->by_rate && p->randoms > 0)
		return iso_fail(ISO_EARG, "simulate: randoms by rate or a share of them, not both");
	if (p->by_rate && (!(p->duration_s > 0) || !(p->scanner->coincidence_ns > 0)))
		return iso_fail(ISO_EARG,
		                "simulate: randoms by rate need a duration (%g s) and a coincidence window "
		                "of the scanner (%g ns)",
		                p->duration_s, p->scanner->coincidence_ns);
	if (!(p->randoms < 1)) return iso_fail(ISO_EARG, "simulate: randoms alone have no physics");
	return ISO_OK;
}

static int check_motion(const struct iso_simulate *p)
{
	if (p->mu_fixed && !p->motion)
		return iso_fail(ISO_EARG,
		                "simulate: what stays with the scanner ('mu_fixed') needs an object "
		                "that moves; else it is part of 'mu'");
	if (p->gates && !p->warp) return iso_fail_null("struct iso_simulate");
	if (p->gates && p->physics)
		return iso_fail(ISO_EARG, "simulate: gates have no physics; leave one of them out");
	if (!p->motion && !p->gates) return ISO_OK;
	if (!(p->duration_s > 0))
		return iso_fail(ISO_EARG, "simulate: an object that moves needs the length of the scan");
	if (p->physics && p->mu_fixed)
		return iso_fail(
			ISO_EARG,
			"simulate: with photons ('physics') nothing stays in place ('mu_fixed') while "
			"the object moves; leave one of them out");
	if (p->exact_counts)
		return iso_fail(ISO_EARG,
		                "simulate: the number of events follows the object, so it cannot be "
		                "exact");
	if (p->mu_fixed && !p->mu_fixed->has_grid)
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	return ISO_OK;
}

static int check(const struct iso_simulate *p)
{
	int st;

	if (!p->scanner || !p->activity) return iso_fail_null("struct iso_simulate");
	if (p->scanner->kind != ISO_CYLINDER)
		return iso_fail(ISO_EINPUT, "simulate: scanner %s is not a cylinder", p->scanner->name);
	if (!(p->decays > 0) && (!(p->counts >= 1) || !(p->counts <= 1e12)))
		return iso_fail(ISO_EARG, "simulate: %g counts, must be 1 to 1e12", p->counts);
	if (!(p->randoms >= 0) || !(p->bent >= 0) || !(p->randoms + p->bent <= 1))
		return iso_fail(ISO_EARG,
		                "simulate: shares of randoms (%g) and bent ones (%g), must be 0 to 1",
		                p->randoms, p->bent);
	if (!(p->tof_fwhm_ps >= 0) || !isfinite(p->tof_fwhm_ps))
		return iso_fail(ISO_EARG, "simulate: TOF resolution is %g ps, must be 0 or above",
		                p->tof_fwhm_ps);
	if (!(p->duration_s >= 0) || !(p->duration_s <= 4e6))
		return iso_fail(ISO_EARG, "simulate: duration is %g s, must be 0 to 4e6", p->duration_s);
	if (!(p->half_life_s >= 0) || !isfinite(p->half_life_s))
		return iso_fail(ISO_EARG, "simulate: half life is %g s, must be 0 or above", p->half_life_s);
	if (!p->activity->has_grid || (p->mu && !p->mu->has_grid))
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	if ((st = iso_detection_check(p))) return st;
	return (st = check_motion(p)) ? st : check_physics(p);
}

/* |dt| <= window, on which randoms and their correction must agree; the longest line stands in for one. */
static double window_ps(const iso_scanner *s)
{
	double axial = iso_cylinder_length(s);

	if (s->coincidence_ns > 0) return 1e3 * s->coincidence_ns;
	return sqrt(4 * s->radius * s->radius + axial * axial) / ISO_C_MM_PER_PS;
}

/* Of `randoms` over the scan, those expected of a pair of crystals of efficiency 1. */
static int randoms_per_pair(double *r, const struct iso_simulate *p, double randoms)
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
	*r = randoms / pairs;
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

static void set_means(struct sim *s, double trues, double bent, double randoms)
{
	bool delayed = s->p->delayed;

	s->mean[HISTORY_TRUE] = delayed ? 0 : trues;
	s->mean[HISTORY_BENT] = delayed ? 0 : bent;
	s->mean[delayed ? HISTORY_DELAYED : HISTORY_RANDOM] = randoms;
}

/* Whether events of kind k come of photons that are followed, and of which kind these are. */
static bool by_photons(const struct sim *s, int k)
{
	return s->p->physics && (k == HISTORY_TRUE || s->p->by_rate);
}

static enum photon_kind photon_kind(int k)
{
	return k == HISTORY_TRUE ? PHOTON_TRUES : k == HISTORY_RANDOM ? PHOTON_RANDOMS : PHOTON_DELAYED;
}

/* Whether a number of histories of kind k is drawn, of which some have events, instead of a number of events. */
static bool counts_decays(const struct sim *s, int k)
{
	return s->moving.motion ? history_is_decay((enum iso_history_kind)k) || by_photons(s, k)
	                        : k == HISTORY_TRUE && s->p->decays > 0;
}

/* ---- an object that moves: expected events become expected histories ---- */

/* Histories of kind k that an event takes; of photons, those of `pilot`. The pilot finds twice the events that are
   wanted, so that the variance of their number is 1.5 times a Poisson number's, or else enough for 0.2 %. */
static int moving_pilot(double *histories, const struct sim *s, int k, enum photon_kind pilot)
{
	const struct moving_kind of = {
		.moving = &s->moving,
		.rate = s->rate[k],
		.histories = by_photons(s, k) ? NULL : &s->h,
		.kind = (enum iso_history_kind)k,
		.photons = &s->photons.device,
		.pilot = pilot,
	};
	int64_t want = (int64_t)fmin(PILOT_EVENTS, fmax(PILOT_LEAST, 2 * s->p->counts)), n = 0;
	int st = iso_moving_pilot(&n, s->ctx, &of, want, PILOT_MOST);

	*histories = (double)n / (double)want;
	return st;
}

static int prepare_moving(struct sim *s)
{
	double each, most = 0;
	int st;

	for (int k = 0; k < HISTORY_KINDS; k++) {
		bool trues = k == HISTORY_TRUE;

		if (!(s->mean[k] > 0) || !counts_decays(s, k)) continue;
		if (!trues || !(s->p->decays > 0)) {
			st = moving_pilot(&each, s, k, trues ? PHOTON_PILOT_TRUES : PHOTON_PILOT_RANDOMS);
			if (st) return st;
			s->mean[k] *= each;
		}
		most = fmax(most, s->mean[k]);
	}
	s->blocks = (int64_t)fmax((double)s->blocks, ceil(most / BLOCK_DECAYS));
	return ISO_OK;
}

static int prepare_plain(struct sim *s)
{
	const struct iso_simulate *p = s->p;
	struct iso_histories *h = &s->h;
	bool moves = s->moving.motion;
	int st;

	set_means(s, p->counts * (1 - p->randoms - p->bent), p->counts * p->bent, p->counts * p->randoms);
	s->blocks = (int64_t)ceil((p->delayed ? s->mean[HISTORY_DELAYED] : p->counts) / BLOCK);
	for (int k = HISTORY_TRUE; k <= HISTORY_BENT; k++)
		if (s->mean[k] > 0 &&
		    (st = iso_emission_create(&h->emission[k], p->activity, p->scanner->radius, h->half,
		                              moves               ? ISO_ALL_DECAYS
		                              : k == HISTORY_TRUE ? ISO_BOTH_PHOTONS
		                                                  : ISO_FIRST_PHOTON)))
			return st;
	return iso_woodcock_create(&h->mu, p->mu);
}

/* Share of the histories of a kind of pilot that have an event. */
static int pilot_share(double *share, const struct sim *s, enum photon_kind pilot)
{
	double each;
	int st;

	if (!s->moving.motion) return iso_photon_scan_pilot(share, &s->photons, pilot, PILOT);
	st = moving_pilot(&each, s, pilot == PHOTON_PILOT_RANDOMS ? HISTORY_RANDOM : HISTORY_TRUE, pilot);
	*share = 1 / each;
	return st;
}

/* Of D decays in T seconds q D are seen as prompts. A photon of a decay is seen with the share s, so the singles are
   2 s D / T a second, and randoms 2 tau of each pair's product: with r, the share of two photons of two decays that are
   seen by crystals in coincidence, 4 tau r D^2 / T in all, times the pile-up of a decaying activity. Prompts and randoms
   together being N, D = 2 N / (q + sqrt(q^2 + 4 a N)), a = 4 tau r pile-up / T. */
static int rates(struct sim *s, double *decays, double *randoms)
{
	const struct iso_simulate *p = s->p;
	double prompts, pairs, single;
	int st;

	if ((st = pilot_share(&prompts, s, PHOTON_PILOT_TRUES)) ||
	    (st = pilot_share(&pairs, s, PHOTON_PILOT_RANDOMS)) ||
	    (st = pilot_share(&single, s, PHOTON_PILOT_SINGLES)))
		return st;
	double a = 4e-12 * s->h.window_ps * pairs * iso_scan_pile_up(&s->rate[HISTORY_TRUE]) / p->duration_s;

	*decays = p->decays > 0 ? p->decays
	                        : 2 * p->counts / (prompts + sqrt(prompts * prompts + 4 * a * p->counts));
	*randoms = a * *decays * *decays;
	s->found.decays_per_s = *decays / p->duration_s;
	s->found.singles_per_s = 2 * single * *decays / p->duration_s;
	s->found.randoms_expected = *randoms;
	return ISO_OK;
}

static int prepare_physics(struct sim *s)
{
	const struct iso_simulate *p = s->p;
	double decays = p->decays, randoms = p->counts * p->randoms, share;
	int st = iso_photon_scan_create(&s->photons, s->ctx, p, s->h.window_ps);

	if (st) return st;
	if (p->by_rate) {
		if ((st = rates(s, &decays, &randoms))) return st;
	} else if (p->decays > 0 && p->randoms > 0) {
		if ((st = pilot_share(&share, s, PHOTON_PILOT_TRUES))) return st;
		randoms = decays * share * p->randoms / (1 - p->randoms);
	}
	set_means(s, p->decays > 0 ? p->decays : p->counts - randoms, 0, randoms);
	s->blocks = (int64_t)ceil(p->delayed      ? s->mean[HISTORY_DELAYED] / BLOCK
	                          : p->decays > 0 ? p->decays / BLOCK_DECAYS
	                                          : p->counts / BLOCK);
	return ISO_OK;
}

/* Tables on CUDA of the kinds without photons. */
static int prepare_device(struct sim *s)
{
	bool any = false;

	for (int k = 0; k < HISTORY_KINDS; k++) any |= s->mean[k] > 0 && !by_photons(s, k);
	if (!any || !iso_ctx_is_cuda(s->ctx)) return ISO_OK;
	int st = iso_history_scan_create(&s->histories, s->ctx, &s->h, s->p->scanner->n);

	return st || !s->moving.motion ? st : iso_moving_scan_create(&s->decays, s->ctx, &s->moving);
}

static int prepare(struct sim *s)
{
	const struct iso_simulate *p = s->p;
	struct iso_histories *h = &s->h;
	int st;

	*h = (struct iso_histories){
		.ring = iso_cylinder_of(p->scanner),
		.pairs = p->scanner->pairs,
		.pos = p->scanner->pos,
		.eff = p->eff,
		.seed = p->seed,
		.radius = p->scanner->radius,
		.half = .5 * iso_cylinder_length(p->scanner),
		.sigma_ps = p->tof_fwhm_ps / ISO_FWHM_PER_SIGMA,
		.window_ps = window_ps(p->scanner),
	};
	if ((st = iso_check_values(p->eff, p->scanner->n, "simulate: efficiency of crystal"))) return st;
	for (int64_t a = 0; p->eff && a < p->scanner->n; a++)
		if ((double)p->eff[a] > h->most_eff) h->most_eff = (double)p->eff[a];
	for (int k = 0; k < HISTORY_KINDS; k++) /* singles follow the activity, so randoms its square */
		s->rate[k] = rate_of(p, k == HISTORY_RANDOM || k == HISTORY_DELAYED ? 2 : 1);
	if ((st = iso_moving_create(&s->moving, s->ctx, p, h->radius, h->half))) return st;
	if (s->moving.motion && p->physics && iso_ctx_is_cuda(s->ctx))
		return iso_fail(ISO_EARG,
		                "simulate: an object that moves is simulated with photons ('physics') on the "
		                "CPU alone; give 'device' cpu");
	if ((st = p->physics ? prepare_physics(s) : prepare_plain(s)) ||
	    (s->moving.motion && (st = prepare_moving(s))))
		return st;
	if (s->blocks > BLOCKS_MOST)
		return iso_fail(ISO_EARG, "simulate: %" PRId64 " slices of time, must be at most %d",
		                s->blocks, BLOCKS_MOST);
	return prepare_device(s);
}

/* Slices end where equal shares of the trues have come. */
static double slice_start(const struct sim *s, int64_t number)
{
	return iso_scan_when(&s->rate[HISTORY_TRUE], (double)number / (double)s->blocks);
}

/* Number of the first draw of times of kind k, beyond those of histories. */
static uint64_t time_draw(int k)
{
	return (uint64_t)(HISTORY_KINDS + k) << HISTORY_SHIFT;
}

/* Events (or decays) of kind k in slice `number`: Poisson, or with exact counts the rounded share. */
static int64_t slice_events(const struct sim *s, int k, int64_t number)
{
	double from = iso_scan_share(&s->rate[k], slice_start(s, number));
	double to = number + 1 < s->blocks ? iso_scan_share(&s->rate[k], slice_start(s, number + 1)) : 1;

	if (!s->p->exact_counts)
		return iso_poisson(s->mean[k] * (to - from), s->p->seed,
		                   UINT64_MAX - (uint64_t)(number * HISTORY_KINDS + k));
	double all =
		k == HISTORY_TRUE && !(s->p->decays > 0)
			? round(s->p->counts) - round(s->mean[HISTORY_BENT]) - round(s->mean[HISTORY_RANDOM])
			: round(s->mean[k]);

	return s->mean[k] > 0 ? llround(all * to) - llround(all * from) : 0;
}

/* ---- hits ---- */

/* How many hits of each kind a block wants. */
static void begin_block(struct block *b, const struct sim *s, int64_t number)
{
	*b = (struct block){ .number = number };
	for (int k = 0; k < HISTORY_KINDS; k++) {
		bool decays = counts_decays(s, k);
		int64_t n = slice_events(s, k, number);

		b->hits[k] = (struct photon_hits){ .block = number,
			                           .want = decays ? INT64_MAX : n,
			                           .limit = decays ? n : UINT32_MAX };
	}
}

static int64_t block_events(const struct block *b)
{
	int64_t n = 0;

	for (int k = 0; k < HISTORY_KINDS; k++) n += b->hits[k].n;
	return n;
}

static int64_t goal_of(const struct photon_hits *h)
{
	return h->want < INT64_MAX ? h->want : h->limit;
}

/* A turn took the hits from `before` to `h`. */
static void tell_turn(struct sim *s, const struct photon_hits *before, const struct photon_hits *h)
{
	struct round *r = &s->round;
	int64_t more = h->want < INT64_MAX ? h->n - before->n : h->histories - before->histories;
	int64_t behind = __atomic_add_fetch(&r->behind, more, __ATOMIC_RELAXED);
	int64_t events = __atomic_add_fetch(&r->events, h->n - before->n, __ATOMIC_RELAXED);

	if (omp_get_thread_num() > 0 || behind == 0) return;
	double share = (double)behind / (double)r->goal;

	iso_clock_count(&s->clock, "events", (double)events / (TICKS * (double)r->own * share));
	iso_clock_step(&s->clock, (int64_t)(TICKS * ((double)r->first + (double)r->n * share)), NULL);
}

/* Histories of kind k without photons, a batch at a time. */
static bool run_batches(struct photon_hits *h, const struct sim *s, int k)
{
	int64_t run;

	if (!h->v && !(h->v = size_alloc(h->want, sizeof *h->v))) return false;
	h->n += iso_history_batch(h->v + h->n, h->want - h->n, &s->h, (enum iso_history_kind)k,
	                          history_number(h->block, h->histories), &run);
	h->histories += run;
	return true;
}

/* ---- of an object that moves ---- */

/* Times of the decays of kind k of a block, in order. */
static void decay_times(double *t, const void *arg, int k, const struct photon_hits *h)
{
	const struct sim *s = arg;

	iso_scan_times(t, h->limit, &s->rate[k], slice_start(s, h->block), slice_start(s, h->block + 1),
	               s->p->seed, (uint64_t)h->block, time_draw(k));
}

static bool moving_hit(struct iso_hit *hit, const struct sim *s, const struct moving_pose *at, int k,
                       int64_t block, int64_t i)
{
	struct photon_event e = { 0 };

	if (!by_photons(s, k))
		return iso_moving_run(hit, &s->h, &s->moving, at, (enum iso_history_kind)k,
		                      history_number(block, i));
	if (!iso_moving_photons(&e, &s->photons.device, at, photon_history(photon_kind(k), block, i)))
		return false;
	*hit = (struct iso_hit){ { e.crystal[0], e.crystal[1] }, e.dt_ps, (uint8_t)e.order };
	return true;
}

/* The decays of kind k of a block: history i has the i-th time. */
static bool run_moving(struct sim *s, struct photon_hits *h, int k)
{
	struct moving_pose at = { .ms = -1 };
	struct photon_hits before = *h;
	struct iso_hit hit;
	double *time = size_alloc(h->limit, sizeof *time);
	bool fits = time;

	if (fits) decay_times(time, s, k, h);
	while (fits && h->histories < h->limit) {
		int64_t i = h->histories++;

		iso_moving_at(&at, &s->moving, time[i]);
		if (moving_hit(&hit, s, &at, k, h->block, i)) fits = iso_moving_add(h, &hit, time[i]);
		if (h->histories % TURN > 0 && h->histories < h->limit) continue;
		tell_turn(s, &before, h);
		before = *h;
		if (iso_stopped(s->ctx)) break;
	}
	free(time);
	return fits;
}

/* The hits of kind k of a block, in the order of their histories. false: there is no memory. */
static bool run_histories(struct sim *s, struct photon_hits *h, int k)
{
	bool fits = true;

	if (s->moving.motion && counts_decays(s, k)) return h->histories == h->limit || run_moving(s, h, k);
	while (fits && h->n < h->want && h->histories < h->limit && !iso_stopped(s->ctx) && !s->hopeless) {
		struct photon_hits before = *h;

		fits = by_photons(s, k) ? iso_photon_hits_run(h, &s->photons, photon_kind(k), TURN)
		                        : run_batches(h, s, k);
		tell_turn(s, &before, h);
		if (h->n == 0 && h->histories >= HOPELESS && h->want < INT64_MAX) {
#pragma omp atomic write
			s->hopeless = 1;
		}
	}
	return fits;
}

static int photon_events(struct photon_event *e, int64_t *found, const void *scan, int kind, int64_t block,
                         int64_t blocks, int64_t first, int64_t n)
{
	return iso_photon_scan_events(e, found, scan, (enum photon_kind)kind, block, blocks, first, n);
}

static int history_events(struct photon_event *e, int64_t *found, const void *scan, int kind, int64_t block,
                          int64_t blocks, int64_t first, int64_t n)
{
	return iso_history_scan_events(e, found, scan, (enum iso_history_kind)kind, block, blocks, first, n);
}

/* Hits of blocks b[0..n-1] on the device, kind by kind. */
static int device_hits(struct sim *s, struct block *b, int n)
{
	struct photon_hits h[ROUND];
	int st = ISO_OK;

	if (!iso_ctx_is_cuda(s->ctx)) return ISO_OK;
	for (int k = 0; k < HISTORY_KINDS && !st; k++) {
		if (!(s->mean[k] > 0)) continue;
		for (int i = 0; i < n; i++) h[i] = b[i].hits[k];
		if (s->moving.motion && counts_decays(s, k))
			st = iso_moving_hits_device(
				h, n, s->ctx,
				&(struct moving_decays){ &s->moving, &s->decays, &s->histories,
			                                 (enum iso_history_kind)k, decay_times, s });
		else
			st = by_photons(s, k) ? iso_photon_hits_device(h, n, photon_events, &s->photons,
			                                               photon_kind(k), &s->yield[k], HOPELESS)
			                      : iso_photon_hits_device(h, n, history_events, &s->histories, k,
			                                               &s->yield[k], HOPELESS);
		for (int i = 0; i < n; i++) b[i].hits[k] = h[i];
	}
	return st;
}

static int make_hits(struct sim *s, struct block *b, struct iso_rows mine)
{
	int failed = 0, st = device_hits(s, b + mine.first, (int)mine.n);

	if (st) return st;
	for (int64_t i = mine.first; i < mine.first + mine.n; i++)
		for (int k = 0; k < HISTORY_KINDS; k++) s->round.goal += goal_of(&b[i].hits[k]);
#pragma omp parallel for num_threads(s->ctx->threads) schedule(dynamic) reduction(+ : failed)
	for (int64_t i = mine.first; i < mine.first + mine.n; i++)
		for (int k = 0; k < HISTORY_KINDS; k++) failed += !run_histories(s, &b[i].hits[k], k);
	if (failed) return iso_fail_memory("simulate", BLOCK * (int64_t)sizeof(struct iso_hit));
	if (s->hopeless)
		return iso_fail(ISO_EINPUT, "simulate: none of %lld decays gave an event in scanner %s",
		                HOPELESS, s->p->scanner->name);
	return iso_ctx_poll(s->ctx);
}

/* ---- events ---- */

/* Events of a round, and what they are. */
struct list {
	struct iso_events e;
	uint8_t *order; /* scatters of each; ISO_ORDER_RANDOM */
	double *time;   /* s, with dead time; else NULL */
	int64_t room;
};

static void put_event(struct list *l, int64_t i, const double *pos, const struct iso_hit *hit, double time_s)
{
	struct iso_event *v = l->e.v + i;

	for (int a = 0; a < 3; a++) {
		v->p1[a] = (float)pos[3 * (size_t)hit->crystal[0] + (size_t)a];
		v->p2[a] = (float)pos[3 * (size_t)hit->crystal[1] + (size_t)a];
	}
	v->dt_ps = hit->dt_ps;
	memcpy(l->e.crystal + 2 * i, hit->crystal, sizeof hit->crystal);
	if (l->e.time_ms) l->e.time_ms[i] = scan_ms(time_s);
	if (l->time) l->time[i] = time_s;
	l->order[i] = hit->order;
}

/* Times of the hits of kind k lie from first[k] on. */
static bool put_block(struct list *l, const struct sim *s, const struct block *b)
{
	double from = slice_start(s, b->number), to = slice_start(s, b->number + 1);
	int64_t n = block_events(b), first[HISTORY_KINDS], next[HISTORY_KINDS] = { 0 };
	double *time = size_alloc(n, sizeof *time);

	if (!time) return false;
	for (int64_t k = 0, at = 0; k < HISTORY_KINDS; at += b->hits[k++].n) {
		first[k] = at;
		if (b->hits[k].time)
			memcpy(time + at, b->hits[k].time, (size_t)b->hits[k].n * sizeof *time);
		else
			iso_scan_times(time + at, b->hits[k].n, &s->rate[k], from, to, s->p->seed,
			               (uint64_t)b->number, time_draw((int)k));
	}
	for (int64_t i = 0; i < n; i++) {
		int soon = -1;

		for (int k = 0; k < HISTORY_KINDS; k++)
			if (next[k] < b->hits[k].n &&
			    (soon < 0 || time[first[k] + next[k]] < time[first[soon] + next[soon]]))
				soon = k;
		put_event(l, b->first + i, s->p->scanner->pos, b->hits[soon].v + next[soon],
		          time[first[soon] + next[soon]]);
		next[soon]++;
	}
	free(time);
	return true;
}

/* Room for n events, n > 0, that keeps those already there. */
static int make_room(struct list *l, int64_t n, bool times)
{
	struct iso_events *e = &l->e;

	if (iso_scan_grow(&e->v, sizeof *e->v, n) && iso_scan_grow(&e->crystal, 2 * sizeof *e->crystal, n) &&
	    iso_scan_grow(&l->order, sizeof *l->order, n) &&
	    (!times || iso_scan_grow(&e->time_ms, sizeof *e->time_ms, n)))
		return ISO_OK;
	return iso_fail_memory("simulate", n * (int64_t)(sizeof *e->v + 13));
}

static void free_list(struct list *l)
{
	iso_events_free(&l->e);
	free(l->time);
	free(l->order);
}

/* This rank's blocks of a round. */
static int put_blocks(struct list *l, const struct sim *s, const struct block *b, struct iso_rows mine)
{
	int failed = 0;

#pragma omp parallel for num_threads(s->ctx->threads) schedule(dynamic) reduction(+ : failed)
	for (int64_t i = mine.first; i < mine.first + mine.n; i++) failed += !put_block(l, s, &b[i]);
	return failed ? iso_fail_memory("simulate", BLOCK * (int64_t)sizeof(double)) : ISO_OK;
}

/* How many hits and histories the other ranks' blocks have. */
static int share_numbers(struct sim *s, struct block *b, int n, struct iso_rows mine, int st)
{
	int64_t number[2 * ROUND * HISTORY_KINDS] = { 0 };

	if (iso_ranks(s->ctx) == 1) return st;
	for (int64_t i = mine.first; i < mine.first + mine.n; i++)
		for (int k = 0; k < HISTORY_KINDS; k++) {
			number[2 * (i * HISTORY_KINDS + k)] = b[i].hits[k].n;
			number[2 * (i * HISTORY_KINDS + k) + 1] = b[i].hits[k].histories;
		}
	st = iso_comm_sum(s->ctx, st, number, 2 * (int64_t)n * HISTORY_KINDS);
	for (int i = 0; i < n * HISTORY_KINDS && !st; i++) {
		b[i / HISTORY_KINDS].hits[i % HISTORY_KINDS].n = number[2 * i];
		b[i / HISTORY_KINDS].hits[i % HISTORY_KINDS].histories = number[2 * i + 1];
	}
	return st;
}

/* An array of the events of a round, `item` bytes each: first[r] is where those of rank r begin. */
static int gather(void *v, int64_t item, iso_ctx *ctx, const int64_t *first, int64_t *bytes, int st)
{
	for (int r = 0; r <= iso_ranks(ctx); r++) bytes[r] = first[r] * item;
	return v ? iso_comm_gather_host(ctx, st, v, bytes) : st;
}

/* What the other ranks made of a round. */
static int gather_round(struct list *l, struct sim *s, const struct block *b, int n, int st)
{
	int ranks = iso_ranks(s->ctx);
	struct iso_events *e = &l->e;
	int64_t *first;

	if (ranks == 1) return st;
	if (!(first = size_alloc(2 * (ranks + 1), sizeof *first)) && !st)
		st = iso_fail_memory("ranks", 2 * (ranks + 1) * (int64_t)sizeof *first);
	if ((st = iso_comm_agree(s->ctx, st))) goto done;
	for (int r = 0; r <= ranks; r++) {
		int64_t block = r < ranks ? iso_share_of(n, r, ranks).first : n;

		first[r] = block < n ? b[block].first : e->n;
	}
	st = gather(e->v, sizeof *e->v, s->ctx, first, first + ranks + 1, st);
	st = gather(e->crystal, 2 * sizeof *e->crystal, s->ctx, first, first + ranks + 1, st);
	st = gather(e->time_ms, sizeof *e->time_ms, s->ctx, first, first + ranks + 1, st);
	st = gather(l->order, sizeof *l->order, s->ctx, first, first + ranks + 1, st);
	st = gather(l->time, sizeof *l->time, s->ctx, first, first + ranks + 1, st);
done:
	free(first);
	return st;
}

/* The events of n blocks from number `first` on. */
static int make_round(struct list *l, struct sim *s, struct block *b, int n, int64_t first)
{
	struct iso_rows mine = iso_share(s->ctx, n);
	int st;

	s->round = (struct round){ .first = first, .n = n, .own = mine.n };
	for (int i = 0; i < n; i++) begin_block(b + i, s, first + i);
	if ((st = share_numbers(s, b, n, mine, make_hits(s, b, mine)))) return st;
	l->e.n = 0;
	for (int i = 0; i < n; i++) {
		b[i].first = l->e.n;
		l->e.n += block_events(b + i);
	}
	if (l->e.n == 0) return ISO_OK;
	st = make_room(l, l->e.n, l->e.duration_s > 0);
	if (!st && s->p->dead_time_s > 0 && !iso_scan_grow(&l->time, sizeof *l->time, l->e.n))
		st = iso_fail_memory("simulate", l->e.n * (int64_t)sizeof *l->time);
	return gather_round(l, s, b, n, st ? st : put_blocks(l, s, b, mine));
}

static void free_blocks(struct block *b, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < HISTORY_KINDS; k++) {
			free(b[i].hits[k].v);
			free(b[i].hits[k].time);
			b[i].hits[k].v = NULL;
			b[i].hits[k].time = NULL;
		}
}

static void count_round(struct iso_simulated *info, struct sim *s, const struct list *l,
                        const struct block *b, int n)
{
	for (int64_t i = 0; i < l->e.n; i++) {
		int order = l->order[i];

		info->trues += order == 0;
		info->randoms += order == ISO_ORDER_RANDOM;
		info->scatters += order > 0 && order < ISO_ORDER_RANDOM;
		if (order < ISO_ORDER_RANDOM)
			s->found.by_order[order < ISO_ORDERS ? order : ISO_ORDERS - 1]++;
	}
	for (int i = 0; i < n; i++)
		for (int k = HISTORY_TRUE; k <= HISTORY_BENT; k++)
			if (b[i].hits[k].histories > 0)
				info->decays += (double)b[i].hits[k].histories /
				                (s->p->physics ? 1 : s->h.emission[k].share);
}

/* With a width of each crystal: the mean of those. */
static double width_of_list(const struct iso_simulate *p)
{
	double square = 0;

	if (!p->crystal_fwhm_ps) return p->tof_fwhm_ps;
	for (int64_t a = 0; a < p->scanner->n; a++)
		square += p->crystal_fwhm_ps[a] * p->crystal_fwhm_ps[a] / (double)p->scanner->n;
	return sqrt(square);
}

static int run(struct iso_simulated *info, struct sim *s, iso_emit_fn emit, void *arg)
{
	struct list l = { .e = { .tof_fwhm_ps = width_of_list(s->p), .duration_s = s->p->duration_s } };
	struct block *b = size_alloc(ROUND, sizeof *b);
	int st = b ? ISO_OK : iso_fail_memory("simulate", ROUND * (int64_t)sizeof *b);

	s->clock = iso_clock_start_of(s->ctx, "simulate", "events", 0, TICKS * s->blocks);
	snprintf(l.e.isotope, sizeof l.e.isotope, "%s", s->p->isotope ? s->p->isotope : "");
	for (int64_t first = 0; first < s->blocks && !st; first += ROUND) {
		int n = s->blocks - first < ROUND ? (int)(s->blocks - first) : ROUND;

		st = make_round(&l, s, b, n, first);
		free_blocks(b, n);
		if (st) break;
		count_round(info, s, &l, b, n);
		if (iso_detection_any(s->p)) {
			st = iso_detection_apply(&s->detection, &l.e, l.order, l.time);
			info->lost = s->detection.lost;
			info->thinned = s->detection.thinned;
			if (st) break;
		}
		if (l.e.n > 0 && s->p->truth) st = s->p->truth(s->p->truth_arg, l.order, l.e.n);
		if (l.e.n > 0 && !st) st = emit(arg, &l.e);
		double events = (double)(info->trues + info->scatters + info->randoms);

		iso_clock_count(&s->clock, "events", events / (double)(TICKS * (first + n)));
		if (!st) iso_clock_step(&s->clock, TICKS * (first + n), NULL);
	}
	free(b);
	free_list(&l);
	st = iso_comm_agree(s->ctx, st); /* `emit` may have failed on one rank alone */
	if (!st && info->trues + info->scatters + info->randoms == 0)
		st = s->p->decays > 0 && !s->p->delayed
		             ? iso_fail(ISO_EARG, "simulate: %g decays gave no event", s->p->decays)
		             : iso_fail(ISO_EARG, "simulate: the Poisson number for %g counts came out as 0",
		                        s->p->delayed ? s->mean[HISTORY_DELAYED] : s->p->counts);
	return st;
}

static void free_sim(struct sim *s)
{
	iso_photon_scan_free(&s->photons);
	iso_history_scan_free(&s->histories);
	iso_moving_scan_free(&s->decays);
	iso_moving_free(&s->moving);
	for (int k = 0; k < 2; k++) iso_emission_free(&s->h.emission[k]);
}

static int forget_events(void *arg, const struct iso_events *e)
{
	(void)arg;
	(void)e;
	return ISO_OK;
}

/* Of delayeds: when the prompts of the same scan make it dead. */
static int find_dead(struct sim *s)
{
	struct iso_simulate p = *s->p;
	struct iso_simulated found = { 0 };
	struct sim prompts = { .p = &p, .ctx = s->ctx, .detection = iso_detection_of(s->p) };
	int st;

	if (!p.delayed || !(p.dead_time_s > 0)) return ISO_OK;
	p.delayed = prompts.detection.delayed = false;
	p.truth = NULL;
	p.photons = NULL;
	prompts.detection.keep = true;
	if (!(st = prepare(&prompts))) st = run(&found, &prompts, forget_events, NULL);
	s->detection.prompt = s->detection.began = prompts.detection.began;
	s->detection.prompts = prompts.detection.n_began;
	free_sim(&prompts);
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

	if (st || (st = iso_sized_clear(info, "iso_simulated", sizeof made)) ||
	    (full.photons && (st = iso_sized_clear(full.photons, "iso_simulated_photons", sizeof s.found))) ||
	    (st = check(&full)))
		goto done;
	if (full.crystal_fwhm_ps) full.tof_fwhm_ps = NO_WIDTH_PS; /* detection.c adds each event's own */
	if ((st = prepare(&s)) ||
	    (full.randoms > 0 &&
	     (st = randoms_per_pair(&made.randoms_per_pair, &full,
	                            s.mean[full.delayed ? HISTORY_DELAYED : HISTORY_RANDOM]))))
		goto done;
	if (full.pairs && full.pairs->factor) made.randoms_per_pair /= full.pairs->most;
	made.window_ps = s.h.window_ps;
	/* uniform over |dt| <= tau: R / (c tau) per mm of s_c */
	made.randoms_per_pair_mm = made.randoms_per_pair / (ISO_C_MM_PER_PS * s.h.window_ps);
	s.detection = iso_detection_of(&full);
	if ((st = find_dead(&s)) || (st = run(&made, &s, emit, arg))) goto done;
	iso_sized_give(info, sizeof made, &made);
	if (full.photons) iso_sized_give(full.photons, sizeof s.found, &s.found);
done:
	free_sim(&s);
	free(s.detection.began);
	return st;
}

void iso_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_simulate *p)
{
	if (!plan || !ctx || !p) return;

	bool cuda = iso_ctx_is_cuda(ctx);

	/* a round of blocks, give or take */
	iso_plan_add(plan, "events", ROUND * BLOCK * 9 / 8,
	             sizeof(struct iso_event) + 13 + sizeof(struct iso_hit), false);
	iso_plan_add(plan, "emission tables", p->activity->n, p->bent > 0 ? 44 : 28, false);
	if (p->motion)
		iso_plan_add(plan, "times of decays", (int64_t)ctx->threads * BLOCK_DECAYS, sizeof(double),
		             false);
	if (cuda && (!p->physics || p->randoms > 0)) iso_history_scan_plan(plan, p);
	if (!p->physics) return;
	iso_plan_add(plan, "density of the object", p->mu ? p->mu->n : 0, sizeof(float) + sizeof(uint16_t),
	             false);
	if (!cuda) return;
	iso_plan_add(plan, "emission table on the device", p->activity->n, sizeof(struct iso_emission_slot),
	             true);
	iso_plan_add(plan, "density on the device", p->mu ? p->mu->n : 0, sizeof(uint16_t), true);
	iso_plan_add(plan, "photons on the device", 2 * (int64_t)PHOTON_PIECE, sizeof(struct photon_event),
	             true);
}

/* ---- all events in memory ---- */

static int append(void *arg, const struct iso_events *b)
{
	struct list *l = arg;
	int64_t n = l->e.n + b->n;
	int st;

	if (n > l->room || !l->e.v) {
		l->room = n + n / 2 + 1;
		if ((st = make_room(l, l->room, b->time_ms))) return st;
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

	if (!st) {
		*e = l.e;
		l.e = (struct iso_events){ 0 };
	}
	free_list(&l);
	return st;
}

/* Randoms of a pair are R = 2 tau times the integral of s_a s_b over the scan, with s the singles a second;
   for singles S over a scan of length T that decay together this is 2 tau S_a S_b pile-up / T. */
int iso_simulate_singles_of(iso_real *singles, const struct iso_simulate *p, double randoms_per_pair)
{
	const struct scan_rate rate = rate_of(p, 1);
	double tau_s = 1e-12 * window_ps(p->scanner);
	double mean = sqrt(randoms_per_pair * p->duration_s / (2 * tau_s * iso_scan_pile_up(&rate)));

	if (!(p->duration_s > 0) || !(p->randoms > 0))
		return iso_fail(ISO_EARG, "simulate: singles need randoms (%g) and a duration (%g s)",
		                p->randoms, p->duration_s);
	if (p->pairs && p->pairs->factor)
		return iso_fail(ISO_EARG, "simulate: with factors of pairs randoms are no product of two "
		                          "crystals' singles; take delayeds");
	for (int64_t a = 0; a < p->scanner->n; a++)
		singles[a] = (iso_real)iso_poisson(mean * (p->eff ? (double)p->eff[a] : 1), p->seed,
		                                   SINGLES_HISTORY + (uint64_t)a);
	return ISO_OK;
}

int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p)
{
	if (!singles || !p) return iso_fail_null(__func__);
	struct iso_simulate full;
	int st = iso_sized_take(&full, "iso_simulate", sizeof full, p);
	double r = 0;

	if (st) return st;
	if (!full.scanner) return iso_fail_null("struct iso_simulate");
	if (full.by_rate || full.decays > 0)
		return iso_fail(ISO_EARG, "simulate: singles come of counts and a share of randoms alone");
	if (full.randoms > 0 && (st = randoms_per_pair(&r, &full, full.counts * full.randoms))) return st;
	return iso_simulate_singles_of(singles, &full, r);
}
