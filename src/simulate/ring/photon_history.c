/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories on the CPU: a decay sends two photons back to back in an isotropic direction (of a bent
   one, the second is deflected); both must reach the ring, pass the object, meet crystals in
   coincidence, and be kept by their efficiencies. A random is any pair at any time.

   The cheapest test comes first: most decays in an object of water end in it. */
#include "photon_history.h"
#include "core/status.h"

/* ---- times of a decaying scan: shares S(t) = (1 - exp(-lambda t)) / (1 - exp(-lambda T)), inverted ---- */

double iso_scan_share(const struct scan_rate *r, double t)
{
	if (!(r->lambda > 0)) return t / r->duration;
	return expm1(-r->lambda * t) / expm1(-r->lambda * r->duration);
}

double iso_scan_when(const struct scan_rate *r, double u)
{
	if (!(r->lambda > 0)) return u * r->duration;
	return -log1p(u * expm1(-r->lambda * r->duration)) / r->lambda;
}

/* Uniform numbers in order, without sorting: sums of n + 1 exponential steps over the last sum. */
void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw)
{
	double first = iso_scan_share(r, from), width = iso_scan_share(r, to) - first, sum = 0;
	struct philox p = { { 0 } };

	for (int64_t i = 0; i <= n; i++) {
		if (i % 4 == 0) p = philox_draw(seed, history, draw + (uint64_t)i / 4);
		sum -= (double)logf(philox_unit(p.w[i % 4]));
		if (i < n) t[i] = sum;
	}
	for (int64_t i = 0; i < n; i++)
		t[i] = fmin(to, fmax(from, iso_scan_when(r, first + width * (t[i] / sum))));
}

/* With q = exp(-lambda T): (lambda T / 2) (1 + q) / (1 - q). */
double iso_scan_pile_up(const struct scan_rate *r)
{
	double x = r->lambda * r->duration;

	return x > 0 ? .5 * x * (1 + exp(-x)) / -expm1(-x) : 1;
}

/* ---- the object ---- */

/* The box around what attenuates; returns the largest mu. */
static double survey(struct iso_woodcock *w)
{
	int64_t at[3], i = 0;
	double densest = 0;

	for (at[2] = 0; at[2] < w->n[2]; at[2]++)
		for (at[1] = 0; at[1] < w->n[1]; at[1]++)
			for (at[0] = 0; at[0] < w->n[0]; at[0]++, i++) {
				for (int a = 0; a < 3 && w->mu[i] > 0; a++) {
					double low = w->low[a] + (double)at[a] * w->voxel[a];
					double high = w->low[a] + (double)(at[a] + 1) * w->voxel[a];

					w->box[a][0] = fmin(w->box[a][0], low);
					w->box[a][1] = fmax(w->box[a][1], high);
				}
				densest = fmax(densest, (double)w->mu[i]);
			}
	return densest;
}

int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu)
{
	struct iso_woodcock made = { .mu = mu ? mu->v : NULL };
	int st = mu ? iso_check_values(mu->v, mu->n, "simulate: mu of voxel") : ISO_OK;

	if (st) return st;
	for (int a = 0; mu && a < 3; a++) {
		made.n[a] = mu->grid.n[a];
		made.voxel[a] = mu->grid.voxel[a];
		made.per_mm[a] = 1 / made.voxel[a];
		made.low[a] = mu->grid.centre[a] - .5 * (double)made.n[a] * made.voxel[a];
		made.box[a][0] = INFINITY;
		made.box[a][1] = -INFINITY;
	}
	made.path = mu ? 1 / survey(&made) : INFINITY;
	if (isinf(made.path)) made.mu = NULL;
	*w = made;
	return ISO_OK;
}

/* ---- histories ---- */

/* Decays that are still of interest, by number. */
struct left {
	int n, i[HISTORY_BATCH];
};

/* Keeps those whose photon `which` passes the object. */
static void pass(struct left *l, const struct history_photons *p, int which, const struct iso_histories *h,
                 enum iso_history_kind kind)
{
	const uint64_t draw = history_paths(kind, which);
	struct philox path[HISTORY_BATCH];
	int n = 0;

	for (int k = 0; k < l->n; k++) path[k] = philox_draw(h->seed, p[l->i[k]].history, draw);
	for (int k = 0; k < l->n; k++) {
		l->i[n] = l->i[k];
		n += history_passes(h, p + l->i[k], kind, which, path[k]);
	}
	l->n = n;
}

/* history_run of a batch, each step for all of them: no decay waits for another one's numbers, nor for the memory of
   its slot. */
static int64_t decays(struct iso_hit *hit, int64_t want, const struct iso_histories *h,
                      enum iso_history_kind kind, uint64_t first, int64_t *run)
{
	const uint64_t draw = history_draw(kind);
	struct philox place[HISTORY_BATCH], direction[HISTORY_BATCH];
	struct history_photons p[HISTORY_BATCH];
	struct left l = { 0 };
	bool both[HISTORY_BATCH];
	int64_t have = 0;

	for (int i = 0; i < HISTORY_BATCH; i++) {
		place[i] = philox_draw(h->seed, first + (uint64_t)i, draw + HISTORY_PLACE);
		emission_ask(&h->emission[kind], place[i]);
	}
	for (int i = 0; i < HISTORY_BATCH; i++)
		direction[i] = philox_draw(h->seed, first + (uint64_t)i, draw + HISTORY_DIRECTION);
	for (int i = 0; i < HISTORY_BATCH; i++) {
		history_emit(p + i, h, kind, first + (uint64_t)i, place[i], direction[i]);
		both[i] = history_reaches(h, p + i, 0) && history_reaches(h, p + i, 1);
	}
	for (int i = 0; i < HISTORY_BATCH; i++) {
		l.i[l.n] = i;
		l.n += both[i];
	}
	if (h->mu.mu) {
		for (int k = 0; k < l.n; k++) history_enter(p + l.i[k], &h->mu, kind);
		for (int i = 0; i < 2; i++) pass(&l, p, i, h, kind);
	}
	*run = HISTORY_BATCH;
	for (int k = 0; k < l.n && have < want; k++) {
		have += history_detect(hit + have, h, p + l.i[k], kind);
		if (have == want) *run = l.i[k] + 1;
	}
	return have;
}

int64_t iso_history_batch(struct iso_hit *hit, int64_t want, const struct iso_histories *h,
                          enum iso_history_kind kind, uint64_t first, int64_t *run)
{
	int64_t have = 0;

	if (history_is_decay(kind)) return decays(hit, want, h, kind, first, run);
	for (*run = 0; *run < HISTORY_BATCH && have < want; ++*run)
		have += history_run(hit + have, h, kind, first + (uint64_t)*run);
	return have;
}
