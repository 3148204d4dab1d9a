/* SPDX-License-Identifier: BSD-3-Clause */
/* Lives by maximum likelihood: the penalised likelihood, its strength, and the maps. */
#include "fit.h"
#include "core/sized.h"
#include "maps.h"

#include <stdlib.h>

#define START_TAU 2
#define START_W .3

int fit_open(struct fit *f, struct iso_room *room, const struct iso_triples *t, const struct iso_lifetime *p)
{
	int st;

	*f = (struct fit){ .t = t, .p = p, .n = t->voxels };
	if ((st = likelihood_open(&f->l, room, t, true, false))) return st;
	f->w_free = !f->l.x.single && !p->w && !(p->w_all > 0);
	f->unknowns = f->w_free ? 2 * f->n : f->n;
	ISO_HOST(room, f->f, f->n);
	ISO_HOST(room, f->rate, f->n);
	ISO_HOST(room, f->w, f->n);
	ISO_HOST(room, f->gradient, f->unknowns);
	ISO_HOST(room, f->diagonal, f->unknowns);
	if (p->prior) {
		ISO_HOST(room, f->image, f->n);
		ISO_HOST(room, f->slope, f->n);
		ISO_HOST(room, f->curve, f->n);
	}
	if (room->status || (st = lifetime_activity(f->f, t, p))) return room->status ? room->status : st;
	for (int64_t v = 0; v < f->n; v++) f->w[v] = f->l.x.single ? 1 : p->w ? p->w[v] : p->w_all;
	return likelihood_background(&f->l, room, p, f->f);
}

/* ---- value ---- */

static int penalise(struct fit *f, const double *x, int which)
{
	const int64_t first = which * f->n;
	double value;
	int st;

	for (int64_t v = 0; v < f->n; v++) f->image[v] = (iso_real)x[first + v];
	if ((st = iso_prior_eval(&value, f->slope, f->curve, NULL, f->p->prior, f->image))) return st;
	f->value -= f->beta[which] * value;
	for (int64_t v = 0; v < f->n; v++) {
		f->gradient[first + v] -= f->beta[which] * (double)f->slope[v];
		f->diagonal[first + v] += f->beta[which] * (double)f->curve[v];
	}
	return ISO_OK;
}

int fit_at(struct fit *f, const double *x)
{
	int st = ISO_OK;

#pragma omp parallel for num_threads(f->t->room.ctx->threads) if (f->n > MANY)
	for (int64_t v = 0; v < f->n; v++) {
		f->rate[v] = exp(x[v]);
		if (f->w_free) f->w[v] = x[f->n + v];
	}
	if ((st = likelihood_at(&f->loglik, &f->l, f->f, f->rate, f->w))) return st;
	f->value = f->loglik;
	if (!isfinite(f->value)) return iso_fail(ISO_EINPUT, "lifetime: the likelihood is not finite");
#pragma omp parallel for num_threads(f->t->room.ctx->threads) if (f->n > MANY)
	for (int64_t v = 0; v < f->n; v++) {
		const double *s = f->l.sums + v * SUMS;

		f->gradient[v] = s[SUM_RATE] * f->rate[v];
		f->diagonal[v] = s[SUM_RATE_RATE] * f->rate[v] * f->rate[v];
		if (!f->w_free) continue;
		f->gradient[f->n + v] = s[SUM_W];
		f->diagonal[f->n + v] = s[SUM_W_W];
	}
	for (int which = 0; which < (f->w_free ? 2 : 1) && f->p->prior && !st; which++)
		st = penalise(f, x, which);
	return st ? st : iso_ctx_poll(f->t->room.ctx);
}

/* ---- strength of the penalty ---- */

static int rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int fit_strength(struct fit *f, struct iso_room *work, const double *x)
{
	double largest = 0, *told;
	int st;

	f->beta[0] = f->beta[1] = f->p->beta;
	if (!f->p->prior || f->p->beta > 0) return ISO_OK;
	if (!ISO_HOST(work, told, f->n)) return work->status;
	if ((st = fit_at(f, x))) return st;
	for (int64_t v = 0; v < f->n; v++) largest = fmax(largest, f->l.sums[v * SUMS + SUM_COUNTS]);
	for (int which = 0; which < (f->w_free ? 2 : 1); which++) {
		int64_t n = 0;

		for (int64_t v = 0; v < f->n; v++)
			if (f->l.sums[v * SUMS + SUM_COUNTS] > fmin(1000, largest / 2))
				told[n++] = f->diagonal[which * f->n + v];
		qsort(told, (size_t)n, sizeof *told, rising);
		f->beta[which] = n > 0 ? f->p->rel * (told[(n - 1) / 2] + told[n / 2]) / 2 : 0;
	}
	return ISO_OK;
}

/* ---- the maps ---- */

static void start(const struct fit *f, double *x)
{
	for (int64_t v = 0; v < f->n; v++) {
		const double tau = f->p->start ? f->p->start[v] : START_TAU;

		x[v] = fmin(fmax(-log(tau), log(RATE_LEAST)), log(RATE_MOST));
		if (f->w_free) x[f->n + v] = START_W;
	}
}

/* se(tau) = tau se(log rate). */
static void put_all(const struct iso_lifetime_maps *to, const struct fit *f, const double *x,
                    const double *error)
{
	for (int64_t v = 0; v < f->n; v++) {
		struct voxel_found found = { .tau = exp(-x[v]),
			                     .w = f->w_free ? x[f->n + v] : f->w[v],
			                     .counts = f->l.sums[v * SUMS + SUM_COUNTS] };

		found.error = found.tau * error[v];
		found.w_error = f->w_free ? error[f->n + v] : 0;
		found.mean = mixture_life(&f->l.x, found.tau, found.w);
		lifetime_put(to, v, &found, f->p);
	}
}

static int put_regions(const struct iso_lifetime_maps *to, const struct fit *f, struct iso_room *work)
{
	double *tau, *counts;

	if (!f->p->region || !to->region_tau) return ISO_OK;
	ISO_HOST(work, tau, f->n);
	ISO_HOST(work, counts, f->n);
	for (int64_t v = 0; v < f->n && !work->status; v++) {
		tau[v] = 1 / f->rate[v];
		counts[v] = f->l.sums[v * SUMS + SUM_COUNTS];
	}
	if (!work->status) lifetime_regions(to->region_tau, tau, counts, f->n, f->p);
	return work->status;
}

static int run(struct iso_lifetime_maps *to, struct fit *f, struct iso_room *work)
{
	struct ascent a = { 0 };
	double *x, *error;
	int st;

	ISO_HOST(work, x, f->unknowns);
	ISO_HOST(work, error, f->unknowns);
	if (work->status) return work->status;
	start(f, x);
	if ((st = fit_strength(f, work, x)) || (st = fit_climb(&a, f, work, x)) ||
	    (st = fit_errors(error, f->p->region ? to->region_error : NULL, f, work, x)))
		return st;
	put_all(to, f, x, error);
	if ((st = put_regions(to, f, work))) return st;
	to->iterations = a.iterations;
	to->objective[0] = a.start;
	to->objective[1] = f->value;
	to->residual = a.residual;
	to->converged = a.converged;
	to->beta = f->beta[0];
	return ISO_OK;
}

int iso_lifetime_emg(struct iso_lifetime_maps *to, const iso_triples *t, const struct iso_lifetime *p)
{
	if (!to || !t || !p) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(t->room.ctx, "likelihood of triples");
	struct iso_lifetime full = { 0 };
	struct iso_lifetime_maps maps = { 0 };
	struct fit f;
	int st = lifetime_take(&full, t, p);

	if (!st) st = lifetime_maps_take(&maps, to);
	if (!st && full.error == ISO_LIFETIME_BOOTSTRAP)
		st = iso_fail(ISO_EARG, "maximum likelihood: error must be diag or full");
	if (st) return st;
	if (!(st = fit_open(&f, &work, t, &full)) && !(st = run(&maps, &f, &work)))
		iso_sized_give(to, sizeof maps, &maps);
	iso_room_free(&work);
	return st;
}
