/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulses to singles: pile-up, energy, time, dead time, efficiency, windows. Each stage hands on what no later pulse can
   change, and keeps the rest for the next slice. */
#include "readout.h"
#include "core/size.h"
#include "core/status.h"

#include <stdlib.h>

enum { LEAST = 64 };

/* *p has room for n items; it at least doubles. */
static int grow(void *p, int64_t *room, int64_t n, int64_t item)
{
	void *old, *grown;
	int64_t want = n > 2 * *room ? n : 2 * *room, bytes;

	if (n <= *room && *room > 0) return ISO_OK;
	if (want < LEAST) want = LEAST; /* never NULL, also for lists without pulses */
	memcpy(&old, p, sizeof old);
	if (!size_mul(&bytes, want, item) || !(grown = realloc(old, (size_t)bytes)))
		return iso_fail_memory("readout", n * item);
	memcpy(p, &grown, sizeof grown);
	*room = want;
	return ISO_OK;
}

int iso_pulses_more(struct iso_pulses *l, int64_t n)
{
	return grow(&l->p, &l->room, l->n + n, sizeof *l->p);
}

int iso_readout_open(struct iso_readout_stream *q, const struct iso_readout_rule *rule)
{
	struct iso_readout_stream made = { .rule = *rule, .horizon = INT64_MIN };

	if (!rule->dead_unit) made.rule.dead_units = rule->units;
	made.open = size_alloc(rule->units, sizeof *made.open);
	made.last = size_alloc(made.rule.dead_units, sizeof *made.last);
	*q = made;
	if (!made.open || !made.last) {
		iso_readout_close(q);
		return iso_fail_memory("readout", (rule->units + (int64_t)made.rule.dead_units) *
		                                          (int64_t)sizeof(int64_t));
	}
	for (uint32_t u = 0; u < rule->units; u++) q->open[u] = -1;
	for (uint32_t u = 0; u < made.rule.dead_units; u++) q->last[u] = INT64_MIN;
	return ISO_OK;
}

void iso_readout_close(struct iso_readout_stream *q)
{
	if (!q) return;
	free(q->early.p);
	free(q->grouped.p);
	free(q->late.p);
	free(q->sorted.p);
	free(q->single.p);
	free(q->open);
	free(q->largest);
	free(q->last);
	free(q->bucket);
	*q = (struct iso_readout_stream){ 0 };
}

/* from, in order, into q->sorted. */
static int sort(struct iso_readout_stream *q, const struct iso_pulses *from)
{
	int st = grow(&q->bucket, &q->room_buckets, from->n, sizeof *q->bucket);

	q->sorted.n = 0;
	if (!st) st = iso_pulses_more(&q->sorted, from->n);
	if (st) return st;
	iso_pulse_sort(q->sorted.p, from->p, from->n, q->bucket);
	q->sorted.n = from->n;
	return ISO_OK;
}

/* How many of the sorted pulses are earlier than `horizon`. */
static int64_t earlier(const struct iso_pulses *l, int64_t horizon)
{
	int64_t low = 0, high = l->n;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (l->p[middle].time < horizon)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int append(struct iso_pulses *to, const struct pulse *p, int64_t n)
{
	int st = iso_pulses_more(to, n);

	if (st || n == 0) return st;
	memcpy(to->p + to->n, p, (size_t)n * sizeof *p);
	to->n += n;
	return ISO_OK;
}

static int64_t before(int64_t horizon, int64_t by)
{
	return horizon == INT64_MAX || horizon < INT64_MIN + by ? horizon : horizon - by;
}

/* Adds pulse p to the group `into` of its unit. */
static void pile(struct pulse *into, double *largest, const struct pulse *p)
{
	into->kev += p->kev;
	if (p->kev > *largest) {
		*largest = p->kev;
		into->crystal = p->crystal;
		into->first = 0;
	}
	into->pulses = pulse_cap(into->pulses + p->pulses);
	into->photons |= p->photons;
	into->crystals = pulse_cap(into->crystals + p->crystals);
	into->object_compton = pulse_cap(into->object_compton + p->object_compton);
	into->object_rayleigh = pulse_cap(into->object_rayleigh + p->object_rayleigh);
	into->crystal_compton = pulse_cap(into->crystal_compton + p->crystal_compton);
}

/* Moves the groups that have closed by `horizon` to q->late; the window of a group does not move on. */
static int close_groups(struct iso_readout_stream *q, int64_t horizon)
{
	struct iso_pulses *g = &q->grouped;
	int64_t n = earlier(g, before(horizon, q->rule.pileup));
	int st = append(&q->late, g->p, n);

	if (st || n == 0) return st;
	for (int64_t i = 0; i < n; i++)
		if (q->open[g->p[i].unit] == i) q->open[g->p[i].unit] = -1;
	g->n -= n;
	memmove(g->p, g->p + n, (size_t)g->n * sizeof *g->p);
	memmove(q->largest, q->largest + n, (size_t)g->n * sizeof *q->largest);
	for (int64_t i = 0; i < g->n; i++)
		if (q->open[g->p[i].unit] == i + n) q->open[g->p[i].unit] = i;
	return ISO_OK;
}

/* Pulses of one unit up to `pileup` after the first of them become one, in q->late. */
static int pile_up(struct iso_readout_stream *q, const struct pulse *p, int64_t n, int64_t horizon)
{
	struct iso_pulses *g = &q->grouped;
	int st = append(&q->early, p, n);

	if (!st) st = sort(q, &q->early);
	if (st) return st;
	int64_t ready = earlier(&q->sorted, horizon);

	q->early.n = 0;
	st = append(&q->early, q->sorted.p + ready, q->sorted.n - ready);
	if (!st) st = iso_pulses_more(g, ready);
	if (!st) st = grow(&q->largest, &q->room_largest, g->n + ready, sizeof *q->largest);
	if (st) return st;
	for (int64_t i = 0; i < ready; i++) {
		const struct pulse *here = q->sorted.p + i;
		int64_t *open = q->open + here->unit;

		if (*open >= 0 && here->time - g->p[*open].time <= q->rule.pileup) {
			pile(g->p + *open, q->largest + *open, here);
			q->count.piled++;
			continue;
		}
		*open = g->n;
		q->largest[g->n] = here->kev;
		g->p[g->n++] = *here;
	}
	return close_groups(q, horizon);
}

/* Blurs the pulses from number `from` of q->late on; those below the trigger go. */
static void blur(struct iso_readout_stream *q, int64_t from)
{
	const struct iso_readout_rule *r = &q->rule;
	struct iso_pulses *l = &q->late;
	int64_t kept = from;

	for (int64_t i = from; i < l->n; i++) {
		struct pulse p = l->p[i];

		if (r->blur.resolution > 0 || r->blur.sigma_ticks > 0) pulse_blur(&p, &r->blur);
		if (p.kev < r->trigger_kev)
			q->count.trigger++;
		else
			l->p[kept++] = p;
	}
	l->n = kept;
}

static bool inside(double kev, const double window[2])
{
	return window[1] > 0 && kev >= window[0] && kev < window[1];
}

/* Dead time, efficiency and windows, in the order of time. */
static void detect(struct iso_readout_stream *q, struct pulse *p, int64_t n)
{
	const struct iso_readout_rule *r = &q->rule;

	for (int64_t i = 0; i < n; i++) {
		struct pulse *here = p + i;

		if (r->dead > 0) {
			int64_t *last = q->last + (r->dead_unit ? r->dead_unit[here->crystal] : here->unit);
			bool kept = *last == INT64_MIN || here->time >= *last + r->dead;

			if (kept || r->paralysable) *last = here->time;
			if (!kept) {
				q->count.dead++;
				continue;
			}
		}
		if (r->efficiency &&
		    !(philox_unit(pulse_draw(here, r->blur.seed).w[2]) < r->efficiency[here->crystal])) {
			q->count.inefficient++;
			continue;
		}
		here->line = inside(here->kev, r->line_kev);
		if (!here->line && r->window_kev[1] > 0 && !inside(here->kev, r->window_kev)) {
			q->count.window++;
			continue;
		}
		q->count.singles++;
		q->count.line += here->line;
		q->single.p[q->single.n++] = *here;
	}
}

int iso_readout_push(struct iso_readout_stream *q, const struct pulse *p, int64_t n, int64_t horizon)
{
	const struct iso_readout_rule *r = &q->rule;
	int64_t waiting = q->late.n, ready;
	int64_t moves = (int64_t)ceil(6 * r->blur.sigma_ticks); /* none beyond 5.8 sigma */
	int st = r->pileup > 0 ? pile_up(q, p, n, horizon) : append(&q->late, p, n);

	if (st) return st;
	q->count.pulses += n;
	blur(q, waiting);
	if ((st = sort(q, &q->late))) return st;
	q->horizon = before(before(horizon, r->pileup), moves);
	ready = earlier(&q->sorted, q->horizon);
	q->late.n = q->single.n = 0;
	st = append(&q->late, q->sorted.p + ready, q->sorted.n - ready);
	if (!st) st = iso_pulses_more(&q->single, ready);
	if (!st) detect(q, q->sorted.p, ready);
	return st;
}
