/* SPDX-License-Identifier: BSD-3-Clause */
/* The strip rule: rows of a slice are moved onto each other by whole bins and added up; what lies outside the strip, and
   under it by a straight line, is no true. */
#include "nema_strip.h"

#include <math.h>
#include <string.h>

static double clamp(double v, double low, double high)
{
	return fmin(fmax(v, low), high);
}

/* -share of (C(-h) + C(h)) / 2 x 2 h / step that the sample next to x = at contributes. */
static void take_edge(double *a, int64_t n, double first, double step, double at, double half)
{
	double place = (at - first) / step, low = floor(place), part = place - low;
	int64_t i = (int64_t)low;

	if (i >= 0 && i < n) a[i] -= half / step * (1 - part);
	if (i + 1 >= 0 && i + 1 < n) a[i + 1] -= half / step * part;
}

void iso_nema_weights(double *a, int64_t n, double first, double step, double half)
{
	for (int64_t i = 0; i < n; i++) {
		double x = first + (double)i * step;

		a[i] = (clamp(x + step / 2, -half, half) - clamp(x - step / 2, -half, half)) / step;
	}
	take_edge(a, n, first, step, -half, half);
	take_edge(a, n, first, step, half, half);
}

static bool inside(const struct ssrb *g, int64_t bin, double cut)
{
	return fabs(iso_ssrb_s(g, bin)) <= cut;
}

int64_t iso_nema_top(const int32_t *row, const struct ssrb *g, double cut)
{
	int64_t top = 0;
	int32_t most = 0;

	for (int64_t k = 0; k < g->bins; k++)
		if (inside(g, k, cut) && row[k] > most) {
			most = row[k];
			top = k;
		}
	return top;
}

void iso_nema_slice(struct nema_slice *s, double *profile, double *row, const int32_t *cells,
                    const struct ssrb *g, const struct nema_rule *rule)
{
	const int64_t n = 2 * g->bins - 1, middle = g->bins - 1;
	double trues = 0;

	*s = (struct nema_slice){ 0 };
	memset(row, 0, (size_t)n * sizeof *row);
	for (int64_t i = 0; i < g->angles; i++) {
		const int32_t *from = cells + i * g->bins;
		int64_t shift = middle - iso_nema_top(from, g, rule->cut_mm);

		for (int64_t k = 0; k < g->bins; k++)
			if (inside(g, k, rule->cut_mm)) row[k + shift] += from[k];
	}
	double *a = row + n;

	iso_nema_weights(a, n, -(double)middle * g->bin_mm, g->bin_mm, rule->half_mm);
	for (int64_t k = 0; k < n; k++) {
		s->total += row[k];
		trues += a[k] * row[k];
		s->variance += a[k] * a[k] * row[k];
		if (profile) profile[k] += row[k];
	}
	s->rest = s->total - trues;
}

double iso_nema_within(const int32_t *cells, const struct ssrb *g, double cut_mm)
{
	double sum = 0;

	for (int64_t i = 0; i < g->angles; i++)
		for (int64_t k = 0; k < g->bins; k++)
			if (inside(g, k, cut_mm)) sum += cells[i * g->bins + k];
	return sum;
}
