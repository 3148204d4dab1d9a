/* SPDX-License-Identifier: BSD-3-Clause */
/* Fan sums without a loop over pairs: on a cylinder the partners of a crystal are a range of rings
   times a range round the ring, so running sums along both give them all. Free detectors meet all
   but a range of azimuth about their own, those of a head all of the other head. */
#define _GNU_SOURCE /* qsort_r */
#include "fans.h"
#include "core/size.h"
#include "core/status.h"

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

int iso_fans_create(struct iso_fans *f, const iso_scanner *s)
{
	int64_t sums = s->kind == ISO_CYLINDER ? s->n + 2 * s->pairs.per_ring + 1 : s->n + 1;
	bool free_ones = s->kind == ISO_DETECTORS;
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
	else
		detector_fans(fan, f, v);
}
