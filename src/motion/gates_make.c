/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates from triggers by phase, from a trace by amplitude; what a trace says of both. */
#include "columns.h"
#include "core/size.h"
#include "isotome.h"

#include <math.h>
#include <string.h>

#define STEPS_DIFFER .01 /* of the median step: a trace is resampled */
enum { SAMPLES_MOST = 1 << 28 };

/* ---- numbers in order ---- */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy; NULL: no memory. */
static double *sorted(const double *v, int64_t n)
{
	double *s = size_alloc(n, sizeof *s);

	if (s) memcpy(s, v, (size_t)n * sizeof *s);
	if (s) qsort(s, (size_t)n, sizeof *s, by_value);
	return s;
}

/* Quantile q of sorted values, linear between them: NumPy's default (type 7 of Hyndman and Fan 1996). */
static double quantile(const double *s, int64_t n, double q)
{
	const double at = q * (double)(n - 1), below = floor(at);
	const int64_t i = (int64_t)below, next = i + 1 < n ? i + 1 : n - 1;
	const double share = at - below, step = s[next] - s[i];

	return share < .5 ? s[i] + step * share : s[next] - step * (1 - share);
}

/* Times that rise, at least `least` of them. */
static int check_times(const double *t, int64_t n, int64_t least, const char *what)
{
	if (n < least)
		return iso_fail(ISO_EARG, "gates: %" PRId64 " %s, at least %" PRId64 " are needed", n, what,
		                least);
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(t[i]) || (i > 0 && !(t[i] > t[i - 1])))
			return iso_fail(ISO_EARG,
			                "gates: time %" PRId64
			                " of the %s is %.17g s, times must be finite and rise",
			                i, what, t[i]);
	return ISO_OK;
}

static int check_trace(const struct iso_trace *t)
{
	if (t->n > 0 && (!t->time_s || !t->value))
		return iso_fail(ISO_EARG, "gates: the trace has times alone, a signal was expected");
	int st = check_times(t->time_s, t->n, 2, "samples");

	for (int64_t i = 0; i < t->n && !st; i++)
		if (!isfinite(t->value[i]))
			st = iso_fail(ISO_EARG,
			              "gates: sample %" PRId64 " of the trace is %g, must be finite", i,
			              t->value[i]);
	return st;
}

static int check_gates(int gates)
{
	if (gates >= 1 && gates <= ISO_GATES_MOST) return ISO_OK;
	return iso_fail(ISO_EARG, "gates: %d gates, must be 1 to %d", gates, ISO_GATES_MOST);
}

/* ---- levels ---- */

/* Steps between n rising times in order of size; NULL: no memory. */
static double *sorted_steps(const double *t, int64_t n)
{
	double *step = size_alloc(n, sizeof *step);

	for (int64_t i = 0; step && i + 1 < n; i++) step[i] = t[i + 1] - t[i];
	if (step) qsort(step, (size_t)(n - 1), sizeof *step, by_value);
	return step;
}

/* Values of the trace at even times; *n of them. NULL: no memory. */
static double *resampled(int64_t *n, const struct iso_trace *t, double step)
{
	*n = (int64_t)floor((t->time_s[t->n - 1] - t->time_s[0]) / step * (1 + 1e-12)) + 1;
	double *v = size_alloc(*n, sizeof *v);
	int64_t k = 0;

	for (int64_t i = 0; v && i < *n; i++) {
		const double at = t->time_s[0] + (double)i * step;

		while (k + 2 < t->n && t->time_s[k + 1] <= at) k++;
		const double share = (at - t->time_s[k]) / (t->time_s[k + 1] - t->time_s[k]);

		v[i] = t->value[k] + (t->value[k + 1] - t->value[k]) * (share < 1 ? share : 1);
	}
	return v;
}

/* The samples in order of size, resampled where their steps differ. To be freed. */
static int sorted_samples(double **s, int64_t *n, const struct iso_trace *t)
{
	double *step = sorted_steps(t->time_s, t->n), *v = NULL;
	int st = step ? ISO_OK : iso_fail_memory("trace", t->n * (int64_t)sizeof *step);

	if (st) return st;
	const double median = quantile(step, t->n - 1, .5), span = t->time_s[t->n - 1] - t->time_s[0];

	if (step[t->n - 2] - step[0] <= STEPS_DIFFER * median) {
		v = sorted(t->value, *n = t->n);
	} else if (span / median > SAMPLES_MOST) {
		st = iso_fail(ISO_EARG, "gates: a trace of %g s has a median step of %g s: too many samples",
		              span, median);
	} else if ((v = resampled(n, t, median))) {
		qsort(v, (size_t)*n, sizeof *v, by_value);
	}
	free(step);
	if (!st && !v) st = iso_fail_memory("trace", t->n * (int64_t)sizeof *v);
	*s = v;
	return st;
}

int iso_trace_levels(double *level, int gates, const struct iso_trace *t)
{
	if (!level || !t) return iso_fail_null(__func__);
	double *s = NULL;
	int64_t n;
	int st = check_gates(gates);

	if (st || (st = check_trace(t)) || (st = sorted_samples(&s, &n, t))) return st;
	if (s[0] < s[n - 1])
		for (int k = 1; k < gates; k++) level[k - 1] = quantile(s, n, (double)k / gates);
	else
		st = iso_fail(ISO_EARG, "gates: the trace is %g everywhere", s[0]);
	free(s);
	return st;
}

/* ---- triggers ---- */

int iso_trace_triggers(double **trigger_s, int64_t *n, const struct iso_trace *t)
{
	if (!trigger_s || !n || !t) return iso_fail_null(__func__);
	double *s = NULL, *found;
	int64_t samples, count = 0;
	bool low = false;
	int st = check_trace(t);

	if (st || (st = sorted_samples(&s, &samples, t))) return st;
	const double least = quantile(s, samples, .05), range = quantile(s, samples, .95) - least;
	const double up = least + .5 * range, down = least + .25 * range;

	free(s);
	if (!(found = size_alloc(t->n, sizeof *found)))
		return iso_fail_memory("triggers", t->n * (int64_t)sizeof *found);
	for (int64_t i = 0; i < t->n; i++) {
		if (low && t->value[i] > up) { /* i > 0: an earlier sample was low */
			const double share = (up - t->value[i - 1]) / (t->value[i] - t->value[i - 1]);

			found[count++] = t->time_s[i - 1] + share * (t->time_s[i] - t->time_s[i - 1]);
			low = false;
		}
		low = low || t->value[i] < down;
	}
	*trigger_s = found;
	*n = count;
	return ISO_OK;
}

/* ---- tables ---- */

struct rows {
	int64_t n, room;
	struct iso_gate_row *row;
};

/* One more row; one that is empty is left out, one that goes on with the gate of the last lengthens that. */
static int add_row(struct rows *r, double from, double to, int64_t gate)
{
	if (!(to > from)) return ISO_OK;
	if (r->n > 0 && r->row[r->n - 1].gate == gate && !(r->row[r->n - 1].to_s < from)) {
		r->row[r->n - 1].to_s = to;
		return ISO_OK;
	}
	if (r->n == r->room) {
		const int64_t room = r->room ? 2 * r->room : 256;
		struct iso_gate_row *row = realloc(r->row, (size_t)room * sizeof *row);

		if (!row) return iso_fail_memory("gates", room * (int64_t)sizeof *row);
		r->row = row;
		r->room = room;
	}
	r->row[r->n++] = (struct iso_gate_row){ from, to, gate };
	return ISO_OK;
}

int iso_gates_by_phase(iso_gates **g, const double *trigger_s, int64_t n, int gates)
{
	if (!g || !trigger_s) return iso_fail_null(__func__);
	struct rows rows = { 0 };
	int st = check_gates(gates);

	if (st || (st = check_times(trigger_s, n, 2, "triggers"))) return st;
	double *cycle = sorted_steps(trigger_s, n);

	if (!cycle) return iso_fail_memory("triggers", n * (int64_t)sizeof *cycle);
	const double median = quantile(cycle, n - 1, .5);

	for (int64_t k = 0; k + 1 < n && !st; k++) {
		const double from = trigger_s[k], length = trigger_s[k + 1] - from;

		if (length < .5 * median || length > 2 * median) continue;
		for (int i = 0; i < gates && !st; i++)
			st = add_row(&rows, from + length * i / gates,
			             i + 1 < gates ? from + length * (i + 1) / gates : trigger_s[k + 1], i);
	}
	if (!st) st = iso_gates_create(g, rows.row, rows.n, "triggers");
	free(cycle);
	free(rows.row);
	return st;
}

static int levels_below(const double *level, int n, double s)
{
	int k = 0;

	while (k < n && level[k] <= s) k++;
	return k;
}

/* Rows of the stretch from sample i to the next, of which gate *gate holds at first; *from: when it began. */
static int cross(struct rows *rows, double *from, int *gate, const struct iso_trace *t, int64_t i,
                 const double *level, int n)
{
	const double s = t->value[i], rise = t->value[i + 1] - s, length = t->time_s[i + 1] - t->time_s[i];
	const int last = levels_below(level, n, t->value[i + 1]);
	int st = ISO_OK;

	while (*gate != last && !st) {
		const double edge = level[*gate < last ? *gate : *gate - 1];
		const double at = fmax(*from, t->time_s[i] + (edge - s) / rise * length);

		st = add_row(rows, *from, at, *gate);
		*from = at;
		*gate += *gate < last ? 1 : -1;
	}
	return st;
}

int iso_gates_by_amplitude(iso_gates **g, const struct iso_trace *t, const double *level, int n_levels)
{
	if (!g || !t || (!level && n_levels > 0)) return iso_fail_null(__func__);
	struct rows rows = { 0 };
	int st = check_gates(n_levels + 1);

	if (st || (st = check_trace(t))) return st;
	for (int k = 0; k < n_levels; k++)
		if (!isfinite(level[k]) || (k > 0 && level[k] < level[k - 1]))
			return iso_fail(ISO_EARG, "gates: level %d is %g; levels must be finite and rise", k,
			                level[k]);
	double from = t->time_s[0];
	int gate = levels_below(level, n_levels, t->value[0]);

	for (int64_t i = 0; i + 1 < t->n && !st; i++) st = cross(&rows, &from, &gate, t, i, level, n_levels);
	if (!st) st = add_row(&rows, from, t->time_s[t->n - 1], gate);
	if (!st) st = iso_gates_create(g, rows.row, rows.n, "trace");
	free(rows.row);
	return st;
}

/* ---- traces ---- */

int iso_trace_read(struct iso_trace *to, const char *path)
{
	if (!to || !path) return iso_fail_null(__func__);
	struct columns c = { 0 };
	struct iso_trace t = { 0 };
	int st = columns_read(&c, path);

	if (!st && c.n_columns > 2)
		st = iso_refuse(path, "%d columns; a trace has times and values, triggers have times alone",
		                c.n_columns);
	t.n = c.n;
	for (int64_t i = 1; i < c.n && !st; i++)
		if (!(c.v[i * c.n_columns] > c.v[(i - 1) * c.n_columns]))
			st = iso_refuse(path, "line %" PRId64 ": time %.17g s does not rise", c.line[i],
			                c.v[i * c.n_columns]);
	if (!st) t.time_s = size_alloc(c.n, sizeof *t.time_s);
	if (!st && c.n_columns == 2) t.value = size_alloc(c.n, sizeof *t.value);
	if (!st && (!t.time_s || (c.n_columns == 2 && !t.value)))
		st = iso_fail_memory(path, 2 * c.n * (int64_t)sizeof *t.value);
	for (int64_t i = 0; i < c.n && !st; i++) {
		t.time_s[i] = c.v[i * c.n_columns];
		if (t.value) t.value[i] = c.v[2 * i + 1];
	}
	columns_free(&c);
	if (st)
		iso_trace_free(&t);
	else
		*to = t;
	return st;
}

void iso_trace_free(struct iso_trace *t)
{
	if (!t) return;
	free(t->time_s);
	free(t->value);
	*t = (struct iso_trace){ 0 };
}
