/* SPDX-License-Identifier: BSD-3-Clause */
/* The fit: a start by totals, a few sweeps of EM, and Fisher scoring, whose systems are solved by conjugate gradients. */
#include "norm_saved.h"

#include "core/progress.h"
#include "core/size.h"

#include <string.h>

enum { SWEEPS = 3, MOST_STEPS = 50, MOST_PRODUCTS = 200, MOST_HALVES = 30 };
#define SOLVED 1e-2 /* of |G| */
#define SOLVED_WELL 1e-4
#define STOP 1e-3 /* of the least error */
#define PLACE_STOP 1e-2
#define NO_GAIN 1e-3  /* of L, in which an error is 0.5 */
#define SUSPECT 1e-2  /* of the median factor: whether it is 0 is looked at */
#define MOST_DEAD .25 /* of the crystals */

/* Vectors of as many numbers as there are parameters. */
struct work {
	struct iso_room room;
	int64_t n;
	double *g, *fisher, *step, *r, *d, *q, *save, *sum;
	bool *active;
	bool placed; /* the source is no longer moved */
	double solved;
};

static int make_work(struct work *w, const struct norm_fit *f)
{
	*w = (struct work){ .room = iso_room_of(NULL, "norm"),
		            .n = norm_parameters(f),
		            .placed = f->placed,
		            .solved = SOLVED };
	double **const all[] = { &w->g, &w->fisher, &w->step, &w->r, &w->d, &w->q, &w->save, &w->sum };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) ISO_HOST(&w->room, *all[i], w->n);
	ISO_HOST(&w->room, w->active, w->n);
	return w->room.status;
}

static int refuse_empty(void)
{
	return iso_fail(ISO_EINPUT,
	                "norm: the source is outside the scanner's pairs: no pair expects counts");
}

/* ---- parameters as one vector ---- */

static double *factor_at(const struct norm_fit *f, int64_t p)
{
	if (p < norm_at_t(f)) return f->eps + p;
	return p < norm_at_z(f) ? f->t + (p - norm_at_t(f)) : f->z + (p - norm_at_z(f));
}

static void keep(double *to, const struct norm_fit *f)
{
	const int64_t factors = norm_at_shift(f, 0);

	for (int64_t p = 0; p < factors; p++) to[p] = *factor_at(f, p);
	for (int s = 0; s < f->scans; s++)
		memcpy(to + norm_at_shift(f, s), f->scan[s].shift, (size_t)f->scan[s].shifts * sizeof *to);
}

/* Parameters = from, times exp(share step), or plus for shifts; q follows where the source moves. */
static int move(struct norm_fit *f, const struct work *w, const double *from, double share)
{
	const int64_t factors = norm_at_shift(f, 0);
	int st = ISO_OK;

	for (int64_t p = 0; p < factors; p++)
		if (w->active[p]) *factor_at(f, p) = from[p] * exp(share * w->step[p]);
	for (int s = 0; s < f->scans && !st; s++) {
		struct norm_scan *scan = f->scan + s;
		const int64_t at = norm_at_shift(f, s);

		for (int c = 0; c < scan->shifts; c++)
			scan->shift[c] = from[at + c] + share * w->step[at + c];
		if (w->placed || scan->shifts == 0) continue;
		if (scan->move) st = scan->move(scan, f->ctx);
		norm_sums_stale(f, false);
	}
	return st;
}

/* ---- what is not fitted ---- */

static void set_active(struct work *w, const struct norm_fit *f)
{
	const int64_t t = norm_at_t(f), z = norm_at_z(f), shifts = norm_at_shift(f, 0);

	for (int64_t a = 0; a < t; a++) w->active[a] = f->eps[a] > 0;
	for (int64_t k = t; k < z; k++)
		w->active[k] = f->classes->transaxial && f->t_state[k - t] == NORM_FITTED;
	for (int64_t l = z; l < shifts; l++)
		w->active[l] = f->classes->axial && f->z_state[l - z] == NORM_FITTED;
	for (int64_t p = shifts; p < w->n; p++) w->active[p] = !w->placed;
}

/* Dead: no counts of its own, of crystals; nothing, or not reached, of classes. Needs factors of 1 where they are alive.
   What is dead takes pairs from others, so that this goes on until nothing changes. */
static bool drop_empty(struct norm_fit *f, struct work *w)
{
	const int64_t t = norm_at_t(f), z = norm_at_z(f);
	bool changed = false;
	double total, log;

	norm_pairs_sum(w->q, &total, f, NORM_USED, NULL);
	norm_counts_sum(w->sum, &log, f, false);
	for (int64_t a = 0; a < t; a++)
		if (f->eps[a] > 0 && !(w->sum[a] > 0)) {
			f->eps[a] = 0;
			f->dead[a] = changed = true;
		}
	for (int64_t p = t; p < norm_at_shift(f, 0); p++) {
		char *state = p < z ? f->t_state + (p - t) : f->z_state + (p - z);

		if (!(p < z ? f->classes->transaxial : f->classes->axial) || *state != NORM_FITTED ||
		    w->sum[p] > 0)
			continue;
		if (w->q[p] > 0) *factor_at(f, p) = 0;
		*state = w->q[p] > 0 ? NORM_NOTHING : NORM_UNREACHED;
		changed = true;
	}
	return changed;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of the fitted parameters from p to end. */
static double median(double *room, const struct norm_fit *f, const struct work *w, int64_t p, int64_t end)
{
	int64_t n = 0;

	for (; p < end; p++)
		if (w->active[p]) room[n++] = *factor_at(f, p);
	qsort(room, (size_t)n, sizeof *room, by_size);
	return n > 0 ? room[n / 2] : 0;
}

/* L is concave in one factor, and falls from 0 on where its slope there is not above 0:
   H_p = (sum over counts of y mu/r - sum over pairs of mu)/factor <= 0. Logarithms never reach that maximum. */
static bool drop_randoms(struct norm_fit *f, struct work *w)
{
	const int64_t bound[] = { 0, norm_at_t(f), norm_at_z(f), norm_at_shift(f, 0) };
	bool ask = false, changed = false;
	double least[3], total, log;

	for (int c = 0; c < 3; c++) {
		least[c] = SUSPECT * median(w->q, f, w, bound[c], bound[c + 1]);
		for (int64_t p = bound[c]; p < bound[c + 1]; p++)
			ask = ask || (w->active[p] && *factor_at(f, p) < least[c]);
	}
	if (!ask) return false;
	norm_pairs_sum(w->q, &total, f, NORM_EXPECTED, NULL);
	norm_counts_sum(w->sum, &log, f, true);
	for (int c = 0; c < 3; c++)
		for (int64_t p = bound[c]; p < bound[c + 1]; p++) {
			if (!w->active[p] || !(*factor_at(f, p) < least[c]) || w->sum[p] > w->q[p]) continue;
			*factor_at(f, p) = 0;
			changed = true;
			if (c == 0) f->dead[p] = true;
			if (c > 0) (c == 1 ? f->t_state : f->z_state)[p - bound[c]] = NORM_NOTHING;
			f->too_random += c == 0;
		}
	while (changed && drop_empty(f, w)) {
	}
	set_active(w, f);
	return changed;
}

static int check_dead(const struct norm_fit *f)
{
	int64_t dead = 0;

	for (int64_t a = 0; a < f->rows->n; a++) dead += !(f->eps[a] > 0);
	if ((double)dead <= MOST_DEAD * (double)f->rows->n) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "norm: %" PRId64 " of %" PRId64
	                " crystals have no counts, or no more than randoms; at most a quarter may",
	                dead, f->rows->n);
}

/* ---- start ---- */

static int start(struct norm_fit *f, struct work *w)
{
	double sum_q, log;

	for (int64_t a = 0; a < f->rows->n; a++) f->eps[a] = f->dead[a] ? 0 : 1;
	for (int64_t p = norm_at_t(f); p < norm_at_shift(f, 0); p++) *factor_at(f, p) = 1;
	memset(f->t_state, NORM_FITTED, (size_t)f->classes->n_t);
	memset(f->z_state, NORM_FITTED, (size_t)f->classes->n_z);
	norm_pairs_sum(w->sum, &sum_q, f, NORM_EXPECTED, NULL);
	if (f->status) return f->status;
	if (!(sum_q > 0)) return refuse_empty();
	norm_counts_sum(w->sum, &log, f, false);
	while (drop_empty(f, w)) {
	}
	norm_pairs_sum(w->sum, &sum_q, f, NORM_EXPECTED, NULL);
	f->counts = norm_counts_on(f, true);
	f->randoms = norm_randoms_sum(f, true);
	if (!(f->counts > 0))
		return iso_fail(ISO_EINPUT, "norm: no events are left on pairs that see the source");
	if (!(f->counts > f->randoms))
		return iso_fail(ISO_EINPUT,
		                "norm: %.4g events and %.4g randoms on the pairs that see the source: "
		                "more events than randoms were expected",
		                f->counts, f->randoms);
	for (int64_t a = 0; a < f->rows->n; a++)
		if (f->eps[a] > 0) f->eps[a] = sqrt((f->counts - f->randoms) / sum_q);
	set_active(w, f);
	return check_dead(f);
}

/* The conditional maximum of the surrogate of EM: theta *= U/M; of crystals, all of which change at once, its root. L never
   falls. */
static void sweep(struct norm_fit *f, struct work *w, int64_t p, int64_t end, bool root)
{
	double total, log;

	norm_pairs_sum(w->q, &total, f, NORM_EXPECTED, NULL);
	norm_counts_sum(w->sum, &log, f, false);
	for (; p < end; p++)
		if (w->active[p] && w->sum[p] > 0 && w->q[p] > 0)
			*factor_at(f, p) *= root ? sqrt(w->sum[p] / w->q[p]) : w->sum[p] / w->q[p];
}

static void sweeps(struct norm_fit *f, struct work *w)
{
	for (int i = 0; i < SWEEPS && !iso_stopped(f->ctx); i++) {
		sweep(f, w, 0, norm_at_t(f), true);
		if (f->classes->transaxial) sweep(f, w, norm_at_t(f), norm_at_z(f), false);
		if (f->classes->axial) sweep(f, w, norm_at_z(f), norm_at_shift(f, 0), false);
	}
}

/* ---- scoring ---- */

/* Gaussian priors of shifts: sum of -(shift/sd)^2/2. */
static double priors(const struct norm_fit *f)
{
	double sum = 0;

	for (int s = 0; s < f->scans; s++)
		for (int c = 0; c < f->scan[s].shifts; c++) {
			const double d = f->scan[s].sd[c] > 0 ? f->scan[s].shift[c] / f->scan[s].sd[c] : 0;

			sum -= .5 * d * d;
		}
	return sum;
}

static void add_priors(struct work *w, const struct norm_fit *f)
{
	for (int s = 0; s < f->scans; s++)
		for (int c = 0; c < f->scan[s].shifts; c++) {
			const int64_t p = norm_at_shift(f, s) + c;
			const double sd = f->scan[s].sd[c];

			if (!(sd > 0) || !w->active[p]) continue;
			w->g[p] -= f->scan[s].shift[c] / (sd * sd);
			w->fisher[p] += 1 / (sd * sd);
		}
}

/* Without the randoms of all pairs, which do not change. */
static double likelihood(struct norm_fit *f, struct work *w)
{
	double total, log;

	norm_counts_sum(w->q, &log, f, false);
	norm_pairs_sum(w->sum, &total, f, NORM_EXPECTED, NULL);
	return log - total + priors(f);
}

/* Gradient and diagonal of the Fisher information, and the likelihood. */
static double derive(struct norm_fit *f, struct work *w)
{
	double total, fisher, log;

	norm_counts_sum(w->g, &log, f, false);
	norm_pairs_sum(w->sum, &total, f, NORM_EXPECTED, NULL);
	norm_pairs_sum(w->fisher, &fisher, f, NORM_FISHER, NULL);
	for (int64_t p = 0; p < w->n; p++) w->g[p] = w->active[p] ? w->g[p] - w->sum[p] : 0;
	add_priors(w, f);
	for (int64_t p = 0; p < w->n; p++) w->active[p] = w->active[p] && w->fisher[p] > 0;
	return log - total + priors(f);
}

/* |G|/F below the tolerance, of shifts below PLACE_STOP of their own error. */
static bool stands(const struct work *w, int64_t shifts, double tolerance, double stop)
{
	double most = 0, place = 0, least = HUGE_VAL;

	for (int64_t p = 0; p < w->n; p++) {
		if (!w->active[p]) continue;
		const double step = fabs(w->g[p]) / w->fisher[p], sd = 1 / sqrt(w->fisher[p]);

		if (p < shifts) {
			most = fmax(most, step);
			least = fmin(least, sd);
		} else {
			place = fmax(place, step / sd);
		}
	}
	return most < (tolerance > 0 ? tolerance : stop * least) && place < PLACE_STOP;
}

static void product(double *to, struct norm_fit *f, const struct work *w, const double *v)
{
	double total;

	norm_pairs_sum(to, &total, f, NORM_PRODUCT, v);
	for (int s = 0; s < f->scans; s++)
		for (int c = 0; c < f->scan[s].shifts; c++) {
			const double sd = f->scan[s].sd[c];
			const int64_t p = norm_at_shift(f, s) + c;

			if (sd > 0) to[p] += v[p] / (sd * sd);
		}
	for (int64_t p = 0; p < w->n; p++)
		if (!w->active[p]) to[p] = 0;
}

static double dot(const double *a, const double *b, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
	return sum;
}

/* rest/diagonal, where parameters are fitted; rest' of that. */
static double condition(double *d, const struct work *w, double beta)
{
	double rz = 0;

	for (int64_t p = 0; p < w->n; p++) {
		const double z = w->active[p] ? w->r[p] / w->fisher[p] : 0;

		rz += w->r[p] * z;
		d[p] = z + beta * d[p];
	}
	return rz;
}

/* F step = G by conjugate gradients, with the diagonal of F as preconditioner. */
static int solve(struct norm_fit *f, struct work *w)
{
	memset(w->step, 0, (size_t)w->n * sizeof *w->step);
	memcpy(w->r, w->g, (size_t)w->n * sizeof *w->r);
	double rz = condition(w->d, w, 0), goal = w->solved * w->solved * dot(w->g, w->g, w->n);

	for (int i = 0; i < MOST_PRODUCTS && dot(w->r, w->r, w->n) > goal; i++) {
		product(w->q, f, w, w->d);
		f->products++;
		const double curve = dot(w->d, w->q, w->n), alpha = curve > 0 ? rz / curve : 0;

		if (!(alpha > 0)) break;
		for (int64_t p = 0; p < w->n; p++) {
			w->step[p] += alpha * w->d[p];
			w->r[p] -= alpha * w->q[p];
		}
		double next = 0;

		for (int64_t p = 0; p < w->n; p++)
			next += w->active[p] ? w->r[p] * w->r[p] / w->fisher[p] : 0;
		rz = (condition(w->d, w, next / rz), next);
		if (iso_stopped(f->ctx)) return iso_ctx_poll(f->ctx);
	}
	return ISO_OK;
}

/* Of L, from step to step. A device has factors of crystals as floats, each of which changes the sum of its counts. */
static double rounding(const struct norm_fit *f, double loglik)
{
	const double host = 1e-13 * fabs(loglik), crystals = (double)f->rows->n;

	return f->on_host || !iso_ctx_is_cuda(f->ctx) ? host : host + 0x1p-22 * f->counts / sqrt(crystals);
}

/* theta += step, half of it as long as L falls by more than its rounding. */
static int climb(struct norm_fit *f, struct work *w, double before)
{
	double share = 1;
	int st;

	keep(w->save, f);
	for (int i = 0; i < MOST_HALVES; i++, share /= 2) {
		if ((st = move(f, w, w->save, share))) return st;
		if (likelihood(f, w) >= before - rounding(f, before)) return ISO_OK;
	}
	return move(f, w, w->save, 0);
}

/* No q is below that of a line at the source's edge, so that L has kinks in the place, where its gradient never vanishes: a
   place that no step betters is kept, and the factors are fitted to it. */
static void keep_place(struct norm_fit *f, struct work *w, double gain)
{
	if (w->n == norm_at_shift(f, 0) || !(gain < NO_GAIN)) return;
	w->placed = true;
	for (int64_t p = norm_at_shift(f, 0); p < w->n; p++) {
		w->active[p] = false;
		w->g[p] = 0;
	}
}

/* To the caller, and to the state. */
static int tell_step(struct norm_fit *f, const struct work *w, int first, double before,
                     const struct iso_clock *clock)
{
	const struct norm_point point = { first, before, w->placed, w->active };
	char note[64];
	const int st = f->state ? norm_saved_keep(f->state, &point) : ISO_OK;

	iso_snprintf(note, sizeof note, "loglik %.9g", before);
	iso_clock_step(clock, f->steps, note);
	return st;
}

static int score(struct norm_fit *f, struct work *w)
{
	const int most = f->most_steps > 0 ? f->most_steps : MOST_STEPS;
	const int first = f->point ? f->point->first : f->steps;
	const struct iso_clock clock = iso_clock_start(f->ctx, "fit", f->steps, 0);
	double before = f->point ? f->point->before : -HUGE_VAL;
	int st;

	f->point = NULL;
	for (;;) {
		f->loglik = derive(f, w);
		if (f->status) return f->status;
		keep_place(f, w, f->loglik - before);
		before = f->loglik;
		if (stands(w, norm_at_shift(f, 0), f->tolerance, f->stop > 0 ? f->stop : STOP)) return ISO_OK;
		if (f->steps - first == most)
			return iso_fail(ISO_EINPUT, "norm: the fit does not settle in %d steps", most);
		if ((st = solve(f, w)) || (st = climb(f, w, f->loglik)) || (st = iso_ctx_poll(f->ctx)))
			return st;
		if (drop_randoms(f, w) && (st = check_dead(f))) return st;
		f->steps++;
		if ((st = tell_step(f, w, first, before, &clock))) return st;
	}
}

static int make_all(struct norm_fit *f)
{
	int st = ISO_OK;

	for (int s = 0; s < f->scans && !st; s++)
		if (f->scan[s].make) st = f->scan[s].make(f->scan + s, !f->placed, f->ctx);
	norm_sums_stale(f, !f->placed);
	return st;
}

/* Error of each shift: sqrt((F^-1)_pp), of a column of the inverse. Crystals that no pair knows are no part of it. */
static int shift_errors(struct norm_fit *f, struct work *w)
{
	const int products = f->products;
	int st = ISO_OK;

	w->placed = false;
	set_active(w, f);
	for (int64_t p = 0; p < w->n; p++) w->active[p] = w->active[p] && w->fisher[p] > 0;
	for (int s = 0; s < f->scans; s++)
		for (int c = 0; c < f->scan[s].shifts && !st; c++) {
			const int64_t p = norm_at_shift(f, s) + c;

			memset(w->g, 0, (size_t)w->n * sizeof *w->g);
			w->g[p] = 1;
			if (w->active[p]) st = solve(f, w);
			f->scan[s].error[c] = w->active[p] ? sqrt(fmax(0, w->step[p])) : 0;
		}
	f->products = products;
	return st;
}

/* Everything up to the first step. */
static int begin(struct norm_fit *f, struct work *w, bool again)
{
	int st;

	if (f->point) {
		memcpy(w->active, f->point->active, (size_t)w->n * sizeof *w->active);
		w->placed = f->point->placed;
		return ISO_OK;
	}
	if ((st = make_all(f))) return st;
	if (again)
		set_active(w, f);
	else if (!(st = start(f, w)))
		sweeps(f, w);
	return st;
}

int norm_fit_run(struct norm_fit *f, bool again)
{
	struct work w = { 0 };
	int st = f->room ? ISO_OK : norm_sums_create(f);

	if (st || (st = make_work(&w, f)) || (st = begin(f, &w, again))) goto done;
	if ((st = f->status) || (st = iso_ctx_poll(f->ctx)) || (st = score(f, &w))) goto done;
	f->loglik -= priors(f) + norm_randoms_sum(f, false);
	if (!(f->stop > 0)) st = shift_errors(f, &w);
	if (!st && !(st = f->status)) st = norm_gauge(f);
done:
	iso_room_free(&w.room);
	return st;
}

int norm_fit_step(struct norm_fit *f)
{
	struct work w = { 0 };
	int st = norm_sums_create(f);

	if (st || (st = make_work(&w, f))) goto done;
	w.solved = SOLVED_WELL;
	set_active(&w, f);
	derive(f, &w);
	if ((st = f->status) || (st = solve(f, &w))) goto done;
	memcpy(f->scan->shift, w.step + norm_at_shift(f, 0), (size_t)f->scan->shifts * sizeof *w.step);
	if (!(st = shift_errors(f, &w))) st = f->status;
done:
	iso_room_free(&w.room);
	return st;
}
