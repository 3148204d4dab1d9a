/* SPDX-License-Identifier: BSD-3-Clause */
/* What values and events look like: ranges, sums, and what is wrong with them. */
#include "core/sized.h"
#include "events.h"
#include "file/suffix.h"

#include <math.h>

enum { BLOCK = 1 << 16 }; /* events in memory at a time */

int iso_array_stats(struct iso_array_stats *stats, const struct iso_array *a)
{
	if (!stats || !a) return iso_fail_null(__func__);
	struct iso_array_stats got = { .min = INFINITY, .max = -INFINITY }, *s = &got;

	for (int64_t i = 0; i < a->n; i++) {
		double v = a->v[i];

		s->nan += isnan(v) != 0;
		s->infinite += isinf(v) != 0;
		if (!isfinite(v)) continue;
		s->min = fmin(s->min, v);
		s->max = fmax(s->max, v);
		s->sum += v;
		s->negative += v < 0;
		s->zero += v == 0;
	}
	s->mean = s->sum / (double)(a->n - s->nan - s->infinite);
	return iso_sized_put(stats, "iso_array_stats", sizeof got, s);
}

/* ---- events ---- */

static void extend(double range[2], double v)
{
	range[0] = fmin(range[0], v);
	range[1] = fmax(range[1], v);
}

static void begin(struct iso_events_stats *s)
{
	double(*const range[])[2] = { &s->ends_mm.x, &s->ends_mm.y, &s->ends_mm.z, &s->dt_ps,
		                      &s->time_s,    &s->count,     &s->mult,      &s->add };

	*s = (struct iso_events_stats){ .size = sizeof *s };
	for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
		(*range[i])[0] = INFINITY;
		(*range[i])[1] = -INFINITY;
	}
}

static void count_event(struct iso_events_stats *s, const struct iso_events *e, int64_t k)
{
	const struct iso_event *v = &e->v[k];

	for (int end = 0; end < 2; end++) {
		const float *p = end ? v->p2 : v->p1;

		extend(s->ends_mm.x, p[0]);
		extend(s->ends_mm.y, p[1]);
		extend(s->ends_mm.z, p[2]);
	}
	extend(s->dt_ps, v->dt_ps);
	if (e->time_ms) extend(s->time_s, e->time_ms[k] / 1e3);
	if (e->count) extend(s->count, (double)e->count[k]);
	if (e->mult) extend(s->mult, (double)e->mult[k]);
	if (e->add) extend(s->add, (double)e->add[k]);
	s->counts += e->count ? (double)e->count[k] : 1;
}

static void add(struct iso_events_stats *s, const struct iso_events *e)
{
	for (int64_t k = 0; k < e->n; k++)
		if (!iso_event_bad(&e->v[k])) count_event(s, e, k);
	s->n += e->n;
	s->n_bad += e->n_bad;
}

int iso_events_stats_begin(struct iso_events_stats *s)
{
	if (!s) return iso_fail_null(__func__);
	struct iso_events_stats none;

	begin(&none);
	return iso_sized_put(s, "iso_events_stats", sizeof none, &none);
}

int iso_events_stats_add(struct iso_events_stats *s, const struct iso_events *e)
{
	if (!s || !e) return iso_fail_null(__func__);
	struct iso_events_stats sum;
	int st = iso_sized_take(&sum, "iso_events_stats", sizeof sum, s);

	if (st) return st;
	add(&sum, e);
	return iso_sized_put(s, "iso_events_stats", sizeof sum, &sum);
}

int iso_event_file_stats(struct iso_events_stats *stats, const iso_event_file *f)
{
	if (!stats || !f) return iso_fail_null(__func__);

	int64_t n = iso_event_file_info(f)->n;
	struct iso_clock clock = iso_clock_brief(f->ctx, "read", "events", n, iso_base_name(f->path));
	struct iso_events e = { 0 };
	struct iso_events_stats s;
	int st = iso_event_file_block(&e, f, n < BLOCK ? n : BLOCK);

	begin(&s);
	for (int64_t i = 0; i < n && !st; i += BLOCK) {
		st = iso_event_file_read(&e, f, i, n - i < BLOCK ? n - i : BLOCK);
		if (!st) add(&s, &e);
		iso_clock_add(&clock, e.n);
	}
	if (!st) iso_clock_end(&clock);
	iso_events_free(&e);
	return st ? st : iso_sized_put(stats, "iso_events_stats", sizeof s, &s);
}
