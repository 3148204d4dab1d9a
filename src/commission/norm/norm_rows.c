/* SPDX-License-Identifier: BSD-3-Clause */
/* Crystal pairs, row by row. */
#include "norm_rows.h"

#include "norm_rows_kern.h"

#include "core/size.h"

static int64_t ring_runs(struct norm_run *run, const struct norm_rows *r, int64_t a)
{
	const int64_t ring = a / r->per_ring, last = ring + r->max_ring_difference;
	const int64_t c = a % r->per_ring, d = r->min_distance, n = r->per_ring;
	int64_t k = 0, pair = r->first ? r->first[a] : 0;

	for (int64_t other = ring; other < r->rings && other <= last; other++) {
		const struct norm_stretch part[] = { norm_stretch_below(c, d, n),
			                             norm_stretch_above(c, d, n) };

		for (int i = other == ring; i < 2; i++) {
			if (part[i].n == 0) continue;
			run[k] = (struct norm_run){ other * r->per_ring + part[i].from, part[i].n, pair };
			pair += run[k++].n;
		}
	}
	return k;
}

int64_t norm_rows_runs(struct norm_run *run, const struct norm_rows *r, int64_t a)
{
	if (r->rings > 0) return ring_runs(run, r, a);
	run[0] = (struct norm_run){ a + 1, r->n - a - 1, r->first ? r->first[a] : 0 };
	return run[0].n > 0;
}

int64_t norm_rows_most(const struct norm_rows *r)
{
	return r->rings > 0 ? 2 * r->rings : 1;
}

static int count(struct norm_rows *r)
{
	struct norm_run *run = size_alloc(norm_rows_most(r), sizeof *run);
	int64_t *first = size_alloc(r->n + 1, sizeof *first);

	if (!run || !first) {
		free(run);
		free(first);
		return iso_fail_memory("norm", (r->n + 1) * (int64_t)sizeof *first);
	}
	for (int64_t a = 0; a < r->n; a++) {
		const int64_t k = norm_rows_runs(run, r, a);

		first[a + 1] = first[a];
		for (int64_t i = 0; i < k; i++) first[a + 1] += run[i].n;
	}
	free(run);
	r->first = first;
	return ISO_OK;
}

int norm_rows_create(struct norm_rows *r, const iso_scanner *s)
{
	*r = (struct norm_rows){ .s = s,
		                 .n = s->n,
		                 .rings = s->pairs.rings,
		                 .per_ring = s->pairs.per_ring,
		                 .min_distance = s->pairs.min_distance,
		                 .max_ring_difference = s->pairs.max_ring_difference };
	return count(r);
}

void norm_rows_free(struct norm_rows *r)
{
	free(r->first);
	r->first = NULL;
}

struct norm_run norm_run_used(struct norm_run run, const float *value)
{
	while (run.n > 0 && !(value[run.pair] > 0)) {
		run.b++;
		run.pair++;
		run.n--;
	}
	while (run.n > 0 && !(value[run.pair + run.n - 1] > 0)) run.n--;
	return run;
}

int64_t norm_rows_of_part(const struct norm_rows *r, int64_t i, int64_t parts)
{
	const double want = (double)r->first[r->n] * (double)i / (double)parts;
	int64_t low = 0, high = r->n;

	if (i == parts) return r->n;
	while (low < high) {
		const int64_t mid = (low + high) / 2;

		if ((double)r->first[mid] < want)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int64_t norm_rows_pair(const struct norm_rows *r, int64_t a, int64_t b)
{
	const int64_t low = a < b ? a : b, high = a < b ? b : a;

	if (low < 0 || high >= r->n || low == high) return -1;
	if (r->rings == 0)
		return iso_scanner_in_coincidence(r->s, low, high) ? r->first[low] + high - low - 1 : -1;
	if (!pairs_coincide(&r->s->pairs, low, high)) return -1;
	return r->first[low] + norm_rows_place(low, high, r->min_distance, r->per_ring);
}
