/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans of a ring whose activity follows curves. Each component is simulated by itself, with as many events as a pilot says
   that its decays give; every event gets a time from the density of its component, and all are put in order. */
#include "curves_simulate.h"

#include "core/ctx.h"
#include "core/philox.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PILOT_SEED \
	0x74616373706C7400u /* draws of pilots, of times and of randoms are apart from those of the scan */
#define TIME_SEED 0x7461637374696D00u
#define RANDOM_SEED 0x7461637372616E00u

#define FINE .01    /* rate of decay times a piece of time, at most */
#define PIECES 4096 /* of the scan, at least */
#define LEAST 1.    /* expected events of a component that is simulated at all */
#define SPREAD 6.   /* expected events below this times their root may be none */

enum {
	PILOT_EVENTS = 1 << 19,
	PILOT_PHOTONS = 1 << 16, /* with physics */
	PIECE = 1 << 13,         /* events between two calls of emit */
};

/* A density of times: linear in each piece, of the piece's exact mass. */
struct density {
	int64_t n;
	double *t, *y, *sum; /* n + 1 times and values; masses up to each */
};

/* One event in the order of time. */
struct timed {
	double time_s;
	int32_t list; /* component; n: randoms */
	int64_t at;
};

/* Events of a component, or randoms, as they come. */
struct heap {
	struct iso_events e;
	int64_t room;
	struct orders {
		uint8_t *v;
		int64_t n, room;
	} order;
};

struct curves {
	const struct iso_simulate *p;
	iso_ctx *ctx;
	int n;
	struct simulate_component *c;
	const struct simulate_bins *bins;
	struct density *density; /* n + 1, the last of randoms */
	struct heap *heap;       /* n + 1 */
};

/* ---- densities ---- */

static int add_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Times at which pieces begin: equal ones, fine enough for the decay, and the samples of the curve. */
static int make_times(struct density *d, const iso_curve *curve, double duration, double rate)
{
	const int64_t even = (int64_t)fmax(PIECES, ceil(rate * duration / FINE));
	const double *sample = NULL;
	const int64_t samples = curve ? iso_curve_samples(curve, &sample, NULL) : 0,
		      most = even + 1 + samples;
	int64_t n = 0;

	if (!(d->t = size_alloc(most, 3 * sizeof *d->t)))
		return iso_fail_memory("times of curves", 3 * most * (int64_t)sizeof *d->t);
	d->y = d->t + most;
	d->sum = d->y + most;
	for (int64_t i = 0; i <= even; i++) d->t[n++] = duration * (double)i / (double)even;
	for (int64_t i = 0; i < samples; i++)
		if (sample[i] > 0 && sample[i] < duration) d->t[n++] = sample[i];
	qsort(d->t, (size_t)n, sizeof *d->t, add_time);
	for (int64_t i = 1; i < n; i++)
		if (d->t[i] > d->t[d->n]) d->t[++d->n] = d->t[i];
	return ISO_OK;
}

/* Of the curve times the decay: Simpson's rule is exact to 1e-13 on pieces this short. */
static int make_density(struct density *d, const iso_curve *curve, double duration, double rate)
{
	int st = make_times(d, curve, duration, rate);

	for (int64_t i = 0; i <= d->n && !st; i++)
		d->y[i] = iso_curve_at(curve, d->t[i]) * exp(-rate * d->t[i]);
	for (int64_t i = 0; i < d->n && !st; i++) {
		double h = d->t[i + 1] - d->t[i], middle = d->t[i] + h / 2;
		double at = iso_curve_at(curve, middle) * exp(-rate * middle);

		d->sum[i + 1] = d->sum[i] + h * (d->y[i] + 4 * at + d->y[i + 1]) / 6;
	}
	return st;
}

static double rate_at(const struct curves *s, double t)
{
	double rate = s->p->half_life_s > 0 ? log(2) / s->p->half_life_s : 0, sum = 0;

	for (int k = 0; k < s->n; k++)
		sum += s->c[k].seen * s->c[k].expected / s->density[k].sum[s->density[k].n] *
		       iso_curve_at(s->c[k].curve, t);
	return sum * exp(-rate * t);
}

/* Of randoms: the square of the rate of trues. Pieces of all components are as fine as those of the first. */
static int make_random_density(struct curves *s)
{
	struct density *d = &s->density[s->n];
	const double *sample;
	int64_t most = PIECES + 1, n = 0;

	for (int k = 0; k < s->n; k++) most += iso_curve_samples(s->c[k].curve, NULL, NULL);
	if (!(d->t = size_alloc(most, 3 * sizeof *d->t)))
		return iso_fail_memory("times of randoms", 3 * most * (int64_t)sizeof *d->t);
	d->y = d->t + most;
	d->sum = d->y + most;
	for (int64_t i = 0; i <= PIECES; i++) d->t[n++] = s->p->duration_s * (double)i / PIECES;
	for (int k = 0; k < s->n; k++) {
		const int64_t samples = iso_curve_samples(s->c[k].curve, &sample, NULL);

		for (int64_t i = 0; i < samples; i++)
			if (sample[i] > 0 && sample[i] < s->p->duration_s) d->t[n++] = sample[i];
	}
	qsort(d->t, (size_t)n, sizeof *d->t, add_time);
	for (int64_t i = 1; i < n; i++)
		if (d->t[i] > d->t[d->n]) d->t[++d->n] = d->t[i];
	for (int64_t i = 0; i <= d->n; i++) d->y[i] = pow(rate_at(s, d->t[i]), 2);
	for (int64_t i = 0; i < d->n; i++) {
		double h = d->t[i + 1] - d->t[i];

		d->sum[i + 1] =
			d->sum[i] + h * (d->y[i] + 4 * pow(rate_at(s, d->t[i] + h / 2), 2) + d->y[i + 1]) / 6;
	}
	return ISO_OK;
}

/* The time up to which the share u has come. */
static double when(const struct density *d, double u)
{
	int64_t low = 0, high = d->n;
	const double mass = u * d->sum[d->n];

	while (low + 1 < high) {
		int64_t middle = (low + high) / 2;

		if (d->sum[middle] <= mass)
			low = middle;
		else
			high = middle;
	}
	double part =
		d->sum[low + 1] > d->sum[low] ? (mass - d->sum[low]) / (d->sum[low + 1] - d->sum[low]) : 0;
	double y0 = d->y[low], y1 = d->y[low + 1];
	double x = part * (y0 + y1) / (y0 + sqrt(y0 * y0 + part * (y1 * y1 - y0 * y0)));

	return d->t[low] + (isfinite(x) ? fmin(fmax(x, 0), 1) : 0) * (d->t[low + 1] - d->t[low]);
}

/* The share that has come up to a time. */
static double share_before(const struct density *d, double t)
{
	int64_t low = 0, high = d->n;

	if (t <= 0 || t >= d->t[d->n]) return t > 0;
	while (low + 1 < high) {
		int64_t middle = (low + high) / 2;

		if (d->t[middle] <= t)
			low = middle;
		else
			high = middle;
	}
	double x = (t - d->t[low]) / (d->t[low + 1] - d->t[low]), y0 = d->y[low], y1 = d->y[low + 1];
	double part = y0 + y1 > 0 ? x * (2 * y0 + x * (y1 - y0)) / (y0 + y1) : x;

	return (d->sum[low] + part * (d->sum[low + 1] - d->sum[low])) / d->sum[d->n];
}

/* ---- components ---- */

static int forget_events(void *arg, const struct iso_events *e)
{
	(void)arg;
	(void)e;
	return ISO_OK;
}

/* As the scan, but of one component at rest, without randoms and times. */
static struct iso_simulate of_component(const struct curves *s, int k, double counts, uint64_t seed)
{
	struct iso_simulate q = *s->p;

	q.activity = &s->c[k].activity;
	q.counts = counts;
	q.decays = 0;
	q.delayed = false;
	q.bent = s->p->randoms < 1 ? s->p->bent / (1 - s->p->randoms) : 0;
	q.randoms = 0;
	q.duration_s = q.half_life_s = 0;
	q.seed = s->p->seed ^ (seed + (uint64_t)k);
	q.truth = NULL;
	q.photons = NULL;
	return q;
}

static int pilot(struct curves *s, int k)
{
	struct iso_simulated found = { .size = sizeof found };
	const struct iso_simulate q =
		of_component(s, k, s->p->physics ? PILOT_PHOTONS : PILOT_EVENTS, PILOT_SEED);
	int st = iso_simulate_blocks(&found, s->ctx, &q, forget_events, NULL);

	s->c[k].seen = st ? 0 : (double)(found.trues + found.scatters) / found.decays;
	return st;
}

static int expect_all(struct curves *s)
{
	double all = 0, seen = 0, scale;
	int st = ISO_OK;

	for (int k = 0; k < s->n && !st; k++) {
		const struct simulate_component *c = &s->c[k];
		double mass = 0;

		for (int64_t i = 0; i < c->activity.n; i++) mass += c->activity.v[i];
		s->c[k].expected = mass * s->density[k].sum[s->density[k].n];
		if (s->c[k].expected > 0) st = pilot(s, k);
		all += s->c[k].expected;
		seen += s->c[k].expected * s->c[k].seen;
	}
	if (st) return st;
	if (!(seen > 0))
		return iso_fail(ISO_EINPUT,
		                "simulate: the curves are 0 over the scan, or nothing of them is seen");
	scale = s->p->decays > 0 ? s->p->decays / all : s->p->counts * (1 - s->p->randoms) / seen;
	for (int k = 0; k < s->n; k++) s->c[k].expected *= scale;
	return ISO_OK;
}

/* ---- events ---- */

static bool grow(void **v, int64_t n, int64_t item)
{
	void *more = realloc(*v, (size_t)(n * item));

	if (more) *v = more;
	return more;
}

static int keep_events(void *arg, const struct iso_events *b)
{
	struct heap *h = arg;
	struct iso_events *e = &h->e;
	const int64_t n = e->n + b->n;

	if (n > h->room) {
		h->room = n + n / 2;
		if (!grow((void **)&e->v, h->room, sizeof *e->v) ||
		    !grow((void **)&e->crystal, 2 * h->room, sizeof *e->crystal))
			return iso_fail_memory("events",
			                       h->room * (int64_t)(sizeof *e->v + 2 * sizeof *e->crystal));
	}
	memcpy(e->v + e->n, b->v, (size_t)b->n * sizeof *b->v);
	memcpy(e->crystal + 2 * e->n, b->crystal, 2 * (size_t)b->n * sizeof *b->crystal);
	e->n = n;
	e->tof_fwhm_ps = b->tof_fwhm_ps;
	return ISO_OK;
}

static int keep_orders(void *arg, const uint8_t *order, int64_t n)
{
	struct orders *o = &((struct heap *)arg)->order;

	if (o->n + n > o->room) {
		o->room = 2 * (o->n + n);
		if (!grow((void **)&o->v, o->room, 1)) return iso_fail_memory("events", o->room);
	}
	memcpy(o->v + o->n, order, (size_t)n);
	o->n += n;
	return ISO_OK;
}

static int simulate_one(struct curves *s, int k, struct iso_simulated *info)
{
	const double counts = s->c[k].expected * s->c[k].seen;
	struct iso_simulate q = of_component(s, k, counts, 0);
	struct iso_simulated found = { .size = sizeof found };

	if (counts < LEAST) return ISO_OK;
	q.truth = keep_orders;
	q.truth_arg = &s->heap[k];
	int st = iso_simulate_blocks(&found, s->ctx, &q, keep_events, &s->heap[k]);

	if (st == ISO_EARG && counts < SPREAD * SPREAD) return ISO_OK; /* the Poisson number came out as 0 */
	info->trues += found.trues;
	info->scatters += found.scatters;
	info->decays += found.decays;
	return st;
}

static int simulate_randoms(struct curves *s, struct iso_simulated *info)
{
	struct iso_simulated found = { .size = sizeof found };
	struct iso_simulate q = *s->p;
	double trues = 0;

	if (!(q.randoms > 0)) return ISO_OK;
	for (int k = 0; k < s->n; k++) trues += s->c[k].expected * s->c[k].seen;
	q.activity = &s->c[0].activity;
	q.counts = trues / (1 - q.randoms);
	q.decays = q.bent = q.duration_s = q.half_life_s = 0;
	q.delayed = true;
	q.physics = q.rayleigh = false; /* randoms are any two crystals */
	q.seed ^= s->p->delayed ? 0 : RANDOM_SEED;
	q.truth = keep_orders;
	q.truth_arg = &s->heap[s->n];
	q.photons = NULL;
	int st = iso_simulate_blocks(&found, s->ctx, &q, keep_events, &s->heap[s->n]);

	info->randoms = found.randoms;
	info->window_ps = found.window_ps;
	info->randoms_per_pair = found.randoms_per_pair;
	info->randoms_per_pair_mm = found.randoms_per_pair_mm;
	return st;
}

/* ---- in the order of time ---- */

static int earlier(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time_s != y->time_s) return x->time_s < y->time_s ? -1 : 1;
	if (x->list != y->list) return x->list < y->list ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void count_bin(const struct curves *s, int list, double t)
{
	const struct simulate_bins *b = s->bins;

	for (int m = 0; b && m < b->n && list < s->n; m++)
		if (t >= b->edge_s[m] && t < b->edge_s[m + 1]) b->trues[list * b->n + m]++;
}

static void make_order(const struct curves *s, struct timed *order)
{
	for (int k = 0; k <= s->n; k++)
		for (int64_t i = 0; i < s->heap[k].e.n; i++) {
			struct philox w = philox_draw(s->p->seed ^ (TIME_SEED + (s->p->delayed ? 1 : 0)),
			                              (uint64_t)i, (uint64_t)k);

			*order++ = (struct timed){ when(&s->density[k], philox_unit_double(w.w[0], w.w[1])),
				                   k, i };
		}
}

static int emit_all(const struct curves *s, const struct timed *order, int64_t n, iso_emit_fn emit, void *arg)
{
	struct iso_events e = { .tof_fwhm_ps = 0, .duration_s = s->p->duration_s };
	uint8_t kind[PIECE];
	int st = ISO_OK;

	e.v = size_alloc(PIECE, sizeof *e.v);
	e.crystal = size_alloc(2 * PIECE, sizeof *e.crystal);
	e.time_ms = size_alloc(PIECE, sizeof *e.time_ms);
	if (!e.v || !e.crystal || !e.time_ms) st = iso_fail_memory("events", PIECE * 40);
	for (int k = 0; k <= s->n; k++)
		if (s->heap[k].e.n > 0) e.tof_fwhm_ps = s->heap[k].e.tof_fwhm_ps;
	snprintf(e.isotope, sizeof e.isotope, "%s", s->p->isotope ? s->p->isotope : "");
	for (int64_t first = 0; first < n && !st; first += e.n) {
		e.n = n - first < PIECE ? n - first : PIECE;
		for (int64_t i = 0; i < e.n; i++) {
			const struct timed *of = order + first + i;
			const struct heap *h = &s->heap[of->list];

			e.v[i] = h->e.v[of->at];
			e.crystal[2 * i] = h->e.crystal[2 * of->at];
			e.crystal[2 * i + 1] = h->e.crystal[2 * of->at + 1];
			e.time_ms[i] = (uint32_t)(1e3 * of->time_s);
			kind[i] = h->order.v[of->at];
			count_bin(s, of->list, of->time_s);
		}
		if (s->p->truth) st = s->p->truth(s->p->truth_arg, kind, e.n);
		if (!st) st = emit(arg, &e);
		if (!st) st = iso_ctx_poll(s->ctx);
	}
	iso_events_free(&e);
	return st;
}

static int merge(struct curves *s, iso_emit_fn emit, void *arg)
{
	int64_t n = 0;

	for (int k = 0; k <= s->n; k++) n += s->heap[k].e.n;
	struct timed *order = size_alloc(n, sizeof *order);

	if (!order) return iso_fail_memory("order of events", n * (int64_t)sizeof *order);
	make_order(s, order);
	qsort(order, (size_t)n, sizeof *order, earlier);
	int st = emit_all(s, order, n, emit, arg);

	free(order);
	return st;
}

static void tell_bins(const struct curves *s)
{
	const struct simulate_bins *b = s->bins;
	const double rate = s->p->half_life_s > 0 ? log(2) / s->p->half_life_s : 0;

	for (int k = 0; b && k < s->n; k++)
		for (int m = 0; m < b->n; m++) {
			const double from = b->edge_s[m], to = b->edge_s[m + 1];
			const double share =
				share_before(&s->density[k], to) - share_before(&s->density[k], from);
			const double decay =
				rate > 0 ? exp(-rate * from) * -expm1(-rate * (to - from)) / rate : to - from;

			b->decays[k * b->n + m] = share * s->c[k].expected;
			b->mean[k * b->n + m] = share * s->density[k].sum[s->density[k].n] / decay;
		}
}

/* ---- the interface ---- */

static int check_curve(const iso_curve *c, double duration_s)
{
	const double *t, *y;
	const int64_t n = iso_curve_samples(c, &t, &y);

	if (n < 1 || t[n - 1] < duration_s)
		return iso_fail(ISO_EINPUT, "simulate: curve '%s' ends at %g s, the scan at %g s",
		                iso_curve_name(c), n < 1 ? 0 : t[n - 1], duration_s);
	for (int64_t i = 0; i < n; i++)
		if (!(y[i] >= 0))
			return iso_fail(ISO_EINPUT,
			                "simulate: curve '%s' is %g at %g s, must not be negative",
			                iso_curve_name(c), y[i], t[i]);
	return ISO_OK;
}

static int check(const struct iso_simulate *p, int n, const struct simulate_component *c)
{
	int st = ISO_OK;

	if (!(p->duration_s > 0)) return iso_fail(ISO_EARG, "simulate: curves need the length of the scan");
	if (p->exact_counts || p->motion || p->gates || p->dead_time_s > 0 || p->by_rate || !(p->randoms < 1))
		return iso_fail(ISO_EARG,
		                "simulate: curves do not go with exact counts, objects that move, dead "
		                "time, randoms by rate or randoms alone");
	for (int k = 0; k < n && !st; k++) st = check_curve(c[k].curve, p->duration_s);
	return st;
}

static void free_all(struct curves *s)
{
	for (int k = 0; s->density && s->heap && k <= s->n; k++) {
		free(s->density[k].t);
		iso_events_free(&s->heap[k].e);
		free(s->heap[k].order.v);
	}
	free(s->density);
	free(s->heap);
}

static int make(struct curves *s, struct iso_simulated *info)
{
	const double rate = s->p->half_life_s > 0 ? log(2) / s->p->half_life_s : 0;
	int st = ISO_OK;

	for (int k = 0; k < s->n && !st; k++)
		st = make_density(&s->density[k], s->c[k].curve, s->p->duration_s, rate);
	if (!st) st = expect_all(s);
	if (!st) st = make_random_density(s);
	for (int k = 0; k < s->n && !st && !s->p->delayed; k++) st = simulate_one(s, k, info);
	return st ? st : simulate_randoms(s, info);
}

int iso_simulate_curves(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p, int n,
                        struct simulate_component *c, const struct simulate_bins *bins, iso_emit_fn emit,
                        void *arg)
{
	struct iso_simulated made = { 0 };
	struct curves s = { p, ctx, n, c, bins && bins->n > 0 ? bins : NULL, NULL, NULL };
	int st = check(p, n, c);

	if (st) return st;
	s.density = size_alloc(n + 1, sizeof *s.density);
	s.heap = size_alloc(n + 1, sizeof *s.heap);
	st = s.density && s.heap ? make(&s, &made)
	                         : iso_fail_memory("components", n * (int64_t)sizeof *s.heap);
	if (!st) st = merge(&s, emit, arg);
	if (!st) tell_bins(&s);
	if (!st) iso_sized_give(info, sizeof made, &made);
	free_all(&s);
	return st;
}
