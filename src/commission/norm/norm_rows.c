/* SPDX-License-Identifier: BSD-3-Clause */
/* Crystal pairs, row by row. */
#include "norm_rows.h"

#include "norm_rows_kern.h"

#include "core/size.h"

enum { STRIDE = 16 };

/* Whether the pairs of crystal a with a ring are of the share: by bits that a and the ring mix up. */
static bool is_shared(const struct norm_rows *r, int64_t a, int64_t ring)
{
	uint64_t x = (uint64_t)(a * r->rings + ring) * 0x9e3779b97f4a7c15u;

	if (r->every > 1 && a % r->every != 0) return false;
	if (!(r->share > 0)) return true;
	for (int i = 0; i < 2; i++) x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
	return (double)(x >> 11) * 0x1p-53 < r->share;
}

static int64_t ring_runs(struct norm_run *run, const struct norm_rows *r, int64_t a)
{
	const int64_t ring = a / r->per_ring, last = ring + r->max_ring_difference;
	const int64_t c = a % r->per_ring, d = r->min_distance, n = r->per_ring;
	int64_t k = 0, pair = r->first ? r->first[a] : 0;

	for (int64_t other = ring; other < r->rings && other <= last; other++) {
		const struct norm_stretch part[] = { norm_stretch_below(c, d, n),
			                             norm_stretch_above(c, d, n) };

		for (int i = other == ring; i < 2; i++) {
			if (part[i].n == 0 || !is_shared(r, a, other)) continue;
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

int norm_rows_create_share(struct norm_rows *r, const iso_scanner *s, double share)
{
	*r = (struct norm_rows){ .s = s,
		                 .n = s->n,
		                 .rings = s->pairs.rings,
		                 .per_ring = s->pairs.per_ring,
		                 .min_distance = s->pairs.min_distance,
		                 .max_ring_difference = s->pairs.max_ring_difference,
		                 .share = share };
	return count(r);
}

int norm_rows_create(struct norm_rows *r, const iso_scanner *s)
{
	return norm_rows_create_share(r, s, 0);
}

int norm_rows_create_some(struct norm_rows *r, const struct norm_rows *of, int64_t every)
{
	*r = *of;
	r->every = of->rings > 0 ? every : 1;
	r->first = NULL;
	return count(r);
}

void norm_rows_free(struct norm_rows *r)
{
	free(r->first);
	r->first = NULL;
}

/* Values are 0 or above; many at a time, as most of a row is 0 at both ends. */
static bool all_zero(const float *value)
{
	int above = 0;

	for (int i = 0; i < STRIDE; i++) above |= value[i] > 0;
	return !above;
}

struct norm_run norm_run_used(struct norm_run run, const float *value)
{
	int64_t at = 0, n = run.n;

	while (n >= STRIDE && all_zero(value + at)) {
		at += STRIDE;
		n -= STRIDE;
	}
	while (n >= STRIDE && all_zero(value + at + n - STRIDE)) n -= STRIDE;
	while (n > 0 && !(value[at] > 0)) {
		at++;
		n--;
	}
	while (n > 0 && !(value[at + n - 1] > 0)) n--;
	return (struct norm_run){ run.b + at, n, run.pair + at };
}

int64_t norm_rows_longest(const struct norm_rows *r)
{
	int64_t most = 0;

	for (int64_t a = 0; a < r->n; a++) {
		const int64_t n = r->first[a + 1] - r->first[a];

		most = n > most ? n : most;
	}
	return most;
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

/* Pairs of the row of `low` before that with `high` that are not of the share. */
static int64_t not_shared(const struct norm_rows *r, int64_t low, int64_t high)
{
	const int64_t n = r->per_ring, c = low % n, d = r->min_distance;
	const int64_t above = norm_stretch_above(c, d, n).n, both = above + norm_stretch_below(c, d, n).n;
	int64_t left = 0;

	for (int64_t ring = low / n; ring < high / n && r->share > 0; ring++)
		if (!is_shared(r, low, ring)) left += ring == low / n ? above : both;
	return left;
}

int64_t norm_rows_pair(const struct norm_rows *r, int64_t a, int64_t b)
{
	const int64_t low = a < b ? a : b, high = a < b ? b : a;

	if (low < 0 || high >= r->n || low == high) return -1;
	if (r->rings == 0)
		return iso_scanner_in_coincidence(r->s, low, high) ? r->first[low] + high - low - 1 : -1;
	if (!pairs_coincide(&r->s->pairs, low, high) || !is_shared(r, low, high / r->per_ring)) return -1;
	return r->first[low] + norm_rows_place(low, high, r->min_distance, r->per_ring) -
	       not_shared(r, low, high);
}
