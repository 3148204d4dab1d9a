/* SPDX-License-Identifier: BSD-3-Clause */
/* Dead time from the counts of frames. Parameters are ln n0, ln tau and, with a background, ln b; steps are Fisher scoring
   with the variances E + 2 D of the step before, D the delayeds of a frame. With D = 0 that is the Poisson likelihood.
   With delayeds prompts are no single exponential: of the rate n = T + randoms the trues T = n0 exp(-k t) + b
   are counted with the share l(n), and randoms fall with 2 k. */
#include "isotome/rates.h"

#include "core/sized.h"
#include "core/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SAME 1e-12      /* the end: no parameter moves farther */
#define DIFFERENCE 1e-5 /* of a logarithm, for derivatives */
#define MOST_STEP 1.    /* of a logarithm */
#define REACH .2        /* n tau that the lowest frame must be below */
#define LEAST_TAU 1e-15 /* s */

enum { MOST_STEPS = 500, HALVES = 30, PARAMETERS = 3, GAUSS = 16 };

/* Gauss and Legendre on [-1, 1]: the eight positive points, and their weights. */
static const double point[GAUSS / 2] = { 0.0950125098376374, 0.2816035507792589, 0.4580167776572274,
	                                 0.6178762444026438, 0.7554044083550030, 0.8656312023878318,
	                                 0.9445750230732326, 0.9894009349916499 };
static const double weight[GAUSS / 2] = { 0.1894506104550685, 0.1826034150449236, 0.1691565193950025,
	                                  0.1495959888165767, 0.1246289712555339, 0.0951585116824928,
	                                  0.0622535239386479, 0.0271524594117541 };

struct decaying {
	enum iso_dead_time model;
	double n0, tau, b, k;
};

/* ---- means over a frame ---- */

static double live_at(const struct decaying *p, double n)
{
	return p->model == ISO_PARALYSABLE ? exp(-n * p->tau) : 1 / (1 + n * p->tau);
}

/* Mean of T l(T + randoms), randoms = share_2 T_mean exp(-2 k t)/mean of that: `ratio` times the mean of T. */
static double mean_by_points(const struct decaying *p, double t1, double t2, double ratio)
{
	double trues = 0, squares = 0, sum = 0, at[GAUSS], of[GAUSS];

	for (int i = 0; i < GAUSS; i++) {
		const double x = i < GAUSS / 2 ? -point[i] : point[i - GAUSS / 2];
		const double t = .5 * (t1 + t2) + .5 * (t2 - t1) * x;

		of[i] = .5 * weight[i % (GAUSS / 2)];
		at[i] = exp(-p->k * t);
		trues += of[i] * (p->n0 * at[i] + p->b);
		squares += of[i] * at[i] * at[i];
	}
	for (int i = 0; i < GAUSS; i++) {
		const double t = p->n0 * at[i] + p->b;
		const double randoms = ratio > 0 ? ratio * trues * at[i] * at[i] / squares : 0;

		sum += of[i] * t * live_at(p, t + randoms);
	}
	return sum;
}

/* ln((1 + n1 tau)/(1 + n2 tau))/(k tau T) and (exp(-n2 tau) - exp(-n1 tau))/(k tau T). */
static double mean_closed(const struct decaying *p, double t1, double t2)
{
	const double n1 = p->n0 * exp(-p->k * t1), n2 = p->n0 * exp(-p->k * t2);
	const double fall = n1 * -expm1(-p->k * (t2 - t1)) * p->tau, down = p->k * p->tau * (t2 - t1);

	if (p->model == ISO_PARALYSABLE) return exp(-n2 * p->tau) * -expm1(-fall) / down;
	return log1p(fall / (1 + n2 * p->tau)) / down;
}

static double mean_of(const struct decaying *p, double t1, double t2, double ratio)
{
	return p->b == 0 && p->k > 0 && p->tau > 0 && ratio == 0 && t2 > t1
	               ? mean_closed(p, t1, t2)
	               : mean_by_points(p, t1, t2, ratio);
}

static double rate_of_decay(double half_life_s)
{
	return half_life_s > 0 ? M_LN2 / half_life_s : 0;
}

double iso_rates_mean(enum iso_dead_time model, double n0, double tau_s, double b, double half_life_s,
                      double from_s, double to_s)
{
	const struct decaying p = { model, n0, tau_s, b, rate_of_decay(half_life_s) };

	if (!(n0 >= 0) || !(tau_s >= 0) || !(b >= 0) || !(half_life_s >= 0) || !(to_s >= from_s)) return NAN;
	return mean_of(&p, from_s, to_s, 0);
}

/* ---- the fit ---- */

struct fit {
	const struct iso_rates_series *s;
	struct decaying now;
	double step[PARAMETERS], sd[PARAMETERS];
	int n; /* parameters */
};

static double randoms_of(const struct iso_rates_series *s, int64_t j)
{
	return s->randoms ? s->randoms[j] : 0;
}

static double net(const struct iso_rates_series *s, int64_t j)
{
	return s->counts[j] - randoms_of(s, j);
}

static double expected(const struct fit *f, const struct decaying *p, int64_t j)
{
	const struct iso_rates_series *s = f->s;

	return s->length_s[j] *
	       mean_of(p, s->start_s[j], s->start_s[j] + s->length_s[j], randoms_of(s, j) / net(s, j));
}

static double variance(const struct fit *f, const struct decaying *p, int64_t j)
{
	return expected(f, p, j) + 2 * randoms_of(f->s, j);
}

static struct decaying moved(const struct fit *f, int which, double by)
{
	struct decaying p = f->now;

	*(which == 0 ? &p.n0 : which == 1 ? &p.tau : &p.b) *= exp(by);
	return p;
}

/* With delayeds sum of (N - E)^2/v with the variances at `of`, else the deviance. */
static double misfit(const struct fit *f, const struct decaying *p, const struct decaying *of)
{
	double sum = 0;

	for (int64_t j = 0; j < f->s->n; j++) {
		const double y = net(f->s, j), e = expected(f, p, j);

		sum += f->s->randoms ? (y - e) * (y - e) / variance(f, of, j)
		                     : 2 * (y * log(y / e) - (y - e));
	}
	return sum;
}

/* a x = b for the n x n matrix a of a sum of squares, by Gauss and Jordan; a becomes its inverse. False: singular. */
static bool solve(double x[PARAMETERS], double a[PARAMETERS][PARAMETERS], const double b[PARAMETERS], int n)
{
	for (int i = 0; i < n; i++) {
		const double p = a[i][i];

		if (!(p > 0)) return false;
		a[i][i] = 1;
		for (int k = 0; k < n; k++) a[i][k] /= p;
		for (int r = 0; r < n; r++) {
			const double q = a[r][i];

			if (r == i) continue;
			a[r][i] = 0;
			for (int k = 0; k < n; k++) a[r][k] -= q * a[i][k];
		}
	}
	for (int i = 0; i < n; i++) {
		x[i] = 0;
		for (int k = 0; k < n; k++) x[i] += a[i][k] * b[k];
	}
	return true;
}

static bool find_step(struct fit *f)
{
	double matrix[PARAMETERS][PARAMETERS] = { { 0 } }, right[PARAMETERS] = { 0 }, d[PARAMETERS];

	for (int64_t j = 0; j < f->s->n; j++) {
		const double e = expected(f, &f->now, j), v = variance(f, &f->now, j);

		for (int i = 0; i < f->n; i++) {
			const struct decaying up = moved(f, i, DIFFERENCE), down = moved(f, i, -DIFFERENCE);

			d[i] = (expected(f, &up, j) - expected(f, &down, j)) / (2 * DIFFERENCE);
		}
		for (int i = 0; i < f->n; i++) {
			right[i] += d[i] * (net(f->s, j) - e) / v;
			for (int k = 0; k < f->n; k++) matrix[i][k] += d[i] * d[k] / v;
		}
	}
	if (!solve(f->step, matrix, right, f->n)) return false;
	for (int i = 0; i < f->n; i++) f->sd[i] = sqrt(fmax(matrix[i][i], 0));
	return true;
}

static double frame_rate(const struct iso_rates_series *s, int64_t j)
{
	return net(s, j) / s->length_s[j];
}

/* The frame of the lowest rate hardly has dead time, that of the highest has most. */
static void start(struct fit *f, enum iso_dead_time model)
{
	const struct iso_rates_series *s = f->s;
	const double k = rate_of_decay(s->half_life_s);
	int64_t low = 0, high = 0;

	for (int64_t j = 0; j < s->n; j++) {
		low = frame_rate(s, j) < frame_rate(s, low) ? j : low;
		high = s->start_s[j] < s->start_s[high] ? j
		                                        : high; /* the most activity, not the most counts */
	}
	const double decayed = exp(-k * (s->start_s[low] + .5 * s->length_s[low]));
	const double b = s->background ? .5 * frame_rate(s, low) : 0;
	const double n0 = (frame_rate(s, low) - b) / decayed;
	const double n = n0 * exp(-k * (s->start_s[high] + .5 * s->length_s[high])), m = frame_rate(s, high);
	const double lost = fmax(n / m, 1.001);

	f->now = (struct decaying){ model, n0, (model == ISO_PARALYSABLE ? log(lost) : lost - 1) / n, b, k };
	f->n = s->background ? 3 : 2;
}

static int climb(struct fit *f)
{
	for (int round = 0; round < MOST_STEPS; round++) {
		const double before = misfit(f, &f->now, &f->now);
		double by = 1, most = 0;

		if (!find_step(f)) break;
		for (int i = 0; i < f->n; i++) most = fmax(most, fabs(f->step[i]));
		if (!isfinite(most)) break;
		if (most > MOST_STEP) by = MOST_STEP / most;
		struct decaying next = f->now;

		for (int half = 0; half < HALVES; half++, by *= .5) {
			next = f->now;
			next.n0 *= exp(by * f->step[0]);
			next.tau *= exp(by * f->step[1]);
			if (f->n > 2) next.b *= exp(by * f->step[2]);
			if (misfit(f, &next, &f->now) <= before * (1 + 1e-13) + 1e-12) break;
		}
		f->now = next;
		if (most * by < SAME || (most < 1e-9 && by < 1)) return ISO_OK;
		if (!(f->now.tau > LEAST_TAU)) break;
	}
	return iso_fail(
		ISO_EINPUT,
		"rates: the frames do not tell the dead time: they must reach from rates where events are "
		"lost to rates where hardly any are");
}

static void give(struct iso_rates_fit *r, const struct fit *f)
{
	const struct iso_rates_series *s = f->s;

	*r = (struct iso_rates_fit){ .n0 = f->now.n0,
		                     .tau_s = f->now.tau,
		                     .b = f->now.b,
		                     .n0_sd = f->now.n0 * f->sd[0],
		                     .tau_sd_s = f->now.tau * f->sd[1],
		                     .b_sd = f->now.b * f->sd[2],
		                     .deviance = misfit(f, &f->now, &f->now) };
	for (int64_t j = 0; j < s->n; j++) {
		const double n = f->now.n0 * exp(-f->now.k * s->start_s[j]) + f->now.b;

		r->highest_n_tau =
			fmax(r->highest_n_tau, n * (1 + randoms_of(s, j) / net(s, j)) * f->now.tau);
	}
}

/* n tau of the frame where it is least. */
static double reach(const struct fit *f)
{
	const struct iso_rates_series *s = f->s;
	double least = INFINITY;

	for (int64_t j = 0; j < s->n; j++) {
		const double n =
			f->now.n0 * exp(-f->now.k * (s->start_s[j] + .5 * s->length_s[j])) + f->now.b;

		least = fmin(least, n * (1 + randoms_of(s, j) / net(s, j)) * f->now.tau);
	}
	return least;
}

static int check(const struct iso_rates_series *s)
{
	if (!s->start_s || !s->length_s || !s->counts) return iso_fail_null("struct iso_rates_series");
	if (!(s->half_life_s > 0) || !isfinite(s->half_life_s))
		return iso_fail(ISO_EARG, "rates: 'half-life-s' of the source is missing, must be above 0");
	if (s->n < (s->background ? 4 : 3))
		return iso_fail(ISO_EINPUT, "rates: %" PRId64 " frames, at least %d are needed", s->n,
		                s->background ? 4 : 3);
	for (int64_t j = 0; j < s->n; j++) {
		if (!isfinite(s->start_s[j]) || !(s->length_s[j] > 0) || !isfinite(s->length_s[j]))
			return iso_fail(ISO_EINPUT,
			                "rates: frame %" PRId64 " starts at %g s and takes %g s, must "
			                "be above 0",
			                j + 1, s->start_s[j], s->length_s[j]);
		if (!(randoms_of(s, j) >= 0) || !isfinite(s->counts[j]) || !(net(s, j) > 0))
			return iso_fail(ISO_EINPUT,
			                "rates: frame %" PRId64
			                " has %g counts and %g randoms: nothing is left",
			                j + 1, s->counts[j], randoms_of(s, j));
	}
	return ISO_OK;
}

int iso_rates_fit(struct iso_rates *told, const struct iso_rates_series *series)
{
	if (!told || !series) return iso_fail_null(__func__);
	struct iso_rates r = { .size = sizeof r };
	struct iso_rates_series s;
	double least[ISO_DEAD_TIMES];
	int st = iso_sized_take(&s, "iso_rates_series", sizeof s, series);

	if (!st) st = iso_sized_clear(told, "iso_rates", sizeof *told);
	if (st || (st = check(&s))) return st;
	for (int m = 0; m < ISO_DEAD_TIMES; m++) {
		struct fit f = { .s = &s };

		start(&f, (enum iso_dead_time)m);
		if ((st = climb(&f))) return st;
		give(&r.fit[m], &f);
		least[m] = reach(&f);
	}
	r.model = r.fit[1].deviance < r.fit[0].deviance ? ISO_PARALYSABLE : ISO_NONPARALYSABLE;
	r.with_randoms = s.randoms != NULL;
	r.half_life_s = s.half_life_s;
	if (!(least[r.model] < REACH))
		return iso_fail(
			ISO_EINPUT,
			"rates: n tau is %.2g or more in every frame: the frames must reach below %g, else "
			"two dead times fit",
			least[r.model], REACH);
	iso_sized_give(told, sizeof r, &r);
	return ISO_OK;
}

/* ---- the live share of a frame ---- */

int iso_rates_live(double *live, enum iso_dead_time model, double tau_s, double half_life_s, double from_s,
                   double to_s, double rate)
{
	if (!live) return iso_fail_null(__func__);
	struct decaying p = { model, rate, tau_s, 0, rate_of_decay(half_life_s) };
	const double length = to_s - from_s, fall = p.k * length;
	const double mean = fall > 0 ? -expm1(-fall) / fall : 1; /* of n over n_1 */

	if (!(tau_s >= 0) || !(length > 0) || !isfinite(length) || !(rate >= 0) || !(half_life_s >= 0))
		return iso_fail(ISO_EARG,
		                "rates: dead time %g s, frame of %g s, %g counts/s: must not be negative",
		                tau_s, length, rate);
	if (rate == 0 || tau_s == 0) {
		*live = 1;
		return ISO_OK;
	}
	for (int round = 0; round < 10000; round++) {
		struct decaying up = p, down = p;
		const double h = 1e-6 * p.n0;

		up.n0 += h;
		down.n0 -= h;
		const double slope = (mean_of(&up, 0, length, 0) - mean_of(&down, 0, length, 0)) / (2 * h);
		const double by = (rate - mean_of(&p, 0, length, 0)) / slope;

		if (!(slope > 0) || !isfinite(by)) break;
		p.n0 += by;
		if (fabs(by) <= 1e-13 * p.n0) {
			*live = rate / (p.n0 * mean);
			return ISO_OK;
		}
	}
	return iso_fail(
		ISO_EINPUT,
		"rates: %.6g counts/s are more than a scanner with a dead time of %.4g us (%s) can count",
		rate, 1e6 * tau_s, model == ISO_PARALYSABLE ? "paralysable" : "non-paralysable");
}
