/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected randoms of a pair of crystals as rate[a] x rate[b], from delayed coincidences or from singles.

   Delayed coincidences are Poisson with that mean, so the log-likelihood is
     sum_a D_a log rate_a - sum over pairs of rate_a rate_b,
   D_a the delayeds with one end in crystal a; it depends on the fan sums D alone, and at its maximum rate_a
   F_a = D_a with F_a the sum of rate_b over the partners of a. The plain iteration rate_a = D_a / F_a swings
   about it for ever (twice the rate gives half, then twice again). With
     2 rate_a rate_b <= rate_a^2 (r_b / r_a) + rate_b^2 (r_a / r_b),   r the rates so far,
   every crystal has a bound of its own, highest at rate_a = sqrt(r_a D_a / F_a): the geometric mean of old
   and plain. The likelihood never falls. */
#define _GNU_SOURCE /* qsort_r */
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "emission.h"
#include "randoms.h"

#define TOLERANCE 1e-9 /* of each fan sum */
#define MOST_ITERATIONS 10000
#define BLOCK 8192 /* events whose crystals are sought side by side */
#define FAR_MM 30  /* an end farther than this from every crystal is of another scanner */

/* ---- fans, without a loop over pairs ----

   On a cylinder the partners of a crystal are a range of rings times a range round the ring, so running sums
   along both give them all. Free detectors meet all but a range of azimuth about their own, those of a head
   all of the other head. Where modules are said to be in coincidence or not, sums over modules do. */

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* below[r][c] = sum of v over rings 0..r-1, crystal c of each; of the rings that a ring may meet,
   sum[c] = total of crystals 0..c-1, and a fan that of crystals c + min_distance to
   c + per_ring - min_distance, round the ring. */
static void cylinder_fans(double *fan, double *below, const struct iso_pairs *p, const double *v)
{
	int64_t n = p->per_ring;
	double *sum = below + (p->rings + 1) * n;

	for (int64_t c = 0; c < n; c++) below[c] = 0;
	for (int64_t i = 0; i < p->rings * n; i++) below[i + n] = below[i] + v[i];
	for (int64_t r = 0; r < p->rings; r++, fan += n) {
		const double *low = below + (r - lesser(r, p->max_ring_difference)) * n;
		const double *high = below + (r + lesser(p->rings - 1 - r, p->max_ring_difference) + 1) * n;

		sum[0] = 0;
		for (int64_t c = 0; c < n; c++) sum[c + 1] = sum[c] + high[c] - low[c];
		for (int64_t c = 0; c < n; c++) {
			int64_t from = (c + p->min_distance) % n, end = from + n - 2 * p->min_distance + 1;

			fan[c] = end <= n ? sum[end] - sum[from] : sum[n] - sum[from] + sum[end - n];
		}
	}
}

static int by_azimuth(const void *a, const void *b, void *pos)
{
	int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
	const double *p = (const double *)pos + 3 * i, *q = (const double *)pos + 3 * j;
	double u = atan2(p[1], p[0]), v = atan2(q[1], q[0]);

	return u < v ? -1 : u > v ? 1 : i < j ? -1 : i > j;
}

/* How many places onwards, by steps of 1 or -1, detectors are no partners. Where the range ends
   never goes back, so that all of them take some 2 n looks. */
static void near_ones(int64_t *count, const struct iso_fans *f, int step)
{
	int64_t n = f->s->n, k = 0;

	for (int64_t m = 0; m < n; m++) {
		int64_t i = step > 0 ? m : n - 1 - m;

		while (k < n - 1 &&
		       !iso_scanner_in_coincidence(f->s, f->order[i], f->order[(i + step * (k + 1) + n) % n]))
			k++;
		count[i] = k;
		k = k > 0 ? k - 1 : 0;
	}
}

/* All but itself and the near ones, which may lie on both sides of the order's seam. */
static void detector_fans(double *fan, const struct iso_fans *f, const double *v)
{
	int64_t n = f->s->n;
	double *sum = f->sum;

	sum[0] = 0;
	for (int64_t i = 0; i < n; i++) sum[i + 1] = sum[i] + v[f->order[i]];
	for (int64_t i = 0; i < n; i++) {
		int64_t from = i - f->before[i], end = i + f->after[i] + 1;
		double left = from >= 0 ? sum[from] : 0, right = end <= n ? sum[n] - sum[end] : 0;

		if (from < 0) right -= sum[n] - sum[n + from];
		if (end > n) left -= sum[end - n];
		fan[f->order[i]] = left + right;
	}
}

static void panels_fans(double *fan, int64_t n, const double *v)
{
	double head[2] = { 0 };

	for (int64_t i = 0; i < n; i++) head[i >= n / 2] += v[i];
	for (int64_t i = 0; i < n; i++) fan[i] = head[i < n / 2];
}

/* sum[m] = that of module m, modules of all kinds one after the other. */
static void module_fans(double *fan, double *sum, const struct iso_efficiencies *e, const double *v)
{
	struct efficiency_end a = { 0 }, b = { 0 };
	int64_t m = 0;

	for (int k = 0; k < e->kinds; k++)
		for (int64_t i = 0; i < e->kind[k].modules; i++, m++) {
			const double *own = v + e->kind[k].first + i * e->kind[k].elements;

			sum[m] = 0;
			for (int64_t c = 0; c < e->kind[k].elements; c++) sum[m] += own[c];
		}
	for (a.kind = 0; a.kind < e->kinds; a.kind++)
		for (a.module = 0; a.module < e->kind[a.kind].modules; a.module++) {
			int64_t n = e->kind[a.kind].elements, first = e->kind[a.kind].first + a.module * n;
			bool itself = efficiency_meet(e, &a, &a);
			double all = 0;

			m = 0;
			for (b.kind = 0; b.kind < e->kinds; b.kind++)
				for (b.module = 0; b.module < e->kind[b.kind].modules; b.module++, m++)
					all += efficiency_meet(e, &a, &b) ? sum[m] : 0;
			for (int64_t c = first; c < first + n; c++) fan[c] = all - (itself ? v[c] : 0);
		}
}

int iso_fans_create(struct iso_fans *f, const iso_scanner *s)
{
	int64_t sums = s->kind == ISO_CYLINDER ? s->n + 2 * s->pairs.per_ring + 1 : s->n + 1;
	bool free_ones = s->kind == ISO_DETECTORS && !s->efficiencies;
	struct iso_fans made = { s, size_alloc(sums, sizeof *made.sum), NULL, NULL, NULL };

	if (!made.sum || (free_ones && !(made.order = size_alloc(3 * s->n, sizeof *made.order)))) {
		iso_fans_free(&made);
		return iso_fail_memory("fan sums", 4 * s->n * (int64_t)sizeof *made.sum);
	}
	if (free_ones) {
		made.after = made.order + s->n;
		made.before = made.after + s->n;
		for (int64_t i = 0; i < s->n; i++) made.order[i] = i;
		qsort_r(made.order, (size_t)s->n, sizeof *made.order, by_azimuth, s->pos);
		near_ones(made.after, &made, 1);
		near_ones(made.before, &made, -1);
	}
	*f = made;
	return ISO_OK;
}

void iso_fans_free(struct iso_fans *f)
{
	free(f->sum);
	free(f->order);
	*f = (struct iso_fans){ 0 };
}

void iso_fans_sum(double *fan, struct iso_fans *f, const double *v)
{
	if (f->s->kind == ISO_CYLINDER)
		cylinder_fans(fan, f->sum, &f->s->pairs, v);
	else if (f->s->kind == ISO_PANELS)
		panels_fans(fan, f->s->n, v);
	else if (f->s->efficiencies)
		module_fans(fan, f->sum, f->s->efficiencies, v);
	else
		detector_fans(fan, f, v);
}

/* ---- rates ---- */

/* The crystals of a delayed; false if they are no pair. */
static bool find_pair(int64_t pair[2], const iso_scanner *s, const struct iso_events *e, int64_t i)
{
	for (int k = 0; k < 2; k++) {
		const float *end = k == 0 ? e->v[i].p1 : e->v[i].p2;
		double p[3] = { end[0], end[1], end[2] }, distance = 0;

		pair[k] = e->crystal ? e->crystal[2 * i + k] : iso_scanner_nearest(&distance, s, p);
		if (distance > FAR_MM) return false;
	}
	return iso_scanner_in_coincidence(s, pair[0], pair[1]) && !iso_event_bad(&e->v[i]);
}

/* Fan sums d of the delayeds; how many lie on no pair. One thread adds, in the events' order: the
   sums of a histogram's counts have the same bits for every number of threads. */
int64_t iso_randoms_ends(double *d, iso_ctx *ctx, const iso_scanner *s, const struct iso_events *e)
{
	int64_t pair[BLOCK][2], bad = 0;
	bool good[BLOCK];
	struct iso_clock clock = iso_clock_brief(ctx, "randoms", "events", e->n, NULL);

	for (int64_t first = 0; first < e->n && !iso_stopped(ctx); first += BLOCK) {
		int64_t n = e->n - first < BLOCK ? e->n - first : BLOCK;

#pragma omp parallel for num_threads(ctx->threads)
		for (int64_t i = 0; i < n; i++) good[i] = find_pair(pair[i], s, e, first + i);
		for (int64_t i = 0; i < n; i++) {
			bad += !good[i];
			for (int k = 0; good[i] && k < 2; k++)
				d[pair[i][k]] += e->count ? (double)e->count[first + i] : 1;
		}
		iso_clock_add(&clock, n);
	}
	iso_clock_end(&clock);
	return bad;
}

/* One step from rate with its fans; the largest |rate F - D| / D before it. A fan may sink below
   the rounding of its running sums where no finite rates are best. */
static double step(double *rate, const double *fan, const double *d, int64_t n)
{
	double worst = 0;

	for (int64_t a = 0; a < n; a++) {
		if (!(d[a] > 0)) continue;
		if (!(fan[a] > 0)) return INFINITY;
		worst = fmax(worst, fabs(rate[a] * fan[a] / d[a] - 1));
		rate[a] = sqrt(rate[a] * d[a] / fan[a]);
	}
	return worst;
}

/* From the rates that they would have if every crystal met the same share of all, D_a / sqrt(sum of D). */
static int solve(double *rate, iso_ctx *ctx, struct iso_fans *f, const double *d, double *fan)
{
	const iso_scanner *s = f->s;
	double worst = 1, all = 0;
	int st;

	for (int64_t a = 0; a < s->n; a++) all += d[a];
	for (int64_t a = 0; a < s->n; a++) rate[a] = d[a] > 0 ? d[a] / sqrt(all) : 0;
	for (int i = 0; i < MOST_ITERATIONS && worst > TOLERANCE; i++) {
		if ((st = iso_ctx_poll(ctx))) return st;
		iso_fans_sum(fan, f, rate);
		worst = step(rate, fan, d, s->n);
	}
	if (worst > TOLERANCE)
		return iso_fail(
			ISO_EINPUT,
			"randoms: rates are off by %.1g after %d steps: too few events for scanner %s?",
			worst, MOST_ITERATIONS, s->name);
	return ISO_OK;
}

int iso_randoms_of_ends(double *rate, iso_ctx *ctx, const iso_scanner *s, const double *ends)
{
	double *fan = size_alloc(s->n, sizeof *fan);
	struct iso_fans f = { 0 };
	int st = fan ? iso_fans_create(&f, s) : iso_fail_memory("randoms", s->n * (int64_t)sizeof *fan);

	if (!st) st = solve(rate, ctx, &f, ends, fan);
	iso_fans_free(&f);
	free(fan);
	return st;
}

int iso_randoms_from_delayed(double *rate, int64_t *bad, iso_ctx *ctx, const iso_scanner *s,
                             const struct iso_events *delayed)
{
	if (!rate || !bad || !ctx || !s || !delayed) return iso_fail_null(__func__);
	double *d = size_alloc(s->n, sizeof *d);
	int st;

	if (!d) return iso_fail_memory("randoms", s->n * (int64_t)sizeof *d);
	if ((st = iso_check_values(delayed->count, delayed->n, "randoms: count of delayed line"))) goto done;
	if ((*bad = iso_randoms_ends(d, ctx, s, delayed)) < delayed->n)
		st = iso_randoms_of_ends(rate, ctx, s, d);
	else
		st = iso_fail(ISO_EINPUT,
		              "randoms: none of %" PRId64 " delayed coincidences is of scanner %s",
		              delayed->n, s->name);
done:
	free(d);
	return st;
}

/* Crystals with s_a and s_b singles a second meet by chance within tau 2 tau s_a s_b times a second. */
int iso_randoms_from_singles(double *rate, const iso_scanner *s, const iso_real *singles, double duration_s,
                             double coincidence_ns)
{
	if (!rate || !s || !singles) return iso_fail_null(__func__);
	if (!(duration_s > 0) || !isfinite(duration_s))
		return iso_fail(ISO_EARG, "randoms: duration is %g s, must be above 0", duration_s);
	if (!(coincidence_ns > 0) || !isfinite(coincidence_ns))
		return iso_fail(ISO_EARG, "randoms: coincidence window is %g ns, must be above 0",
		                coincidence_ns);
	double scale = sqrt(2e-9 * coincidence_ns / duration_s);
	int st = iso_check_values(singles, s->n, "randoms: number of singles of crystal");

	if (st) return st;
	for (int64_t a = 0; a < s->n; a++) rate[a] = scale * (double)singles[a];
	return ISO_OK;
}
