/* SPDX-License-Identifier: BSD-3-Clause */
/* Fan sums without a loop over pairs: on a cylinder the partners of a crystal are a range of rings
   times a range round the ring, so running sums along both give them all. */
#include "fans.h"

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* below[r][c] = sum of v over rings 0..r-1, crystal c of each. */
static void sum_rings(double *below, const struct iso_pairs *p, const double *v)
{
	int64_t n = p->per_ring;

	for (int64_t c = 0; c < n; c++)
		below[c] = 0;
	for (int64_t i = 0; i < p->rings * n; i++)
		below[i + n] = below[i] + v[i];
}

/* sum[c] = total of crystals 0..c-1 over the rings that ring r may meet. */
static void sum_band(double *sum, const struct iso_pairs *p, const double *below, int64_t r)
{
	int64_t first = r - lesser(r, p->max_ring_difference);
	int64_t end = r + lesser(p->rings - 1 - r, p->max_ring_difference) + 1;

	sum[0] = 0;
	for (int64_t c = 0; c < p->per_ring; c++)
		sum[c + 1] = sum[c] + below[end * p->per_ring + c] - below[first * p->per_ring + c];
}

/* fan[c] = total of crystals c + min_distance .. c + per_ring - min_distance, round the ring. */
static void take_fans(double *fan, const struct iso_pairs *p, const double *sum)
{
	int64_t n = p->per_ring;

	for (int64_t c = 0; c < n; c++) {
		int64_t from = (c + p->min_distance) % n;
		int64_t end = from + n - 2 * p->min_distance + 1;

		fan[c] = end <= n ? sum[end] - sum[from] : sum[n] - sum[from] + sum[end - n];
	}
}

int64_t iso_fans_work(const iso_scanner *s)
{
	return s->kind == ISO_CYLINDER ? s->n + 2 * s->pairs.per_ring + 1 : 0;
}

void iso_fans(double *fan, double *work, const iso_scanner *s, const double *v)
{
	const struct iso_pairs *p = &s->pairs;
	double *sum = work + s->n + p->per_ring, all = 0;

	if (s->kind == ISO_CYLINDER) {
		sum_rings(work, p, v);
		for (int64_t r = 0; r < p->rings; r++) {
			sum_band(sum, p, work, r);
			take_fans(fan + r * p->per_ring, p, sum);
		}
		return;
	}
	for (int64_t a = 0; a < s->n; a++)
		all += v[a];
	for (int64_t a = 0; a < s->n; a++)
		fan[a] = all - v[a];
}
