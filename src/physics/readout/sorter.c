/* SPDX-License-Identifier: BSD-3-Clause */
/* The coincidence sorter: groups of singles by windows in time, and pairs of a group by the policies of GATE. */
#include "readout.h"
#include "core/status.h"

#include <stdlib.h>

void iso_sorter_open(struct iso_sorter_stream *q, const struct iso_sorter *rule)
{
	*q = (struct iso_sorter_stream){ .rule = *rule, .busy = INT64_MIN };
}

void iso_sorter_close(struct iso_sorter_stream *q)
{
	if (!q) return;
	free(q->single.p);
	free(q->prompt.v);
	free(q->late.v);
	free(q->triple);
	*q = (struct iso_sorter_stream){ 0 };
}

/* v has room for one item more. */
static int one_more(void *v, int64_t n, int64_t *room, int64_t item)
{
	void *old, *grown;

	if (n < *room) return ISO_OK;
	int64_t want = *room > 0 ? 2 * *room : 1024;

	memcpy(&old, v, sizeof old);
	if (!(grown = realloc(old, (size_t)(want * item)))) return iso_fail_memory("sorter", want * item);
	memcpy(v, &grown, sizeof grown);
	*room = want;
	return ISO_OK;
}

static int add(struct iso_sorted_pairs *l, const struct pulse *s, int64_t i, int64_t j)
{
	int st = one_more(&l->v, l->n, &l->room, sizeof *l->v);

	if (st) return st;
	bool turned = s[i].crystal > s[j].crystal;

	l->v[l->n++] = (struct iso_sorted_pair){ turned ? j : i, turned ? i : j };
	return ISO_OK;
}

static bool good(const struct iso_sorter_stream *q, int64_t i, int64_t j)
{
	const struct pulse *s = q->single.p;

	return q->rule.good(q->rule.scanner, s[i].crystal, s[j].crystal);
}

static int64_t next(const struct pulse *s, int64_t n, int64_t i)
{
	for (i++; i < n && s[i].line; i++)
		;
	return i;
}

/* Pairs of a group that opener i begins and `end` bounds, three singles or more: any two of it, or, where every single
   opens a group, those with the opener. */
static int choose(struct iso_sorter_stream *q, int64_t opener, int64_t end)
{
	const struct pulse *s = q->single.p;
	enum iso_multiples policy = q->rule.multiples;
	int64_t last = q->rule.window == ISO_SORTER_MULTI ? opener + 1 : end, best[2] = { -1, -1 }, n = 0;
	double most = -HUGE_VAL;

	if (policy == ISO_MULTIPLES_NONE) return ISO_OK;
	for (int64_t i = opener; i < last; i = next(s, end, i))
		for (int64_t j = next(s, end, i); j < end; j = next(s, end, j)) {
			bool pair = good(q, i, j);
			double sum = s[i].kev + s[j].kev;

			if (policy == ISO_MULTIPLES_ALL) {
				int st = pair ? add(&q->prompt, s, i, j) : ISO_OK;

				if (st) return st;
				continue;
			}
			if (!pair && policy != ISO_MULTIPLES_WINNER_IF_GOOD) continue;
			n++;
			if (sum > most) {
				most = sum;
				best[0] = i;
				best[1] = j;
			}
		}
	if (policy == ISO_MULTIPLES_ALL || n == 0) return ISO_OK;
	if (policy == ISO_MULTIPLES_ONLY_ONE && n > 1) return ISO_OK;
	if (policy == ISO_MULTIPLES_WINNER_IF_GOOD && !good(q, best[0], best[1])) return ISO_OK;
	return add(&q->prompt, s, best[0], best[1]);
}

static int add_triple(struct iso_sorter_stream *q, int64_t a, int64_t b, int64_t c)
{
	int st = one_more(&q->triple, q->triples, &q->room_triples, sizeof *q->triple);

	if (!st) q->triple[q->triples++] = (struct iso_sorted_triple){ { a, b, c } };
	return st;
}

/* The single of the prompt line within tau of the opener; -1: none, or more than one. */
static int64_t line_of(const struct iso_sorter_stream *q, int64_t opener, int64_t end)
{
	const struct pulse *s = q->single.p;
	int64_t from = opener, found = -1;

	while (from > 0 && s[opener].time - s[from - 1].time <= q->rule.tau) from--;
	for (int64_t i = from; i < end; i++)
		if (s[i].line) {
			if (found >= 0) return -1;
			found = i;
		}
	return found;
}

/* The group of `opener`: `members` singles and singles of the line up to `end`. */
static int group(struct iso_sorter_stream *q, int64_t opener, int64_t end, int64_t members)
{
	const struct pulse *s = q->single.p;
	int64_t second = next(s, end, opener);
	int st = ISO_OK;

	q->count.groups[members < 4 ? members - 1 : 3]++;
	if (members == 2 && good(q, opener, second)) {
		int64_t line = q->rule.triples ? line_of(q, opener, end) : -1;

		st = add(&q->prompt, s, opener, second);
		if (!st && line >= 0) st = add_triple(q, opener, second, line);
	} else if (members > 2) {
		st = choose(q, opener, end);
		if (!st && members == 3 && q->rule.triples)
			st = add_triple(q, opener, second, next(s, end, second));
	}
	return st;
}

/* Groups whose windows end before `horizon`. */
static int prompts(struct iso_sorter_stream *q, int64_t horizon)
{
	const struct pulse *s = q->single.p;
	int64_t n = q->single.n, tau = q->rule.tau, i = q->opener, end = i;
	int st = ISO_OK;

	for (; !st && i < n; i++) {
		int64_t time = s[i].time, members = 1;

		if (horizon != INT64_MAX && time + tau >= horizon) break;
		if (s[i].line || (q->rule.window == ISO_SORTER_SINGLE && time <= q->busy)) continue;
		for (end = i + 1; end < n && s[end].time - time <= tau; end++) members += !s[end].line;
		st = group(q, i, end, members);
		q->busy = time + tau;
	}
	q->opener = i;
	return st;
}

/* Partners of each single in the delayed window. */
static int delayeds(struct iso_sorter_stream *q, int64_t horizon)
{
	const struct pulse *s = q->single.p;
	int64_t n = q->single.n, i = q->delayer, from = i;
	int st = ISO_OK;

	for (; !st && i < n; i++) {
		int64_t first = s[i].time + q->rule.delay;

		if (horizon != INT64_MAX && first + q->rule.tau >= horizon) break;
		if (s[i].line) continue;
		if (from < i + 1) from = i + 1;
		while (from < n && s[from].time < first) from++;
		for (int64_t j = from; !st && j < n && s[j].time - first <= q->rule.tau; j++)
			if (!s[j].line && good(q, i, j)) st = add(&q->late, s, i, j);
	}
	q->delayer = i;
	return st;
}

/* Drops the singles that no later group can ask for. */
static void drop(struct iso_sorter_stream *q)
{
	struct iso_pulses *l = &q->single;
	int64_t n = q->opener;

	if (l->n == 0) return;
	if (q->rule.delayed && q->delayer < n) n = q->delayer;
	if (q->rule.triples && n < l->n) /* a single of the line may come before its pair */
		while (n > 0 && l->p[n].time - l->p[n - 1].time <= q->rule.tau) n--;
	if (q->rule.triples && n == l->n)
		while (n > 0 && l->p[l->n - 1].time - l->p[n - 1].time <= q->rule.tau) n--;
	l->n -= n;
	memmove(l->p, l->p + n, (size_t)l->n * sizeof *l->p);
	q->opener -= n;
	q->delayer -= n;
}

int iso_sorter_push(struct iso_sorter_stream *q, const struct pulse *single, int64_t n, int64_t horizon)
{
	drop(q);
	q->prompt.n = q->late.n = q->triples = 0;
	int st = iso_pulses_more(&q->single, n);

	if (st) return st;
	if (n > 0) memcpy(q->single.p + q->single.n, single, (size_t)n * sizeof *single);
	q->single.n += n;
	st = prompts(q, horizon);
	if (!st && q->rule.delayed) st = delayeds(q, horizon);
	q->count.pairs += q->prompt.n;
	q->count.delayeds += q->late.n;
	q->count.triples += q->triples;
	return st;
}
