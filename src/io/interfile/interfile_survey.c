/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at the values of projection data: are they counts or line integrals, and are some negative? */
#include "interfile_lines.h"
#include "core/size.h"
#include "core/status.h"
#include "file/in.h"

#include <math.h>

enum { LOOKED = 1 << 26 }; /* values that are looked at, about */

/* A ratio of the two roughnesses that tells. STIR's line integrals of recon_demo/smalllong have 0.21; 3e4 counts in the
   837 planes of an mMR of span 11, scaled so that they are not whole, 0.63 to 0.75, 1e6 counts 0.16 or less. */
#define TELLS .8

/* Sums of the rows of a plane. */
struct plane {
	double sum;
	int64_t n;
};

static bool shares_factor(int64_t a, int64_t b)
{
	while (b > 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a > 1;
}

/* Every how many rows one is looked at: such that all planes and views come up. */
static int64_t stride_of(const struct interfile_bins *b)
{
	int64_t every = 1 + b->n / LOOKED;
	bool again = every > 1;

	while (again) {
		again = shares_factor(every, b->views);
		for (int64_t i = 0; i < b->segments && !again; i++)
			again = shares_factor(every, b->segment[i].planes);
		every += again;
	}
	return every;
}

/* The plane of a row, counted over all segments; rows are of one TOF bin. */
static int64_t plane_of(const struct interfile_bins *b, int64_t row)
{
	int64_t before = 0, s = 0, first = 0;

	while (row - first >= b->segment[s].planes * b->views) {
		first += b->segment[s].planes * b->views;
		before += b->segment[s++].planes;
	}
	return before + (b->view_slow ? (row - first) % b->segment[s].planes : (row - first) / b->views);
}

static int look_at_row(struct interfile_survey *s, struct plane *p, const uint8_t *values, int64_t n,
                       const struct iso_interfile_data *d, double slope, int64_t first)
{
	for (int64_t i = 0; i < n; i++) {
		double stored = iso_element_get(values + i * d->element.size, d->element), v = slope * stored;

		if (!isfinite(v))
			return iso_refuse(d->path, "value %" PRId64 " is %g, must be finite", first + i, v);
		s->whole = s->whole && v == floor(v);
		s->negative += v < 0;
		*(v < 0 ? &s->below : &s->sum) += v;
		p->sum += v;
	}
	s->looked += n;
	p->n += n;
	return ISO_OK;
}

/* Second differences of logarithms, a plane with few counts beside others of little weight. */
static void compare_planes(struct interfile_survey *s, const struct interfile_bins *b, const struct plane *p,
                           const int64_t *pairs)
{
	double most = 0;

	for (int64_t i = 0, first = 0; i < b->segments; first += b->segment[i++].planes)
		for (int64_t k = first; k < first + b->segment[i].planes; k++)
			if (p[k].n > 0) most = fmax(most, p[k].sum / (double)p[k].n);
	for (int64_t i = 0, first = 0; i < b->segments; first += b->segment[i++].planes)
		for (int64_t k = first + 1; k + 1 < first + b->segment[i].planes; k++) {
			double mean[3], least = most, second = 0, of_pairs = 0;

			for (int64_t j = 0; j < 3; j++) {
				static const double weight[] = { 1, -2, 1 };
				const struct plane *q = &p[k - 1 + j];
				int64_t n = pairs[k - 1 + j];

				mean[j] = q->n > 0 && n > 0 ? q->sum / (double)q->n : 0;
				least = fmin(least, mean[j]);
				if (!(mean[j] > 0)) break;
				second += weight[j] * log(mean[j]);
				of_pairs += weight[j] * log((double)n);
			}
			if (!(least > 0)) continue;
			s->rough += least / most * fabs(second);
			s->rough_each += least / most * fabs(second - of_pairs);
		}
}

static void count_pairs(struct interfile_survey *s, const int64_t *pairs, int64_t planes)
{
	s->least = s->most = pairs[0];
	for (int64_t i = 1; i < planes; i++) {
		s->least = pairs[i] < s->least ? pairs[i] : s->least;
		s->most = pairs[i] > s->most ? pairs[i] : s->most;
	}
}

int iso_interfile_survey(struct interfile_survey *s, const struct interfile_bins *b, const int64_t *pairs,
                         const struct iso_interfile_data *d, double slope)
{
	int64_t rows = b->n / b->tangential, each = b->each / b->tangential, every = stride_of(b), planes = 0;
	int64_t bytes = b->tangential * d->element.size;

	for (int64_t i = 0; i < b->segments; i++) planes += b->segment[i].planes;
	struct plane *p = size_alloc(planes, sizeof *p);
	uint8_t *values = size_alloc(bytes, 1);
	struct iso_in in = { 0 };
	int st = p && values ? iso_in_open(&in, d->path, false)
	                     : iso_fail_memory(d->path, bytes + planes * (int64_t)sizeof *p);

	*s = (struct interfile_survey){ .whole = true };
	count_pairs(s, pairs, planes);
	if (d->element.kind == 'u' && slope == 1) rows = 0; /* nothing but counts */
	for (int64_t r = 0; r < rows && !st; r += every) {
		if (r == 0 || every > 1) st = iso_in_seek(&in, d->offset + r * bytes);
		if (!st) st = iso_in_read(&in, values, bytes);
		if (!st)
			st = look_at_row(s, &p[plane_of(b, r % each)], values, b->tangential, d, slope,
			                 r * b->tangential);
	}
	if (!st) compare_planes(s, b, p, pairs);
	iso_in_close(&in);
	free(values);
	free(p);
	return st;
}

enum interfile_meaning iso_interfile_meaning(const struct interfile_survey *s)
{
	if (s->whole || s->least == s->most) return INTERFILE_COUNTS;
	if (s->rough < TELLS * s->rough_each) return INTERFILE_INTEGRALS;
	return s->rough_each < TELLS * s->rough ? INTERFILE_GROWING : INTERFILE_UNCLEAR;
}
