/* SPDX-License-Identifier: BSD-3-Clause */
/* Time offsets by maximum likelihood. Event j of crystals a, b has the density
     p = (1 - rho) b(x) + rho/(2 tau),   x = dt - (o_a - o_b),
   b as in time_density.h. Steps are Fisher scoring: of the offsets by the Laplacian of the events with the weights
   sc^2, sc = -(1 - rho) b'/p; of ln sigma, and of ln(rho/(1 - rho)) where the share is fitted, by sum sc/sum sc^2.
   Where halving a step does not raise the likelihood, a step of EM does (weights w/s^2, residuals E[n]). */
#include "isotome/timing.h"

#include "core/ctx.h"
#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/progress.h"
#include "time_density.h"
#include "timing_graph.h"

#include <inttypes.h>
#include <string.h>

#define START_TOLERANCE 1e-10 /* of the least squares */
#define STEP_TOLERANCE 1e-6
#define STILL_PS 1e-4      /* the end: no offset, nor sigma, moves farther */
#define ENOUGH_SD 1e-2     /* of the least error: what a fit of few events that moves slowly must come to */
#define ENOUGH_CHANGE 1e-2 /* of a variance: what widths that move slowly must come to */
#define OVER \
	1.8 /* EM of variances goes so much farther, in the logarithm: below 2 it comes to the same end */
#define SIGMA_STILL 1e-3  /* the end of sigmas of crystals: relative change of a variance */
#define NO_DENSITY 1e-200 /* below: the event counts as random */
#define LEAST_SHARE 1e-3  /* of randoms */
#define SAME_LIKELIHOOD 1e-12
#define MOST_LOG_STEP 1. /* of ln sigma at once */

enum { MOST_STEPS = 300, MOST_HALVES = 8, START_BINS = 4096 };

/* What a pass over the events adds up: ln p; score and its square of ln sigma and of the share; weights and squares of
   errors of trues. */
struct sums {
	double loglik, sigma, sigma_2, share, share_2, trues, squares;
};

struct at {
	double *offset, sigma, share;
};

struct fit {
	struct timing_graph g;
	iso_ctx *ctx;
	const struct iso_timing_data *d;
	struct iso_timing_options o;
	struct at now, next;
	double *gradient, *step;
	double *variance, *mean_square; /* per crystal: sigma^2; NULL */
	double *gathered, *pieces_2;    /* per crystal and piece: sums of variances, and weights */
	struct sums sum;
	double log_sigma_step, share_step, moved;
	int steps;
};

/* ---- one event ---- */

static double share_of(const struct fit *f, const struct at *at, int64_t j)
{
	if (!f->d->randoms) return at->share;
	return fmin(fmax((double)f->d->randoms[j], LEAST_SHARE), 1);
}

static double sigma_of(const struct fit *f, const struct at *at, int64_t j)
{
	const uint32_t *c = f->g.crystal + 2 * j;

	return f->variance ? sqrt(f->variance[c[0]] + f->variance[c[1]]) : at->sigma;
}

static struct time_density density_1(const struct fit *f, double x, double s, double lo, double hi)
{
	return f->o.bin_ps > 0 ? time_binned(x, s, lo, hi, f->o.bin_ps) : time_stretch(x, s, lo, hi);
}

static struct time_density density(const struct fit *f, int64_t j, double x, double s)
{
	struct iso_timing_piece piece[ISO_TIMING_PIECES];
	struct time_density sum = { 0, 0, 0 };
	double all = 0;

	if (f->d->lo_ps) return density_1(f, x, s, (double)f->d->lo_ps[j], (double)f->d->hi_ps[j]);
	const int n = f->d->pieces(f->d->arg, piece, j);

	for (int i = 0; i < n; i++) {
		const struct time_density one = density_1(f, x, s, piece[i].lo_ps, piece[i].hi_ps);

		sum.b += piece[i].weight * one.b;
		sum.slope += piece[i].weight * one.slope;
		sum.wider += piece[i].weight * one.wider;
		all += piece[i].weight;
	}
	if (!(all > 0)) return (struct time_density){ 0, 0, 0 };
	return (struct time_density){ sum.b / all, sum.slope / all, sum.wider / all };
}

static void middle_of(double *lo, double *hi, const struct fit *f, int64_t j)
{
	struct iso_timing_piece piece[ISO_TIMING_PIECES];

	*lo = *hi = 0;
	if (f->d->lo_ps) {
		*lo = f->d->lo_ps[j];
		*hi = f->d->hi_ps[j];
		return;
	}
	const int n = f->d->pieces(f->d->arg, piece, j);
	double sum = 0, all = 0;

	for (int i = 0; i < n; i++) {
		sum += piece[i].weight * .5 * (piece[i].lo_ps + piece[i].hi_ps);
		all += piece[i].weight;
	}
	*lo = *hi = all > 0 ? sum / all : 0;
}

/* Score of o_a - o_b; the posterior of being true, and n, n^2 under it. */
struct event_terms {
	double score, sigma_score, true_, mean, square, p, rho;
};

static struct event_terms terms(const struct fit *f, const struct at *at, int64_t j)
{
	const uint32_t *c = f->g.crystal + 2 * j;
	const double x = (double)f->d->dt_ps[j] - (at->offset[c[0]] - at->offset[c[1]]);
	const double s = sigma_of(f, at, j), rho = share_of(f, at, j), random = rho / (2 * f->o.window_ps);
	const struct time_density b = density(f, j, x, s);
	struct event_terms t = { .p = random, .rho = rho };

	if (!(b.b > NO_DENSITY) || rho >= 1) return t;
	t.p = (1 - rho) * b.b + random;
	t.score = -(1 - rho) * b.slope / t.p;
	t.sigma_score = (1 - rho) * b.wider / t.p;
	t.true_ = (1 - rho) * b.b / t.p;
	t.mean = -s * s * b.slope / b.b;
	t.square = s * s * fmax(1 + b.wider / b.b, 0);
	return t;
}

/* ---- passes over the events ---- */

static void add_sums(struct sums *s, const struct event_terms *t)
{
	const double share = 1 - t->true_ - t->rho;

	s->loglik += log(t->p);
	s->sigma += t->sigma_score;
	s->sigma_2 += t->sigma_score * t->sigma_score;
	s->share += share;
	s->share_2 += share * share;
	s->trues += t->true_;
	s->squares += t->true_ * t->square;
}

/* EM of sigma_a^2: the mean over the events of a of (v_a/S)^2 E[n^2] + v_a v_b/S, S = v_a + v_b. */
static void add_variance(const struct fit *f, int piece, int64_t j, const struct event_terms *t)
{
	double *sum = f->gathered + piece * f->g.crystals, *count = f->pieces_2 + piece * f->g.crystals;

	for (int end = 0; end < 2; end++) {
		const uint32_t a = f->g.crystal[2 * j + end], b = f->g.crystal[2 * j + 1 - end];
		const double v = f->variance[a], u = f->variance[b], s = v + u;

		sum[a] += t->true_ * (v * v / (s * s) * t->square + v * u / s);
		count[a] += t->true_;
	}
}

/* Weights, the gradient and the sums at a place. em: the weights and residuals of EM in place of those of scoring. */
static struct sums pass(struct fit *f, const struct at *at, bool em)
{
	struct sums piece[TIMING_PIECES] = { { 0 } }, all = { 0 };

#pragma omp parallel for num_threads(f->g.threads) schedule(dynamic, 1)
	for (int k = 0; k < TIMING_PIECES; k++) {
		double *sum = f->g.piece + k * f->g.crystals;

		memset(sum, 0, (size_t)f->g.crystals * sizeof *sum);
		for (int64_t j = timing_piece_begins(&f->g, k); j < timing_piece_begins(&f->g, k + 1); j++) {
			const struct event_terms t = terms(f, at, j);
			const double s = em ? sigma_of(f, at, j) : 1;
			const double w = em ? t.true_ / (s * s) : t.score * t.score;
			const double residual = em ? w * t.mean : t.score;

			f->g.weight[j] = (float)w;
			sum[f->g.crystal[2 * j]] += residual;
			sum[f->g.crystal[2 * j + 1]] -= residual;
			add_sums(piece + k, &t);
			if (f->variance) add_variance(f, k, j, &t);
		}
	}
	timing_gather(f->gradient, &f->g);
	for (int k = 0; k < TIMING_PIECES; k++) {
		double *to = (double *)&all;
		const double *from = (const double *)(piece + k);

		for (size_t i = 0; i < sizeof all / sizeof *to; i++) to[i] += from[i];
	}
	return all;
}

/* New variances from what the last pass gathered; the largest relative change. */
static double take_variances(struct fit *f)
{
	double most = 0;

	for (int64_t a = 0; a < f->g.crystals; a++) {
		double sum = 0, count = 0;

		for (int k = 0; k < TIMING_PIECES; k++) {
			sum += f->gathered[k * f->g.crystals + a];
			count += f->pieces_2[k * f->g.crystals + a];
		}
		if (!(count > 0) || !(sum > 0)) continue;
		const double ratio = sum / count / f->variance[a];

		most = fmax(most, fabs(ratio - 1));
		f->variance[a] *= pow(ratio, OVER);
	}
	return most;
}

static void forget_variances(struct fit *f)
{
	const size_t bytes = (size_t)(TIMING_PIECES * f->g.crystals) * sizeof *f->gathered;

	if (!f->variance) return;
	memset(f->gathered, 0, bytes);
	memset(f->pieces_2, 0, bytes);
}

/* ---- the start ---- */

/* Weights 1, dt - (lo + hi)/2. */
static int least_squares(struct fit *f)
{
#pragma omp parallel for num_threads(f->g.threads) schedule(dynamic, 1)
	for (int k = 0; k < TIMING_PIECES; k++) {
		double *sum = f->g.piece + k * f->g.crystals, lo, hi;

		memset(sum, 0, (size_t)f->g.crystals * sizeof *sum);
		for (int64_t j = timing_piece_begins(&f->g, k); j < timing_piece_begins(&f->g, k + 1); j++) {
			middle_of(&lo, &hi, f, j);
			const double e = (double)f->d->dt_ps[j] - .5 * (lo + hi);

			f->g.weight[j] = 1;
			sum[f->g.crystal[2 * j]] += e;
			sum[f->g.crystal[2 * j + 1]] -= e;
		}
	}
	timing_gather(f->gradient, &f->g);
	timing_diagonal(&f->g);
	int st = timing_solve(f->now.offset, &f->g, f->gradient, START_TOLERANCE);

	if (!st) timing_centre(f->now.offset, &f->g);
	return st;
}

/* The median of |x - (lo + hi)/2|, which randoms hardly move, as a sigma. */
static double first_sigma(const struct fit *f)
{
	int64_t count[START_BINS] = { 0 }, sum = 0;
	double lo, hi;
	int i = 0;

	for (int64_t j = 0; j < f->g.n; j++) {
		const uint32_t *c = f->g.crystal + 2 * j;

		middle_of(&lo, &hi, f, j);
		const double e =
			(double)f->d->dt_ps[j] - .5 * (lo + hi) - f->now.offset[c[0]] + f->now.offset[c[1]];
		const double at = fabs(e) / f->o.window_ps * START_BINS;

		count[at < START_BINS ? (int)at : START_BINS - 1]++;
	}
	while (i < START_BINS - 1 && 2 * (sum += count[i]) < f->g.n) i++;
	return 1.4826 * (i + .5) * f->o.window_ps / START_BINS;
}

/* ---- steps ---- */

static void try(struct fit *f, double by)
{
	const double odds = log(f->now.share / (1 - f->now.share)) + by * f->share_step;

	for (int64_t a = 0; a < f->g.crystals; a++) f->next.offset[a] = f->now.offset[a] + by * f->step[a];
	f->next.sigma = f->now.sigma * exp(by * f->log_sigma_step);
	f->next.share = fmax(1 / (1 + exp(-odds)), LEAST_SHARE);
}

static double clamp(double v, double most)
{
	return fmin(fmax(v, -most), most);
}

/* The steps of ln sigma and of the share, by their scores; those of the offsets by the Laplacian. */
static int find_step(struct fit *f)
{
	const struct sums *s = &f->sum;
	int st;

	timing_diagonal(&f->g);
	if ((st = timing_solve(f->step, &f->g, f->gradient, STEP_TOLERANCE))) return st;
	timing_centre(f->step, &f->g);
	f->log_sigma_step = s->sigma_2 > 0 && !f->variance ? clamp(s->sigma / s->sigma_2, MOST_LOG_STEP) : 0;
	f->share_step = s->share_2 > 0 && !f->d->randoms && f->o.share == 0
	                        ? clamp(s->share / s->share_2, MOST_LOG_STEP)
	                        : 0;
	f->moved = fabs(f->log_sigma_step) * f->now.sigma;
	for (int64_t a = 0; a < f->g.crystals; a++) f->moved = fmax(f->moved, fabs(f->step[a]));
	return ISO_OK;
}

static void accept(struct fit *f, const struct sums *s)
{
	const struct at was = f->now;

	f->now = f->next;
	f->next = was;
	f->sum = *s;
}

/* A step of EM from where the fit is; f->g and the gradient are then those of scoring again. */
static int em_step(struct fit *f)
{
	struct sums s = pass(f, &f->now, true);
	int st;

	timing_diagonal(&f->g);
	if ((st = timing_solve(f->step, &f->g, f->gradient, STEP_TOLERANCE))) return st;
	timing_centre(f->step, &f->g);
	f->log_sigma_step = s.squares > 0 && s.trues > 0 && !f->variance
	                            ? .5 * log(s.squares / s.trues) - log(f->now.sigma)
	                            : 0;
	f->share_step = 0;
	f->moved = fabs(f->log_sigma_step) * f->now.sigma;
	for (int64_t a = 0; a < f->g.crystals; a++) f->moved = fmax(f->moved, fabs(f->step[a]));
	try(f, 1);
	forget_variances(f);
	s = pass(f, &f->next, false);
	accept(f, &s);
	return ISO_OK;
}

static int scoring_step(struct fit *f)
{
	const double least = f->sum.loglik - SAME_LIKELIHOOD * fabs(f->sum.loglik);
	double by = 1;
	int st = find_step(f);

	for (int k = 0; k < MOST_HALVES && !st; k++, by *= .5) {
		if ((st = iso_ctx_poll(f->ctx))) return st;
		try(f, by);
		forget_variances(f);
		const struct sums s = pass(f, &f->next, false);

		if (s.loglik >= least) {
			accept(f, &s);
			f->moved *= by;
			return ISO_OK;
		}
	}
	return st ? st : em_step(f);
}

static double least_sd(struct fit *f)
{
	double most = 0;

	timing_diagonal(&f->g);
	for (int64_t a = 0; a < f->g.crystals; a++) most = fmax(most, f->g.diagonal[a]);
	return most > 0 ? 1 / sqrt(most) : 0;
}

static int climb(struct fit *f)
{
	struct iso_clock clock = iso_clock_brief(f->ctx, "fit", "steps", MOST_STEPS, "offsets");
	int st = ISO_OK;

	forget_variances(f);
	f->sum = pass(f, &f->now, false);
	for (int k = 0; k < MOST_STEPS && !st; k++) {
		if ((st = scoring_step(f))) break;
		f->steps++;
		iso_clock_add(&clock, 1);
		if (f->moved < STILL_PS) {
			iso_clock_end(&clock);
			return ISO_OK;
		}
	}
	iso_clock_end(&clock);
	if (!st && f->moved < ENOUGH_SD * least_sd(f)) return ISO_OK;
	return st ? st
	          : iso_fail(ISO_EINPUT,
	                     "timing: offsets still move by %.2g ps after %d steps: too few events, or the "
	                     "source "
	                     "is not where it was said",
	                     f->moved, MOST_STEPS);
}

/* ---- results ---- */

static void give(double *offset, double *sd, double *crystal_sigma, struct iso_timing_info *info,
                 struct fit *f)
{
	int64_t unseen = 0;
	double share = f->now.share;

	timing_centre(f->now.offset, &f->g);
	timing_diagonal(&f->g);
	for (int64_t a = 0; a < f->g.crystals; a++) {
		offset[a] = f->now.offset[a];
		sd[a] = f->g.diagonal[a] > 0 ? 1 / sqrt(f->g.diagonal[a]) : 0;
		unseen += f->g.part[a] < 0;
		if (crystal_sigma)
			crystal_sigma[a] = f->variance && f->g.part[a] >= 0 ? sqrt(f->variance[a]) : 0;
	}
	if (f->d->randoms) {
		share = 0;
		for (int64_t j = 0; j < f->g.n; j++) share += (double)f->d->randoms[j] / (double)f->g.n;
	}
	const struct iso_timing_info r = { .size = sizeof r,
		                           .sigma_ps = f->now.sigma,
		                           .sigma_sd_ps = f->sum.sigma_2 > 0
		                                                  ? f->now.sigma / sqrt(f->sum.sigma_2)
		                                                  : 0,
		                           .share = share,
		                           .loglik = f->sum.loglik,
		                           .parts = f->g.parts,
		                           .unseen = unseen,
		                           .steps = f->steps };

	iso_sized_give(info, sizeof r, &r);
}

/* After the offsets and one sigma: the variance of each crystal, by EM, with a step of the offsets in each round. */
static int spread(struct fit *f)
{
	struct iso_clock clock = iso_clock_brief(f->ctx, "fit", "rounds", MOST_STEPS, "widths of crystals");
	double changed = 1;
	int st = ISO_OK;

	for (int64_t a = 0; a < f->g.crystals; a++) f->mean_square[a] = .5 * f->now.sigma * f->now.sigma;
	f->variance = f->mean_square;
	for (int round = 0; round < MOST_STEPS && !st; round++, f->steps++) {
		forget_variances(f);
		f->sum = pass(f, &f->now, false);
		if (changed < SIGMA_STILL && f->moved < 10 * STILL_PS) break;
		changed = take_variances(f);
		if ((st = iso_ctx_poll(f->ctx)) || (st = find_step(f))) break;
		for (int64_t a = 0; a < f->g.crystals; a++) f->now.offset[a] += f->step[a];
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	if (!st && !(changed < ENOUGH_CHANGE))
		return iso_fail(ISO_EINPUT,
		                "timing: widths of crystals still change by %.2g after %d rounds: too few "
		                "events",
		                changed, MOST_STEPS);
	return st;
}

static int begin(struct fit *f, struct iso_room *room)
{
	const int64_t n = f->d->crystals;

	timing_graph_begin(&f->g, room, f->d->n, n, f->d->crystal);
	ISO_HOST(room, f->now.offset, n);
	ISO_HOST(room, f->next.offset, n);
	ISO_HOST(room, f->gradient, n);
	ISO_HOST(room, f->step, n);
	if (f->o.per_crystal) {
		ISO_HOST(room, f->mean_square, n);
		ISO_HOST(room, f->gathered, TIMING_PIECES * n);
		ISO_HOST(room, f->pieces_2, TIMING_PIECES * n);
	}
	return room->status;
}

static int work(struct fit *f)
{
	int st;

	timing_parts(&f->g);
	if ((st = least_squares(f))) return st;
	f->now.share = f->o.share > 0 ? fmax(f->o.share, LEAST_SHARE) : .1;
	f->now.sigma = f->o.sigma_ps > 0 ? f->o.sigma_ps : first_sigma(f);
	if (f->o.least_squares) return ISO_OK;
	st = climb(f);
	return st || !f->o.per_crystal ? st : spread(f);
}

static int check(const struct iso_timing_data *d, const struct iso_timing_options *o, bool sigma)
{
	if (d->n < 1) return iso_fail(ISO_EINPUT, "timing: no events are left");
	if (d->crystals < 2 || d->crystals > UINT32_MAX)
		return iso_fail(ISO_EARG, "timing: %" PRId64 " crystals, must be 2 or more", d->crystals);
	if (!d->crystal || !d->dt_ps || (!d->lo_ps != !d->hi_ps) || (!d->lo_ps && !d->pieces) ||
	    (o->per_crystal && !sigma))
		return iso_fail_null("iso_timing_fit");
	if (!(o->window_ps > 0) || !isfinite(o->window_ps))
		return iso_fail(ISO_EARG, "timing: the window is %g ps, must be above 0", o->window_ps);
	if (!(o->share >= 0 && o->share < 1) || !(o->bin_ps >= 0) || !(o->sigma_ps >= 0))
		return iso_fail(
			ISO_EARG,
			"timing: share %g, bins of %g ps, sigma %g ps: must not be negative, the share "
			"below 1",
			o->share, o->bin_ps, o->sigma_ps);
	for (int64_t j = 0; j < d->n; j++) {
		const uint32_t *c = d->crystal + 2 * j;

		if (c[0] >= d->crystals || c[1] >= d->crystals)
			return iso_fail(ISO_EARG,
			                "timing: event %" PRId64 " is of crystals %u and %u of %" PRId64, j,
			                c[0], c[1], d->crystals);
		if (!isfinite(d->dt_ps[j]) || (d->lo_ps && !(d->hi_ps[j] >= d->lo_ps[j])) ||
		    (d->randoms && !(d->randoms[j] >= 0 && d->randoms[j] <= 1)))
			return iso_fail(ISO_EARG,
			                "timing: event %" PRId64
			                " has a time, a stretch of source or a share of randoms that is none",
			                j);
	}
	return ISO_OK;
}

int iso_timing_fit(double *offset, double *sd, double *crystal_sigma, struct iso_timing_info *info,
                   iso_ctx *ctx, const struct iso_timing_data *data, const struct iso_timing_options *options)
{
	if (!offset || !sd || !ctx || !data || !options) return iso_fail_null(__func__);
	struct iso_room room = { .ctx = ctx, .what = "time offsets" };
	struct iso_timing_data d;
	struct fit f = { .ctx = ctx, .d = &d };
	int st = iso_sized_take(&d, "iso_timing_data", sizeof d, data);

	if (!st) st = iso_sized_take(&f.o, "iso_timing_options", sizeof f.o, options);
	if (!st && info) st = iso_sized_clear(info, "iso_timing_info", sizeof *info);
	if (st || (st = check(&d, &f.o, crystal_sigma))) return st;
	if (!(st = begin(&f, &room)) && !(st = work(&f)) && !(st = iso_ctx_poll(ctx))) {
		struct iso_timing_info told = { .size = sizeof told };

		give(offset, sd, crystal_sigma, info ? info : &told, &f);
	}
	iso_room_free(&room);
	return st;
}
